"""Tries, from within a command, what a command may not do.

The text of this file runs in the sandbox: `python -I -S -c TEXT PLAN`, the
plan as JSON. It prints {name: what got through, or null}; a try that can't
be made here is left out. Nothing is kept: what got through is undone, and
nothing is asked of a process or a place that is not the audit's own.
"""

import contextlib
import ctypes
import errno
import json
import os
import resource
import signal
import socket
import stat
import sys
from collections.abc import Callable

_NAMESPACES = 0x10000000 | 0x40000000  # CLONE_NEWUSER | CLONE_NEWNET
_CLONE = {"x86_64": 56, "aarch64": 220, "riscv64": 220}
_IO_URING_SETUP = 425
_LARGEST_FILE = 1 << 30
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    plan = json.loads(sys.argv[1])
    found: dict[str, str | None] = {}
    attempts: dict[str, Callable[[], str | None]] = {
        "network": lambda: _connect(plan["port"]),
        "services": lambda: _reach_sockets(plan["sockets"]),
        "outside": lambda: _open_any(plan["outside"]),
        "own": lambda: _open_any(plan["own"]),
        "links": lambda: _follow_link(plan["outside"][0]),
        "environment": lambda: _find_variable(plan["secret"]),
        "processes": lambda: _find_process(plan["pid"], plan["cmdline"]),
        "set_uid": _gain_powers,
        "namespaces": _make_namespace,
        "kernel": _call_kernel,
        "memory": lambda: _allocate(plan["memory_bytes"]),
        "files": _grow_file,
        "cpu": lambda: _read_cpu(plan["cpu_s"]),
        "tasks": lambda: _fork(plan["tasks"])}
    for name, attempt in attempts.items():
        with contextlib.suppress(KeyError, OSError):  # no such try here
            found[name] = attempt()
    sys.stdout.write(json.dumps(found))


def _connect(port: int) -> str | None:
    for kind, said in ((socket.SOCK_STREAM, "a connection"),
                       (socket.SOCK_DGRAM, "a datagram")):
        with contextlib.suppress(OSError), \
                socket.socket(socket.AF_INET, kind) as tried:
            tried.settimeout(5)
            tried.connect(("127.0.0.1", port))
            tried.send(b"claw")
            return f"{said} left"
    return None


def _reach_sockets(names: list[str]) -> str | None:
    for name in names:
        with contextlib.suppress(OSError), \
                socket.socket(socket.AF_UNIX) as tried:
            tried.connect(name)
            shown = name.replace("\0", "@")
            return f"the socket {shown} answered"
    return None


def _open_any(paths: list[str]) -> str | None:
    for path in paths:
        for flags, said in ((os.O_RDONLY, "read"),
                            (os.O_WRONLY | os.O_APPEND, "written")):
            with contextlib.suppress(OSError):
                os.close(os.open(path, flags | os.O_NONBLOCK))
                return f"{path} can be {said}"
    return None


def _follow_link(outside: str) -> str | None:
    os.symlink(outside, "claw-audit-link")
    try:
        return _open_any(["claw-audit-link"])
    finally:
        os.unlink("claw-audit-link")


def _find_variable(secret: str) -> str | None:
    return next((f"{name} is seen" for name, value in os.environ.items()
                 if value == secret), None)


def _find_process(pid: int, cmdline: str) -> str | None:
    """claw's own process, by its command line; a number alone may be
    another process in a table of our own."""
    seen = [name for name in os.listdir("/proc") if name.isdigit()]
    for name in seen:
        with contextlib.suppress(OSError), \
                open(f"/proc/{name}/cmdline", "rb") as file:
            if file.read().hex() == cmdline:
                return f"the command line of process {name} is read"
    if str(pid) not in seen:
        with contextlib.suppress(OSError):
            os.kill(pid, 0)
            return f"process {pid} can be signalled"
    return None


def _gain_powers() -> str | None:
    with open("/proc/self/status") as file:
        if "\nNoNewPrivs:\t1\n" not in file.read():
            return "programs may gain powers"
    with open("claw-audit-file", "w"), contextlib.suppress(OSError):
        os.chmod("claw-audit-file", 0o4700)
    left = os.stat("claw-audit-file").st_mode & stat.S_ISUID
    os.unlink("claw-audit-file")
    return "a set-uid file can be left" if left else None


def _make_namespace() -> str | None:
    """With unshare and with clone, each in a child of its own."""
    number = _CLONE[os.uname().machine]

    def unshare() -> int:
        return int(_libc.unshare(_NAMESPACES))

    def clone() -> int:
        made = int(_libc.syscall(
            ctypes.c_long(number), ctypes.c_ulong(_NAMESPACES | 17),
            None, None, None, None))
        if made == 0:
            os._exit(0)
        return -1 if made < 0 else os.waitpid(made, 0)[1]
    calls: tuple[tuple[str, Callable[[], int]], ...] = (
        ("unshare", unshare), ("clone", clone))
    for said, call in calls:
        child = os.fork()
        if child == 0:
            os._exit(int(call() < 0))
        if os.waitpid(child, 0)[1] == 0:
            return f"{said} makes new namespaces"
    return None


def _call_kernel() -> str | None:
    """Calls with arguments that can do nothing: refused unread is EPERM."""
    calls: tuple[tuple[str, Callable[[], int]], ...] = (
        ("umount2", lambda: _libc.umount2(b"/claw-audit-none", 2)),
        ("ptrace", lambda: _libc.ptrace(16, 0x3FFFFFFF, None, None)),
        ("io_uring", lambda: _libc.syscall(
            ctypes.c_long(_IO_URING_SETUP), 0, None)))
    for said, call in calls:
        ctypes.set_errno(0)
        if call() != -1 or ctypes.get_errno() not in (errno.EPERM,
                                                      errno.ENOSYS):
            return f"{said} is let through"
    return None


def _allocate(limit: int) -> str | None:
    try:
        bytearray(limit + (64 << 20))  # never touched: costs nothing
    except MemoryError:
        return None
    return "a command may use more memory"


def _grow_file() -> str | None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with open("claw-audit-file", "wb") as file:
            file.truncate(_LARGEST_FILE + 1)  # a hole: takes no room
    except OSError:
        return None
    finally:
        os.unlink("claw-audit-file")
    return "a file may grow without end"


def _read_cpu(limit: int) -> str | None:
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if not 0 <= soft <= limit:
        return "processor time is not limited"
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard + 60))
        return "a command may lift its limit of processor time"
    return None


def _fork(limit: int) -> str | None:
    """More children than are allowed, all waiting for the pipe to end."""
    get, put = os.pipe()
    made: list[int] = []
    try:
        while len(made) <= limit:
            child = os.fork()
            if child == 0:
                os.close(put)
                os.read(get, 1)
                os._exit(0)
            made.append(child)
    except OSError:
        return None
    finally:
        os.close(put)
        for child in made:
            os.waitpid(child, 0)
    return f"a command may start more than {limit} processes"


if __name__ == "__main__":
    main()
