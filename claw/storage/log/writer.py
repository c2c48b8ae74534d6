"""Writing the log, <workspace>/state/log.db.

A question is written before the model is asked and its end when it is known,
each committed at once: who is killed leaves an entry that says so. While
one is being answered its row names the process. synchronous=NORMAL: what is
committed survives the end of a process.

What is old, or too much, goes when something new is written: the look that
decides on it costs some microseconds.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claw.core.errors import UnavailableError
from claw.storage.log import schema
from claw.storage.log.entry import End, Start
from claw.storage.log.opening import WAIT_S, open_writer
from claw.storage.log.removal import remove_oldest
from claw.storage.log.settings import LogSettings
from claw.storage.queue.owner import this_process
from claw.storage.sqlite import (
    CorruptError,
    file_id,
    translated,
    translated_with_remedy,
    write,
)
from claw.text.segment import clean

# Of one text; the rest of a longer one is not kept.
MOST_CHARS = 2 << 20
CUT = "\n[cut: what follows was too long for the log]"

Record = Callable[[Any], Any]


def keep_all(value: Any) -> Any:
    """Nothing is taken out."""
    return value


class LogWriter:
    """The log of one process. The file is made and opened when the first
    entry is written; any thread may use it. Every text is kept as `record`
    gives it back: without secrets. Raises StorageError, UnavailableError."""

    def __init__(self, path: Path, settings: LogSettings | None = None, *,
                 record: Record = keep_all,
                 now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._settings = settings or LogSettings()
        self._record = record
        self._now = now
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None

    def begin(self, start: Start) -> None:
        """Write a question. One that is there already, of a turn that a
        killed process began, is now answered by this one."""
        row = {
            "id": start.id, "parent": start.parent, "root": start.id,
            "at": stamp(self._now()), "owner": _name_process(),
            **{name: self._clean(getattr(start, name)) for name in (
                "origin", "session", "sender", "provider", "model",
                "system", "prompt")},
            "under": self._clean(start.under) or None,
            "passages": self._json(start.passages)}
        with self._writing() as connection:
            if connection.execute(
                    "UPDATE entries SET owner = ?, outcome = NULL"
                    " WHERE id = ?", (row["owner"], start.id)).rowcount:
                return
            found = connection.execute(
                "SELECT root FROM entries WHERE id = ?",
                (start.parent,)).fetchone()
            if found is not None:
                row["root"] = found[0]
            names = ", ".join(row)
            seq = connection.execute(
                f"INSERT INTO entries ({names}) VALUES"
                f" ({', '.join('?' * len(row))})",
                tuple(row.values())).lastrowid
            schema.index(connection, seq or 0, row)
            remove_oldest(connection, self._settings, self._now())

    def end(self, turn_id: str, end: End) -> None:
        """Write what came of a question; nothing where it is not there
        any more."""
        with self._writing() as connection:
            found = connection.execute(
                "SELECT seq, prompt, under, answer FROM entries"
                " WHERE id = ?", (turn_id,)).fetchone()
            if found is None:
                return
            seq = found[0]
            before = dict(zip(("prompt", "under", "answer"), found[1:],
                              strict=True))
            row = {
                "owner": None, "outcome": end.outcome,
                "input_tokens": end.input_tokens,
                "output_tokens": end.output_tokens, "cost": end.cost,
                "duration_ms": end.duration_ms,
                "labels": self._json(end.labels),
                "rounds": self._json(end.rounds),
                "answer": self._clean(end.answer),
                "error": self._clean(end.error),
                **_split_message(self._clean(end.message), before)}
            for name in ("provider", "model"):
                if value := getattr(end, name):
                    row[name] = self._clean(value)
            schema.unindex(connection, seq, before)
            connection.execute(
                "UPDATE entries SET "
                + ", ".join(f"{name} = ?" for name in row)
                + " WHERE seq = ?", (*row.values(), seq))
            schema.index(connection, seq, before | row)

    def find_last(self, session: str) -> str | None:
        """The id of the last entry of a session."""
        return self._find("SELECT id FROM entries WHERE session = ?"
                          " ORDER BY seq DESC LIMIT 1", session)

    def find_parent(self, entry: str) -> str | None:
        """The id of the entry that one goes on from."""
        return self._find("SELECT parent FROM entries WHERE id = ?", entry)

    def _find(self, statement: str, value: str) -> str | None:
        if self._connection is None and not self._path.exists():
            return None
        with self._holding() as connection, translated(self._path):
            found = connection.execute(
                statement, (self._record(value),)).fetchone()
        return None if found is None or found[0] is None else str(found[0])

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            self._shut()

    def _clean(self, text: str | None) -> str | None:
        if text is None:
            return None
        found: str = self._record(clean(text))
        return (found if len(found) <= MOST_CHARS
                else found[:MOST_CHARS] + CUT)

    def _json(self, values: tuple[Any, ...]) -> str | None:
        """As a JSON array, None for nothing. Texts of tools are cut one by
        one, so that what is kept stays readable."""
        return (None if not values else clean(json.dumps(
            _cut_texts(self._record(values)), ensure_ascii=False)))

    def _shut(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()

    @contextmanager
    def _holding(self) -> Iterator[sqlite3.Connection]:
        """The connection, for this thread alone."""
        if not self._lock.acquire(timeout=WAIT_S):
            raise UnavailableError(f"{self._path} is locked",
                                   hint="try again in a moment")
        try:
            with translated_with_remedy(self._path):
                yield self._open()
        except CorruptError:
            self._shut()
            raise
        finally:
            self._lock.release()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._holding() as connection, \
                write(connection, self._path):
            yield connection

    def _open(self) -> sqlite3.Connection:
        """The connection; a new one where the file was removed or replaced
        (what is written into a file without a name is lost)."""
        if self._connection is not None:
            if file_id(self._path) == self._file:
                return self._connection
            self._shut()
        connection = open_writer(self._path)
        self._connection, self._file = connection, file_id(self._path)
        return connection


def stamp(seconds: float) -> str:
    """Unix seconds as entries are dated: to the microsecond, in UTC, so
    that the order of the texts is that of the times."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(
        timespec="microseconds").replace("+00:00", "Z")


def _name_process() -> str:
    owner = this_process()
    return json.dumps([owner.pid, owner.started, owner.boot, owner.space,
                       owner.host])


def _split_message(message: str | None, row: dict[str, Any]
                   ) -> dict[str, Any]:
    """What is still to be kept of the message that the model got, beside
    the prompt and what stands under it."""
    if message is None:
        return {}
    own = row["prompt"] + (row["under"] or "")
    if message.endswith(own):
        return {"before": message[:-len(own)] or None}
    if message.startswith(row["prompt"]):
        return {"under": message[len(row["prompt"]):] or None}
    return {"prompt": message, "under": None}


def _cut_texts(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= MOST_CHARS else value[:MOST_CHARS] + CUT
    if isinstance(value, dict):
        return {name: _cut_texts(below) for name, below in value.items()}
    if isinstance(value, list | tuple):
        return [_cut_texts(below) for below in value]
    return value
