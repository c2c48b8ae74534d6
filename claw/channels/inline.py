"""Markdown inside a paragraph: emphasis, code, links.

Two walks, both linear: the first finds code spans, links and runs of
markers, the second pairs the runs. Only what pairs is taken out of the
text; every other character stays as it was written. Deviations from
CommonMark are for text that is not Markdown: paths, globs, powers, names
with underscores, and for scripts without spaces.
"""

import re
from bisect import bisect_right
from itertools import accumulate

from claw.channels.spans import Span

_TOKEN = re.compile(r"\\[*_~`#>\\]|`+|!?\[|\]|\*+|_+|~+"
                    r"|https?://[^\s<>`\[\]*]+")
# An address with at most one level of brackets; a title is left out.
_TARGET = re.compile(
    r"""\([ ]?<?((?:https?|tg)://[^\s()<>]*+(?:\([^\s()<>]*+\)[^\s()<>]*+)*+)>?
        (?:[ ]{1,3}"[^"\n]{0,300}")?[ ]?\)""", re.VERBOSE)
_HOST = re.compile(r"https?://(?:[^\s/?#@]*@)?"
                   r"[^\W_](?:[\w-]*\.)+[\w-]*[^\W_](?::\d{1,5})?(?:[/?#]|$)")
_TICKS = re.compile("`+")
_LINK_OPENS, _LINK_CLOSES = "[", "]"
_STYLE_OF = {1: "italic", 2: "bold"}

Mark = tuple[str, int, int]


def parse_inline(text: str) -> tuple[str, list[Span]]:
    """The text without markers that pair, and what they mean."""
    if not _TOKEN.search(text):
        return text, []
    scan = _Scan(text)
    pairs = _Pairs(text)
    for mark in scan.marks:
        if mark is not None:
            pairs.take(mark)
    return _without(text, sorted(scan.cuts + pairs.cuts),
                    scan.spans + pairs.spans)


def _without(text: str, cuts: list[tuple[int, int]],
             spans: list[Span]) -> tuple[str, list[Span]]:
    """The text without the cuts, and the spans move to it."""
    starts = [start for start, _ in cuts]
    gone = [0, *accumulate(end - start for start, end in cuts)]
    kept, at = [], 0
    for start, end in cuts:
        kept.append(text[at:start])
        at = end
    kept.append(text[at:])

    def move(point: int) -> int:
        return point - gone[bisect_right(starts, point - 1)]

    return "".join(kept), [
        span._replace(start=move(span.start), end=move(span.end))
        for span in spans]


class _Scan:
    """The first walk: code and links; `marks` are left for the second."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cuts: list[tuple[int, int]] = []
        self.spans: list[Span] = []
        self.marks: list[Mark | None] = []
        self._brackets: list[tuple[int, int, int]] = []
        self._ticks: dict[int, list[int]] = {}
        for ticks in _TICKS.finditer(text):
            self._ticks.setdefault(len(ticks[0]), []).append(ticks.start())
        at = 0
        while token := _TOKEN.search(text, at):
            at = self._take(token[0], token.start(), token.end())

    def _take(self, token: str, start: int, end: int) -> int:
        """Take in a token; where to go on."""
        first = token[0]
        if first == "`":
            return self._code(start, end)
        if first == "\\":
            if token[1] != "\\":  # a doubled one may be a network path
                self.cuts.append((start, start + 1))
        elif token[-1] == "[":
            self._brackets.append((start, end, len(self.marks)))
            self.marks.append(None)
        elif first == "]":
            return self._link(start)
        elif first == "h":
            return start + len(token.rstrip("_~"))
        elif len(token) <= 3:
            self.marks.append((first, start, end))
        return end

    def _code(self, start: int, end: int) -> int:
        places = self._ticks.get(end - start, [])
        after = bisect_right(places, start)
        if after == len(places):
            return end
        close = places[after]
        body = self.text[end:close]
        if not body.strip():
            return end
        inner = 1 if body[0] == body[-1] == " " else 0
        self.cuts.append((start, end + inner))
        self.cuts.append((close - inner, close + end - start))
        self.spans.append(Span("code", end + inner, close - inner))
        return close + end - start

    def _link(self, at: int) -> int:
        """A closing bracket: of a link if an address follows."""
        if not self._brackets:
            return at + 1
        start, body, mark = self._brackets.pop()
        target = _TARGET.match(self.text, at + 1)
        # With a host without a dot no platform makes a link of it, and the
        # address would be lost.
        if (target is None or not self.text[body:at].strip()
                or not (target[1].startswith("tg://")
                        or _HOST.match(target[1]))):
            return at + 1
        self._brackets.clear()  # links hold no links
        self.marks[mark] = (_LINK_OPENS, start, body)
        self.marks.append((_LINK_CLOSES, at, target.end()))
        self.cuts += [(start, body), (at, target.end())]
        self.spans.append(Span("text_link", body, at, target[1]))
        return target.end()


class _Pairs:
    """The second walk: a stack of runs that wait for their other half.

    `_waiting` holds, per marker and length, where in the stack such runs
    stand, so that finding the nearest partner takes no search.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.cuts: list[tuple[int, int]] = []
        self.spans: list[Span] = []
        self._stack: list[Mark] = []
        self._waiting: dict[tuple[str, int], list[int]] = {}
        self._floors = [0]

    def take(self, mark: Mark) -> None:
        char, start, end = mark
        if char == _LINK_OPENS:
            self._floors.append(len(self._stack))
        elif char == _LINK_CLOSES:
            self._unwind(self._floors.pop())
        elif char != "~" or end - start == 2:
            opens, closes = _sides(self.text, mark)
            if closes:
                start = self._close(char, start, end)
            if opens and start < end:
                self._push((char, start, end))

    def _close(self, char: str, start: int, end: int) -> int:
        """Pair a closing run; where what is left of it begins."""
        while start < end:
            partner = self._partner(char, end - start)
            if partner is None:
                break
            self._unwind(partner + 1)
            _, other, other_end = self._pop()
            size = 2 if min(end - start, other_end - other) >= 2 else 1
            kind = "strikethrough" if char == "~" else _STYLE_OF[size]
            self.cuts += [(other_end - size, other_end),
                          (start, start + size)]
            self.spans.append(Span(kind, other_end, start))
            if other_end - size > other:
                self._push((char, other, other_end - size))
            start += size
        return start

    def _partner(self, char: str, size: int) -> int | None:
        """The nearest opening run; one and two markers make no pair."""
        found = [places[-1] for length in (1, 2, 3)
                 if {length, size} != {1, 2}
                 and (places := self._waiting.get((char, length)))]
        nearest = max(found, default=-1)
        return nearest if nearest >= self._floors[-1] else None

    def _push(self, mark: Mark) -> None:
        char, start, end = mark
        places = self._waiting.setdefault((char, end - start), [])
        places.append(len(self._stack))
        self._stack.append(mark)

    def _pop(self) -> Mark:
        mark = self._stack.pop()
        self._waiting[mark[0], mark[2] - mark[1]].pop()
        return mark

    def _unwind(self, height: int) -> None:
        while len(self._stack) > height:
            self._pop()


def _sides(text: str, mark: Mark) -> tuple[bool, bool]:
    """Whether a run may open, and may close."""
    char, start, end = mark
    before = text[start - 1] if start else "\n"
    after = text[end] if end < len(text) else "\n"
    opens = not after.isspace() and after not in ")]}"
    closes = not before.isspace() and before not in "([{"
    dotted = after == "." and text[end + 1:end + 2].isalnum()
    if char == "_":  # names: snake_case, __init__.py, a.__len__()
        opens &= not before.isalnum() and before not in "./\\@"
        closes &= not after.isalnum() and after not in "(/\\" and not dotted
        return opens, closes
    path = before in "/\\"  # src/**/*.js
    opens &= not _is_spaced(before) and not (path and after in "/\\.*")
    closes &= not (path and (after in "/\\" or dotted))
    if end - start == 1:
        closes &= not _is_spaced(after)
    return opens, closes


def _is_spaced(letter: str) -> bool:
    """A letter or digit of a script that puts blanks between words."""
    return letter.isalnum() and not (
        (letter >= "\u1100" and not "\u1e00" <= letter < "\u2000")
        or "\u0e00" <= letter < "\u0f00" or "\u1000" <= letter < "\u10a0")
