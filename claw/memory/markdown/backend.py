"""Memory as Markdown that a person can read and git can track.

Lasting facts (core) stand in MEMORY.md, all else in a file a day,
memory/YYYY-MM-DD.md (the owner's day). MEMORY.md becomes a part of the
owner's prompt, and tools of every chat can read it: a lasting fact of one
session stands in memory/SESSIONS.md instead. Files are only ever appended
to (files.py), so nothing is forgotten: a later entry with the same
key takes the place of the earlier on reading, and to remove one a person
deletes its lines. What the lines look like: format.py. Lines
written by hand are memories too, without a session.

Recall is the share of the query's words that a memory contains. Nothing
but what is asked for is held: each question reads the files anew, twice
(which entries hold, then what they say).
"""

import builtins
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from claw.core.errors import ClawError, StorageError, UsageError
from claw.core.memory import (
    NO_DEPS,
    Explanation,
    Filters,
    MemoryDeps,
    MemoryEntry,
    Source,
)
from claw.core.value import replace
from claw.memory import times
from claw.memory.markdown import files as disk
from claw.memory.markdown.format import parse
from claw.memory.markdown.rows import (
    Place,
    Row,
    build_memory,
    find_beginning,
    newest,
    render_memory,
    row,
)
from claw.memory.search.entries import FilteredMemory, Found
from claw.memory.search.filters import bound, build_test
from claw.memory.search.periods import find_topics, read_periods
from claw.text.segment import clean, query_terms, words

if TYPE_CHECKING:
    from claw.memory.settings import MemorySettings

List = builtins.list  # the class has a method of that name


class MarkdownMemory(FilteredMemory):
    """Append-only files in the workspace."""

    def __init__(self, workspace: Path, *, readonly: bool = False,
                 namespace: str = "default",
                 clock: Callable[[], str] = times.now) -> None:
        self._workspace = workspace
        self._readonly = readonly
        self._namespace = namespace
        self._clock = clock
        self._last = ""

    @classmethod
    def open(cls, workspace: Path, settings: "MemorySettings", *,
             readonly: bool = False,
             notify: Callable[[str], None] = lambda _: None,
             deps: MemoryDeps = NO_DEPS) -> "MarkdownMemory":
        """The memory of a workspace; files are made by the first write."""
        return cls(workspace, readonly=readonly,
                   namespace=settings.default_namespace)

    @property
    def name(self) -> str:
        return "markdown"

    def store_from(self, key: str, content: str, category: str,
                   session_id: str | None, source: Source) -> None:
        now = self._now()
        self._append([MemoryEntry(
            "", key, content, category, now, now, session_id,
            sender=source.sender, source=source.message,
            namespace=self._namespace, origin=source.origin)], now)

    def _search(self, query: str, limit: int, filters: Filters) -> Found:
        asked = _Words(query)
        hits = ((asked.find_in(found), _order(one), found)
                for one, found in self._live(filters))
        best = heapq.nlargest(limit, (hit for hit in hits if hit[0]),
                              key=lambda hit: (len(hit[0]), hit[1]))
        return [asked.explain(found, held) for held, _, found in best]

    def get(self, key: str) -> MemoryEntry | None:
        return next((found for _, found in self._all(clean(key))), None)

    def list(self, category: str | None = None,
             session_id: str | None = None) -> List[MemoryEntry]:
        live = sorted(self._live(Filters(category, session_id)),
                      key=lambda one: _order(one[0]), reverse=True)
        return [found for _, found in live]

    def page(self, filters: Filters, limit: int, offset: int
             ) -> tuple[List[MemoryEntry], int]:
        first, limit = max(offset, 0), max(limit, 0)
        total = sum(1 for _ in self._live(filters))
        return self._newest(filters, first + limit)[first:], total

    def with_prefix(self, prefix: str, limit: int) -> List[MemoryEntry]:
        start = clean(prefix)
        return heapq.nsmallest(
            limit, (found for _, found in self._all()
                    if found.key.startswith(start)),
            key=lambda found: found.key)

    def stats(self) -> dict[str, int]:
        numbers = Counter(found.category for _, found in self._all())
        return dict(sorted(numbers.items(),
                           key=lambda item: (-item[1], item[0])))

    def forget(self, key: str) -> bool:
        """Nothing is ever taken back; `why_kept` says what to do."""
        return False

    def why_kept(self, key: str) -> str | None:
        """What a person can do where `forget` can't, in one sentence;
        None where nothing is there under `key`."""
        one = next((one for one, _ in self._all(clean(key))), None)
        if one is None:
            return None
        return ("markdown memory is only ever appended to; delete the entry "
                f"at line {one.place.line} of "
                f"{self._workspace / one.file.name} by hand")

    def count(self) -> int:
        return sum(1 for _ in self._all())

    def health_check(self) -> bool:
        try:
            disk.files(self._workspace)
        except ClawError:
            return False
        return True

    def entries(self) -> Iterator[MemoryEntry]:
        """Every memory, oldest first; only where they stand is held."""
        spots = sorted((found.created_at, one.place, one.found.offset,
                        one.file, one.at) for one, found in self._all())
        for created, place, offset, file, at in spots:
            lines = disk.lines(self._workspace, file, offset)
            for found in parse(lines, torn=file.torn):
                moved = found._replace(line=place.line)
                yield build_memory(row(file, place.file, moved, at), created)
                break

    def restore(self, entries: Iterable[MemoryEntry], *,
                overwrite: bool) -> int:
        """Append the entries with their ids and times, those of one file
        together, after all of them were found to be good."""
        given = [*entries]
        if not overwrite:
            known = {found.key for _, found in self._all()}
            first = {clean(one.key): one for one in reversed(given)}
            given = [one for key, one in reversed(first.items())
                     if key not in known]
        return self._append(given, self._now())

    def _now(self) -> str:
        """This moment; later than the one before, so that the order of
        times is that of the writes."""
        now = self._clock()
        if now <= self._last:
            after = (datetime.fromisoformat(self._last)
                     + timedelta(microseconds=1))
            now = times.canonical(after)
        self._last = now
        return now

    def _append(self, entries: Iterable[MemoryEntry], now: str) -> int:
        if self._readonly:
            raise StorageError(
                f"the memory in {self._workspace} is open for reading only")
        written: dict[tuple[str, str], List[str]] = {}
        for given in entries:
            name, heading, text = render_memory(given, now)
            written.setdefault((name, heading), []).append(text)
        for (name, heading), texts in written.items():
            disk.append(self._workspace, name, heading, texts)
        return sum(map(len, written.values()))

    def _newest(self, filters: Filters, limit: int) -> List[MemoryEntry]:
        best = heapq.nlargest(limit, self._live(filters),
                              key=lambda one: _order(one[0]))
        return [found for _, found in best]

    def _live(self, filters: Filters) -> Iterator[tuple[Row, MemoryEntry]]:
        """What recall and listing may show."""
        passes = build_test(filters)
        if filters.since is not None and filters.until is not None \
                and bound("since", filters.since) > bound(
                    "until", filters.until, end=True):
            raise UsageError("'since' must be before 'until'",
                             hint="swap the two")
        known_by = None if filters.as_of is None else bound(
            "as_of", filters.as_of, end=True)
        return ((one, found) for one, found in self._all(known_by=known_by)
                if found.superseded_by is None and passes(found))

    def _all(self, key: str | None = None, known_by: str | None = None
             ) -> Iterator[tuple[Row, MemoryEntry]]:
        """Of each key the entry that holds (at a moment), in the order of
        the files."""
        files = [(file, find_beginning(self._workspace, file))
                 for file in disk.files(self._workspace)]

        def read() -> Iterator[Row]:
            for number, (file, at) in enumerate(files):
                for found in parse(disk.lines(self._workspace, file),
                                   torn=file.torn):
                    one = row(file, number, found, at)
                    at = one.at
                    if key in (None, one.key) and (
                            known_by is None or one.known <= known_by):
                        yield one

        holding = newest(read())
        for one in read():
            held = holding.get(one.key)
            if held is None or held.place == one.place:
                yield one, build_memory(one, held.created if held
                                     else one.known)


class _Words:
    """The words of a query, and which of them a text contains."""

    def __init__(self, query: str) -> None:
        query = clean(query)
        self._terms = query_terms(query)
        # Signs alone (an emoji) are looked for as they are written.
        self._signs = [] if self._terms else list(
            dict.fromkeys(query.casefold().split()))
        self._periods = [(period, find_topics(query, period))
                         for period in read_periods(query)]

    def find_in(self, found: MemoryEntry) -> List[str]:
        """The words it holds; those of a date when it was made then, and
        holds another word, or none has a topic."""
        held = self._find_words(found)
        for period, (topics, others) in self._periods:
            if period.share_at(found.created_at) and (
                    not topics or not topics.isdisjoint(held)):
                held = [term for term in self._terms if term in held
                        or not topics or term not in others]
        return held

    def _find_words(self, found: MemoryEntry) -> List[str]:
        text = f"{found.key}\n{found.content}"
        if self._signs:
            plain = text.casefold()
            return [sign for sign in self._signs if sign in plain]
        folded = f"{' '.join(words(text))} {text.casefold()}"
        return [term for term in self._terms if term in folded]

    def explain(self, found: MemoryEntry, held: List[str]
                  ) -> tuple[MemoryEntry, Explanation]:
        asked = self._terms or self._signs
        share = len(held) / len(asked)
        parts: dict[str, float | str] = {
            "method": "share of words", "coverage": share,
            "matched": " ".join(held)}
        if len(held) < len(asked):
            parts["missed"] = " ".join(
                term for term in asked if term not in held)
        return (replace(found, score=share),
                Explanation(found.key, share, parts))


def _order(one: Row) -> tuple[str, str, Place]:
    """Newest last."""
    return one.known, one.at, one.place
