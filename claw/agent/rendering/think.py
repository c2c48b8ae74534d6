"""Hiding what is not part of an answer: think blocks and call markup.

The filters take a stream piece by piece, give out what may be shown, and
hold back only what could still turn out to be the start of a tag. Cutting
the stream elsewhere never changes what comes out.
"""

_OPEN = "<think>"
_CLOSE = "</think>"

# Where a call, or the echo of a result, may start in prompt-guided text.
_CALL_STARTS = (
    "<tool_call", "<toolcall", "<tool-call", "<invoke", "<minimax:tool",
    "<tool_result", "<FunctionCall", "TOOL_CALL", "```tool", "```invoke")


def strip_think(text: str) -> str:
    """Text without <think>...</think>, otherwise unchanged.

    An unclosed block drops the rest; a stray </think> stays.
    """
    think = ThinkFilter(trim_start=False)
    return think.feed(text) + think.finish()


def visible_answer(text: str) -> str:
    """Text as a streamed answer would show it: without think blocks and
    the blank space that follows a leading one."""
    think = ThinkFilter()
    return think.feed(text) + think.finish()


def _count_held_back(text: str, tags: tuple[str, ...]) -> int:
    """Length of the longest end of `text` that may start one of `tags`."""
    longest = max(len(tag) for tag in tags) - 1
    for size in range(min(longest, len(text)), 0, -1):
        end = text[-size:]
        if any(tag.startswith(end) for tag in tags):
            return size
    return 0


class ThinkFilter:
    """Removes think blocks from a stream.

    `trim_start` also drops the blank space around a think block that
    stands before the first visible text.
    """

    def __init__(self, *, trim_start: bool = True) -> None:
        self._held = ""
        self._inside = False
        self._lead: str | None = "" if trim_start else None
        self._thought = False

    def feed(self, delta: str) -> str:
        """What `delta` makes visible."""
        text = self._held + delta
        out: list[str] = []
        position = 0
        while True:
            tag = _CLOSE if self._inside else _OPEN
            found = text.find(tag, position)
            if found < 0:
                break
            self._show(text[position:found], out)
            self._inside = not self._inside
            self._thought = True
            position = found + len(tag)
        rest = text[position:]
        keep = _count_held_back(rest, (tag,))
        self._held = rest[len(rest) - keep:]
        self._show(rest[:len(rest) - keep], out)
        return "".join(out)

    def finish(self) -> str:
        """What was held back, at the end of the stream."""
        out: list[str] = []
        self._show(self._held, out)
        self._held = ""
        if self._lead and not self._thought:
            out.append(self._lead)
        self._lead = None
        return "".join(out)

    def _show(self, text: str, out: list[str]) -> None:
        if self._inside:
            return
        if self._lead is not None:
            if not text.strip():
                self._lead += text
                return
            text, self._lead = self._lead + text, None
            if self._thought:
                text = text.lstrip()
        out.append(text)


class CallFilter:
    """Holds back everything from the first sign of a tool call on.

    Also holds an answer that starts like JSON, since a whole answer in
    JSON may be a call. `finish` gives back what was held: print it when
    the round turned out to hold no call, drop it otherwise.
    """

    def __init__(self) -> None:
        self._held = ""
        self._closed: list[str] | None = None
        self._started = False

    def feed(self, delta: str) -> str:
        """What `delta` makes visible."""
        if self._closed is not None:
            self._closed.append(delta)
            return ""
        text = self._held + delta
        starts = [at for at in map(text.find, _CALL_STARTS) if at >= 0]
        cut = (min(starts) if starts
               else len(text) - _count_held_back(text, _CALL_STARTS))
        if not self._started and text.strip():
            self._started = True
            if text.lstrip()[0] in "{[":
                starts, cut = [0], 0
        self._held = text[cut:]
        if starts:
            self._closed = []
        return text[:cut]

    def finish(self) -> str:
        """What was held back, at the end of the stream."""
        held = self._held + "".join(self._closed or ())
        self._held, self._closed = "", None
        return held
