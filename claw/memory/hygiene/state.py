"""When hygiene last ran, and that only one process runs it.

`<workspace>/state/memory_hygiene_state.json`:

    {"last_run_at": "2026-11-20T19:00:00.000000Z",
     "last_report": {"archived_memory_files": 2, ...},
     "archived": {"sessions/archive/work-1a2b.jsonl": "2026-11-20T..."},
     "rules": {"store": "sqlite", "categories": {"conversation": 30}, ...},
     "released": false,
     "announced": {"announced_at": "2026-11-20T...", "memories": {...}, ...},
     "told": {"terminal": "2026-11-20T..."}}

`archived` says since when a file lies in its archive. `rules` are those
that `announced` (what is to be removed) and `released` (it was removed once
after an announcement) hold for; `told` says who has heard of it, and when.
A missing or damaged file counts as "never ran", so that what is to go is
announced anew. Little is loaded here: every start asks.
"""

import contextlib
import fcntl
import json
import math
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from claw.core.errors import StorageError, UnavailableError
from claw.core.value import Value, made, replace
from claw.security.files import nofollow

EVERY = timedelta(hours=12)
DAY = timedelta(days=1)
FILE = Path("state", "memory_hygiene_state.json")
LOCK = Path("state", "memory_hygiene.lock")


class Uptime(Value):
    """How long the machine has run, in seconds, and since which boot; ""
    where that is not known."""

    boot: str = ""
    seconds: float = 0.0


class Announcement(Value):
    """What hygiene is to remove: how many memories by category, archived
    files by folder, and conversation for the size. `at` is when it was
    announced; ages are counted back from then."""

    at: datetime
    memories: Mapping[str, int] = made(factory=dict)
    files: Mapping[str, int] = made(factory=dict)
    for_size: int = 0
    uptime: Uptime = Uptime()

    @property
    def rows(self) -> int:
        """How many memories."""
        return sum(self.memories.values()) + self.for_size

    @property
    def count(self) -> int:
        """How many memories and files."""
        return self.rows + sum(self.files.values())

    @property
    def not_before(self) -> datetime:
        """When it may be removed."""
        return self.at + DAY

    def to_json(self) -> dict[str, Any]:
        return {"announced_at": _write_moment(self.at),
                "not_before": _write_moment(self.not_before),
                "memories": dict(self.memories), "files": dict(self.files),
                "for_size": self.for_size}


class State(Value):
    """What the file says; `last_run_at` None: it never ran."""

    last_run_at: datetime | None = None
    last_report: Mapping[str, Any] = made(factory=dict)
    archived: Mapping[str, datetime] = made(factory=dict)
    rules: Mapping[str, Any] = made(factory=dict)
    released: bool = False
    announced: Announcement | None = None
    told: Mapping[str, datetime] = made(factory=dict)

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
    return State(
        _read_moment(value.get("last_run_at")),
        _read_table(value.get("last_report")),
        _read_moments(value.get("archived")),
        _read_table(value.get("rules")), value.get("released") is True,
        _read_announcement(_read_table(value.get("announced"))),
        _read_moments(value.get("told")))


def write_state(workspace: Path, state: State) -> None:
    """Put a state in the place of the old one, in one step. Raises
    StorageError."""
    text = json.dumps({
        "last_run_at": _write_moment(state.last_run_at),
        "last_report": dict(state.last_report),
        "archived": {name: _write_moment(moment)
                     for name, moment in state.archived.items()},
        "rules": dict(state.rules), "released": state.released,
        "announced": None if state.announced is None else {
            **state.announced.to_json(), **vars(state.announced.uptime)},
        "told": {name: _write_moment(moment)
                 for name, moment in state.told.items()},
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


def take_announcement(workspace: Path, who: str,
                      now: datetime) -> Announcement | None:
    """What `who` is to be told of now: once a day, None in between. Raises
    StorageError, and UnavailableError while hygiene runs."""
    with hold_lock(workspace):
        state = read_state(workspace)
        last = state.told.get(who)
        if state.announced is None or (
                last is not None and last <= now < last + DAY):
            return None
        write_state(workspace, replace(
            state, told={**state.told, who: now}))
        return state.announced


def _read_table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_moments(value: object) -> dict[str, datetime]:
    return {name: moment for name, text in _read_table(value).items()
            if (moment := _read_moment(text)) is not None}


def _read_announcement(value: dict[str, Any]) -> Announcement | None:
    """None also where something of it can't be read: then it is made
    anew."""
    at = _read_moment(value.get("announced_at"))
    boot, seconds = value.get("boot"), value.get("seconds")
    if at is None or not isinstance(boot, str) \
            or not isinstance(seconds, int | float) \
            or not math.isfinite(seconds):
        return None
    memories, files = (_read_table(value.get(name))
                       for name in ("memories", "files"))
    size = value.get("for_size")
    if not all(isinstance(number, int) for number in (
            *memories.values(), *files.values(), size)):
        return None
    return Announcement(at, memories, files, int(size or 0),
                        Uptime(boot, float(seconds)))


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
