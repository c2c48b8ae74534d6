"""Who holds a lease: a process, so that its death can be seen.

A process is its id, the time it started (ids are used again), the boot of
the machine and the pid namespace (a container has ids of its own).
Sources: proc(5), boot_id in random(4), clock_gettime(2).
"""

import os
import socket
import time
from pathlib import Path

from claw.core.value import Value

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_GONE = ("Z", "X", "x")  # dead, and only not collected by its parent


class Owner(Value):
    """A process. `started`, `boot` and `space` are "" where the system
    does not tell."""

    pid: int
    started: str
    boot: str
    space: str
    host: str


def this_process() -> Owner:
    pid = os.getpid()
    return Owner(pid, (_stat(pid) or ("", ""))[1], _boot(), _space(),
                 socket.gethostname())


def uptime() -> float:
    """Seconds since the boot, those of a sleeping machine too. The wall
    clock may jump; this one does not."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def alive(owner: Owner, here: Owner) -> bool | None:
    """Whether a process runs, None where that can't be seen from here
    (another machine, another container)."""
    if same_boot(owner, here) and owner.space == here.space:
        return _runs(owner)
    if owner.host == here.host and owner.boot != here.boot:
        return False  # the machine was started anew
    return None


def same_boot(owner: Owner, here: Owner) -> bool:
    """Whether both read the same `uptime`."""
    return owner.boot == here.boot and (
        owner.boot != "" or owner.host == here.host)


def _runs(owner: Owner) -> bool:
    found = _stat(owner.pid)
    if found is not None:
        state, started = found
        return state not in _GONE and started == owner.started
    if os.name != "posix":
        return True  # os.kill would end it there
    try:
        os.kill(owner.pid, 0)  # /proc may hide the processes of others
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _stat(pid: int) -> tuple[str, str] | None:
    """State and start time (fields 3 and 22 of /proc/PID/stat)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    words = text.rpartition(")")[2].split()  # the name may hold blanks
    return (words[0], words[19]) if len(words) > 19 else None


def _boot() -> str:
    try:
        return _BOOT.read_text("utf-8").strip()
    except OSError:
        return ""


def _space() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
