r"""Texts that are to be forgotten: finding them in bytes, and taking them
out of a text.

What is looked for is each text, each of its sentences, and each code in it
(a long word of letters and digits, as "door-7731-blue"), plainly and as
JSON, HTML and URLs escape it. Of what is long, its first CUT_CHARS are
enough where a copy ends there: previews and notes cut texts at their end,
and what they kept goes. What goes on in other words is another text. Capital
letters, normal forms and line ends tell no two texts apart (fold.py). Texts
of fewer than LEAST_BYTES are everywhere ("yes"), as are dates and the words
of claw's own files ("assistant"): they are not looked for.

A name (of a session, a model, a person) is left as it is unless it holds a
code or several words: "mina" stands in every row.

Pure.
"""

from collections.abc import Iterable

from claw.memory.forgetting.finder import Finder
from claw.memory.forgetting.forms import (
    find_codes,
    list_terms,
    tells,
)
from claw.memory.forgetting.frames import clean_records
from claw.memory.forgetting.spans import MARK

OVERLAP = 4096  # no head is longer, in whatever form
_SIGNS = " \t\r\n.,;:!?\"'"


class Texts:
    """What is to be forgotten. `short` are texts that are not looked for."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.all = list(dict.fromkeys(filter(str.strip, texts)))
        self.short = [text for text in self.all if not tells(text.strip())]
        terms = list(dict.fromkeys(term for text in self.all
                                   for term in list_terms(text)
                                   if tells(term)))
        self._finder = Finder(terms)
        self._in_names = Finder(
            term for term in terms
            if len(term.split()) > 1 or term in find_codes(term))

    def __bool__(self) -> bool:
        return bool(self._finder)

    def clean(self, text: str) -> str:
        """The text without what is to be forgotten, a MARK in its place."""
        return self._finder.clean(text)

    def clean_name(self, name: str) -> str:
        """The same for a name."""
        return self._in_names.clean(name)

    def clean_bytes(self, data: bytes) -> bytes:
        """The same for the bytes of a text file, whatever else is in it; of
        JSON what somebody said, and not what it is made of."""
        return clean_records(
            data.decode("utf-8", "surrogateescape"), self.clean,
            self.clean_name).encode("utf-8", "surrogateescape")

    def overwrite(self, data: bytes) -> bytes:
        """Bytes that are no text, of the same length: what is to be
        forgotten becomes zeros."""
        return self._finder.overwrite(data)

    def is_in(self, data: bytes) -> bool:
        """Whether any of it stands in these bytes, in whatever form."""
        return self._finder.is_in(data)


def is_rest(text: str) -> bool:
    """Whether a text was cleaned, and says nothing else."""
    return MARK in text and not text.replace(MARK, "").strip(_SIGNS)
