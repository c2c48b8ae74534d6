"""The rows of a database that a stranger may have made.

They are counted in a process of their own: the limit of SQLite's memory
holds for a whole process, and can be lowered there, never raised again.
"""

import json
import subprocess
import sys
from pathlib import Path

from claw.core.errors import StorageError
from claw.security.visible import visible

_CHILD = Path(__file__).with_name("rows_child.py")
# What the check of one database may take; it reads ten times as fast.
_CHECK_S = 20
_CHECKED_BYTES_A_S = 2_000_000
_CHECK_BYTES = 512 << 20


def count_rows(copy: Path, what: str, hint: str) -> dict[str, int]:
    """The rows of each table of a database that nobody else has open: only
    so much memory and CPU time is spent. Raises StorageError for a damaged
    one, which is called `what`."""
    seconds = _CHECK_S + copy.stat().st_size / _CHECKED_BYTES_A_S
    try:
        ended = subprocess.run(
            [sys.executable, "-I", "-S", str(_CHILD), str(copy),
             str(seconds), str(_CHECK_BYTES)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={}, check=False)
    except OSError as error:
        raise StorageError(f"{what} can't be checked: {error.strerror}",
                           hint="may another process be started?"
                           ) from error
    if ended.returncode:
        raise StorageError(f"{what} is damaged: its check ended with "
                           f"{ended.returncode}", hint=hint)
    found = json.loads(ended.stdout)
    if isinstance(found, str):
        raise StorageError(f"{what} is damaged: {visible(found)}", hint=hint)
    rows: dict[str, int] = found
    return rows
