"""How much harm a command line could do: low, medium or high.

High are programs that no table can make harmless, low is what is known to
be harmless, medium all the rest.
"""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

from claw.core.value import Value
from claw.security.shell.effects import judge_assignment, judge_call
from claw.security.shell.lexer import Word
from claw.security.shell.words import words as split_words

Risk: TypeAlias = Literal["low", "medium", "high"]
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


class Rating(Value):
    """`reads`: nothing in the line does more than read. `why` names what
    made it more than low."""

    risk: Risk
    reads: bool = False
    why: str | None = None


def rate_risk(command: str, calls: Sequence[_Call],
              assignments: Sequence[str] = (), workspace: str = "") -> Rating:
    """The highest risk of `calls`: (operator or wrapper before, name that
    tables have, words)."""
    flat = re.sub(r"\s+", " ", command.lower())
    if (text := next((t for t in _HIGH_TEXT if t in flat), None)):
        return Rating("high", why=text)
    for _, _, words in calls:
        name = re.split(r"[/\\]", words[0].text)[-1].lower()
        if name in _HIGH or name.startswith("mkfs."):
            return Rating("high", why=name)
    effects = [*map(judge_assignment, assignments),
               *(judge_call(*call, workspace) for call in calls)]
    unknown = next((e for e in effects if e.kind == "unknown"), None)
    if unknown is not None:
        return Rating("medium", why=unknown.why)
    return Rating("low", reads=all(e.kind == "reads" for e in effects))


def find_high(text: str) -> str | None:
    """The first program of high risk that a text names anywhere: for what
    could not be read as simple commands."""
    return next((word for word in re.findall(r"[\w.+-]+", text.lower())
                 if (word in _HIGH and word != ".")
                 or word.startswith("mkfs.")), None)
