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

Hygiene moves sessions that nobody uses into the folder archive, and removes
them from there when they are old. One that is archived is listed and read
where it stands, and who writes to it brings it back. Of two of one name that
which was written last is the session. From one that is always in use it
removes what is as old as that.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

from claw.core.errors import NotFoundError, StorageError, UsageError
from claw.core.value import Value, replace
from claw.security.files import nofollow
from claw.storage import session_place as place
from claw.storage.session_file import SessionFile, json_line, json_object
from claw.storage.session_place import file_name as file_name

Record = dict[str, Any]

SPARED = 200  # the newest records of a session, however old
_TRIES = 3  # a file may be moved between looking and opening

T = TypeVar("T")


class SessionInfo(Value):
    """What a listing says; `updated_at` is RFC 3339 in UTC."""

    key: str
    messages: int
    updated_at: str
    size_bytes: int
    path: Path
    archived: bool = False


class Session(Value):
    """A session as it was read; `damaged` lines could not be."""

    key: str
    created_at: str | None
    records: list[Record]
    damaged: int


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _keep_all(record: Record) -> Record:
    return record


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(
        timespec="seconds").replace("+00:00", "Z")


class SessionStore:
    """The session files of one directory; safe between processes.

    `sync` waits until an append is on the disk; each record is written as
    `clean` gives it back. Raises StorageError where the disk or a file
    fails.
    """

    def __init__(self, directory: Path, *, sync: bool = False,
                 now: Callable[[], datetime] = _utc_now,
                 clean: Callable[[Record], Record] = _keep_all) -> None:
        self._workspace = directory.parent
        self._directory = directory
        self._sync = sync
        self._now = now
        self._clean = clean

    def append(self, key: str, records: Iterable[Record]) -> None:
        """Write the records at the end, in one piece."""
        with self._lock(key, create=True) as file:
            at = _stamp(self._now())
            head, count = b"", 0
            if file.size() == 0:
                head = json_line({"session": key, "created_at": at})
            else:
                head = b"" if file.ends_whole() else b"\n"
                count = file.count()
            file.append(head + _number_lines(
                map(self._clean, records), count, at))
            if self._sync:
                file.sync()

    def read(self, key: str) -> Session:
        """The whole session. Raises NotFoundError where there is none."""
        found = self._read(key, self._read_whole)
        if found is None:
            raise _explain_unknown(key)
        return found

    def load(self, key: str) -> list[Record]:
        """The records; none where there is no such session."""
        found = self._read(key, self._read_whole)
        return [] if found is None else found.records

    def tail(self, key: str, most: int) -> list[Record]:
        """The last records, oldest of them first; however long the
        session is, only its end is read. None where there is none."""
        return self._look(key, lambda file: file.tail(most))

    def head(self, key: str, most: int) -> list[Record]:
        """The first records; only the beginning of the file is read."""
        return self._look(key, lambda file: file.head(most))

    def _look(self, key: str, take: Callable[[SessionFile], list[Record]]
              ) -> list[Record]:
        def look(path: Path) -> list[Record]:
            file = SessionFile.open(self._workspace, path)
            try:
                return take(file)
            finally:
                file.close()
        return self._read(key, look) or []

    def replace(self, key: str, records: Iterable[Record]) -> None:
        """Put these records in the place of all others, atomically."""
        with self._lock(key, create=True) as file:
            at = _stamp(self._now())
            head = json_line({"session": key,
                          "created_at": file.created_at() or at})
            file.replace(head + _number_lines(
                map(self._clean, records), 0, at))

    def count_old(self, key: str, before: datetime) -> int:
        """How many records `shorten` would remove."""
        first = self.head(key, 1)
        return (_count_old(self.load(key), _stamp(before))
                if first and _is_old(first[0], _stamp(before)) else 0)

    def shorten(self, key: str, before: datetime) -> int:
        """Remove the records from before a moment, but never the newest
        200; how many. The time of its last change stays: it says when
        somebody last wrote."""
        with self._lock(key, create=False) as file:
            records = _session(key, file.read()).records
            old = _count_old(records, _stamp(before))
            if old:
                head = json_line({"session": key,
                                  "created_at": file.created_at()})
                file.replace(head + _number_lines(records[old:], 0, ""),
                             keep_time=True)
            return old

    def clear(self, key: str) -> bool:
        """Remove the session, also from the archive; whether there was
        one."""
        removed = False
        if self._find(key) is not None:
            with suppress(NotFoundError), \
                    self._lock(key, create=False) as file:
                # While nobody can bring one of them back.
                self._clear_archive(key)
                file.remove()
                removed = True
        return self._clear_archive(key) or removed

    def list(self) -> list[SessionInfo]:
        """All sessions, archived ones too, the one written last first."""
        with _translate_errors(self._directory):
            found = _infos(self._workspace, self._directory)
            known = {info.key for info in found}
            for info in sorted(
                    _infos(self._workspace, self._directory / place.ARCHIVE),
                    key=_written, reverse=True):
                if info.key not in known:
                    known.add(info.key)
                    found.append(replace(info, archived=True))
        return sorted(found, key=_written, reverse=True)

    def export(self, key: str) -> Iterator[Record]:
        """The header, then every record."""
        session = self.read(key)
        yield {"session": session.key, "created_at": session.created_at}
        yield from session.records

    def _read(self, key: str, look: Callable[[Path], T]) -> T | None:
        """What a look at the file gives; None where there is none."""
        for tries in range(1, _TRIES + 1):
            path = self._find(key)
            if path is None:
                return None
            with _translate_errors(path):
                try:
                    return look(path)
                except FileNotFoundError:
                    if tries == _TRIES:
                        raise
        return None

    def _read_whole(self, path: Path) -> Session:
        return _session(path.stem, nofollow.read(self._workspace, path))

    def _find(self, key: str) -> Path | None:
        with _translate_errors(self._directory):
            return place.find_readable(self._directory, key)

    def _clear_archive(self, key: str) -> bool:
        with _translate_errors(self._directory / place.ARCHIVE):
            archived = place.find_archived(self._directory, key)
            for path in archived:
                nofollow.remove(self._workspace, path)
        return bool(archived)

    def _brought_back(self, key: str, file: SessionFile,
                      path: Path) -> SessionFile:
        """The file of a session that stands in the archive, locked, in the
        place of an empty one that is locked: who waits for that one finds
        another under its name, and looks again."""
        for archived in reversed(place.find_archived(self._directory, key)):
            with suppress(FileNotFoundError):  # removed for its age just now
                old = SessionFile.open_locked(self._workspace, archived,
                                              create=False)
                try:
                    nofollow.rename(self._workspace, archived, path)
                except OSError:
                    old.close()
                    raise
                file.close()
                return SessionFile(self._workspace, path, old.descriptor)
        return file

    @contextmanager
    def _lock(self, key: str, *, create: bool) -> Iterator[SessionFile]:
        if not key:
            raise UsageError("a session needs a name")
        with _translate_errors(self._directory):
            path = place.find_writable(self._directory, key)
        with _translate_errors(path):
            try:
                file = SessionFile.open_locked(self._workspace, path,
                                               create=create)
            except FileNotFoundError:  # archived or removed meanwhile
                raise _explain_unknown(key) from None
        try:
            with _translate_errors(path):
                if create and file.size() == 0:
                    file = self._brought_back(key, file, path)
                yield file
        finally:
            file.close()


def _explain_unknown(key: str) -> NotFoundError:
    return NotFoundError(f"there is no session {key!r}",
                         hint="list them with: claw session list")


def _count_old(records: Sequence[Record], before: str) -> int:
    return sum(1 for _ in takewhile(lambda record: _is_old(record, before),
                                    records[:-SPARED]))


def _is_old(record: Record, before: str) -> bool:
    """Whether it was written before; what does not say when was not."""
    at = record.get("at")
    return isinstance(at, str) and at < before


def _number_lines(records: Iterable[Record], count: int, at: str) -> bytes:
    return b"".join(
        json_line({"n": number, "at": record.get("at", at), **{
            k: v for k, v in record.items() if k not in ("n", "at")}})
        for number, record in enumerate(records, count + 1))


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
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


def _written(info: SessionInfo) -> str:
    return info.updated_at


def _infos(workspace: Path, folder: Path) -> list[SessionInfo]:
    """Of the sessions of a folder. What is no file of its own is left out,
    and refused where it is opened."""
    try:
        with nofollow.hold_folder(workspace, folder) as number:
            names = sorted(name for name in os.listdir(number)
                           if name.endswith(".jsonl"))
            return [info for name in names if (info := _info(
                workspace, folder / name, number))]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _info(workspace: Path, path: Path, folder: int) -> SessionInfo | None:
    """Both ends of a file; None for one that went away meanwhile."""
    there = nofollow.status_in(folder, path.name)
    if there is None or not nofollow.is_plain(there):
        return None
    try:
        file = SessionFile(workspace, path, nofollow.open_in(
            folder, path.name, path, os.O_RDONLY))
    except FileNotFoundError:
        return None
    try:
        head = file.header()
        return SessionInfo(
            str(head["session"]) if head else path.stem, file.count(),
            _stamp(datetime.fromtimestamp(there.st_mtime, UTC)),
            there.st_size, path)
    finally:
        file.close()
