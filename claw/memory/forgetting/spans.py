"""Where a text stands in another one, whole or cut at its end, and what of
JSON's escapes must stay in one piece there.

Pure.
"""

import re
from collections.abc import Iterable, Iterator

MARK = "[forgotten]"
CUT_CHARS = 40

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

Span = tuple[int, int]


def find_spans(text: str, form: str, head: str) -> Iterator[Span]:
    """The form in a text, and copies that begin with `head` and end before
    it does."""
    end = 0
    at = text.find(head)
    while at >= 0:
        same = at + count_same(text, at, form)
        if same - at < len(form) and not _cut.match(text, same):
            at = text.find(head, at + 1)
            continue
        start = _leave_escape(text, end, at)
        if start != at and text.startswith(head, start):
            at = start
        stop = at + count_same(text, at, form)
        if stop - at < len(form):
            stop = at + len(_half_escape.sub("", text[at:stop])
                            or text[at:stop])
        elif _count_backslashes(text[start:stop]) % 2:
            stop -= 1
        end = max(start, stop)
        yield start, end
        at = text.find(head, max(end, at + 1))


def put_marks(text: str, spans: Iterable[Span]) -> str:
    """The text with a MARK in the place of each span; of what overlaps one
    in the place of all."""
    parts: list[str] = []
    end = 0
    for start, stop in sorted(spans):
        if not parts or start > end:
            parts += [text[end:start], MARK]
        end = max(end, stop)
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


def ends_at(data: bytes | bytearray, at: int) -> bool:
    """Whether a text was cut at this place."""
    return _cut_bytes.match(data, at) is not None


def count_same(text: str | bytes | bytearray, at: int,
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
