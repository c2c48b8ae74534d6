"""When hygiene last ran, and that only one process runs it.

`<workspace>/state/memory_hygiene_state.json`:

    {"last_run_at": "2026-11-20T19:00:00.000000Z",
     "last_report": {"archived_memory_files": 2, ...},
     "archived": {"sessions/archive/work-1a2b.jsonl": "2026-11-20T..."}}

`archived` says since when a file lies in its archive. A missing or damaged
file counts as "never ran". Little is loaded here: every start asks.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from claw.core.errors import StorageError, UnavailableError
from claw.core.value import Value, made
from claw.security import nofollow

EVERY = timedelta(hours=12)
FILE = Path("state", "memory_hygiene_state.json")
LOCK = Path("state", "memory_hygiene.lock")


class State(Value):
    """What the file says; `last_run_at` None: it never ran."""

    last_run_at: datetime | None = None
    last_report: Mapping[str, Any] = made(factory=dict)
    archived: Mapping[str, datetime] = made(factory=dict)

    def is_due(self, now: datetime) -> bool:
        """Also where the last run lies in the future: the clock was set
        back."""
        last = self.last_run_at
        return last is None or not last <= now < last + EVERY


def read_state(workspace: Path) -> State:
    """The state of a workspace; what can't be read is left out."""
    try:
        value = json.loads(nofollow.read(workspace, FILE))
    except (OSError, StorageError, ValueError, RecursionError):
        return State()
    if not isinstance(value, dict):
        return State()
    report, archived = value.get("last_report"), value.get("archived")
    return State(
        _read_moment(value.get("last_run_at")),
        report if isinstance(report, dict) else {},
        {name: moment for name, text in archived.items()
         if (moment := _read_moment(text)) is not None}
        if isinstance(archived, dict) else {})


def write_state(workspace: Path, state: State) -> None:
    """Put a state in the place of the old one, in one step. Raises
    StorageError."""
    text = json.dumps({
        "last_run_at": _write_moment(state.last_run_at),
        "last_report": dict(state.last_report),
        "archived": {name: _write_moment(moment)
                     for name, moment in state.archived.items()},
    }, indent=1)
    try:
        nofollow.write(workspace, FILE, (text.encode(), b"\n"))
    except OSError as error:
        raise StorageError(f"{workspace / FILE} can't be written: "
                           f"{error.strerror}",
                           hint="check the free space and the permissions"
                           ) from error


@contextlib.contextmanager
def hold_lock(workspace: Path) -> Iterator[None]:
    """Hold the lock of hygiene. Raises UnavailableError where another
    process has it, StorageError where there can be none."""
    path = workspace / LOCK
    try:
        number = nofollow.open_file(workspace, path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise StorageError(f"{path} can't be made: {error.strerror}",
                           hint="check the workspace (claw config path)"
                           ) from error
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UnavailableError(
                "another process is tidying this memory",
                hint="try again in a moment") from error
        yield
    finally:
        os.close(number)


def _read_moment(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(value))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)
                ).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _write_moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat(
        timespec="microseconds").replace("+00:00", "Z")
