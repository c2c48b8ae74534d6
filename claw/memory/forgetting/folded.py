"""Forms that are found in whatever letters, normal form and line ends.

Folding takes a second for 4 MB, so bytes and long texts are folded only
around an anchor: a word that must stand where the form does.
"""

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator

from claw.memory.forgetting.fold import Folded, fold
from claw.memory.forgetting.forms import FEW, Forms, tells
from claw.memory.forgetting.spans import CUT_CHARS, Span, find_spans
from claw.text.segment import MAX_WORD

_ANCHOR_CHARS = 12
_PLAIN_CHARS = 4
_AROUND = 512
# So much longer than it is folded may a form be where it stands.
_WIDTH = 12
# What has another length, or another letter, as it is folded.
_word = re.compile(r"[^\W_]+")
_uncertain = re.compile("ss|σ")


class FoldedForms:
    """The forms of Forms, folded."""

    def __init__(self, forms: Iterable[str]) -> None:
        self._forms = Forms(
            form for one in forms if tells(form := fold(one).strip()))
        longest = max(map(len, self._forms.all), default=0)
        self._around = _AROUND + _WIDTH * longest
        # With many forms one of their words stands everywhere.
        self._anchors = _list_anchors(self._forms.all)
        self._utf16 = frozenset(
            form.encode(name, "surrogatepass").lower()
            for form in self._forms.all for name in ("utf-16-le", "utf-16-be"))

    def find(self, text: str) -> list[Span]:
        """Where in a text they stand, whole or cut."""
        low = text.lower() if self._anchors is not None else ""
        if not any(anchor in low for anchor in self._anchors or [""]):
            return []
        folded = Folded(text)
        return [(folded.find_start(start), folded.find_end(stop))
                for form, head in self._forms.find(folded.text)
                for start, stop in find_spans(folded.text, form, head)]

    def find_bytes(self, data: bytes) -> list[Span]:
        """Where in bytes they stand."""
        low = data.lower()
        found = [(at, at + len(form)) for form in self._utf16
                 for at in _find_all(low, form)]
        for begin, end in self._choose_windows(low):
            folded = Folded(data[begin:end].decode("utf-8",
                                                   "surrogateescape"))
            for form, head in self._forms.find(folded.text):
                for start, stop in find_spans(folded.text, form, head):
                    if _may_be_indexed(folded.text[start:stop], form):
                        continue
                    start, stop = (len(folded.original[:at].encode(
                        "utf-8", "surrogateescape")) for at in (
                        folded.find_start(start), folded.find_end(stop)))
                    found.append((begin + start, begin + stop))
        return found

    def _choose_windows(self, low: bytes) -> Iterator[Span]:
        """What of the bytes is to be folded."""
        if not self._forms.all:
            return
        if self._anchors is None:
            yield 0, len(low)
            return
        windows = sorted(
            (max(0, at - self._around), at + self._around)
            for anchor in self._anchors
            for at in _find_all(low, anchor.encode("utf-8", "surrogatepass")))
        begin = end = 0
        for start, stop in windows:
            if start > end:
                if end:
                    yield begin, end
                begin = start
            end = max(end, stop)
        if end:
            yield begin, end


def _may_be_indexed(found: str, form: str) -> bool:
    """Whether a copy that was cut may be another text's long word of the
    same beginning, or a part of it, in an index."""
    return (len(found) < len(form) and found.isalnum()
            and CUT_CHARS <= len(found) <= MAX_WORD)


def _list_anchors(forms: Collection[str]) -> frozenset[str] | None:
    """For each form a word of it, in small letters, as it may be written;
    None where one has none, and for many."""
    words = [] if len(forms) > FEW else list(map(_choose_word, forms))
    return frozenset(spelling for word in words for spelling in _spell(word)
                     ) if all(words) and len(words) == len(forms) else None


def _choose_word(form: str) -> str:
    """The longest plain word, else the longest one."""
    words = [part for word in _word.findall(form)
             for part in _uncertain.split(word) if part]
    plain = [found for word in words
             for found in re.findall("[a-z0-9]+", word)
             if len(found) >= _PLAIN_CHARS]
    return max(plain or words, key=len, default="")[:_ANCHOR_CHARS]


def _spell(word: str) -> Iterator[str]:
    for cased in {word, word.upper(), word.title()}:
        for form in ("NFC", "NFD"):
            spelling = unicodedata.normalize(form, cased)
            yield _lower_plain(spelling)
            if not spelling.isascii():  # its first escape, in whatever JSON
                yield json.dumps(spelling).split("\\")[1].lower()[:5]


def _lower_plain(text: str) -> str:
    """As bytes.lower() does it."""
    return text.encode("utf-8", "surrogatepass").lower().decode(
        "utf-8", "surrogatepass")


def _find_all(data: bytes, part: bytes) -> Iterator[int]:
    at = data.find(part)
    while at >= 0:
        yield at
        at = data.find(part, at + 1)
