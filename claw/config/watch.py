"""Changes of config.toml while claw runs.

Its folder is watched, since editors put a new file in the old one's place,
and its content decides: a file that was touched, or is missing for a
moment, has not changed. Beside the kernel's word a look every five seconds
finds what no event tells (network file systems, a folder made anew, the
target of a link).
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from watchfiles import awatch

from claw.core.errors import describe
from claw.core.log import Log, silent
from claw.core.value import Value

POLL_S = 5.0
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
    async with aclosing(_hints(path, log, poll_s)) as hints:
        async for _ in hints:
            current = await asyncio.to_thread(stamp, path)
            if current is None:
                continue
            changed = known is None or current.digest != known.digest
            known = current
            if changed:
                yield


async def _hints(path: Path, log: Log,
                 poll_s: float) -> AsyncGenerator[None]:
    """Yields whenever it is worth to look: at once, after events, and at
    least every `poll_s`."""
    yield
    stop = asyncio.Event()
    try:
        # Where the file is, and where it really is.
        real = await asyncio.to_thread(path.resolve)
        async with aclosing(awatch(
                *{path.parent, real.parent}, watch_filter=None,
                debounce=_MOST_MS, step=_QUIET_MS, stop_event=stop,
                recursive=False, rust_timeout=int(poll_s * 1000),
                yield_on_timeout=True)) as events:
            async for _ in events:
                yield
    # RuntimeError: watchfiles' own; a group: from the thread it waits on.
    except (OSError, RuntimeError, ExceptionGroup) as error:
        log("config_watch_polls", error=describe(error))
    finally:
        stop.set()
    while True:
        await asyncio.sleep(poll_s)
        yield
