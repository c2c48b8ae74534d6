"""The system calls of a process, seen before they are done.

    with Watch(see) as watch:
        subprocess.Popen([*watch.before, "program"])

A seccomp filter, set by a launcher in front of the program, hands the
named calls to `see`, which lets them pass (None) or answers in the
kernel's place (a number). Linux 5.5 or later; no privilege, no program.
Source: seccomp_unotify(2), uapi/linux/seccomp.h.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from claw.security.confine import notify
from claw.security.sandbox import system_calls
from claw.security.sandbox.system_calls import Call

_CALLS = ("pwrite64", "fsync", "fdatasync", "ftruncate", "unlink",
          "unlinkat")


class Watch:
    """Watches the processes that are started with `before`, while inside
    `with`; `errors` are what `see` raised about calls that were done all
    the same. Raises OSError where this machine can't."""

    def __init__(self, see: Callable[[Call], int | None]) -> None:
        self._see = see
        self._numbers = notify.find_numbers(_CALLS)
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
        system_calls.serve(listener, self._numbers, self._hear,
                           lambda: self._over)

    def _hear(self, call: Call) -> None:
        result, fault = None, ""
        try:
            result = self._see(call)
        except Exception as error:  # the process must go on
            fault = f"{type(error).__name__}: {error}"
        # One that was killed meanwhile did nothing.
        if call.answer(result) and fault:
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


def main(path: str, command: Sequence[str]) -> None:
    """Be watched, and become the command."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        listener = notify.listen(_CALLS)
        socket.send_fds(client, [b"."], [listener])
    os.close(listener)
    os.execvp(command[0], [*command])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
