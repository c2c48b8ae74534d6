"""Looking into the log: nothing is made, nothing changed."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from claw.core.errors import NotFoundError
from claw.core.refusal import NOT_DONE
from claw.core.value import Value
from claw.security.files.nofollow import check_database
from claw.storage.log import schema
from claw.storage.log.entry import (
    Entry,
    State,
    read_json,
    read_number,
    read_origins,
    read_strings,
    read_text,
)
from claw.storage.log.query import Term
from claw.storage.queue.owner import Owner, alive, this_process
from claw.storage.sqlite import (
    CorruptError,
    Reader,
    connect,
    translated_with_remedy,
)

_NAMES = ", ".join(f"entries.{name}" for name in schema.COLUMNS)
_KEYS = 10  # named when a beginning fits several
# Of entries that hold only some of the words: so many of each are looked at.
_FEW = 2_000


class Filters(Value):
    """Which entries: `since` and `until` as canonical times (both part of
    the span), `session` by name, `model` by a part of its name, `refused`
    those alone in which something wanted a yes that nobody gave, `failed`
    those that ended in an error."""

    since: str | None = None
    until: str | None = None
    session: str | None = None
    model: str | None = None
    refused: bool = False
    failed: bool = False

    def write_sql(self) -> tuple[str, list[Any]]:
        """A condition, and its values."""
        rows = [(text, value) for text, value in (
            ("entries.at >= ?", self.since), ("entries.at <= ?", self.until),
            ("entries.session = ?", self.session),
            ("instr(lower(entries.model), lower(?))", self.model),
            ("instr(entries.error, ?)", NOT_DONE if self.refused else None),
            ("entries.outcome = ?", "failed" if self.failed else None))
            if value is not None]
        return (" AND ".join(text for text, _ in rows) or "1",
                [value for _, value in rows])


class Talk(Value):
    """A conversation: its last entry, the words that it began with, and
    how many entries it has."""

    last: Entry
    first_prompt: str
    turns: int


class LogReader(Reader):
    """Entries of the log, the newest first."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def page(self, filters: Filters, limit: int, offset: int = 0
             ) -> list[Entry]:
        """A page of the entries that the filters let through."""
        where, values = filters.write_sql()
        return self._read(f"WHERE {where} ORDER BY entries.at DESC,"
                          " entries.seq DESC LIMIT ? OFFSET ?",
                          [*values, limit, offset])

    def walk(self, filters: Filters) -> Iterator[Entry]:
        """All of them, the oldest first, one by one."""
        where, values = filters.write_sql()
        with translated_with_remedy(self._path):
            for row in self._connection.execute(
                    f"SELECT {_NAMES} FROM entries WHERE {where}"
                    " ORDER BY entries.at, entries.seq", values):
                yield _build_entry(row)

    def count(self, filters: Filters | None = None) -> int:
        """How many entries the filters let through."""
        where, values = (filters or Filters()).write_sql()
        return int(self._number(
            f"SELECT count(*) FROM entries WHERE {where}", values))

    def search(self, terms: Sequence[Term], filters: Filters, limit: int
               ) -> tuple[list[Entry], bool]:
        """Entries that hold all of these words, the newest first. Where
        none does, those that hold most of them; whether all were held."""
        where, values = filters.write_sql()
        match = " AND ".join(term.match for term in terms)
        found = self._read(
            "JOIN entry_words ON entry_words.rowid = entries.seq"
            f" WHERE entry_words MATCH ? AND {where}"
            " ORDER BY entry_words.rowid DESC LIMIT ?",
            [match, *values, limit])
        if found or len(terms) < 2:
            return found, True
        return self._search_some(terms, where, values, limit), False

    def get(self, start: str) -> Entry:
        """The entry whose id begins so. Raises NotFoundError for none and
        for several."""
        found = self._with_start(start)
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFoundError(f"there is no entry {start!r} in the log",
                                hint="list them with: claw log list")
        ids = ", ".join(entry.id[:12] for entry in found[:_KEYS])
        more = ", ..." if len(found) > _KEYS else ""
        raise NotFoundError(f"several entries begin with {start!r}",
                            hint=f"name one of: {ids}{more}")

    def last(self) -> Entry | None:
        """The newest entry."""
        found = self._read("ORDER BY entries.at DESC, entries.seq DESC"
                           " LIMIT 1", [])
        return found[0] if found else None

    def last_question(self) -> Entry | None:
        """The last question of `claw ask` that has no session of its own
        and was answered, wholly or in part."""
        found = self._read(
            "WHERE origin = 'ask' AND session IS NULL AND answer <> ''"
            " ORDER BY seq DESC LIMIT 1", [])
        return found[0] if found else None

    def chain(self, last: Entry, most: int) -> list[Entry]:
        """The entries that one goes on from, itself last; the newest
        `most` of them."""
        seqs = self._column(
            "WITH RECURSIVE chain(seq, parent, length) AS ("
            " SELECT seq, parent, 1 FROM entries WHERE seq = ?"
            " UNION ALL SELECT entries.seq, entries.parent, length + 1"
            " FROM chain JOIN entries ON entries.id = chain.parent"
            " WHERE length < ? AND entries.seq < chain.seq)"
            " SELECT seq FROM chain", [last.seq, most])
        return self._by_seq(sorted(seqs))

    def talks(self, limit: int) -> list[Talk]:
        """The latest conversations."""
        with translated_with_remedy(self._path):
            rows = self._connection.execute(
                "SELECT max(seq), count(*), min(seq) FROM entries"
                " GROUP BY root ORDER BY 1 DESC LIMIT ?",
                [limit]).fetchall()
        last = {one.seq: one for one in self._by_seq([r[0] for r in rows])}
        first = {one.seq: one for one in self._by_seq([r[2] for r in rows])}
        return [Talk(last[row[0]], first[row[2]].prompt, row[1])
                for row in rows if row[0] in last and row[2] in first]

    def find_last(self, session: str) -> str | None:
        """The id of the last entry of a session."""
        found = self._read("WHERE session = ? ORDER BY seq DESC LIMIT 1",
                           [session])
        return found[0].id if found else None

    def check(self) -> None:
        """Raise CorruptError where the file is damaged."""
        with translated_with_remedy(self._path):
            found = self._connection.execute(
                "PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise CorruptError(f"{self._path} is damaged: {found}")

    def _with_start(self, start: str) -> list[Entry]:
        return [] if not start else self._read(
            "WHERE id >= ? AND id < ? ORDER BY seq DESC LIMIT ?",
            [start, start + "\U0010ffff", _KEYS + 1])

    def _search_some(self, terms: Sequence[Term], where: str,
                     values: Sequence[Any], limit: int) -> list[Entry]:
        """The entries that hold most of the words; a word that few hold
        tells more."""
        scores: dict[int, float] = {}
        for term in terms:
            held = self._column(
                "SELECT entries.seq FROM entries"
                " JOIN entry_words ON entry_words.rowid = entries.seq"
                f" WHERE entry_words MATCH ? AND {where}"
                " ORDER BY entry_words.rowid DESC LIMIT ?",
                [term.match, *values, _FEW])
            for seq in held:
                scores[seq] = scores.get(seq, 0.0) + 1 / (1 + len(held))
        best = sorted(scores, key=lambda seq: (scores[seq], seq),
                      reverse=True)[:limit]
        found = {entry.seq: entry for entry in self._by_seq(best)}
        return [found[seq] for seq in best if seq in found]

    def _by_seq(self, seqs: Iterable[int]) -> list[Entry]:
        numbers = list(seqs)
        return self._read(
            f"WHERE seq IN ({', '.join('?' * len(numbers))}) ORDER BY seq",
            numbers)

    def _read(self, rest: str, values: Sequence[Any]) -> list[Entry]:
        with translated_with_remedy(self._path):
            return [_build_entry(row) for row in self._connection.execute(
                f"SELECT {_NAMES} FROM entries {rest}", values)]

    def _column(self, statement: str, values: Sequence[Any]) -> list[int]:
        with translated_with_remedy(self._path):
            return [row[0] for row in self._connection.execute(
                statement, values)]

    def _number(self, statement: str, values: Sequence[Any]) -> Any:
        return self._column(statement, values)[0]


def _build_entry(row: Sequence[Any]) -> Entry:
    """Columns take any type in SQLite, and another program may have written
    them."""
    value = {name: (read_number if name in schema.NUMBERS else read_text)(one)
             for name, one in zip(schema.COLUMNS, row, strict=True)}
    owner, outcome = value.pop("owner"), value.pop("outcome")
    return Entry(**value | {
        "state": _read_state(owner, outcome),
        "labels": read_origins(value["labels"]),
        "passages": read_strings(value["passages"]),
        **{name: value[name] or "" for name in (
            "id", "root", "at", "origin", "before", "prompt", "under")},
        "rounds": tuple(one for one in read_json(value["rounds"])
                        if isinstance(one, dict))})


def _read_state(owner: str | None, outcome: str | None) -> State:
    """What became of a question; one whose process is gone was
    interrupted."""
    if outcome in ("answered", "failed"):
        return outcome  # type: ignore[return-value]
    try:
        who = Owner(*json.loads(owner)) if owner else None
        is_gone = who is None or alive(who, this_process()) is False
    except (ValueError, TypeError, OverflowError):
        is_gone = True
    return "interrupted" if is_gone else "running"


def open_reader(path: Path) -> LogReader:
    """A look into the log. Raises NotFoundError where there is none yet,
    StorageError."""
    try:
        check_database(path)  # a folder that may not be read is said
        path.stat()
    except FileNotFoundError:
        raise none_yet() from None
    with translated_with_remedy(path):
        connection = connect(path, readonly=True)
        connection.text_factory = read_text
        try:
            if schema.check_version(connection, path) == 0:
                raise none_yet()
        except BaseException:
            connection.close()
            raise
    return LogReader(connection, path)


def none_yet() -> NotFoundError:
    return NotFoundError("nothing is in the log yet",
                         hint="claw ask, agent and listen write theirs")
