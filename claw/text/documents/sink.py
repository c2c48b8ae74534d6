"""Where the text of a document is put while it is read, part by part."""

import re

_LINE_ENDS = re.compile(r"\r\n?")
# U+FFFE and U+0002 stand where a word was parted at the end of a line.
_PARTED = re.compile("[\ufffe\x02]\n?")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_EMPTY_LINES = re.compile(r"\n(?:[^\S\n]*\n){2,}")


class FullError(Exception):
    """As many characters as were asked for are there."""


class Sink:
    """Parts of a document: its pages, sheets, slides or chapters.

    Takes `limit` characters; with one more it raises FullError.
    """

    def __init__(self, limit: int) -> None:
        self.parts: list[str] = []
        self._left = limit
        self._now: list[str] = []

    def add(self, text: str) -> None:
        """A line, or several."""
        if len(text) >= self._left:
            self._now.append(text[:self._left])
            self._left = 0
            raise FullError
        self._left -= len(text) + 1
        self._now.append(text)

    def end_part(self) -> None:
        """The next line begins another page."""
        self.parts.append(_clean("\n".join(self._now)))
        self._now.clear()

    def finish(self) -> None:
        """Nothing more comes."""
        if self._now:
            self.end_part()


def _clean(text: str) -> str:
    text = _PARTED.sub("", _LINE_ENDS.sub("\n", text))
    return _EMPTY_LINES.sub("\n\n", _CONTROLS.sub("", text)).strip("\n ")
