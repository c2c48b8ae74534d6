"""Starts commands for a claw that runs many: what they all share is loaded
and mounted once, then each launcher is a fork.

Standard input is claw's socket: each message brings the launcher's standard
input, output and errors; on that input (a socket too) the plan waits. The
end of the socket is the end of this process, not of the launchers.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import marshal
import os
import struct
import sys

from . import kernel, launch, seccomp, view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

PLAN_BYTES = 1 << 18


def main() -> NoReturn:
    """argv: a plan (marshal, hexadecimal) with what all have in common."""
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # what claw was given
    plan: dict[str, Any] = marshal.loads(bytes.fromhex(sys.argv[1]))
    os.setsid()
    if "seccomp" in plan["steps"]:
        seccomp.prepare(launch.find_families(plan, own=True))
    view.serve(plan)
    kernel.drop_capabilities()  # what is executed later has none
    claw = _socket.socket(fileno=0)
    claw.send(b"ready")
    _signal.signal(_signal.SIGCHLD, _reap)
    while True:
        said, ancillary, _, _ = claw.recvmsg(1, _socket.CMSG_SPACE(12))
        if not said:
            os._exit(0)
        for _, _, data in ancillary:
            handles = struct.unpack("3i", data)
            if os.fork() == 0:
                _launch(handles)
            for handle in handles:
                os.close(handle)


def _reap(*_: object) -> None:
    """How a launcher ended it says itself."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _launch(handles: tuple[int, ...]) -> NoReturn:
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    os.setsid()
    os.write(0, f"pid {os.getpid()}".encode())
    plan, command = marshal.loads(os.read(0, PLAN_BYTES))
    launch.run(plan, command)
