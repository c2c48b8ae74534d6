r"""Texts that are to be forgotten: finding them in bytes, and taking them
out of a text.

What is looked for is each text, each of its sentences, and each code in it
(a long word of letters and digits, as "door-7731-blue"), plainly and as
JSON, HTML and URLs escape it. Of what is long, its first CUT_CHARS are
enough where a copy ends there: previews and notes cut texts at their end,
and what they kept goes. What goes on in other words is another text. Texts
of fewer than LEAST_BYTES are everywhere ("yes"), as are dates and the words
of claw's own files ("assistant"): they are not looked for.

Pure. Bytes are searched in UTF-8, UTF-16 and base64.
"""

import base64
import html
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from urllib.parse import quote

from claw.memory.forgetting.frames import clean_records, is_frame
from claw.text.passages import sentences
from claw.text.segment import MAX_WORD, spaceless_share

MARK = "[forgotten]"
LEAST_BYTES = 8
CUT_CHARS = 40
WORD_CHARS = 12  # a single word of fewer is everywhere as well
SENTENCE_CHARS = 20
OVERLAP = 4096  # no head is longer, in whatever form
# With more patterns every place is looked up in a set, which takes about as
# long as finding so many one by one.
_FEW = 300
_ANCHOR = 8
_SIGNS = " \t\r\n.,;:!?\"'"

_code = re.compile(r"[^\W_][\w.+@-]{8,}[^\W_]")
_DIGITS = 3
_moment = re.compile(r"\d{4}-\d\d-\d\d(?:[T_]\d\d.*)?\Z")
# An escape of JSON that was cut in two: what is left of it would be damage.
_half_escape = re.compile(r"\\+(?:u[0-9a-fA-F]{0,3})?\Z")
_open_escape = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_escape = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)", re.DOTALL)
# What stands behind a copy that was cut: nothing, an ellipsis, the end of a
# string or line; no other words.
_cut = re.compile(r"\Z|…|\.\.\.|\\u2026|[\x00-\x1f\"'`<>()\[\]{}|\\]")
_cut_bytes = re.compile(
    rb"\Z|\xe2\x80\xa6|\.\.\.|[\x00-\x1f\"'`<>()\[\]{}|\\]")
_ESCAPE = 6  # characters of the longest one


class Texts:
    """What is to be forgotten. `short` are texts that are not looked for."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.all = list(dict.fromkeys(filter(str.strip, texts)))
        self.short = [text for text in self.all if not _tells(text.strip())]
        terms = dict.fromkeys(term for text in self.all
                              for term in _list_terms(text) if _tells(term))
        self._forms = sorted(dict.fromkeys(
            form for term in terms for form in _list_forms(term)),
            key=len, reverse=True)
        self._heads = {form: form[:CUT_CHARS] for form in self._forms}
        self._start = min([_ANCHOR, *map(len, self._forms)])
        self._starts = frozenset(
            form[:self._start] for form in self._forms)
        self._patterns: dict[bytes, set[bytes]] = {}  # head -> whole ones
        for form in self._forms:
            for head, whole in zip(_encode(form[:CUT_CHARS]), _encode(form),
                                   strict=True):
                self._patterns.setdefault(head, set()).add(whole)
        self._anchors = frozenset(
            data[:_ANCHOR] for data in self._patterns)
        # What another text's long word of the same beginning, or a part of
        # it, may be in an index.
        self._index_terms = frozenset(
            data for form in self._forms
            for length in range(CUT_CHARS, MAX_WORD + 1)
            if form[:length].isalnum() for data in _encode(form[:length]))

    def __bool__(self) -> bool:
        return bool(self._forms)

    def clean(self, text: str) -> str:
        """The text without what is to be forgotten, a MARK in its place."""
        found = list(self._find(text))
        # Whole ones first: what is cut in one form may be whole in another.
        for form, _ in found:
            text = _replace(text, form, form)
        for form, head in found:
            text = _replace(text, form, head)
        return text

    def _find(self, text: str) -> Iterator[tuple[str, str]]:
        """The forms that stand in a text, with their heads, the longest
        first."""
        starts = self._starts
        if len(self._forms) > _FEW:
            starts = starts.intersection(
                text[at:at + self._start] for at in range(len(text)))
            if not starts:
                return
        for form, head in self._heads.items():
            if form[:self._start] in starts and head in text:
                yield form, head

    def clean_bytes(self, data: bytes) -> bytes:
        """The same for the bytes of a text file, whatever else is in it; of
        JSON what somebody said, and not what it is made of."""
        return clean_records(data.decode("utf-8", "surrogateescape"),
                             self.clean).encode("utf-8", "surrogateescape")

    def overwrite(self, data: bytes) -> bytes:
        """Bytes that are no text, of the same length: what is to be
        forgotten becomes zeros."""
        changed = bytearray(data)
        for form in self._forms:
            for whole, head in zip(_encode(form), _encode(form[:CUT_CHARS]),
                                   strict=True):
                at = changed.find(head)
                while at >= 0:
                    end = at + _count_same(changed, at, whole)
                    if end - at == len(whole) or _ends_at(changed, end):
                        changed[at:end] = bytes(end - at)
                    at = changed.find(head, at + 1)
        return bytes(changed)

    def is_in(self, data: bytes) -> bool:
        """Whether any of it stands in these bytes, in whatever form."""
        if len(self._patterns) <= _FEW:
            return any(self._stands_in(data, head, whole)
                       for head, whole in self._patterns.items())
        near = self._anchors.intersection(
            data[at:at + _ANCHOR] for at in range(len(data)))
        return any(head[:_ANCHOR] in near
                   and self._stands_in(data, head, whole)
                   for head, whole in self._patterns.items()) \
            if near else False

    def _stands_in(self, data: bytes, head: bytes,
                   wholes: Collection[bytes]) -> bool:
        """Whether one of these stands in the bytes, or a copy of it that
        was cut behind its head."""
        at = data.find(head)
        while at >= 0:
            for whole in wholes:
                same = _count_same(data, at, whole)
                if same == len(whole) or (
                        _ends_at(data, at + same)
                        and whole[:same] not in self._index_terms):
                    return True
            at = data.find(head, at + 1)
        return False


def is_rest(text: str) -> bool:
    """Whether a text was cleaned, and says nothing else."""
    return MARK in text and not text.replace(MARK, "").strip(_SIGNS)


def _tells(text: str) -> bool:
    """Whether a text is worth looking for: one word ("tomorrow") stands in
    what others said too, and a ruled line says nothing."""
    if len(text.encode("utf-8", "surrogatepass")) < LEAST_BYTES \
            or is_frame(text) or not any(map(str.isalnum, text)):
        return False
    is_word = text.isalpha() and spaceless_share(text) == 0
    return not is_word or len(text) >= WORD_CHARS


def _list_terms(text: str) -> Iterator[str]:
    text = text.strip()
    yield text
    yield " ".join(text.split())
    for form in ("NFC", "NFD"):  # as another system writes ä
        yield unicodedata.normalize(form, text)
    for sentence in sentences(text):
        if len(sentence) >= SENTENCE_CHARS:
            yield sentence
    for found in _code.findall(text):
        if sum(map(str.isdigit, found)) >= _DIGITS \
                and any(map(str.isalpha, found)) \
                and not _moment.match(found):
            yield found


def _list_forms(term: str) -> Iterator[str]:
    """As it is, and as it stands in JSON, in JSON inside JSON, in HTML and
    in an address."""
    yield term
    for inner in _write_json(term):
        yield inner
        yield from _write_json(inner)
    yield html.escape(term)
    yield quote(term, safe="", errors="surrogatepass")


def _write_json(text: str) -> tuple[str, str]:
    return (json.dumps(text)[1:-1],
            json.dumps(text, ensure_ascii=False)[1:-1])


def _encode(text: str) -> list[bytes]:
    """The bytes that a text can be, always as many."""
    plain = text.encode("utf-8", "surrogatepass")
    return [plain, *(text.encode(name, "surrogatepass")
                     for name in ("utf-16-le", "utf-16-be")),
            *map(_encode_base64, [plain] * 3, range(3))]


def _encode_base64(data: bytes, offset: int) -> bytes:
    """What of it does not depend on what stands before and after."""
    whole = base64.b64encode(bytes(offset) + data)
    return whole[(0, 2, 3)[offset]:(offset + len(data)) // 3 * 4]


def _replace(text: str, form: str, head: str) -> str:
    """The form, and copies that begin with `head` and end before it does."""
    parts, end = [], 0
    at = text.find(head)
    while at >= 0:
        same = at + _count_same(text, at, form)
        if same - at < len(form) and not _cut.match(text, same):
            at = text.find(head, at + 1)
            continue
        start = _leave_escape(text, end, at)
        if start != at and text.startswith(head, start):
            at = start
        stop = at + _count_same(text, at, form)
        if stop - at < len(form):
            stop = at + len(_half_escape.sub("", text[at:stop])
                            or text[at:stop])
        elif _count_backslashes(text[start:stop]) % 2:
            stop -= 1
        parts += [text[end:start], MARK]
        end = max(start, stop)
        at = text.find(head, max(end, at + 1))
    return "".join([*parts, text[end:]])


def _leave_escape(text: str, end: int, at: int) -> int:
    """A place, or where the escape of JSON ends in which it stands; `end`
    is where the text begins."""
    begin = max(end, at - _ESCAPE + 1)
    begun = _open_escape.search(text[begin:at])
    if begun is None:
        return at
    begin += begun.start()
    if _count_backslashes(text[end:begin]) % 2:
        return at  # a backslash that is meant as it is
    whole = _escape.match(text, begin)
    return at if whole is None else max(at, whole.end())


def _count_backslashes(text: str) -> int:
    """How many stand at the end."""
    return len(text) - len(text.rstrip("\\"))


def _ends_at(data: bytes | bytearray, at: int) -> bool:
    """Whether a text was cut at this place."""
    return _cut_bytes.match(data, at) is not None


def _count_same(text: str | bytes | bytearray, at: int,
                form: str | bytes) -> int:
    """How far a text says from a place on what the form says."""
    there = text[at:at + len(form)]
    if there == form:
        return len(form)
    low, high = 0, min(len(there), len(form))
    while low < high:  # the first difference, by halves
        middle = (low + high + 1) // 2
        if there[:middle] == form[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
