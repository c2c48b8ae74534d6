"""One session file: opening under a lock, both ends, appending, replacing.

Raises OSError, which `sessions` translates, and StorageError for a link.
"""

import errno
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from claw.security.files import nofollow

_BLOCK = 65_536
_FIRST_BLOCK = 4_096
_HEAD_BYTES = 4 << 20

Record = dict[str, Any]


def json_line(value: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(value).encode() + b"\n"


def json_object(line: bytes) -> Record | None:
    """The object of a line, None where it holds none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class SessionFile:
    """An open session file: JSON lines, a header first."""

    def __init__(self, workspace: Path, path: Path, descriptor: int
                 ) -> None:
        self._workspace = workspace
        self._path = path
        self.descriptor = descriptor

    @classmethod
    def open(cls, workspace: Path, path: Path) -> "SessionFile":
        """Open to read."""
        return cls(workspace, path, nofollow.open_file(workspace, path))

    @classmethod
    def open_locked(cls, workspace: Path, path: Path, *, create: bool
                    ) -> "SessionFile":
        """Open and lock. Another process may have replaced the file while
        this one waited; then the name leads elsewhere and it tries anew."""
        flags = os.O_RDWR | os.O_APPEND
        while True:
            descriptor = nofollow.open_file(
                workspace, path, flags | (os.O_CREAT if create else 0))
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            there = nofollow.status(workspace, path)
            if there is not None and os.path.samestat(
                    os.fstat(descriptor), there):
                return cls(workspace, path, descriptor)
            os.close(descriptor)
            if there is None and not create:
                raise FileNotFoundError(errno.ENOENT, os.strerror(
                    errno.ENOENT), str(path))

    def close(self) -> None:
        os.close(self.descriptor)

    def size(self) -> int:
        return os.fstat(self.descriptor).st_size

    def sync(self) -> None:
        os.fsync(self.descriptor)

    def ends_whole(self) -> bool:
        return os.pread(self.descriptor, 1, self.size() - 1) == b"\n"

    def header(self) -> Record | None:
        """The first line where it is a header."""
        head = json_object(self._first_line())
        return head if head is not None and "session" in head else None

    def created_at(self) -> str | None:
        head = self.header()
        return None if head is None else head.get("created_at")

    def count(self) -> int:
        """Records so far: `n` of the last whole line, else a count."""
        for line in self._lines_from_end():
            record = json_object(line)
            if record is not None and isinstance(record.get("n"), int):
                return int(record["n"])
            if record is not None and "session" in record:
                return 0
            if record is not None:
                break
        return self._count()

    def append(self, data: bytes) -> None:
        """Write all, or leave the file as it was."""
        before = self.size()
        try:
            _write_all(self.descriptor, data)
        except OSError:
            os.ftruncate(self.descriptor, before)
            raise

    def read(self) -> bytes:
        return os.pread(self.descriptor, self.size(), 0)

    def replace(self, data: bytes, *, keep_time: bool = False) -> None:
        """New content under the old name; the old file stays whole until
        the rename."""
        nofollow.write(self._workspace, self._path, (data,),
                       keep_time=keep_time)

    def remove(self) -> None:
        nofollow.remove(self._workspace, self._path)

    def tail(self, most: int) -> list[Record]:
        """The last records, oldest of them first; read from the end."""
        found: list[Record] = []
        for line in self._lines_from_end():
            record = json_object(line)
            if record is not None and "session" not in record:
                found.append(record)
            if len(found) >= most:
                break
        return found[::-1]

    def head(self, most: int) -> list[Record]:
        """The first records; only the beginning of the file is read, and
        what is longer than that is none."""
        data = b""
        while len(data) < _HEAD_BYTES and data.count(b"\n") <= most:
            block = os.pread(self.descriptor, _BLOCK, len(data))
            if not block:
                break
            data += block
        records = (json_object(line) for line in data.split(b"\n"))
        return [record for record in records if record is not None
                and "session" not in record][:most]

    def _count(self) -> int:
        records = sum(json_object(line) is not None
                      for line in self.read().split(b"\n"))
        return records - (self.header() is not None)

    def _first_line(self) -> bytes:
        data = b""
        while block := os.pread(self.descriptor, _BLOCK, len(data)):
            data += block
            if b"\n" in block:
                break
        return data.partition(b"\n")[0]

    def _lines_from_end(self) -> Iterator[bytes]:
        """Lines, last first, reading backwards in growing blocks: mostly
        the last line is wanted, and short."""
        position, tail, block = self.size(), b"", _FIRST_BLOCK
        while position > 0:
            start, block = max(0, position - block), _BLOCK
            tail = os.pread(self.descriptor, position - start, start) + tail
            position = start
            parts = tail.split(b"\n")
            if position > 0:
                tail, parts = parts[0], parts[1:]
            yield from (part for part in reversed(parts) if part)
            if position == 0:
                return


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view):]
