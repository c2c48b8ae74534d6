"""Where the file of a session stands: in the directory of the sessions, or
in the archive below it that hygiene moves old ones to.

Raises OSError, which `sessions` translates, and StorageError for a link.
"""

import os
import re
import stat
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from claw.security.files import nofollow

ARCHIVE = "archive"
_UNSAFE = r"[^A-Za-z0-9._-]+"
_NAME_CHARS = 60


@lru_cache(maxsize=64)  # asked for with every message
def file_name(key: str) -> str:
    """A readable part of the key and a hash of all of it."""
    import hashlib
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass"))
    readable = re.sub(_UNSAFE, "_", key)[:_NAME_CHARS].strip("._-")
    return f"{readable or 'session'}-{digest.hexdigest()[:16]}.jsonl"


def find_readable(directory: Path, key: str) -> Path | None:
    """Where a session is read; None where there is none. A file without a
    byte is one that another is about to be brought back to."""
    live = _live(directory, key)
    return (live if live is not None and not _is_empty(live)
            else next(reversed(find_archived(directory, key)), live))


def find_writable(directory: Path, key: str) -> Path:
    """Where a session is written: where it is, where it was before it was
    archived, or under a name of its own."""
    live = _live(directory, key)
    if live is not None:
        return live
    old = [path.name for path in find_archived(directory, key)]
    return directory / (old[-1] if old and old[-1] in _names(key)
                        else file_name(key))


def find_archived(directory: Path, key: str) -> list[Path]:
    """What the archive has of a session, oldest first. Hygiene adds a
    number to a name that is taken; one without a byte is a name that it
    has reserved."""
    names = _names(key)
    start = names[0].removesuffix(".jsonl")
    found: list[tuple[float, Path]] = []
    archive = directory / ARCHIVE
    with suppress(FileNotFoundError, NotADirectoryError), \
            nofollow.hold_folder(directory.parent, archive) as folder, \
            os.scandir(folder) as files:
        for file in files:
            if (file.name in names or _is_numbered(file.name, start)) \
                    and file.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    status = file.stat(follow_symlinks=False)
                    if status.st_size:
                        found.append((status.st_mtime, archive / file.name))
    return [path for _, path in sorted(found)]


def _live(directory: Path, key: str) -> Path | None:
    for name in _names(key):
        path = directory / name
        if os.path.lexists(path):
            return path
    return None


def _names(key: str) -> tuple[str, ...]:
    """What the file of a session may be called."""
    own = file_name(key)
    is_plain = (not re.search(_UNSAFE, key) and not key.startswith(".")
                and len(key) <= 200)
    return (own, f"{key}.jsonl") if is_plain else (own,)


def _is_numbered(name: str, start: str) -> bool:
    number = name.removeprefix(start + "_").removesuffix(".jsonl")
    return name == f"{start}_{number}.jsonl" and number.isdecimal()


def _is_empty(path: Path) -> bool:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == 0
