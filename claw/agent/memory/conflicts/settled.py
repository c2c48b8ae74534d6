"""Pairs that the owner has seen and lets stand.

`<workspace>/state/memory_conflicts.json`: {"settled": [[id, id], ...]}, the
random ids of the memories and nothing of what they say. What is stored anew
has a new id, so a pair that says something else is shown again. A pair one
of whose memories is gone is dropped when the file is next written.
"""

import json
from collections.abc import Collection
from pathlib import Path

from claw.core.errors import StorageError
from claw.security.files import nofollow

FILE = Path("state", "memory_conflicts.json")
_MOST = 10_000  # pairs; the oldest go first

Ids = frozenset[str]


def read_settled(workspace: Path) -> list[Ids]:
    """The pairs, the oldest first; none where the file can't be read."""
    try:
        value = json.loads(nofollow.read(workspace, FILE))
    except (OSError, StorageError, ValueError, RecursionError):
        return []
    rows = value.get("settled") if isinstance(value, dict) else None
    return [frozenset(row) for row in rows if _is_pair(row)] \
        if isinstance(rows, list) else []


def _is_pair(row: object) -> bool:
    return (isinstance(row, list) and len(row) == 2
            and all(isinstance(one, str) for one in row))


def write_settled(workspace: Path, pairs: Collection[Ids]) -> None:
    """Put these in the place of the file, in one step and on the disk.
    Raises StorageError."""
    rows = [sorted(pair) for pair in pairs][-_MOST:]
    try:
        nofollow.write(workspace, FILE,
                       [json.dumps({"settled": rows}).encode()])
    except OSError as error:
        raise StorageError(
            f"{workspace / FILE} can't be written: {error.strerror}",
            hint="check the folder and the space on its disk") from error
