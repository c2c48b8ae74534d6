"""Words as PostgreSQL's full text search takes them.

The vector of a memory is written here, from claw's own segmentation: what
the server's parser makes of Chinese depends on its locale, and it knows no
pairs of characters. So it is the same as with its configuration `simple`
and a parser that splits at blanks.
"""

from typing import NamedTuple

from claw.text.segment import (
    clean,
    index_text,
    is_spaceless,
    query_terms,
    tokens,
)
from claw.text.variants import variants

MAX_TERMS = 64
MAX_PIECES = 8
MAX_PIECE_CHARACTERS = 1000
# Of PostgreSQL: places above count as this one, so many are kept of a word,
# and the whole must stay below 1 MiB.
_LAST_PLACE = 16_383
_MAX_PLACES = 255
_MAX_BYTES = 1_000_000


class Term(NamedTuple):
    """A word of the query and what it may stand as in the index: each form
    one lexeme, or several in a row. `prefix`: also as the start of a word."""

    text: str
    forms: tuple[tuple[str, ...], ...]
    prefix: bool = False

    @property
    def match(self) -> str:
        """As a tsquery."""
        found = [" <-> ".join(map(_quoted, form)) for form in self.forms]
        if self.prefix:
            found.append(_quoted(self.text) + ":*")
        return " | ".join(f"({form})" for form in found)


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
    return " ".join(f"{_quoted(lexeme)}:{','.join(map(str, found))}"
                    for lexeme, found in places.items())


def terms_of(query: str) -> list[Term]:
    """The terms of a query; "word*" gives a prefix."""
    prefixes: list[str] = []
    plain: list[str] = []
    for word in clean(query).split():
        found = tokens(word) if word.endswith("*") else []
        if found:
            prefixes.append(found.pop())
            plain += found
        else:
            plain.append(word)
    terms = [Term(text, _forms(text), True)
             for text in dict.fromkeys(prefixes)]
    terms += [Term(text, _forms(text))
              for text in query_terms(" ".join(plain), MAX_TERMS)]
    return terms[:MAX_TERMS]


def pieces_of(query: str) -> list[str]:
    """The words of a query as they are written, without those that carry
    no topic."""
    kept = set(query_terms(query, len(query)))
    found = []
    for word in clean(query).split():
        bare = word.strip("*\"'.,;:!?()[]{}") or word
        own = tokens(bare)
        if not own or kept.intersection(own):
            found.append(bare[:MAX_PIECE_CHARACTERS])
    return list(dict.fromkeys(found))[:MAX_PIECES]


def _forms(text: str) -> tuple[tuple[str, ...], ...]:
    if is_spaceless(text):
        return ((text,),)  # a pair of characters is no text to take apart
    forms = (tuple(index_text(form).split())
             for form in (text, *variants(text)))
    return tuple(dict.fromkeys(form for form in forms if form))


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
