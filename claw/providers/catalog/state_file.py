"""Small JSON files under <workspace>/state: notes that may be lost.

Tools can write in the workspace, so links and anything but a plain file
count as absent, and reading is bounded. Writing replaces the whole file at
once; writers take turns by a lock on the folder, which leaves no file
behind.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from claw.core.errors import StorageError
from claw.security.files import nofollow

MOST_BYTES = 4 * 1024 * 1024
_WAIT_S = 0.5
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_json(path: Path) -> Any:
    """The value in it; None for a file that is absent, damaged or huge.
    Never raises."""
    try:
        data = nofollow.read(*nofollow.split(path), MOST_BYTES + 1)
        return json.loads(data) if len(data) <= MOST_BYTES else None
    except (OSError, StorageError, ValueError, RecursionError):
        return None


def read_entries(path: Path) -> list[dict[str, Any]]:
    """The objects under "entries". Never raises."""
    data = read_json(path)
    rows = data.get("entries") if isinstance(data, dict) else None
    return [row for row in rows if isinstance(row, dict)] \
        if isinstance(rows, list) else []


def read_stamp(path: Path) -> tuple[int, int, int] | None:
    """Changes whenever the file does; None where there is none."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


@contextlib.contextmanager
def lock_folder(path: Path) -> Iterator[int]:
    """Alone with the file's folder, which is made where it is missing;
    gives the folder for `write_json`. Someone who holds the lock for longer
    than half a second is not waited for. Raises OSError."""
    folder_path = path.absolute().parent
    with nofollow.hold_folder(folder_path.parent, folder_path,
                              make=True) as folder:
        until = time.monotonic() + _WAIT_S
        while True:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > until:
                    break
                time.sleep(0.01)
        yield folder


def write_json(folder: int, name: str, value: Any) -> None:
    """Replace a file of the folder. Raises OSError."""
    draft = f".{name}.{os.urandom(4).hex()}.part"
    number = os.open(draft, _NEW, 0o600, dir_fd=folder)
    try:
        with open(number, "w", encoding="ascii") as file:
            json.dump(value, file)
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise
