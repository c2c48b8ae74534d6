"""The system calls of a process, seen before they are done.

    with Watch(see) as watch:
        subprocess.Popen([*watch.before, "program"])

A seccomp filter, set by a launcher in front of the program, hands the
named calls to `see`, which lets them pass (None) or answers in the
kernel's place (a number). Linux 5.5 or later; no privilege, no program.
Source: seccomp_unotify(2), uapi/linux/seccomp.h.
"""

import ctypes
import fcntl
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from claw.security.confine import kernel

_MACHINES = {  # AUDIT_ARCH_*, the number of seccomp(2), those of calls
    "x86_64": (0xC000003E, 317, {
        "pwrite64": 18, "fsync": 74, "fdatasync": 75, "ftruncate": 77,
        "unlink": 87, "unlinkat": 263}),
    "aarch64": (0xC00000B7, 277, {
        "pwrite64": 68, "fsync": 82, "fdatasync": 83, "ftruncate": 46,
        "unlinkat": 35})}
_MACHINES["riscv64"] = (0xC00000F3, *_MACHINES["aarch64"][1:])
_SET_FILTER, _NEW_LISTENER, _CONTINUE = 1, 8, 1
_RECEIVE, _SEND = 0xC0502100, 0xC0182101  # ioctls of the listener
_ALLOW, _NOTIFY = 0x7FFF0000, 0x7FC00000
_CALL = struct.Struct("QIIiIQ6Q")
_ANSWER = struct.Struct("QqiI")
_LOOK_MS = 100


class Call(NamedTuple):
    """A call that waits. `thread` is its thread's id."""

    name: str
    thread: int
    args: Sequence[int]

    def path(self, descriptor: int) -> str:
        """What is open there. Raises OSError."""
        return os.readlink(f"/proc/{self.thread}/fd/{descriptor}")

    def read(self, address: int, size: int) -> bytes:
        """Of the process's memory. Raises OSError."""
        with open(f"/proc/{self.thread}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(size)

    def read_path(self, address: int) -> str:
        return os.fsdecode(self.read(address, 4096).partition(b"\0")[0])


class Watch:
    """Watches the processes that are started with `before`, while inside
    `with`; `errors` are what `see` raised about calls that were done all
    the same. Raises OSError where this machine can't."""

    def __init__(self, see: Callable[[Call], int | None]) -> None:
        self._see = see
        _, _, self._numbers = _machine()
        self._folder = Path(tempfile.mkdtemp(prefix="claw-"))
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(self._folder / "s"))
        self._server.listen()
        self._over = False
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self.errors: list[str] = []

    @property
    def before(self) -> tuple[str, ...]:
        """What starts a command so that it is watched."""
        return (sys.executable, "-m", "claw.testing.syscall_watch",
                str(self._folder / "s"))

    def __enter__(self) -> "Watch":
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._server.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._server.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self) -> None:
        while not self._over:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            with client:
                _, found, _, _ = socket.recv_fds(client, 1, 1)
            for listener in found:
                thread = threading.Thread(target=self._serve, daemon=True,
                                          args=(listener,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, listener: int) -> None:
        """Until all processes behind the filter have ended."""
        names = {number: name for name, number in self._numbers.items()}
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        try:
            while not self._over:
                events = poll.poll(_LOOK_MS)
                if not events:
                    continue
                if not events[0][1] & select.POLLIN:
                    return
                self._answer(listener, names)
        finally:
            os.close(listener)

    def _answer(self, listener: int, names: Mapping[int, str]) -> None:
        buffer = bytearray(_CALL.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, buffer)
            id_, thread, _, number, _, _, *args = _CALL.unpack(buffer)
            result, fault = None, ""
            try:
                result = self._see(Call(names[number], thread, args))
            except Exception as error:  # the process must go on
                fault = f"{type(error).__name__}: {error}"
            fcntl.ioctl(listener, _SEND, _ANSWER.pack(
                id_, result or 0, 0, _CONTINUE if result is None else 0))
        except FileNotFoundError:
            return  # it was killed meanwhile, and did nothing
        if fault:
            self.errors.append(fault)


def explain_absence() -> str:
    """Why nothing can be watched here; "" where it can."""
    try:
        with Watch(lambda call: None) as watch:
            tried = subprocess.run([*watch.before, "true"], text=True,
                                   capture_output=True, check=False)
    except OSError as error:
        return str(error)
    return "" if tried.returncode == 0 else \
        "the kernel shows no system calls: " \
        + (tried.stderr.strip().splitlines() or ["no reason given"])[-1]


def _machine() -> tuple[int, int, Mapping[str, int]]:
    machine = os.uname().machine
    if sys.platform != "linux" or machine not in _MACHINES:
        raise OSError(f"system calls of {machine} are not known here")
    return _MACHINES[machine]


def _filter() -> int:
    """Set the filter; its listener. Raises OSError."""
    arch, seccomp, numbers = _machine()
    code = [(0x20, 0, 0, 4), (0x15, 1, 0, arch), (0x06, 0, 0, _ALLOW),
            (0x20, 0, 0, 0)]
    for number in numbers.values():
        code += [(0x15, 0, 1, number), (0x06, 0, 0, _NOTIFY)]
    code.append((0x06, 0, 0, _ALLOW))
    program = b"".join(struct.pack("=HBBI", *line) for line in code)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack(
        "HxxxxxxQ", len(code), ctypes.addressof(buffer)))
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    return kernel.syscall(
        seccomp, ctypes.c_ulong(_SET_FILTER), ctypes.c_ulong(_NEW_LISTENER),
        ctypes.c_ulong(ctypes.addressof(header)), what="seccomp")


def main(path: str, command: Sequence[str]) -> None:
    """Be watched, and become the command."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        listener = _filter()
        socket.send_fds(client, [b"."], [listener])
    os.close(listener)
    os.execvp(command[0], [*command])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
