"""What goes into a backup, and in which order.

The order is what makes a copy of a running claw whole. Marks may be older
than the queue and never newer, so they come first; a job's slot may be free
again while its delivery is in the queue, which then knows it, and not the
other way round; the queue holds what the memory and the session files lack,
so they come after it. Links are not followed.
"""

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from claw.core.value import Value

# What a process leaves beside its files, and says of itself while it runs.
_PASSING = ("*-wal", "*-shm", "*-journal", "*.lock", ".claw-*.tmp",
            "state/listen.json", "state/gateway.json")
_FOLDERS = ("state/backups", "*/__pycache__", "__pycache__")
_FIRST = ("state/marks/*", "state/people.json", "state/jobs.db",
          "state/queue.db")
_SQLITE = b"SQLite format 3\0"


class Source(Value):
    """A file to copy: its `name` in the archive, and where it lies."""

    name: str
    path: Path
    is_database: bool = False


class Skipped(Value):
    """What is not in the archive, and why."""

    name: str
    why: str


def collect(home: Path, workspace: Path) -> tuple[list[Source],
                                                  list[Skipped]]:
    """The files of both folders, in the order to copy them in."""
    sources: list[Source] = []
    skipped: list[Skipped] = []
    for found in (*_look("workspace", workspace, ()),
                  *_look("home", home, (workspace,))):
        if isinstance(found, Source):
            sources.append(found)
        else:
            skipped.append(found)
    return sorted(sources, key=_rank), skipped


def _rank(source: Source) -> tuple[int, bool, bool]:
    root, _, name = source.name.partition("/")
    first = next((number for number, pattern in enumerate(_FIRST)
                  if root == "workspace" and fnmatch(name, pattern)),
                 len(_FIRST))
    return first, not source.is_database, root == "home"


def _look(root: str, top: Path, without: tuple[Path, ...]
          ) -> Iterator[Source | Skipped]:
    for folder, folders, files in os.walk(top):
        here = Path(folder)
        for name in sorted(folders):
            path = here / name
            inside = path.relative_to(top).as_posix()
            if path in without or any(fnmatch(inside, one)
                                      for one in _FOLDERS):
                folders.remove(name)
            elif path.is_symlink():
                yield Skipped(f"{root}/{inside}", "a link")
        folders.sort()
        for name in sorted(files):
            inside = (here / name).relative_to(top).as_posix()
            if not any(fnmatch(inside, one) for one in _PASSING):
                yield from _look_at(f"{root}/{inside}", here / name)


def _look_at(name: str, path: Path) -> Iterator[Source | Skipped]:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            yield Source(name, path, _is_database(path))
            return
    except FileNotFoundError:  # it was only passing
        return
    except OSError as error:
        yield Skipped(name, error.strerror or str(error))
        return
    yield Skipped(name, "a link" if stat.S_ISLNK(mode) else "no file")


def _is_database(path: Path) -> bool:
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(number, "rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE
