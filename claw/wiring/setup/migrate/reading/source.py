"""Another agent's folder, opened to read and bounded.

Nothing below the root is reached through a link, no device or pipe is
opened, and a text has at most 8 MiB. What could not be read is noted, and
the rest goes on. A database is read from a copy of it and of its log, so
that nothing is made beside it and a live one is not locked.
"""

import os
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from claw.core.errors import StorageError
from claw.security.files import nofollow
from claw.storage.foreign import open_foreign
from claw.wiring.setup.migrate.reading.bounds import check_values
from claw.wiring.setup.migrate.reading.json5 import parse_json5

MOST_TEXT = 8 << 20
MOST_DATABASE = 4 << 30
_MOST_NAMES = 20_000
_MOST_DEPTH = 4
_TRIES = 3
_SPARE = 64 << 20  # bytes that stay free beside a copy
PREFIX = "claw-migrate-"
_STALE_S = 86_400.0


class _Copies:
    """Copies of databases in a folder, each made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[Path, Path | None] = {}

    def find(self, source: "Source", name: str) -> Path | None:
        """The copy; None where none could be made."""
        path = source.root / name
        if path not in self._made:
            copy = self._folder / f"{len(self._made)}.db"
            self._made[path] = copy if source.has(name) \
                and source.copy_database(name, copy) else None
        return self._made[path]


_copies: ContextVar[_Copies | None] = ContextVar("_copies", default=None)


@contextmanager
def keeping_copies() -> Iterator[_Copies]:
    """While this is open a database is copied but once, however often it is
    asked for. The copies go with it, and those that a kill left behind."""
    _remove_stale(Path(tempfile.gettempdir()), time.time() - _STALE_S)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        copies = _Copies(Path(folder))
        token = _copies.set(copies)
        try:
            yield copies
        finally:
            _copies.reset(token)


def _remove_stale(folder: Path, before: float) -> None:
    """Folders of copies that nobody has touched since."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) \
                    and entry.is_dir(follow_symlinks=False):
                found = entry.stat(follow_symlinks=False)
                if found.st_uid == os.geteuid() and found.st_mtime < before:
                    shutil.rmtree(entry.path, ignore_errors=True)


class Source:
    """A folder of another agent; `notes` hears what could not be read. A
    workspace lies below its `base`, and no link leads there."""

    def __init__(self, root: Path, notes: list[str], *,
                 base: Path | None = None) -> None:
        self.root = root
        self._base = base or root
        self._notes = notes

    def note(self, text: str) -> None:
        """Keep a sentence about what could not be read, once."""
        if text not in self._notes:
            self._notes.append(text)

    def read(self, name: str, most: int = MOST_TEXT) -> bytes | None:
        """The bytes of a file; None where it is not there, or can't be
        read, which is noted."""
        with self._noting(name):
            data = nofollow.read(self._base, self.root / name, most + 1)
            if len(data) <= most:
                return data
            self.note(f"{self.root / name} was left out: it is longer than "
                      f"{most >> 20} MiB")
        return None

    def text(self, name: str) -> str | None:
        """A file as text, what is no UTF-8 replaced."""
        data = self.read(name)
        return None if data is None else data.decode("utf-8-sig", "replace")

    def json(self, name: str) -> Any:
        """A file as JSON or JSON5; None where there is none that can be
        read."""
        text = self.text(name)
        if text is None:
            return None
        try:
            found = parse_json5(text)
            check_values(found)
            return _without_surrogates(found)
        except ValueError as error:
            self.note(f"{self.root / name} was left out: {error}")
            return None

    def names(self, folder: str, *, folders: bool = False) -> list[str]:
        """The files in a folder, or with `folders` the folders in it."""
        wanted = stat.S_ISDIR if folders else stat.S_ISREG
        with self._noting(folder), \
                nofollow.hold_folder(self._base, self.root / folder) as number:
            listed = sorted(os.listdir(number))
            if len(listed) > _MOST_NAMES:
                self.note(f"{self.root / folder} holds {len(listed):,} "
                          f"names; the first {_MOST_NAMES:,} were looked at")
            return [name for name in listed[:_MOST_NAMES]
                    if (found := nofollow.status_in(number, name))
                    and wanted(found.st_mode)]
        return []

    def walk(self, folder: str, ending: str, depth: int = _MOST_DEPTH
             ) -> Iterator[str]:
        """The files below a folder whose names end so, as paths below the
        root; hidden ones are left out."""
        for name in self.names(folder):
            if name.endswith(ending) and not name.startswith("."):
                yield f"{folder}/{name}"
        if depth:
            for name in self.names(folder, folders=True):
                if not name.startswith("."):
                    yield from self.walk(f"{folder}/{name}", ending,
                                         depth - 1)

    def has(self, name: str) -> bool:
        """Whether a file stands there, no link."""
        with self._noting(name):
            found = nofollow.status(self._base, self.root / name)
            return found is not None and stat.S_ISREG(found.st_mode)
        return False

    def copy(self, name: str, target: Path, most: int = MOST_TEXT) -> bool:
        """Copy a file with its time; whether it could be read."""
        with self._noting(name):
            number = nofollow.open_file(self._base, self.root / name)
            with open(number, "rb") as file, open(target, "wb") as copy:
                found = os.fstat(number)
                if found.st_size > most:
                    self.note(f"{self.root / name} was left out: it is "
                              f"larger than {most >> 20} MiB")
                    return False
                free = shutil.disk_usage(target.parent).free
                if found.st_size + _SPARE > free:
                    self.note(f"{self.root / name} was left out: a copy of "
                              f"it has no room in {target.parent.parent}")
                    return False
                shutil.copyfileobj(file, copy, 1 << 20)
            os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
            return True
        return False

    def copy_database(self, name: str, target: Path) -> bool:
        """Copy a database with its log, again where somebody wrote
        meanwhile; whether a whole copy was made."""
        for _ in range(_TRIES):
            before = self._look(name)
            if not self.copy(name, target, MOST_DATABASE):
                return False
            log = Path(f"{target}-wal")
            log.unlink(missing_ok=True)
            if self.has(f"{name}-wal") and not self.copy(
                    f"{name}-wal", log, MOST_DATABASE):
                return False
            if self._look(name) == before:
                return True
        self.note(f"{self.root / name} was left out: its agent is writing "
                  "to it; stop that agent and try again")
        return False

    @contextmanager
    def database(self, name: str) -> Iterator[sqlite3.Connection | None]:
        """A copy of a database, open to read for a bounded time; None where
        there is none that can be read. One copy serves all that ask below
        `keeping_copies`."""
        with ExitStack() as stack:
            copies = _copies.get() or stack.enter_context(keeping_copies())
            copy = copies.find(self, name)
            if copy is None:
                yield None
                return
            is_open = False
            try:
                with open_foreign(copy) as connection:
                    is_open = True
                    yield connection
            except sqlite3.Error as error:
                self.note(f"{self.root / name}: {error}")
                if not is_open:
                    yield None

    def _look(self, name: str) -> tuple[tuple[int, int] | None, ...]:
        found = (nofollow.status(self._base, self.root / part)
                 for part in (name, f"{name}-wal"))
        return tuple(each and (each.st_size, each.st_mtime_ns)
                     for each in found)

    @contextmanager
    def _noting(self, name: str) -> Iterator[None]:
        """What can't be read is noted; what is not there is not."""
        try:
            yield
        except (FileNotFoundError, NotADirectoryError):
            return
        except StorageError as error:
            self.note(f"{error.message}; it was left out")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            self.note(f"{self.root / name} was left out: {reason}")


def _without_surrogates(value: Any) -> Any:
    """The value with halves of surrogate pairs, which are no text,
    replaced."""
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(each)
                for key, each in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(each) for each in value]
    return value.encode(errors="replace").decode() \
        if isinstance(value, str) else value

