"""Finding every git repository in a folder, wherever a command hid it.

A repository is what git takes for one: a folder with HEAD, objects and
refs (or HEAD and commondir), and what a file or link named .git, or a
commondir, points to. Source: gitrepository-layout(5), setup.c.
"""

import contextlib
import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from claw.security.files.paths import OWN_DIRECTORIES
from claw.security.watched.files import (
    is_inside,
    is_settled,
    open_folder,
    open_parent,
)

# Folders that are looked into. What a person works in comes first: breadth
# before depth, and those that tools fill last.
LIMIT = 5_000
_FILLED_BY_TOOLS = frozenset((
    "node_modules", ".venv", "venv", "site-packages", "__pycache__",
    "target", ".tox", ".cache", ".npm", ".cargo", ".rustup"))
# In a .git no work is done: all but these is searched last.
_BELOW_GIT = frozenset(("modules", "worktrees"))
_POINTER_BYTES = 1 << 20  # as much as git itself reads
_PREFIX = b"gitdir: "
_HANDLE = os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC | getattr(
    os, "O_PATH", 0)


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
    a folder could not be read. `is_new` says of such a folder whether a
    command made it so: then it is made readable."""

    def __init__(self, roots: Sequence[Path],
                 is_new: Callable[[str], bool]) -> None:
        self.roots = [str(root) for root in roots]
        self.found: dict[str, None] = {}
        self.pointers: list[str] = []
        self.unreadable: list[str] = []
        self.reopened: list[str] = []
        self._is_new = is_new
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

    def reopen(self, path: str) -> bool:
        """Make a folder readable again that a command took from us."""
        if self._is_new(path):
            with contextlib.suppress(OSError):
                _make_readable(path, self.roots)
                self.reopened.append(path)
                return True
        self.unreadable.append(path)
        self.complete = False
        return False

    def _list(self, path: str) -> _Folder | None:
        root = next(root for root in self.roots if is_inside(path, root))
        try:
            try:
                return _list(root, path)
            except PermissionError:  # git may still find its way through it
                return _list(root, path) if self.reopen(path) else None
        except (FileNotFoundError, NotADirectoryError):
            return None  # it has gone meanwhile
        except OSError:  # a path too long, or a link on it
            self.complete = False
            return None

    def _look(self, path: str) -> None:
        folder = self._list(path)
        if folder is None:
            return
        for name in folder.pointers:
            self._follow(path, name)
        if folder.is_repository:
            self.found[path] = None
        in_git = "/.git/" in path + "/"
        prefix = path.rstrip("/") + "/"
        for name in folder.folders:
            below = prefix + name
            if name.lower() == ".git":
                self.found[below] = None
                self._waiting.appendleft(below)
            elif name in _FILLED_BY_TOOLS or name == "objects" \
                    or (in_git and name not in _BELOW_GIT):
                self._later.append(below)
            elif below not in self._elsewhere:
                self._waiting.append(below)

    def _follow(self, path: str, name: str) -> None:
        """Note where a .git that is no folder, or a commondir, leads."""
        pointer = os.path.join(path, name)
        self.pointers.append(pointer)
        target = read_pointer(pointer)
        if target is None:
            return
        real = os.path.realpath(os.path.join(path, target))
        if real not in self.found \
                and any(is_inside(real, root) for root in self.roots):
            self.found[real] = None
            self._waiting.appendleft(real)  # it may point further


def _make_readable(path: str, roots: Sequence[str]) -> None:
    with open_parent(path, roots) as parent:
        if parent is None:
            raise FileNotFoundError(path)
        name = os.path.basename(path)
        if sys.platform != "linux":
            os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)
            return
        handle = os.open(name, _HANDLE, dir_fd=parent)
        try:  # a handle of this kind has no chmod of its own
            os.chmod(f"/proc/self/fd/{handle}", 0o700)
        finally:
            os.close(handle)


def read_pointer(path: str) -> str | None:
    """Where git goes by a .git or commondir that is a file, or a link to
    a file or folder: to its first NUL, without line ends behind."""
    if os.path.isdir(path):
        return path
    data = _read_pointer(path)
    if data is None:
        return None
    if os.path.basename(path).lower() == ".git":
        if not data.startswith(_PREFIX):
            return None
        data = data.removeprefix(_PREFIX)
    target = data.rstrip(b"\r\n").partition(b"\0")[0]
    return os.fsdecode(target) or None


def judge_pointer(path: str) -> str | None:
    """Why a pointer that a command made must not stay."""
    if os.path.islink(path):
        return "a link"
    target = read_pointer(path)
    if target is None:
        return "can't be read"
    data = _read_pointer(path) or b""
    if target != target.strip() or any(
            char < 32 or char == 127 for char in data.rstrip(b"\r\n")):
        return "odd characters"
    base = os.path.realpath(os.path.dirname(path))
    try:
        real = os.path.realpath(os.path.join(base, target), strict=True)
    except OSError:
        return "leads nowhere"
    if is_inside(os.path.normpath(os.path.join(base, target)), "/proc") \
            or real != os.path.normpath(os.path.join(base, target)):
        return "leads through a link"
    return None


def _read_pointer(path: str) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        return file.read(_POINTER_BYTES)
