"""Streamed text without what is not for the reader's eyes. Pure."""

from collections.abc import Iterator, Sequence

from claw.text.segment import clean


class VisibleText:
    """Streamed text without <think> blocks, cut anywhere.

    The start of the answer is not blank. With `hold_calls` everything from
    the first <tool_call> on is kept back.
    """

    def __init__(self, hold_calls: bool = False) -> None:
        self._tags = ("<think>", "<tool_call>") if hold_calls \
            else ("<think>",)
        self._waiting = ""
        self._thinking = False
        self._holding = False
        self._begun = False

    def feed(self, text: str) -> str:
        if not (self._waiting or self._thinking or self._holding
                or "<" in text or "\ud800" <= text[-1:] <= "\udbff"):
            return self._show(clean(text))  # most pieces: 0.4 us, not 4.8
        self._waiting += text
        return self._show("".join(self._pieces(final=False)))

    def end(self) -> str:
        """What waited for more, now that no more comes."""
        return self._show("".join(self._pieces(final=True)))

    def _show(self, text: str) -> str:
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
        return text

    def _pieces(self, *, final: bool) -> Iterator[str]:
        while self._waiting and not self._holding:
            tags = ("</think>",) if self._thinking else self._tags
            found = [(self._waiting.find(tag), tag) for tag in tags]
            at, tag = min((f for f in found if f[0] >= 0), default=(-1, ""))
            if at < 0:
                keep = 0 if final else _half(self._waiting, tags)
                shown = self._waiting[:len(self._waiting) - keep]
                self._waiting = self._waiting[len(shown):]
                if not self._thinking:
                    yield clean(shown)
                return
            if not self._thinking:
                yield clean(self._waiting[:at])
            if tag == "<tool_call>":
                self._holding = True
                return
            self._waiting = self._waiting[at + len(tag):]
            self._thinking = not self._thinking


def _half(text: str, tags: Sequence[str]) -> int:
    """How many characters at the end may be the start of a tag, or of a
    character that comes as two surrogates."""
    if "\ud800" <= text[-1] <= "\udbff":
        return 1
    longest = max(len(tag) for tag in tags) - 1
    for size in range(min(longest, len(text)), 0, -1):
        if any(tag.startswith(text[-size:]) for tag in tags):
            return size
    return 0
