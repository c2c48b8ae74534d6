"""A skill's folder, read whole and without following a link.

All that is done with a skill is done with what was read here once: the same
bytes are scanned, shown, hashed and kept, so that nothing can be swapped
between them. `.git` and what Python leaves are no part of a skill.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from claw.core.errors import RefusedError, StorageError
from claw.core.folders import make_private
from claw.security.files import nofollow

Files: TypeAlias = dict[str, bytes]

MOST_BYTES = 50 << 20
MOST_FILES = 2_000
MOST_DEPTH = 8
LEFT_OUT = frozenset((".git", "__pycache__", ".DS_Store"))


def read_folder(root: Path, name: str) -> Files:
    """Every file below a folder, by its path in there, sorted. Raises
    RefusedError for links, devices and what is too large, NotFoundError's
    cause FileNotFoundError and other OSErrors as they come."""
    found: Files = {}
    try:
        with nofollow.hold_folder(root, name) as folder:
            for path, data in _walk(folder, root / name, "", 0):
                found[path] = data
                check_size(found)
    except StorageError as error:
        raise RefusedError(error.message, hint=error.hint) from error
    return dict(sorted(found.items()))


def check_size(files: Mapping[str, bytes]) -> None:
    """Raises RefusedError for more than a skill may have."""
    if len(files) > MOST_FILES:
        raise RefusedError(f"a skill has at most {MOST_FILES} files")
    if sum(map(len, files.values())) > MOST_BYTES:
        raise RefusedError(f"a skill has at most {MOST_BYTES >> 20} MiB")


def _walk(folder: int, where: Path, above: str, depth: int
          ) -> Iterator[tuple[str, bytes]]:
    if depth > MOST_DEPTH:
        raise RefusedError(f"{where}: folders are nested past {MOST_DEPTH}")
    for name in sorted(os.listdir(folder)):
        if name in LEFT_OUT:
            continue
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY
                            | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                yield from _walk(below, where / name, f"{above}{name}/",
                                 depth + 1)
            finally:
                os.close(below)
            continue
        number = nofollow.open_in(folder, name, where / name, os.O_RDONLY)
        with open(number, "rb") as file:
            yield above + name, file.read(MOST_BYTES + 1)


def digest(files: Mapping[str, bytes]) -> str:
    """SHA-256 over names and contents, in hexadecimal."""
    whole = hashlib.sha256()
    for name, data in sorted(files.items()):
        whole.update(os.fsencode(name) + b"\0"
                     + hashlib.sha256(data).digest())
    return whole.hexdigest()


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Put the files there, the owner's alone, all of them executable: who
    runs one says so. Raises StorageError."""
    try:
        make_private(folder)
        for name, data in files.items():
            path = folder / name
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL
                             | os.O_NOFOLLOW | os.O_CLOEXEC, 0o700)
            with open(number, "wb") as file:
                file.write(data)
    except OSError as error:
        raise StorageError(f"{error.filename or folder} can't be written: "
                           f"{error.strerror}") from error
