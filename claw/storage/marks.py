"""How far a channel has read: <workspace>/state/marks/NAME.json.

    {"sync": "s72594_4483_1934", "channel:42": "1187"}

Written whole and in place, without waiting for the disk: after a power cut
a mark may be an older one, and what comes again for it is known by its id.
Read anew whenever it changed: a standby that takes over goes on where the
process before it stopped.
"""

import json
import os
from pathlib import Path

from claw.core.errors import ClawError
from claw.core.log import Log, silent
from claw.security.files import nofollow

MOST = 5_000  # keys; the oldest go
_MOST_BYTES = 8 * 2**20


class MarksFile:
    """The marks of one channel (core.channel.KeepsMarks)."""

    def __init__(self, path: Path, log: Log = silent) -> None:
        self._path = path
        self._log = log
        self._seen: tuple[int, int, int] | None = None
        self._marks: dict[str, str] = {}
        self._failed = False

    def get(self, key: str) -> str | None:
        self._refresh()
        return self._marks.get(key)

    def keys(self) -> tuple[str, ...]:
        self._refresh()
        return tuple(self._marks)

    def set(self, key: str, value: str | None) -> None:
        if self.get(key) == value:
            return
        if value is None:
            del self._marks[key]
        else:
            self._marks[key] = value
            while len(self._marks) > MOST:
                del self._marks[next(iter(self._marks))]
        self._write()

    def _refresh(self) -> None:
        try:
            found = os.stat(self._path, follow_symlinks=False)
            seen = (found.st_ino, found.st_mtime_ns, found.st_size)
            if seen == self._seen:
                return
            self._marks, self._seen = _parse(nofollow.read(
                *nofollow.split(self._path), _MOST_BYTES)), seen
        except FileNotFoundError:
            if self._seen is not None:
                self._marks, self._seen = {}, None
        except (OSError, ValueError, ClawError) as error:
            self._tell(error)

    def _write(self) -> None:
        try:
            nofollow.write(*nofollow.split(self._path), [
                json.dumps(self._marks).encode()], sync=False)
            found = os.stat(self._path, follow_symlinks=False)
            self._seen = (found.st_ino, found.st_mtime_ns, found.st_size)
            self._failed = False
        except (OSError, ClawError) as error:
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        if not self._failed:
            self._log("marks.error", error=f"{self._path}: {error}",
                      hint="check the disk: after a restart the channel "
                           "reads from an older place")
        self._failed = True


def _parse(data: bytes) -> dict[str, str]:
    marks = json.loads(data)
    if not isinstance(marks, dict) or not all(
            isinstance(value, str) for value in marks.values()):
        raise ValueError("it is not in the form that claw writes")
    return marks
