"""Changes of config.toml while claw runs.

A look at the file's times and size every two seconds, at the moments at
which the process is awake anyway: no thread, and the same on every file
system. Its content decides: a file that was touched, or is missing for a
moment, has not changed.
"""

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator
from pathlib import Path

from claw.core.times import until_tick
from claw.core.value import Value

POLL_S = 2.0


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
                  poll_s: float = POLL_S) -> AsyncGenerator[None]:
    """Yields once for each change of the content, for ever.

    `known` is the stamp of what was loaded, so that a change between
    loading and watching is not missed; without it the file as it is now.
    A file that is being written is read once two looks found the same.
    """
    known = known or await asyncio.to_thread(stamp, path)
    read: object = None
    looked = _look(path)
    while True:
        before, looked = looked, _look(path)
        if looked is not None and looked == before and looked != read:
            read = looked
            current = await asyncio.to_thread(stamp, path)
            changed = current is not None and (
                known is None or current.digest != known.digest)
            known = current or known
            if changed:
                yield
        await asyncio.sleep(until_tick(poll_s))


def _look(path: Path) -> object:
    """What differs when the file was changed; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns,
            found.st_ctime_ns)
