"""Making folders that are the owner's alone, and removing such trees."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def make_private(folder: Path) -> None:
    """The folder and all that is missing above it, mode 0700 each: what
    pathlib makes on the way would be readable by others. Raises OSError."""
    if not folder.is_dir():
        for path in reversed(folder.parents):
            if not path.exists():
                path.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


def remove_tree(top: Path) -> None:
    """Remove a folder and all below, however deep: what lies deeper is
    moved up first. No link is followed. Raises OSError."""
    with _hold(top) as folder:
        waiting = _empty(folder, folder)
        while waiting:
            name = waiting.pop()
            with _hold(name, folder) as deeper:
                waiting += _empty(deeper, folder)
            os.rmdir(name, dir_fd=folder)
    os.rmdir(top)


def _empty(folder: int, top: int) -> list[str]:
    """Remove its files; its folders are moved to the top, and come by the
    names that they have there."""
    found: list[str] = []
    for name in os.listdir(folder):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if not stat.S_ISDIR(mode):
            os.unlink(name, dir_fd=folder)
            continue
        found.append(name if folder == top else os.urandom(16).hex())
        if folder != top:
            os.rename(name, found[-1], src_dir_fd=folder, dst_dir_fd=top)
    return found


@contextmanager
def _hold(path: str | Path, folder: int | None = None) -> Iterator[int]:
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
                     | os.O_CLOEXEC, dir_fd=folder)
    try:
        yield number
    finally:
        os.close(number)
