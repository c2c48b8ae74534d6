"""How much of the disk claw takes: <workspace>/state/disk_use.json, a sample
a day.

    [{"at": 1795766400.0, "parts": {"queue": 831488, "log": 335872}}, ...]

Sizes are bytes. A part is a database with its side files, or a folder; what
grows is told by these samples, since a database does not say when it grew.
"""

import json
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

import msgspec

from claw.core.errors import ClawError
from claw.core.value import Value
from claw.security.files import nofollow

DAY_S = 86_400.0
KEPT = 60
# Growth of the last days counts: what levelled off before is no growth.
FITTED_S = 14 * DAY_S
_NAME = "state/disk_use.json"
_MOST_BYTES = 1 << 20
_MOST_FILES = 1_000_000


class Sample(msgspec.Struct, frozen=True):
    """What each part took at a moment."""

    at: float
    parts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.parts.values())


class Forecast(Value):
    """Bytes now and a day more, of all and of each part; `days_left` until
    the disk is full, None where nothing grows or too little is known."""

    now: int
    parts: Mapping[str, tuple[int, float | None]]
    a_day: float | None = None
    days_left: float | None = None


def measure(home: Path, workspace: Path) -> dict[str, int]:
    """Bytes on the disk of each part. What can't be looked at is left
    out."""
    sizes: Counter[str] = Counter()
    for top, prefix in ((workspace, ""), (home, "home/")):
        for path, size in _walk(top, workspace if prefix else None):
            sizes[prefix + _name_part(path)] += size
    return dict(sizes)


def _walk(top: Path, without: Path | None) -> Iterator[tuple[str, int]]:
    seen = 0
    for folder, folders, names, number in os.fwalk(
            top, follow_symlinks=False):
        if without is not None:
            folders[:] = [name for name in folders
                          if Path(folder, name) != without]
        for name in names:
            with suppress(OSError):
                found = os.stat(name, dir_fd=number, follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    yield (os.path.relpath(os.path.join(folder, name), top),
                           found.st_blocks * 512)
        seen += len(names)
        if seen > _MOST_FILES:
            return


def _name_part(path: str) -> str:
    first, *rest = PurePosixPath(path).parts
    if first == "state" and rest and ".db" in rest[0]:
        return rest[0].partition(".db")[0]
    return first if rest else "other files"


def read_samples(workspace: Path) -> list[Sample]:
    """Oldest first; none where the file is not there or can't be read."""
    with suppress(OSError, ClawError, msgspec.MsgspecError, ValueError,
                  RecursionError):
        return msgspec.convert(json.loads(nofollow.read(
            workspace, _NAME, _MOST_BYTES)), list[Sample])
    return []


def note_sample(home: Path, workspace: Path, now: float) -> bool:
    """Keep what each part takes, once a day; whether it was due. Raises
    OSError, StorageError."""
    kept = read_samples(workspace)
    if kept and 0 <= now - kept[-1].at < DAY_S:
        return False
    # A clock that was set back leaves no samples of the future.
    kept = [one for one in kept if one.at < now][1 - KEPT:]
    kept.append(Sample(now, measure(home, workspace)))
    nofollow.write(workspace, _NAME, (msgspec.json.encode(kept),))
    return True


def forecast(samples: Sequence[Sample], now: Sample, free: int) -> Forecast:
    """Growth a day since the oldest sample of the last FITTED_S. Pure.
    Needs one that is a day old."""
    old = next((one for one in samples
                if DAY_S <= now.at - one.at <= FITTED_S), None)
    if old is None:
        return Forecast(now.total, {
            name: (size, None) for name, size in now.parts.items()})
    days = (now.at - old.at) / DAY_S
    grown = {name: (size, (size - old.parts.get(name, 0)) / days)
             for name, size in now.parts.items()}
    a_day = (now.total - old.total) / days
    return Forecast(now.total, grown, a_day,
                    free / a_day if a_day > 0 else None)
