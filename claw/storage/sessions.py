"""Session files: one conversation a file, one JSON object a line.

    {"session": "work", "created_at": "2026-03-22T06:30:00Z"}
    {"n": 1, "at": "2026-03-22T06:30:00Z", "type": "Chat", "data": {...}}

The first line names the session, since a file name can not hold every key.
Lines are only ever appended, under a lock; rewriting goes through a new
file and a rename. A last line that a crash cut off is closed by the next
writer and passed over by readers. `n` counts the lines, so that a listing
needs only both ends of a file.

A file of bare {"role", "content"} lines without a header is read too; its
name is its key.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claw.core.errors import NotFoundError, StorageError, UsageError
from claw.core.value import Value
from claw.storage.session_file import SessionFile, json_line, json_object

Record = dict[str, Any]

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_NAME_CHARS = 60


class SessionInfo(Value):
    """What a listing says; `updated_at` is RFC 3339 in UTC."""

    key: str
    messages: int
    updated_at: str
    size_bytes: int
    path: Path


class Session(Value):
    """A session as it was read; `damaged` lines could not be."""

    key: str
    created_at: str | None
    records: list[Record]
    damaged: int


def file_name(key: str) -> str:
    """A readable part of the key and a hash of all of it."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass"))
    readable = _UNSAFE.sub("_", key)[:_NAME_CHARS].strip("._-")
    return f"{readable or 'session'}-{digest.hexdigest()[:16]}.jsonl"


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(
        timespec="seconds").replace("+00:00", "Z")


class SessionStore:
    """The session files of one directory; safe between processes.

    `sync` waits until an append is on the disk. Raises StorageError where
    the disk or a file fails.
    """

    def __init__(self, directory: Path, *, sync: bool = False,
                 now: Callable[[], datetime] = _utc_now) -> None:
        self._directory = directory
        self._sync = sync
        self._now = now

    def append(self, key: str, records: Iterable[Record]) -> None:
        """Write the records at the end, in one piece."""
        with self._locked(key, create=True) as file:
            at = _stamp(self._now())
            head, count = b"", 0
            if file.size() == 0:
                head = json_line({"session": key, "created_at": at})
            else:
                head = b"" if file.ends_whole() else b"\n"
                count = file.count()
            file.append(head + _numbered(records, count, at))
            if self._sync:
                file.sync()

    def read(self, key: str) -> Session:
        """The whole session. Raises NotFoundError where there is none."""
        path = self._find(key)
        if path is None:
            raise _unknown(key)
        with _translated(path):
            return _session(path.stem, path.read_bytes())

    def load(self, key: str) -> list[Record]:
        """The records; none where there is no such session."""
        return self.read(key).records if self._find(key) else []

    def tail(self, key: str, most: int) -> list[Record]:
        """The last records, oldest of them first; however long the
        session is, only its end is read. None where there is none."""
        path = self._find(key)
        if path is None:
            return []
        with _translated(path):
            file = SessionFile(path, os.open(path, os.O_RDONLY
                                             | os.O_CLOEXEC))
            try:
                return file.tail(most)
            finally:
                file.close()

    def replace(self, key: str, records: Iterable[Record]) -> None:
        """Put these records in the place of all others, atomically."""
        with self._locked(key, create=True) as file:
            at = _stamp(self._now())
            head = json_line({"session": key,
                          "created_at": file.created_at() or at})
            file.replace(head + _numbered(records, 0, at))

    def clear(self, key: str) -> bool:
        """Remove the session; whether there was one."""
        if self._find(key) is None:
            return False
        with self._locked(key, create=False) as file:
            file.remove()
        return True

    def list(self) -> list[SessionInfo]:
        """All sessions, the one written last first."""
        with _translated(self._directory):
            found = [info for path in sorted(self._directory.glob("*.jsonl"))
                     if path.is_file() and (info := _info(path))] \
                if self._directory.is_dir() else []
        return sorted(found, key=lambda info: info.updated_at, reverse=True)

    def export(self, key: str) -> Iterator[Record]:
        """The header, then every record."""
        session = self.read(key)
        yield {"session": session.key, "created_at": session.created_at}
        yield from session.records

    def _find(self, key: str) -> Path | None:
        for name in (file_name(key), f"{key}.jsonl"):
            path = self._directory / name
            with _translated(path):
                if (name == file_name(key) or _is_plain(key)) \
                        and os.path.lexists(path):
                    return path
        return None

    @contextmanager
    def _locked(self, key: str, *, create: bool) -> Iterator[SessionFile]:
        if not key:
            raise UsageError("a session needs a name")
        path = self._find(key) or self._directory / file_name(key)
        with _translated(path):
            if create:
                self._directory.mkdir(parents=True, exist_ok=True,
                                      mode=0o700)
            file = SessionFile.locked(path, create=create)
        try:
            with _translated(path):
                yield file
        finally:
            file.close()


def _is_plain(key: str) -> bool:
    return (not _UNSAFE.search(key) and not key.startswith(".")
            and len(key) <= 200)


def _unknown(key: str) -> NotFoundError:
    return NotFoundError(f"there is no session {key!r}",
                         hint="list them with: claw session list")


def _numbered(records: Iterable[Record], count: int, at: str) -> bytes:
    return b"".join(
        json_line({"n": number, "at": record.get("at", at), **{
            k: v for k, v in record.items() if k not in ("n", "at")}})
        for number, record in enumerate(records, count + 1))


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}",
                           hint="check the workspace directory (claw config "
                                "path)") from error


def _session(stem: str, data: bytes) -> Session:
    lines = [line for line in data.split(b"\n") if line]
    objects = [json_object(line) for line in lines]
    head = objects[0] if objects else None
    key, created = stem, None
    if head is not None and "session" in head:
        key, created = str(head["session"]), head.get("created_at")
        objects = objects[1:]
    records = [value for value in objects if value is not None]
    return Session(key, created, records, len(objects) - len(records))


def _info(path: Path) -> SessionInfo | None:
    """Both ends of a file; None for one that went away meanwhile."""
    try:
        file = SessionFile(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except FileNotFoundError:
        return None
    try:
        stat = os.fstat(file.descriptor)
        head = file.header()
        return SessionInfo(
            str(head["session"]) if head else path.stem, file.count(),
            _stamp(datetime.fromtimestamp(stat.st_mtime, UTC)),
            stat.st_size, path)
    finally:
        file.close()
