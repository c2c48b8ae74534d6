"""Memories of the Markdown files: from a memory to its lines and back."""

from collections.abc import Iterable
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from claw.core.errors import UsageError
from claw.core.memory import CORE, DAILY, MemoryEntry
from claw.memory import times
from claw.memory.markdown import files as disk
from claw.memory.markdown.format import MAX_BYTES, Found, entry, parse
from claw.memory.search.entries import check_key, read_times
from claw.text.segment import clean

_LOOK_AHEAD = 1000
_CORE_HEADING = "# Long-Term Memory"
_SESSIONS_HEADING = "# Long-Term Memory of Sessions"
_DAILY_HEADING = "# Daily Log — {}"
KEPT_BY = "kept_by"
# What the comment of an entry holds beside its times, under which word.
_WORDS = {"session_id": "session", "sender": "sender", "source": "source",
          "id": "id", "superseded_by": "superseded_by", "origin": "origin",
          "kept_by": KEPT_BY}


class Place(NamedTuple):
    """Where an entry stands: number of the file, line."""

    file: int
    line: int


class Row(NamedTuple):
    """An entry of a file. `at` is when it was written, `known` since when
    what it says holds: earlier for what was imported."""

    file: disk.File
    place: Place
    found: Found
    key: str
    at: str
    known: str

    @property
    def created(self) -> str:
        """When it was made, as far as the entry itself tells."""
        facts = self.found.facts or {}
        return _read_time(facts.get("created")) or self.known


class Newest(NamedTuple):
    """Of one key: where the entry stands that holds, and when the first
    was made."""

    at: str
    place: Place
    created: str


def row(file: disk.File, number: int, found: Found, before: str) -> Row:
    """What was found in a file; by hand, it was written after `before`."""
    facts = found.facts or {}
    at = _read_time(facts.get("at")) or before
    key = f"{file.stem}:{found.line}" if found.key is None else found.key
    return Row(file, Place(number, found.line), found, key, at,
               _read_time(facts.get("updated")) or at)


def newest(rows: Iterable[Row]) -> dict[str, Newest]:
    """Of each key that an entry names, what holds: the last written."""
    found: dict[str, Newest] = {}
    for one in rows:
        if one.found.key is None:
            continue
        this = Newest(one.at, one.place, one.created)
        held = found.get(one.key, this)
        last = max(held, this, key=lambda newer: newer[:2])
        found[one.key] = last._replace(
            created=min(held.created, this.created))
    return found


def build_memory(one: Row, created: str) -> MemoryEntry:
    """A row as a memory; `created` counts where it does not say itself."""
    facts = one.found.facts or {}
    own = {name: _read_word(facts.get(word)) for name, word in _WORDS.items()}
    category = _read_word(facts.get("category"))
    importance = facts.get("importance")
    return MemoryEntry(
        own["id"] or f"{one.file.stem}:{one.place.line}", one.key,
        one.found.content,
        _find_category(one.file.name) if category is None else category,
        _read_time(facts.get("created")) or created, one.known,
        own["session_id"], None, own["sender"],
        _read_word(facts.get("namespace")) or "default",
        importance if isinstance(importance, int | float) else None,
        own["superseded_by"], own["source"], own["origin"],
        own["kept_by"])


def render_memory(given: MemoryEntry, now: str) -> tuple[str, str, str]:
    """(file, its heading, the lines of the entry). Raises UsageError."""
    key = check_key(given.key)
    created, updated = read_times(given, now)
    category = clean(given.category)
    facts: dict[str, Any] = {"at": now}
    if updated != now:
        facts["updated"] = updated
    if created != now:
        facts["created"] = created
    name, heading = _find_file(category, given.session_id, created)
    if category != _find_category(name):
        facts["category"] = category
    facts |= {word: clean(value) for field, word in _WORDS.items()
              if (value := getattr(given, field)) is not None
              and (value or field == "session_id")}
    if given.namespace != "default":
        facts["namespace"] = clean(given.namespace)
    if given.importance is not None:
        facts["importance"] = given.importance
    text = entry(key, clean(given.content), facts)
    if len(text.encode()) > MAX_BYTES:
        raise UsageError(
            f"memory {key[:80]!r} is too long for a Markdown file",
            hint=f"an entry has at most {MAX_BYTES // 2**20} MiB; store it "
                 "in parts")
    return name, heading, text


def find_beginning(workspace: Path, file: disk.File) -> str:
    """The time of lines that stand above every entry of ours: the
    midnight of a day's file; else that of the first entry, or of the last
    change where there is none."""
    try:
        return times.canonical(datetime.fromisoformat(file.stem).astimezone())
    except (ValueError, OverflowError, OSError):
        pass
    found = parse(disk.lines(workspace, file), torn=file.torn)
    for one in islice(found, _LOOK_AHEAD):
        at = _read_time((one.facts or {}).get("at"))
        if at is not None:
            return at
    return times.canonical(
        datetime.fromtimestamp(file.changed_at).astimezone())


def _find_category(name: str) -> str:
    return CORE if name in (disk.CORE_FILE, disk.SESSIONS_FILE) else DAILY


def _find_file(category: str, session_id: str | None, created: str
              ) -> tuple[str, str]:
    if category == CORE and session_id is not None:
        return disk.SESSIONS_FILE, _SESSIONS_HEADING
    if category == CORE:
        return disk.CORE_FILE, _CORE_HEADING
    try:  # the day of the owner's calendar
        day = datetime.fromisoformat(created[:26] + "Z").astimezone().date()
    except (ValueError, OverflowError, OSError):  # the year 1, or 9999
        day = date.fromisoformat(created[:10])
    return f"{disk.FOLDER}/{day}.md", _DAILY_HEADING.format(day)


def _read_time(fact: object) -> str | None:
    try:
        return times.to_utc(fact) if isinstance(fact, str) else None
    except ValueError:
        return None


def _read_word(fact: object) -> str | None:
    return None if fact is None else str(fact)
