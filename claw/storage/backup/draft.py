"""The file that a backup is written to before it has its name.

Who writes it holds it locked (flock): one that nobody holds is of a process
that was killed, and the next backup into its folder removes it.
"""

import contextlib
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_NAME = re.compile(r"\.claw-[0-9a-f]{12}\.partial")


@contextlib.contextmanager
def open_draft(folder: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """A new file in the folder, gone at the end, and those that a kill left
    there before. Raises OSError."""
    remove_abandoned(folder)
    while True:
        # In a folder of many users one of them may guess a name.
        path = folder / f".claw-{secrets.token_hex(6)}.partial"
        with open(path, "xb", opener=_open_private) as file:
            try:
                if _may_write(file.fileno(), path):
                    yield path, file
                    return
            finally:
                path.unlink(missing_ok=True)


def remove_abandoned(folder: Path) -> None:
    """Remove the drafts of the same user that nobody works on. What can't
    be looked at stays."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_one(Path(entry.path))


def _remove_one(path: Path) -> None:
    number = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
                     | os.O_CLOEXEC)
    try:
        found = os.fstat(number)
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() \
                and _lock(number, path):
            path.unlink()
    finally:
        os.close(number)


def _may_write(number: int, path: Path) -> bool:
    """Whether nobody has taken the new file for one of the dead."""
    try:
        return _lock(number, path)
    except OSError:  # a file system without locks: there nobody removes any
        return True


def _lock(number: int, path: Path) -> bool:
    """Whether the file is held now, and is still the one of that name.
    Raises OSError."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(path.lstat(), os.fstat(number))
    except (BlockingIOError, FileNotFoundError):
        return False


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
