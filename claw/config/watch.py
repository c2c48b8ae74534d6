"""Changes of config.toml while claw runs.

Its folder is watched, since editors put a new file in the old one's place,
and its content decides: a file that was touched, or is missing for a
moment, has not changed. Beside the kernel's word a look every four seconds
finds what no event tells (network file systems, a folder made anew, the
target of a link).
"""

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path

from watchfiles import awatch

from claw.core.errors import describe
from claw.core.log import Log, silent
from claw.core.times import until_tick
from claw.core.value import Value

POLL_S = 4.0  # at the moments at which the lease is renewed
# How often watchfiles' thread wakes up; a change comes after as long a quiet.
_QUIET_MS = 2000
_MOST_MS = 4000


class Stamp(Value):
    """What a file was: the time of its last change (ns), its size in
    bytes, the SHA-256 of its content in hex."""

    mtime_ns: int
    size: int
    digest: str


def stamp(path: Path) -> Stamp | None:
    """The file as it is now; None where it can't be read."""
    try:
        with path.open("rb") as file:
            data = file.read()
            mtime_ns = path.stat().st_mtime_ns
    except OSError:
        return None
    return Stamp(mtime_ns, len(data), hashlib.sha256(data).hexdigest())


async def changes(path: Path, known: Stamp | None = None, *,
                  log: Log = silent, poll_s: float = POLL_S
                  ) -> AsyncGenerator[None]:
    """Yields once for each change of the content, for ever.

    `known` is the stamp of what was loaded, so that a change between
    loading and watching is not missed; without it the file as it is now.
    """
    known = known or await asyncio.to_thread(stamp, path)
    event = asyncio.Event()
    listening = asyncio.ensure_future(_listen(path, event, log))
    looked: object = None
    try:
        while True:
            # A file that looks as before is not read again.
            seen, looked = looked, _look(path)
            if looked is not None and looked != seen:
                current = await asyncio.to_thread(stamp, path)
                changed = current is not None and (
                    known is None or current.digest != known.digest)
                known = current or known
                if changed:
                    yield
            await _wait(event, until_tick(poll_s))
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


def _look(path: Path) -> object:
    """What differs when the file was changed; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns,
            found.st_ctime_ns)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Until the event, which is over then, or for so long."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    event.clear()


async def _listen(path: Path, event: asyncio.Event, log: Log) -> None:
    """Set `event` whenever the kernel tells of the file's folder."""
    try:
        # Where the file is, and where it really is.
        real = await asyncio.to_thread(path.resolve)
        async for _ in awatch(
                *{path.parent, real.parent}, watch_filter=None,
                debounce=_MOST_MS, step=_QUIET_MS, recursive=False,
                rust_timeout=0):  # never: who looks has a clock of his own
            event.set()
    # RuntimeError: watchfiles' own; a group: from the thread it waits on.
    except (OSError, RuntimeError, ExceptionGroup) as error:
        log("config_watch_polls", error=describe(error))
