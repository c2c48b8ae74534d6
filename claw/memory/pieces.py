"""The last resort of recall: rows that hold pieces of the query as written.

Asked only when no index knows anything; every row is read.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any

from claw.core.memory import Filters
from claw.memory.filters import conditions, where
from claw.text.segment import clean, query_terms, tokens

MAX_LIKE_WORDS = 8
MAX_LIKE_CHARACTERS = 1000
LIKE_CEILING = 0.5

# Row id, score, parts of the score.
Piece = tuple[int, float, dict[str, float | str]]


def find_pieces(connection: sqlite3.Connection, query: str, limit: int,
                filters: Filters) -> Iterator[Piece]:
    """Rows that hold pieces of the query as they are written, scored by
    the share of pieces, at most LIKE_CEILING."""
    # LIKE ends at a NUL.
    pieces = pieces_of(query.replace("\0", " "))
    if not pieces:
        return
    test = ("(memories.content LIKE ? ESCAPE '\\' OR memories.key LIKE ?"
            " ESCAPE '\\' OR instr(memories.content, ?)"
            " OR instr(memories.key, ?))")
    count = " + ".join([test] * len(pieces))
    values: list[Any] = []
    for piece in pieces:
        values += [_pattern(piece), _pattern(piece), piece, piece]
    found, narrowing = conditions(filters)
    rows = connection.execute(
        f"SELECT rid, held FROM (SELECT rid, updated_at, {count} AS held"
        f" FROM memories{where(found)}) WHERE held > 0"
        " ORDER BY held DESC, updated_at DESC, rid DESC LIMIT ?",
        (*values, *narrowing, limit))
    for rid, held in rows:
        yield (rid, LIKE_CEILING * held / len(pieces),
               {"method": "pieces", "coverage": held / len(pieces)})


def pieces_of(query: str) -> list[str]:
    """The words of a query as they are written, without those that carry
    no topic."""
    kept = set(query_terms(query, len(query)))
    found = []
    for word in clean(query).split():
        bare = word.strip("*\"'.,;:!?()[]{}") or word
        own = tokens(bare)
        if not own or kept.intersection(own):
            found.append(bare[:MAX_LIKE_CHARACTERS])
    return list(dict.fromkeys(found))[:MAX_LIKE_WORDS]


def _pattern(piece: str) -> str:
    escaped = (piece.replace("\\", "\\\\").replace("%", "\\%")
               .replace("_", "\\_"))
    return f"%{escaped}%"
