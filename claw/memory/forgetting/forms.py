r"""What is looked for of a text: all of it, its sentences and its codes, in
each form that it may have.

Pure.
"""

import base64
import html
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

from claw.memory.forgetting.frames import is_frame
from claw.memory.forgetting.spans import CUT_CHARS
from claw.text.passages import sentences
from claw.text.segment import spaceless_share

LEAST_BYTES = 8
WORD_CHARS = 12  # a single word of fewer is everywhere as well
SENTENCE_CHARS = 20
# With more forms every place is looked up in a set, which takes about as
# long as finding so many one by one.
FEW = 300
ANCHOR = 8

_code = re.compile(r"[^\W_][\w.+@-]{8,}[^\W_]")
_DIGITS = 3
_moment = re.compile(r"\d{4}-\d\d-\d\d(?:[T_]\d\d.*)?\Z")


class Forms:
    """Forms that are looked for in a text, the longest first."""

    def __init__(self, forms: Iterable[str]) -> None:
        self.all = sorted(dict.fromkeys(forms), key=len, reverse=True)
        self._heads = {form: form[:CUT_CHARS] for form in self.all}
        self._start = min([ANCHOR, *map(len, self.all)])
        self._starts = frozenset(form[:self._start] for form in self.all)

    def find(self, text: str) -> Iterator[tuple[str, str]]:
        """Those that stand in a text, or begin there, with their heads."""
        starts = self._starts
        if len(self.all) > FEW:
            starts = starts.intersection(
                text[at:at + self._start] for at in range(len(text)))
            if not starts:
                return
        for form, head in self._heads.items():
            if form[:self._start] in starts and head in text:
                yield form, head


def tells(text: str) -> bool:
    """Whether a text is worth looking for: one word ("tomorrow") stands in
    what others said too, and a ruled line says nothing."""
    plain = unicodedata.normalize("NFC", text)
    if len(plain.encode("utf-8", "surrogatepass")) < LEAST_BYTES \
            or is_frame(plain) or not any(map(str.isalnum, plain)):
        return False
    is_word = plain.isalpha() and spaceless_share(plain) == 0
    return not is_word or len(plain) >= WORD_CHARS


def list_terms(text: str) -> Iterator[str]:
    """The text, its sentences and its codes."""
    text = text.strip()
    yield text
    yield " ".join(text.split())
    for form in ("NFC", "NFD"):  # as another system writes ä
        yield unicodedata.normalize(form, text)
    for sentence in sentences(text):
        if len(sentence) >= SENTENCE_CHARS:
            yield sentence
    yield from find_codes(text)


def find_codes(text: str) -> list[str]:
    """Its long words of letters and digits that are no dates."""
    return [found for found in _code.findall(text)
            if sum(map(str.isdigit, found)) >= _DIGITS
            and any(map(str.isalpha, found)) and not _moment.match(found)]


def list_forms(term: str) -> Iterator[str]:
    """As it is, and as it stands in JSON, in JSON inside JSON, in HTML and
    in an address."""
    yield term
    for inner in _write_json(term):
        yield inner
        yield from _write_json(inner)
    yield html.escape(term)
    yield quote(term, safe="", errors="surrogatepass")
    yield quote_plus(term, errors="surrogatepass")


def _write_json(text: str) -> tuple[str, str]:
    return (json.dumps(text)[1:-1],
            json.dumps(text, ensure_ascii=False)[1:-1])


def encode(text: str) -> list[bytes]:
    """The bytes that a text can be, always as many."""
    plain = text.encode("utf-8", "surrogatepass")
    return [plain, *(text.encode(name, "surrogatepass")
                     for name in ("utf-16-le", "utf-16-be")),
            *map(_encode_base64, [plain] * 3, range(3))]


def _encode_base64(data: bytes, offset: int) -> bytes:
    """What of it does not depend on what stands before and after."""
    whole = base64.b64encode(bytes(offset) + data)
    return whole[(0, 2, 3)[offset]:(offset + len(data)) // 3 * 4]
