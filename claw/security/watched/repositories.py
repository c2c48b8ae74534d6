"""Finding every git repository in a folder, wherever a command hid it.

A repository is what git takes for one: a folder with HEAD, objects and
refs (or HEAD and commondir), and what a file or link named .git, or a
commondir, points to. Source: gitrepository-layout(5), setup.c.
"""

import os
import stat
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from claw.security.paths import OWN_DIRECTORIES
from claw.security.watched.files import (
    is_inside,
    is_settled,
    open_folder,
)

# Folders that are looked into. What a person works in comes first: breadth
# before depth, and those that tools fill last.
LIMIT = 5_000
_FILLED_BY_TOOLS = frozenset((
    "node_modules", ".venv", "venv", "site-packages", "__pycache__",
    "target", ".tox", ".cache", ".npm", ".cargo", ".rustup"))
# In a .git no work is done; only these hold further repositories.
_BELOW_GIT = frozenset(("modules", "worktrees"))
_POINTER_BYTES = 4096


class _Folder(NamedTuple):
    """What the search minds of a folder. A change of its entries changes
    `changed_at` (its ctime, which no command can set)."""

    changed_at: int
    number: int
    folders: tuple[str, ...]
    pointers: tuple[str, ...]
    is_repository: bool


_cache: dict[str, _Folder] = {}


def _list(root: str, path: str) -> _Folder:
    """A folder below a root as it is, from memory where it is as it was:
    that costs a tenth. One that has just changed is not remembered, since a
    second change within the clock's tick would not show. Raises OSError."""
    status = os.lstat(path)
    known = _cache.get(path)
    if known is not None and known.changed_at == status.st_ctime_ns \
            and known.number == status.st_ino:
        return known
    names, folders, pointers = set(), [], []
    with open_folder(root, path[len(root):].strip("/")) as handle, \
            os.scandir(handle) as entries:
        for entry in entries:
            name = entry.name
            names.add(name.lower())
            if entry.is_dir(follow_symlinks=False):
                folders.append(name)
            elif name.lower() in (".git", "commondir"):
                pointers.append(name)
    folder = _Folder(
        status.st_ctime_ns, status.st_ino, tuple(folders), tuple(pointers),
        "head" in names and ("commondir" in names
                             or {"objects", "refs"} <= names))
    if is_settled(status.st_ctime_ns):
        if len(_cache) > 2 * LIMIT:
            _cache.clear()
        _cache[path] = folder
    else:
        _cache.pop(path, None)
    return folder


class Walk:
    """One search. `complete` is False where the limit ended it, or where
    a folder could not be read."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = [str(root) for root in roots]
        self.found: dict[str, None] = {}
        self.complete = True
        self._elsewhere = {*self.roots, *(
            os.path.join(self.roots[0], name) for name in OWN_DIRECTORIES)}
        self._waiting = deque(self.roots)
        self._later: list[str] = []
        self._left = LIMIT

    def run(self) -> "Walk":
        while self._waiting or self._later:
            if not self._waiting:
                self._waiting.extend(self._later)
                self._later.clear()
            if not self._left:
                self.complete = False
                break
            self._left -= 1
            self._look(self._waiting.popleft())
        return self

    def _look(self, path: str) -> None:
        try:
            folder = _list(next(root for root in self.roots
                                if is_inside(path, root)), path)
        except PermissionError:  # git may still find its way through it
            self.complete = False
            return
        except OSError:
            return  # it has gone meanwhile
        for name in folder.pointers:
            self._follow(path, name)
        if folder.is_repository:
            self.found[path] = None
        in_git = "/.git/" in path + "/" and (path.endswith("/.git")
                                             or path in self.found)
        prefix = path.rstrip("/") + "/"
        for name in folder.folders:
            if in_git and name not in _BELOW_GIT:
                continue
            below = prefix + name
            if name.lower() == ".git":
                self._waiting.appendleft(below)
            elif name in _FILLED_BY_TOOLS or name == "objects":
                self._later.append(below)
            elif below not in self._elsewhere:
                self._waiting.append(below)

    def _follow(self, path: str, name: str) -> None:
        """Note where a .git that is no folder, or a commondir, leads."""
        target = read_pointer(os.path.join(path, name))
        if target is None:
            return
        real = os.path.realpath(os.path.join(path, target))
        if real not in self.found \
                and any(is_inside(real, root) for root in self.roots):
            self.found[real] = None
            self._waiting.appendleft(real)  # it may point further


def read_pointer(path: str) -> str | None:
    """Where `gitdir: PATH`, a commondir or a link points."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return os.readlink(path)
        if not stat.S_ISREG(status.st_mode):
            return None
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                         | os.O_CLOEXEC)
        text = os.read(handle, _POINTER_BYTES)
        os.close(handle)
    except OSError:
        return None
    target = os.fsdecode(text).removeprefix("gitdir:").strip()
    return target if target and "\0" not in target else None
