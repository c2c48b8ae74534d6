"""Arguments that make an allowed program run another one.

git and GNU programs take long options cut short (--upload for
--upload-pack) and short ones joined (-qu for -q -u); so does this file.
"""

import re
from collections.abc import Iterable, Sequence

from claw.security.files.paths import OWN_DIRECTORIES, OWN_FILES
from claw.security.shell.effects.git import reads_configuration
from claw.security.shell.words import words

_FIND = frozenset(words(
    "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls"))
_TAR = ("--checkpoint-action", "--to-command", "--use-compress-program",
        "--rsh-command", "--info-script", "--new-volume-script")
_ENV = ("--split-string",)

# Nothing of claw's own can be moved or made: the sandbox covers it.
_MOVERS = ("mkdir", "touch", "mv", "cp", "ln", "install")
_OWN_NAMES = frozenset(n.casefold() for n in (*OWN_DIRECTORIES, *OWN_FILES))

# git's own options that take the next word.
_GIT_VALUED = ("-C", "--git-dir", "--work-tree", "--namespace",
              "--attr-source", "--super-prefix", "--config-env")
_GIT = ("--upload-pack", "--receive-pack", "--exec", "--exec-path",
        "--open-files-in-pager", "--config-env", "--extcmd")
# Their whole use is to run what is configured or said.
_GIT_RUNNERS = frozenset(words(
    "difftool mergetool filter-branch hook instaweb send-email daemon shell "
    "remote-ext remote-fd web--browse"))
# Short options that name a program or a setting, by sub-command; letters
# of it that swallow the rest of their word.
_GIT_SHORT = {"clone": ("cu", "bjo"), "rebase": ("x", "CXSs"),
              "grep": ("O", "efABCm")}


def reason(name: str, args: Sequence[str]) -> str | None:
    """Why a program may not have these arguments, None where it may."""
    lowered = [a.lower() for a in args]
    if name == "find":
        bad = next((a for a in lowered if a in _FIND), None)
        return f"find {bad}" if bad else None
    if name == "tar":
        return (_short(name, args, "IF", "bCfgHKLNTVX")
                or _long(name, lowered, _TAR))
    if name == "env":
        return _short(name, args, "S", "uC") or _long(name, args, _ENV)
    return (_git(args) or _long(name, lowered, _GIT) if name == "git"
            else None)


def own_name(name: str, args: Sequence[str]) -> str | None:
    """Why a program of _MOVERS may not have these arguments, seen from the
    workspace's root; None where it may."""
    own = next((a for a in args if name in _MOVERS and a.removeprefix("./")
                .partition("/")[0].casefold() in _OWN_NAMES), None)
    return f"{own} is claw's own" if own else None


def _verb_at(args: Sequence[str], valued: Sequence[str]) -> int:
    """Where the sub-command stands: the first word that is no option."""
    at = 0
    while at < len(args) and args[at].startswith(("-", "+")):
        at += 2 if args[at] in valued else 1
    return at


def _git(args: Sequence[str]) -> str | None:
    """git may not change its configuration: that names programs."""
    at = _verb_at(args, _GIT_VALUED)
    if any(a.startswith("-c") for a in args[:at]):
        return "git -c sets configuration"
    verb = args[at].lower() if at < len(args) else ""
    rest = args[at + 1:]
    if verb == "config" and reads_configuration(rest):
        return None
    if verb.partition(".")[0] in ("config", "alias"):
        return f"git {verb} changes configuration"
    if verb in _GIT_RUNNERS or (verb in ("bisect", "submodule")
                                and rest[:1] in (["run"], ["foreach"])):
        return f"git {verb} runs a program"
    if verb in _GIT_SHORT and (bad := _short(f"git {verb}", rest,
                                             *_GIT_SHORT[verb])):
        return bad
    return (_long("git clone", rest, ("--config",)) if verb == "clone"
            else None)


def _short(name: str, args: Iterable[str], letters: str, valued: str
           ) -> str | None:
    """A short option of these letters, alone or among others."""
    pattern = re.compile(f"-[^-{valued}{letters}]*[{letters}]")
    bad = next((a for a in args if pattern.match(a)), None)
    return f"{name} {bad[:40]} names a program or a setting" if bad else None


def _long(name: str, args: Iterable[str], options: Sequence[str]
          ) -> str | None:
    """One of these long options, or the beginning of one."""
    for arg in args:
        said = arg.partition("=")[0]
        if len(said) > 2 and said.startswith("--") \
                and any(o.startswith(said) for o in options):
            return f"{name} {said} names a program or a setting"
    return None
