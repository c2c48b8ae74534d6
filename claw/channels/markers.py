"""Attachments that an answer names in its text.

`[IMAGE:target]` and its kin stand for a file to send; the target is a path
or an address. Markers in code are examples and stay. Whether a path exists
and may be sent is for the channel to ask.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator

from claw.core.value import Value

_KINDS = {"image": "image", "photo": "image", "document": "document",
          "file": "document", "video": "video", "audio": "audio",
          "voice": "voice"}
_OPENING = re.compile(r"\[(image|photo|document|file|video|audio|voice):",
                      re.IGNORECASE | re.ASCII)
_BRACKET = re.compile(r"[\[\]\n]")
_FENCE = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)([^`~\n]*+)$", re.MULTILINE)
_CODE_SIGN = re.compile(r"`+|\n[ \t]*+(?=\n)")
_LIST_SIGNS = ("", "-", "*", "+", "•")
_EXTENSIONS = {
    "image": "png jpg jpeg gif webp bmp",
    "video": "mp4 mov mkv avi webm",
    "audio": "mp3 m4a wav flac aac",
    "voice": "ogg oga opus",
    "document": "pdf txt md csv json zip tar gz doc docx xls xlsx ppt pptx",
}
_KIND_OF = {extension: kind for kind, extensions in _EXTENSIONS.items()
            for extension in extensions.split()}
_ADDRESS = re.compile(r"https?://[^\s/?#]+/[^\s?#]+\.(\w{2,4})(?:[?#]\S*)?",
                      re.IGNORECASE)
_PATH = re.compile(r"(?:/|~/|\.{1,2}/|file:///|[A-Za-z]:[\\/])[^\n]+\."
                   r"(\w{2,4})|[^\s:]+/[^\s]+\.(\w{2,4})")
_MAX_TARGET = 4096


class Marker(Value):
    """A file to send; `kind` is image, document, video, audio or voice."""

    kind: str
    target: str


def parse_markers(text: str) -> tuple[str, list[Marker]]:
    """The text without its markers, and the markers in order.

    A kind is read in any case, a target has its brackets in pairs and
    stands on one line. What is no marker stays as it is; where one stood
    alone its line goes too. Linear in the length of the text.
    """
    found: list[Marker] = []
    spans: list[tuple[int, int]] = []
    for start, end, marker in _markers(text) if "[" in text else ():
        found.append(marker)
        spans.append((start, end))
    return (_without(text, spans) if spans else text), found


def inert(text: str) -> str:
    """The text with its markers as mere words, for what claw itself says:
    a call that it shows is a model's, and sends no file by being shown."""
    return _OPENING.sub(lambda opening: "(" + opening[0][1:], text)


def without_fetches(text: str, known: Collection[str] = ()) -> str:
    """The text without markers of addresses, but of those that are `known`:
    the address is left.

    A platform fetches the address of a marker by itself: whoever wrote it
    into what a model has read learns what stands in it.
    """
    def is_sent(marker: Marker) -> bool:
        target = marker.target.strip("`")
        return target not in known and target.lower().startswith(
            ("http:", "https:"))
    kept, at = [], 0
    for start, end, marker in _markers(text) if "[" in text else ():
        if is_sent(marker):
            kept += [text[at:start], marker.target]
            at = end
    text = "".join([*kept, text[at:]])
    # What was taken away may have been half of a mark of code.
    if kept and any(is_sent(left) for _, _, left in _markers(text)):
        text = inert(text)
    lone = lone_attachment(text)
    return (f"Link: {text.strip()}"
            if lone is not None and is_sent(lone) else text)


def lone_attachment(text: str) -> Marker | None:
    """The file that a message is, if it is nothing but a path or an
    address with a known extension.

    A bare name ("notes.txt") is an answer, not a file to send.
    """
    text = text.strip()
    if len(text) > 2 and text[0] == text[-1] == "`":
        text = text[1:-1]
    if not 4 < len(text) <= _MAX_TARGET:
        return None
    match = _ADDRESS.fullmatch(text)
    if match is None and not re.match("[a-z]+://", text.removeprefix(
            "file://"), re.IGNORECASE):
        match = _PATH.fullmatch(text)
    extension = match[match.lastindex or 0].lower() if match else ""
    kind = _KIND_OF.get(extension)
    return Marker(kind, text) if kind else None


def _markers(text: str) -> Iterator[tuple[int, int, Marker]]:
    closing = _pairs(text)
    code = _Stretches(_code(text))
    at = 0
    while opening := _OPENING.search(text, at):
        at = opening.end()
        close = closing.get(opening.start())
        if close is None or code.hold(opening.start()) or code.hold(close):
            continue
        target = text[opening.end():close].strip()
        if target and text[close + 1:close + 2] != "(":  # that is a link
            at = close + 1
            yield (opening.start(), at,
                   Marker(_KINDS[opening[1].lower()], target))


def _pairs(text: str) -> dict[int, int]:
    """Opening brackets and where each closes, on the same line."""
    pairs: dict[int, int] = {}
    waiting: list[int] = []
    for sign in _BRACKET.finditer(text):
        if sign[0] == "[":
            waiting.append(sign.start())
        elif sign[0] == "\n":
            waiting.clear()
        elif waiting:
            pairs[waiting.pop()] = sign.start()
    return pairs


class _Stretches:
    """Ordered stretches of a text."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def hold(self, point: int) -> bool:
        at = bisect_right(self._starts, point)
        return at > 0 and point < self._ends[at - 1]


def _code(text: str) -> list[tuple[int, int]]:
    """Fenced blocks, and inline code outside them."""
    spans: list[tuple[int, int]] = []
    prose = 0
    mark, start = "", 0
    for fence in _FENCE.finditer(text):
        if not mark:
            mark, start = fence[1], fence.start()
            spans += _inline_code(text, prose, start)
        elif fence[1].startswith(mark) and not fence[2].strip():
            spans.append((start, fence.end()))
            mark, prose = "", fence.end()
    return ([*spans, (start, len(text))] if mark
            else spans + _inline_code(text, prose, len(text)))


def _inline_code(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Runs of backticks in pairs of one length; a pair does not reach
    over a blank line."""
    signs = [(sign[0], sign.start()) for sign
             in _CODE_SIGN.finditer(text, start, end)]
    paragraph, places = 0, dict[tuple[int, str], list[int]]()
    keys: list[tuple[int, str]] = []
    for sign, at in signs:
        paragraph += sign[0] == "\n"
        keys.append((paragraph, sign))
        places.setdefault(keys[-1], []).append(at)
    spans: list[tuple[int, int]] = []
    done = start
    for key, (sign, at) in zip(keys, signs, strict=True):
        if sign[0] == "\n" or at < done:
            continue
        after = bisect_right(places[key], at)
        if after < len(places[key]):
            done = places[key][after] + len(sign)
            spans.append((at, done))
    return spans


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text without the spans, and without the lines that held nothing
    else; a span lies on one line."""
    kept: list[str] = []
    at, taken, gap = 0, 0, False
    for line in text.split("\n"):
        first, end = taken, at + len(line)
        while taken < len(spans) and spans[taken][0] < end:
            taken += 1
        if taken > first:
            line = _cut(line, [(start - at, stop - at)
                               for start, stop in spans[first:taken]])
            gap = line.strip() in _LIST_SIGNS
            if not gap:
                kept.append(line)
        elif line.strip() or not gap or (kept and kept[-1].strip()):
            kept.append(line)
            gap = False
        at = end + 1
    while gap and kept and not kept[-1].strip():
        kept.pop()
    return "\n".join(kept)


def _cut(line: str, spans: list[tuple[int, int]]) -> str:
    """A line without the spans, nor the blanks that would be left over."""
    kept, at = [line[:spans[0][0]]], spans[0][1]
    for start, end in [*spans[1:], (len(line), len(line))]:
        part, at = line[at:start], end
        if not part or part[0] in ".,;:!?)]}":
            kept[-1] = kept[-1].rstrip(" \t")
        elif not kept[-1].strip() or kept[-1][-1] in " \t":
            part = part.lstrip(" \t")
        if part:
            kept.append(part)
    return "".join(kept).rstrip(" \t")
