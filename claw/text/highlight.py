"""Where a text has the words of a question, in any of their forms."""

import re

from claw.text.segment import is_spaceless, query_terms, stem_text, words

_RUN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_MOST_CHARS = 200_000  # of a longer text the rest is not looked at


def find_matches(text: str, query: str) -> list[tuple[int, int]]:
    """Where they begin and end, in order. A word with * at its end matches
    what begins so; in scripts without spaces the characters count."""
    asked = frozenset(stem_text(" ".join(query_terms(query))).split()) \
        | frozenset(query_terms(query))
    begins = tuple(word for part in query.split() if part.endswith("*")
                   for word in words(part))
    found = []
    for run in _RUN.finditer(text[:_MOST_CHARS]):
        folded = " ".join(words(run[0]))
        if is_spaceless(folded):
            found += _find_pieces(run, asked)
        elif (begins and folded.startswith(begins)) \
                or not asked.isdisjoint(stem_text(run[0]).split()):
            found.append(run.span())
    return found


def _find_pieces(run: re.Match[str], asked: frozenset[str]
                 ) -> list[tuple[int, int]]:
    """The characters of a run that are in one of the terms."""
    marked = [False] * len(run[0])
    for term in filter(is_spaceless, asked):
        at = run[0].find(term)
        while at >= 0:
            marked[at:at + len(term)] = [True] * len(term)
            at = run[0].find(term, at + 1)
    spans, begin = [], None
    for number, mark in enumerate([*marked, False]):
        if mark and begin is None:
            begin = number
        elif not mark and begin is not None:
            spans.append((run.start() + begin, run.start() + number))
            begin = None
    return spans
