"""Terms, found in a text and in bytes, and taken out of them.

First letter by letter, then folded (folded.py): what an escape of JSON
stands across is seen by the one, capitals and new line ends by the other.
Bytes are searched in UTF-8, UTF-16 and, letter by letter, in base64.

Pure.
"""

from collections.abc import Collection, Iterable, Iterator

from claw.memory.forgetting.folded import FoldedForms
from claw.memory.forgetting.forms import (
    ANCHOR,
    FEW,
    Forms,
    encode,
    list_forms,
)
from claw.memory.forgetting.spans import (
    CUT_CHARS,
    Span,
    count_same,
    ends_at,
    find_spans,
    put_marks,
)
from claw.text.segment import MAX_WORD


class Finder:
    """What is looked for; `forms` are all of its spellings."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._forms = Forms(form for term in terms
                            for form in list_forms(term))
        forms = self._forms.all
        self._folded = FoldedForms(forms)
        self._patterns: dict[bytes, set[bytes]] = {}  # head -> whole ones
        for form in forms:
            for head, whole in zip(encode(form[:CUT_CHARS]), encode(form),
                                   strict=True):
                self._patterns.setdefault(head, set()).add(whole)
        self._anchors = frozenset(data[:ANCHOR] for data in self._patterns)
        # What another text's long word of the same beginning, or a part of
        # it, may be in an index.
        self._index_terms = frozenset(
            data for form in forms
            for length in range(CUT_CHARS, MAX_WORD + 1)
            if form[:length].isalnum() for data in encode(form[:length]))

    def __bool__(self) -> bool:
        return bool(self._forms.all)

    def clean(self, text: str) -> str:
        """The text without the terms, a MARK in their place."""
        # All at once: a code is a part of its text, cut or in other letters.
        text = put_marks(text, self._folded.find(text))
        found = list(self._forms.find(text))
        # Whole ones first: what is cut in one form may be whole in another.
        for form, _ in found:
            text = put_marks(text, find_spans(text, form, form))
        for form, head in found:
            text = put_marks(text, find_spans(text, form, head))
        return text

    def overwrite(self, data: bytes) -> bytes:
        """Bytes that are no text, of the same length: zeros in the place of
        the terms."""
        changed = bytearray(data)
        for form in self._forms.all:
            for whole, head in zip(encode(form), encode(form[:CUT_CHARS]),
                                   strict=True):
                for start, stop in _find_bytes(changed, whole, head):
                    changed[start:stop] = bytes(stop - start)
        for start, stop in self._folded.find_bytes(bytes(changed)):
            changed[start:stop] = bytes(stop - start)
        return bytes(changed)

    def is_in(self, data: bytes) -> bool:
        """Whether any of it stands in these bytes, in whatever form."""
        if len(self._patterns) <= FEW:
            is_there = any(self._stands_in(data, head, whole)
                           for head, whole in self._patterns.items())
        else:
            near = self._anchors.intersection(
                data[at:at + ANCHOR] for at in range(len(data)))
            is_there = bool(near) and any(
                head[:ANCHOR] in near and self._stands_in(data, head, whole)
                for head, whole in self._patterns.items())
        return is_there or bool(self._folded.find_bytes(data))

    def _stands_in(self, data: bytes, head: bytes,
                   wholes: Collection[bytes]) -> bool:
        """Whether one of these stands in the bytes, or a copy of it that
        was cut behind its head."""
        at = data.find(head)
        while at >= 0:
            for whole in wholes:
                same = count_same(data, at, whole)
                if same == len(whole) or (
                        ends_at(data, at + same)
                        and whole[:same] not in self._index_terms):
                    return True
            at = data.find(head, at + 1)
        return False


def _find_bytes(data: bytearray, whole: bytes, head: bytes
                ) -> Iterator[Span]:
    """Where it stands, or a copy of it that was cut."""
    at = data.find(head)
    while at >= 0:
        end = at + count_same(data, at, whole)
        if end - at == len(whole) or ends_at(data, end):
            yield at, end
        at = data.find(head, at + 1)
