"""What a person looks for, as SQLite's word index takes it.

The words are those of memory's search: stems, pairs of characters where no
spaces are written, and pieces of words for languages without a stemmer of
ours. A word that ends in * finds what begins so.
"""

from claw.core.value import Value
from claw.text.segment import cut_words, query_terms, tokens
from claw.text.stem import stem
from claw.text.variants import variants

_MOST_TERMS = 32
# A word of so many pieces is found by all but the last one: other forms of
# it end otherwise.
_ENDING = 3


class Term(Value):
    """A word to look for: `forms` are other ways to write it, each one or
    more words of the index; `pieces` stand for it together."""

    forms: tuple[tuple[str, ...], ...]
    pieces: tuple[str, ...] = ()
    prefix: bool = False

    @property
    def match(self) -> str:
        """As FTS5 takes it. Segmented text holds no quotes."""
        star = "*" if self.prefix else ""
        every = [*self.forms, self.pieces] if self.pieces else self.forms
        return "(" + " OR ".join(
            "(" + " AND ".join(f'"{word}"{star}' for word in words) + ")"
            for words in every) + ")"


def split_query(query: str) -> list[Term]:
    """The words of a query that say something, each once; none where there
    is no word in it."""
    found: dict[tuple[str, ...], Term] = {}
    plain = []
    for word in query.split():
        own = tokens(word) if word.endswith("*") else []
        if own:
            term = Term(((own.pop(),),), prefix=True)
            found[term.forms[0]] = term
            plain += own
        else:
            plain.append(word)
    rest = " ".join(plain)
    pieces = cut_words(rest)
    for word in query_terms(rest, _MOST_TERMS) if rest else ():
        forms = dict.fromkeys(
            tuple(stem(part) for part in form.split())
            for form in (word, *variants(word)))
        cut = pieces.get(word, ())
        term = Term(tuple(forms), cut[:-1] if len(cut) >= _ENDING else cut)
        found.setdefault(term.forms[0], term)
    return list(found.values())[:_MOST_TERMS]
