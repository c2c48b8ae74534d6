"""One poller for an account on this machine, whatever workspace it works
in: two pollers of one token steal each other's messages.

A lock on a file in the user's runtime directory; the kernel lets go of it
when the process ends, however it ends.
"""

import asyncio
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from claw.core.channel import Channel, PollsOnce
from claw.runtime.supervisor import Log

LOOK_S = 1.0


class Alone:
    """The locks of one process."""

    def __init__(self, folder: Path, log: Log) -> None:
        self._folder = folder
        self._log = log

    async def run(self, channel_of: Callable[[], Channel],
                  work: Callable[[], Awaitable[None]]) -> None:
        """Do the work while no other process polls the same account; wait
        as long as one does."""
        channel = channel_of()
        if not isinstance(channel, PollsOnce):
            await work()
            return
        said = False
        while True:
            with self._held(channel.account) as holder:
                if holder is None:
                    await work()
                    return
            if not said:
                said = True
                self._log("poller.other", channel=channel.name,
                          account=channel.account, pid=holder)
            await asyncio.sleep(LOOK_S)

    @contextmanager
    def _held(self, account: str) -> Any:
        """None while the lock is ours, else who has it."""
        digest = hashlib.sha256(account.encode()).hexdigest()[:16]
        path = self._folder / f"poller-{digest}.lock"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._folder.stat().st_uid != os.getuid():
                raise PermissionError(f"{self._folder} is not ours")
            number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                             | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            # A machine without such a place has no second poller to fear.
            self._log("poller.unlocked", error=str(error))
            yield None
            return
        try:
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield os.read(number, 20).decode("ascii", "replace").strip() \
                    or "unknown"
                return
            os.ftruncate(number, 0)
            os.pwrite(number, f"{os.getpid()}\n".encode(), 0)
            yield None
        finally:
            os.close(number)


def runtime_folder(env: dict[str, str]) -> Path:
    """Where locks of this user on this machine lie."""
    given = env.get("XDG_RUNTIME_DIR")
    if given and os.path.isdir(given) and os.access(given, os.W_OK):
        return Path(given) / "claw"
    return Path(tempfile.gettempdir()) / f"claw-{os.getuid()}"
