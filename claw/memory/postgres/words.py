"""Words as PostgreSQL's full text search takes them.

The vector of a memory is written here, from claw's own segmentation: what
the server's parser makes of Chinese depends on its locale, and it knows no
pairs of characters. So it is the same as with its configuration `simple`
and a parser that splits at blanks.
"""

from collections.abc import Iterable, Sequence

from claw.memory.search.scoring import Term
from claw.text.segment import index_text

# Of PostgreSQL: places above count as this one, so many are kept of a word,
# and the whole must stay below 1 MiB.
_LAST_PLACE = 16_383
_MAX_PLACES = 255
_MAX_BYTES = 1_000_000


def write_query(*terms: Term) -> str:
    """Any of these terms, as a tsquery."""
    return " | ".join(
        f"({_quote(form)}:*)" if term.prefix else
        f"({' <-> '.join(map(_quote, form.split()))})"
        for term in terms for form in term.forms)


def vector_text(key: str, content: str) -> str:
    """The tsvector of a memory, as text. Of a text that is too large for
    one the words at its end are left out."""
    places: dict[str, list[int]] = {}
    lexemes = f"{index_text(key)} {index_text(content)}".split()
    size = 0
    for place, lexeme in enumerate(lexemes, 1):
        known = places.get(lexeme)
        if known is None:
            size += len(lexeme.encode()) + 5
            if size > _MAX_BYTES:
                break
            places[lexeme] = [min(place, _LAST_PLACE)]
        elif len(known) < _MAX_PLACES and size < _MAX_BYTES:
            size += 2
            known.append(min(place, _LAST_PLACE))
    return " ".join(f"{_quote(lexeme)}:{','.join(map(str, found))}"
                    for lexeme, found in places.items())


def skeleton(places: Iterable[tuple[str, Sequence[int]]], size: int) -> str:
    """A segmented text of which only some words are known, by their places:
    blanks stand for the others. `size` is its length in words."""
    known = {place: lexeme for lexeme, found in places for place in found}
    longest = max(known, default=0)
    slots = [""] * max(longest, min(size, _LAST_PLACE))
    for place, lexeme in known.items():
        slots[place - 1] = lexeme
    return " ".join(slots)


def _quote(lexeme: str) -> str:
    plain = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{plain}'"
