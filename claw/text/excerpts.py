"""The part of a text in which words stand, for lists of what was found."""

import re
from collections.abc import Collection, Iterator

from claw.core.value import Value
from claw.text.segment import query_terms, tokens
from claw.text.stem import stem

_WORD = re.compile(r"\w+")
_READ_CHARS = 20_000
_BEFORE = 30


class Excerpt(Value):
    """A part of a text on one line; `spans` say where the words stand."""

    text: str
    spans: tuple[tuple[int, int], ...]


def find_excerpt(text: str, query: str, most: int) -> Excerpt | None:
    """The first place with the most of the words, at most so many
    characters; None where none of them stands in it."""
    line = " ".join(text[:_READ_CHARS].split())
    hits = list(find_words(line, query))
    if not hits:
        return None
    best = max(hits, key=lambda hit: (len({
        word for start, end, word in hits
        if hit[0] <= start and end <= hit[0] + most - _BEFORE}), -hit[0]))
    begin = max(0, best[0] - _BEFORE)
    if begin:
        begin = line.find(" ", begin, best[0]) + 1 or begin
    shown = line[begin:begin + most]
    head = "…" if begin else ""
    tail = "…" if begin + most < len(line) else ""
    return Excerpt(head + shown + tail, tuple(
        (start - begin + len(head), end - begin + len(head))
        for start, end, _ in hits
        if begin <= start and end <= begin + most))


def find_words(text: str, query: str) -> Iterator[tuple[int, int, str]]:
    """Where in a text the words of a query stand, in whatever form: start,
    end, and the word of the query."""
    wanted: dict[str, str] = {}
    for part in query.split():
        if part.endswith("*"):
            continue
        for term in query_terms(part):
            wanted.setdefault(stem(term), term)
    starts = tuple(token for part in query.split() if part.endswith("*")
                   for token in tokens(part)[-1:])
    spaceless = [term for term in wanted.values() if not term.isascii()]
    for found in _WORD.finditer(text):
        own = tokens(found[0])
        held = {wanted[word] for word in map(stem, own) if word in wanted}
        held.update(start for start in starts
                    if any(word.startswith(start) for word in own))
        inner = _find_inner(found[0], spaceless)
        if inner:
            for start, end, term in inner:
                yield found.start() + start, found.start() + end, term
        elif held:
            yield found.start(), found.end(), min(held)


def _find_inner(word: str, terms: Collection[str]
                ) -> list[tuple[int, int, str]]:
    """Where terms stand inside a run that is written without spaces: those
    that touch are one place."""
    folded = word.casefold()
    if not terms or word.isascii() or len(folded) != len(word):
        return []
    found: list[tuple[int, int, str]] = []
    for start, end, term in sorted(
            (at, at + len(one), one) for one in terms
            for at in _find_all(folded, one)):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]), found[-1][2])
        else:
            found.append((start, end, term))
    return found


def _find_all(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)
