"""What was said in conversations of other agents.

Forms: "messages", a line of JSON {"role", "content"} a message; "openclaw",
{"type": "message", "message": {...}}; "zeroclaw-table", "hermes-table" and
"openclaw-table", rows of a database. Only what people and the agent said is
read.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from claw.core.value import Value
from claw.text.plural import plural
from claw.wiring.setup.migrate import HeldSession
from claw.wiring.setup.migrate.agents.common import get
from claw.wiring.setup.migrate.reading.source import Source

_MOST = 64 << 20
_MOST_CHARS = 1 << 20  # of one message
_ROLES = ("user", "assistant")
_QUERIES = {
    "zeroclaw-table": "SELECT role, content, created_at FROM sessions"
                      " WHERE session_key = ? ORDER BY id",
    "hermes-table": "SELECT role, content, timestamp FROM messages"
                    " WHERE session_id = ? ORDER BY id",
    "openclaw-table": "SELECT event_json FROM transcript_events"
                      " WHERE session_id = ? ORDER BY seq",
}


class Line(Value):
    """One message; `at` is RFC 3339 in UTC, "" where it is not told."""

    role: str
    text: str
    at: str = ""


def read_transcript(held: HeldSession, notes: list[str]) -> list[Line]:
    """The messages of a conversation, oldest first."""
    source = Source(held.root, notes)
    query = _QUERIES.get(held.form)
    if query is not None:
        with source.database(held.path) as connection:
            rows = [] if connection is None else connection.execute(
                query, (held.id or held.name,)).fetchall()
        if held.form == "openclaw-table":
            return list(_read_lines(_parse(
                [str(row[0]) for row in rows], held.path, notes), "openclaw"))
        return [line for row in rows if (line := _build(*row))]
    data = source.read(held.path, _MOST)
    return list(_read_lines(_parse(
        (data or b"").split(b"\n"), held.path, notes), held.form))


def _parse(lines: Sequence[bytes | str], path: str, notes: list[str]
           ) -> Iterator[Mapping[str, Any]]:
    """The objects of lines of JSON; how many lines are none is noted, but
    for the last one: the end of a file that is being written."""
    broken = 0
    for number, raw in enumerate(lines, 1):
        try:
            record = json.loads(raw) if raw.strip() else None
        except (ValueError, RecursionError):
            broken += number < len(lines)
            continue
        if isinstance(record, Mapping):
            yield record
    note = f"{path}: {plural(broken, 'line')} can't be read, and left out"
    if broken and note not in notes:
        notes.append(note)


def _read_lines(records: Iterable[Mapping[str, Any]], form: str
                ) -> Iterator[Line]:
    for record in records:
        if form == "openclaw":
            if record.get("type") != "message":
                continue
            at, said = record.get("timestamp"), record.get("message")
        else:
            at = record.get("timestamp") or record.get("created_at")
            said = record
        line = _build(get(said, "role"), get(said, "content"), at)
        if line is not None:
            yield line


def _build(role: Any, content: Any, at: Any) -> Line | None:
    text = _read_text(content).strip()[:_MOST_CHARS]
    return Line(role, text, _read_time(at)) \
        if role in _ROLES and text else None


def _read_text(content: Any) -> str:
    """A text, or the texts of a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(part["text"] for part in content
                     if isinstance(part, Mapping)
                     and isinstance(part.get("text"), str)
                     and part.get("type") in ("text", None))


def _read_time(at: Any) -> str:
    try:
        if isinstance(at, int | float):
            moment = datetime.fromtimestamp(
                at / 1000 if at > 1e11 else at, UTC)
        else:
            moment = datetime.fromisoformat(at)
            moment = moment.replace(tzinfo=moment.tzinfo or UTC)
        return moment.astimezone(UTC).isoformat(
            timespec="seconds").replace("+00:00", "Z")
    except (TypeError, ValueError, OverflowError, OSError):
        return ""
