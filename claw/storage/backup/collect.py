"""What goes into a backup, and in which order.

The order is what makes a copy of a running claw whole. Marks may be older
than the queue and never newer, so they come first; a job's slot may be free
again while its delivery is in the queue, which then knows it, and not the
other way round; the queue holds what the memory and the session files lack,
so they come after it. Links are not followed, and named as left out; but
config.toml may be one (dotfiles), and what it leads to is the settings.

SQLite opens claw's own databases alone, which no command of the agent writes.
Any other is copied byte for byte, with its log.
"""

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from claw.core.errors import ClawError
from claw.core.value import Value
from claw.security.files import beneath
from claw.security.files.walk import Walk
from claw.storage.backup.journal import FOLDER

# What a process writes before it renames it, and says of itself while it
# runs. A file of the owner's may be called anything else: Cargo.lock too.
_PASSING = (".claw-*.tmp", "*/.claw-*.tmp", ".claw-*.partial",
            "*/.claw-*.partial", ".config.*.tmp", "..config.*.tmp",
            ".secret_key.*.new", "state/listen.json", "state/gateway.json")
_OWN = re.compile(r"workspace/(state|memory)/[^/]+\.db|home/gateway\.db")
_BESIDE = ("-wal", "-journal")  # of a database
_FOLDERS = ("state/backups", "*/__pycache__", "__pycache__")
_FIRST = ("state/marks/*", "state/people.json", "state/jobs.db",
          "state/queue.db")
_SQLITE = b"SQLite format 3\0"
_MOST = 10_000_000


class Source(Value):
    """A file to copy: its `name` in the archive, and where it lies below
    `top`. `is_database`: one of claw's own; `is_foreign`: another one."""

    name: str
    top: Path
    inside: str
    is_database: bool = False
    is_foreign: bool = False

    @property
    def path(self) -> Path:
        return self.top / self.inside


class Skipped(Value):
    """What is not in the archive, and why."""

    name: str
    why: str


def collect(home: Path, workspace: Path) -> tuple[list[Source],
                                                  list[Skipped]]:
    """The files of both folders, in the order to copy them in. Raises
    StorageError for a folder that can't be read."""
    sources: list[Source] = []
    skipped: list[Skipped] = []
    for found in (*_look("workspace", workspace, None),
                  *_look("home", home, workspace)):
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


def _look(root: str, top: Path, without: Path | None
          ) -> Iterator[Source | Skipped]:
    if not top.is_dir():
        return
    restoring = top / FOLDER if root == "home" else None

    def allowed(path: Path) -> bool:
        inside = path.relative_to(top).as_posix()
        return path not in (without, restoring) and not _is_beside(
            f"{root}/{inside}", path) and not any(
            fnmatch(inside, one) for one in (*_FOLDERS, *_PASSING))
    walk = Walk(top, ".", allowed, _MOST)
    for inside in walk:
        try:
            name, found = f"{root}/{inside}", _is_database(top, inside)
            yield Source(name, top, inside, found and is_own(name),
                         found and not is_own(name))
        except FileNotFoundError:  # it was only passing
            continue
        except (ClawError, OSError) as error:
            yield Skipped(f"{root}/{inside}", str(error))
    if walk.cut:
        yield Skipped(root, "some of its folders can't be read")
    for inside in sorted(walk.links):
        path = top / inside
        if root == "home" and inside == "config.toml" and path.is_file():
            real = path.resolve()
            yield Source(f"{root}/{inside}", real.parent, real.name)
        else:
            yield Skipped(f"{root}/{inside}", "a link")


def is_own(name: str) -> bool:
    """Whether a database of this name in an archive is one of claw's."""
    return _OWN.fullmatch(name) is not None


def _is_beside(name: str, path: Path) -> bool:
    """Whether SQLite made it beside a database, and a copy is whole
    without it."""
    if name.endswith("-shm"):
        return path.with_name(path.name.removesuffix("-shm")).is_file()
    return any(name.endswith(end) and is_own(name.removesuffix(end))
               for end in _BESIDE)


def _is_database(top: Path, inside: str) -> bool:
    with beneath.opened(top, inside, os.O_RDONLY | os.O_NONBLOCK) as number:
        return os.pread(number, len(_SQLITE), 0) == _SQLITE
