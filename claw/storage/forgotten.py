"""state/forgotten: written whenever texts were taken out of sessions, or
another process adds to a chat's, so that a running process that keeps
conversations in mind reads them anew."""

import os
from pathlib import Path

from claw.security.files import nofollow

FILE = "state/forgotten"


def read_stamp(workspace: Path) -> int:
    """Another number after every `set_stamp`, of whatever process; cheap
    enough for every message."""
    try:
        return os.stat(f"{workspace}/{FILE}", follow_symlinks=False
                       ).st_mtime_ns
    except OSError:
        return 0


def set_stamp(workspace: Path) -> None:
    """Something was forgotten, or added, just now. Raises OSError,
    StorageError."""
    nofollow.write(workspace, FILE, (b"",))
