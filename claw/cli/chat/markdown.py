"""Markdown on a terminal while it is still being written.

Finished paragraphs are printed once, as they will stay; only the one that
is still growing is drawn again and again. So a long answer neither
flickers nor scrolls twice. Of one that grows past the screen (a list, a
code block) the last lines are drawn.
"""

import re
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markdown import Markdown
from rich.segment import Segment

from claw.cli.output import visible

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_REDRAWS_PER_S = 8


def measure_settled(text: str) -> int:
    """Length of the start of `text` that later text cannot change.

    It ends behind the last blank line outside a code fence after which
    something else than a continued list or quote has begun.
    """
    end = position = 0
    fence = ""
    blank = False
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) \
                    and not line[mark.end():].strip():
                fence = ""
        else:
            if blank and not line[:1].isspace() \
                    and not line.startswith((">", "-", "*", "+")) \
                    and not line[:1].isdigit():
                end = position
            if mark:
                fence = mark[1]
        blank = not fence and not line.strip()
        position += len(line)
    return end


def cut_ending(text: str, lines: int) -> str:
    """The last lines of Markdown; in a code block that began before them
    they are still code."""
    every = text.splitlines(keepends=True)
    opened = ""
    for line in every[:-lines]:
        mark = _FENCE.match(line)
        if not opened and mark:
            opened = line
        elif mark and mark[1].startswith(opened.strip()[:3]) \
                and not line[mark.end():].strip():
            opened = ""
    return opened + "".join(every[-lines:])


def _parse(text: str) -> Markdown:
    """With the address beside the words of a link: behind words that hide
    it an answer could have a person click anything."""
    return Markdown(text, hyperlinks=False)


class Growing:
    """The end of a text that is still written, as high as the screen. It
    is rendered when it is drawn, not for every piece."""

    def __init__(self) -> None:
        self.text = ""

    def __rich_console__(self, console: Console,
                         options: ConsoleOptions) -> RenderResult:
        height = max(1, console.size.height - 2)
        rows = console.render_lines(_parse(cut_ending(self.text, height)),
                                    options, pad=False)
        for number, row in enumerate(rows[-height:]):
            if number:
                yield Segment.line()
            yield from row


class MarkdownStream:
    """Shows an answer piece by piece."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, highlight=False)
        self._text = ""
        self._growing = Growing()
        self._live: Live | None = None

    def feed(self, delta: str) -> None:
        """A piece of the answer."""
        at_start = self._text.endswith("\n")
        self._text += visible(delta)
        # only the start of a line tells that a paragraph has ended
        cut = measure_settled(self._text) if at_start or "\n" in delta else 0
        if cut:
            self._erase()
            self._print(self._text[:cut])
            self._text = self._text[cut:]
        if self._text.strip():
            self._draw()

    def finish(self) -> None:
        """Print what is left; the next piece begins a new answer."""
        self._erase()
        if self._text.strip():
            self._print(self._text)
        self._text = ""

    def _print(self, text: str) -> None:
        self._console.print(_parse(text.rstrip()), end="\n")
        if text.endswith("\n\n"):
            self._console.print()

    def _draw(self) -> None:
        self._growing.text = self._text
        if self._live is None:
            self._live = Live(self._growing, console=self._console,
                              transient=True,
                              refresh_per_second=_REDRAWS_PER_S,
                              redirect_stdout=False, redirect_stderr=False)
            self._live.start()

    def _erase(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


class PlainStream:
    """The same for a stream without colours: text as it comes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._open = False

    def feed(self, delta: str) -> None:
        self._stream.write(visible(delta))
        self._stream.flush()
        self._open = not delta.endswith("\n")

    def finish(self) -> None:
        if self._open:
            self._stream.write("\n")
            self._stream.flush()
        self._open = False
