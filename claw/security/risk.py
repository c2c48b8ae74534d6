"""How much harm a command line could do: low, medium or high."""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from claw.security.arguments import GIT_VALUED, verb_at
from claw.security.lexer import Word
from claw.security.words import words as split_words

_Risk: TypeAlias = Literal["low", "medium", "high"]
_Call: TypeAlias = tuple[str, str, tuple[Word, ...]]

_HIGH = frozenset(split_words(
    "rm mkfs dd shutdown reboot halt poweroff sudo su chown chmod useradd "
    "userdel usermod passwd mount umount iptables ufw firewall-cmd curl wget "
    "nc ncat netcat scp ssh ftp telnet del rmdir format reg net runas icacls "
    "takeown powershell pwsh wmic sc netsh "
    # not in the reference's list
    "kill pkill killall doas pkexec chroot nsenter unshare insmod modprobe "
    "shred wipefs fdisk parted truncate systemctl crontab at docker podman "
    "socat rsync sftp eval source ."))
_HIGH_TEXT = ("rm -rf /", "rm -fr /", ":(){:|:&};:", "del /s /q",
              "rmdir /s /q", "format c:")
_MEDIUM = frozenset(split_words(
    "touch mkdir mv cp ln copy xcopy robocopy move ren rename "
    "mklink timeit"))
_PACKAGES = ("install add remove uninstall update publish i ci un rm up "
             "upgrade link exec x dlx explore pkg config set init create "
             "innit")
_VERBS = {name: frozenset(verbs.split()) for name, verbs in {
    "git": "commit push reset clean rebase merge cherry-pick revert branch "
           "checkout switch tag am apply restore rm mv stash pull",
    "npm": _PACKAGES, "pnpm": _PACKAGES, "yarn": _PACKAGES,
    "npx": "", "pip": "install uninstall download config",
    "cargo": "add remove install clean publish uninstall"}.items()}
# Options that write what is said to a file, or set what is run.
_MEDIUM_OPTIONS = {"git": frozenset(("--output",)),
                   "cargo": frozenset(("--config",))}
# The option letters by which an interpreter takes its program, and those
# of its options that swallow the next word.
_INLINE = {"python": ("c", "WX"), "node": ("ep", "rC"),
           "nodejs": ("ep", "rC"), "perl": ("eE", "I"), "ruby": ("e", "rI"),
           "php": ("rBRE", ""), "sh": ("c", "o"), "bash": ("c", "oO"),
           "dash": ("c", "o"), "zsh": ("c", "o"), "ksh": ("c", "o"),
           "fish": ("c", ""), "lua": ("e", "l"), "deno": ("", ""),
           "bun": ("ep", "r")}
_INLINE_LONG = ("--eval", "--print", "--command")
_RANK: dict[_Risk, int] = {"low": 0, "medium": 1, "high": 2}


def rate_risk(command: str, calls: Sequence[_Call]) -> _Risk:
    """The highest risk of `calls`: (operator before, name, words)."""
    flat = re.sub(r"\s+", " ", command.lower())
    if any(text in flat for text in _HIGH_TEXT):
        return "high"
    return max((_one(*call) for call in calls), key=_RANK.__getitem__,
               default="low")


def _one(after: str, name: str, words: tuple[Word, ...]) -> _Risk:
    args = [w.text for w in words[1:]]
    if name == "python" and (module := _module(args)):
        name, args = module
    if name in _HIGH or name.startswith("mkfs."):
        return "high"
    long_options = {a.partition("=")[0] for a in args if a.startswith("--")}
    medium = (name in _MEDIUM or name in ("npx", "awk", "gawk", "mawk")
              or _verb(name, args) in _VERBS.get(name, ())
              or long_options & _MEDIUM_OPTIONS.get(name, frozenset())
              or (name in _INLINE and _inline(after, args, *_INLINE[name])))
    return "medium" if medium else "low"


def _module(args: list[str]) -> tuple[str, list[str]] | None:
    """The module that python -m runs as a program, with its arguments."""
    for at, arg in enumerate(args):
        if arg.startswith("-m"):
            rest = [arg[2:], *args[at + 1:]] if arg[2:] else args[at + 1:]
            return (rest[0], rest[1:]) if rest else None
        if not arg.startswith("-"):
            return None
    return None


def _verb(name: str, args: list[str]) -> str:
    """The sub-command: the first word that is no option."""
    at = verb_at(args, GIT_VALUED if name == "git" else ())
    return args[at].lower() if at < len(args) else ""


def _inline(after: str, args: list[str], letters: str, valued: str) -> bool:
    """Whether an interpreter is given its program in the command line or
    through a pipe, where no file shows what it will do."""
    at = 0
    while at < len(args) and args[at].startswith("-") and args[at] != "-":
        arg = args[at]
        if (arg.partition("=")[0] in _INLINE_LONG
                or "data:" in "".join(args[at:at + 2])  # --import data:...
                or (not arg.startswith("--")
                    and any(c in arg for c in letters))):
            return True
        if arg in ("-m", "--version", "-V", "--help", "-h", "-v"):
            return False
        at += 2 if arg[1:] in tuple(valued) else 1
    return after in ("|", "xargs") and (at >= len(args) or args[at] == "-")
