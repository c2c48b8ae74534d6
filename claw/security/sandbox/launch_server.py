"""The process that starts commands for this one (confine/serve.py)."""

import array
import contextlib
import os
import socket
import weakref

_READY_SECONDS = 20


class LaunchServer:
    """Runs `argv` and hands it commands. `key` says what it was made of:
    with another one it is out of date. Raises OSError where it does not
    start."""

    def __init__(self, argv: list[str], env: dict[str, str],
                 key: object) -> None:
        self._key = key
        self._socket, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, open(os.devnull, "rb+") as null:
            self.pid = os.posix_spawn(argv[0], argv, env, file_actions=[
                (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                (os.POSIX_SPAWN_DUP2, null.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, null.fileno(), 2)])
        self._end = weakref.finalize(self, _stop, self._socket, self.pid,
                                     os.getpid())
        self._socket.settimeout(_READY_SECONDS)
        if self._socket.recv(16) != b"ready":
            self._end()
            raise OSError("the launch server does not start")
        self._socket.setblocking(False)

    def is_usable(self, key: object) -> bool:
        """Whether it runs and is of this `key`."""
        try:
            ended = self._socket.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            ended = False
        except OSError:
            ended = True
        return not ended and self._key == key

    def start(self, stdin: int, stdout: int, stderr: int) -> None:
        """Fork a launcher with these; its plan is read from `stdin`.
        Raises OSError where the server is gone."""
        self._socket.sendmsg([b"x"], [(
            socket.SOL_SOCKET, socket.SCM_RIGHTS,
            array.array("i", [stdin, stdout, stderr]))])


def _stop(connection: socket.socket, pid: int, owner: int) -> None:
    connection.close()
    if os.getpid() == owner:  # not in a fork of it
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
