"""Changes of config.toml while claw runs.

A look at time, size and place of the file every two seconds, together with
what else looks then: a watch of the kernel would need a thread that wakes
as often. The content decides: a file that was touched, or is missing for a
moment, has not changed, and one that is being written is read when it has
been quiet for a second.
"""

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator
from pathlib import Path

from claw.core.times import until_tick
from claw.core.value import Value

LOOK_S = 2.0
QUIET_S = 1.0
_MOST_LOOKS = 5  # at a file that is never quiet


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
                  look_s: float = LOOK_S, quiet_s: float = QUIET_S
                  ) -> AsyncGenerator[None]:
    """Yields once for each change of the content, for ever.

    `known` is the stamp of what was loaded, so that a change between
    loading and watching is not missed; without it the file as it is now.
    """
    known = known or await asyncio.to_thread(stamp, path)
    seen = _look(path)
    while True:
        current = await asyncio.to_thread(stamp, path)
        changed = current is not None and (
            known is None or current.digest != known.digest)
        known = current or known
        if changed:
            yield
        while (now := _look(path)) == seen:  # noqa: ASYNC110
            await asyncio.sleep(until_tick(look_s))
        for _ in range(_MOST_LOOKS):
            seen = now
            await asyncio.sleep(quiet_s)
            if (now := _look(path)) == seen:
                break


def _look(path: Path) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns,
            found.st_ctime_ns)
