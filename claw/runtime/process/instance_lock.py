"""One poller for an account on this machine, whatever workspace it works
in: two pollers of one token steal each other's messages.

A lock on a file in the user's runtime directory; the kernel lets go of it
when the process ends, however it ends. A process that is stopped keeps it.
Who took the leader lease of its workspace over polls all the same: the lease
decides there, and the one that stands still finds it lost when it wakes.
"""

import asyncio
import fcntl
import hashlib
import os
import stat
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from claw.agent.background import cancel_all
from claw.core.abilities import PollsOnce
from claw.core.channel import Channel
from claw.core.log import Log

LOOK_S = 1.0
_LONGEST = 5000  # a pid and a path


class Holder(NamedTuple):
    """Who has a lock: its process, and the place it works for."""

    pid: str
    place: str


class InstanceLock:
    """The locks of one process that has the leader lease of `place` (a
    name that is one workspace's own)."""

    def __init__(self, folder: Path, log: Log, place: str = "") -> None:
        self._folder = folder
        self._log = log
        self._place = place

    async def run(self, get_channel: Callable[[], Channel],
                  work: Callable[[], Awaitable[None]]) -> None:
        """Do the work while no other place polls the same account; wait
        as long as one does."""
        channel = get_channel()
        if not isinstance(channel, PollsOnce):
            await work()
            return
        digest = hashlib.sha256(channel.account.encode()).hexdigest()[:16]
        lock = _Lock(self._folder / f"poller-{digest}.lock", self._place)
        working: asyncio.Future[None] | None = None
        told: Holder | None = None
        try:
            while True:
                holder = self._find_holder(lock)
                if holder is not None and holder != told:
                    told = holder
                    self._log("poller.other", channel=channel.name,
                              account=channel.account, pid=holder.pid)
                if holder is None or (
                        self._place and holder.place == self._place):
                    working = working or asyncio.ensure_future(work())
                elif working is not None:
                    await cancel_all([working])
                    working = None
                if await self._wait_for(working, patient=holder is None):
                    return
        finally:
            if working is not None:
                await cancel_all([working])
            lock.free()

    async def _wait_for(self, working: "asyncio.Future[None] | None", *,
                        patient: bool) -> bool:
        """Whether the work has ended; looked at for a moment, or, when
        patient, until it has. Raises what it raised."""
        if working is None:
            await asyncio.sleep(LOOK_S)
            return False
        await asyncio.wait((working,), timeout=None if patient else LOOK_S)
        if working.done():
            working.result()
        return working.done()

    def _find_holder(self, lock: "_Lock") -> Holder | None:
        """None while the lock is ours, else who has it."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self._folder.lstat()
            if found.st_uid != os.getuid() or not stat.S_ISDIR(
                    found.st_mode):
                raise PermissionError(f"{self._folder} is not ours")
            return lock.take()
        except OSError as error:
            # A machine without such a place has no second poller to fear.
            self._log("poller.unlocked", error=str(error))
            return None


class _Lock:
    """A lock on a file that says who has it."""

    def __init__(self, path: Path, place: str) -> None:
        self._path = path
        self._place = place
        self._number: int | None = None

    def take(self) -> Holder | None:
        """None: it is ours. Raises OSError."""
        if self._number is not None:
            return None
        number = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                         | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            try:
                said = os.read(number, _LONGEST).decode("utf-8", "replace")
            finally:
                os.close(number)
            pid, _, place = said.partition("\n")
            return Holder(pid.strip() or "unknown", place.strip())
        except OSError:
            os.close(number)
            raise
        self._number = number
        os.ftruncate(number, 0)
        os.pwrite(number, f"{os.getpid()}\n{self._place}\n".encode(
            "utf-8", "surrogateescape"), 0)
        return None

    def free(self) -> None:
        if self._number is not None:
            os.close(self._number)
            self._number = None


def runtime_folder(env: dict[str, str]) -> Path:
    """Where locks of this user on this machine lie."""
    given = env.get("XDG_RUNTIME_DIR")
    if given and os.path.isdir(given) and os.access(given, os.W_OK):
        return Path(given) / "claw"
    return Path(tempfile.gettempdir()) / f"claw-{os.getuid()}"
