"""Markdown on a terminal while it is still being written.

What is finished is printed once, as it will stay: a paragraph, an item of a
list, a line of code. Only what still grows is drawn again (live.py), at
most half as high as the screen. So a long answer neither flickers nor
scrolls twice, and what was cut off is shown as far as it came.
"""

import os
import re
import shutil
import threading
import time
from contextlib import suppress
from typing import TextIO

from claw.cli.chat.code import CodeLines
from claw.cli.chat.live import LiveRows
from claw.cli.chat.typeset import Typesetter
from claw.cli.show.bars import cut
from claw.cli.show.output import visible

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_OPENS_CODE = re.compile(r"(`{3,}|~{3,})[ \t]*(\S*)")
_ITEM = re.compile(r"([-*+]|\d{1,9}[.)])[ \t]+\S")
_FIRST_ITEM = re.compile(r"([-*+]|1[.)])[ \t]+\S")
_HEADING = re.compile(r"#{1,6}[ \t]")
_REDRAW_S = 1 / 12


def split_blocks(text: str) -> list[str]:
    """The text in blocks; later text can change the last one alone.

    A block begins with a heading and behind one, with a block of code, with
    an item of a list, and behind the last blank line after which something
    else than a continued list or quote has begun. A block of code is not
    looked into: it and all behind it are the last.
    """
    starts = [0]
    position = 0
    fence = before = ""
    in_list = _ITEM.match(text) is not None
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) \
                    and not line[mark.end():].strip():
                fence = ""
        elif _read_opening(line):
            starts.append(position)
            break
        else:
            if position and _begins(line, before, in_list=in_list):
                starts.append(position)
                in_list = _ITEM.match(line) is not None
            if mark and line[0] == " ":
                fence = mark[1]
        before = line
        position += len(line)
    return [text[start:end] for start, end in
            zip(starts, [*starts[1:], len(text)], strict=True)]


def _read_opening(text: str) -> tuple[str, str] | None:
    """The fence and the language of a whole line that opens a block of
    code at the margin."""
    line, end, _ = text.partition("\n")
    found = _OPENS_CODE.match(line)
    if found is None or not end or "`" in line[len(found[1]):]:
        return None
    return found[1], found[2]


def _begins(line: str, before: str, *, in_list: bool) -> bool:
    """Whether something else begins with this line, outside of code."""
    if _HEADING.match(line) or _HEADING.match(before):
        return True
    if (_ITEM if in_list or not before.strip() else _FIRST_ITEM).match(line):
        return True
    return not before.strip() and bool(line.strip()) \
        and not line[:1].isspace() \
        and not line.startswith((">", "-", "*", "+")) \
        and not line[:1].isdigit()


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


def _name_kind(text: str) -> str:
    """ "-" or "1" for an item of a list, else "block"."""
    item = _ITEM.match(text)
    return "block" if item is None else "1" if item[1][0].isdigit() else "-"


class MarkdownStream:
    """Shows an answer piece by piece."""

    def __init__(self, stream: TextIO, *, colour: bool = True) -> None:
        self._stream = stream
        self._colour = colour
        self._typesetter = Typesetter(colour=colour)
        self._live = LiveRows(stream)
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._drawn_at = 0.0
        self._text = self._return = ""
        self._code: CodeLines | None = None
        self._fence = ""
        self._last = ""  # the kind of what was printed last

    def feed(self, delta: str) -> None:
        """A piece of the answer."""
        delta = (self._return + delta).replace("\r\n", "\n")
        self._return = "\r" if delta.endswith("\r") else ""
        with self._lock:
            self._text += visible(delta.removesuffix("\r"))
            self._show_soon()

    def pause(self) -> None:
        """Print what there is, so that something else can be said."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._settle()
            text, self._text = self._text, ""
            self._live.erase(self._columns)
            if self._code is None:
                self._print(text)
            elif text and not self._closes(text):
                self._print_code([text])

    def finish(self) -> None:
        """Print what is left; the next piece begins a new answer."""
        self.pause()
        self._code, self._last, self._return = None, "", ""

    @property
    def _columns(self) -> int:
        return self._size().columns

    def _size(self) -> os.terminal_size:
        """Some terminals do not know theirs and say 0."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            size = os.terminal_size((0, 0))
        return size if all(size) else shutil.get_terminal_size()

    def _settle(self) -> None:
        """Print what is finished."""
        while True:
            if self._code is not None:
                if not self._take_code():
                    return
                continue
            *settled, self._text = split_blocks(self._text)
            for block in settled:
                self._print(block)
            opening = _read_opening(self._text)
            if opening is None:
                return
            self._fence, language = opening
            self._code = CodeLines(language, colour=self._colour)
            self._text = self._text.partition("\n")[2]
            self._open_block("block")

    def _take_code(self) -> bool:
        """Print the lines of code that are whole; whether the block has
        come to its end."""
        *lines, rest = self._text.split("\n")
        for number, line in enumerate(lines):
            if self._closes(line):
                self._print_code(lines[:number])
                self._code = None
                self._text = "\n".join([*lines[number + 1:], rest])
                return True
        self._print_code(lines)
        self._text = rest
        return False

    def _closes(self, line: str) -> bool:
        mark = _FENCE.match(line)
        return mark is not None and mark[1].startswith(self._fence) \
            and not line[mark.end():].strip()

    def _print_code(self, lines: list[str]) -> None:
        if lines and self._code is not None:
            self._write(self._code.add(lines))

    def _print(self, text: str) -> None:
        if text.strip():
            self._live.erase(self._columns)
            lines, _ = self._typesetter.set_lines(text, self._columns)
            self._open_block(_name_kind(text))
            self._write(lines)

    def _open_block(self, kind: str) -> None:
        if self._wants_gap(kind):
            self._write([""])
        self._last = kind

    def _wants_gap(self, kind: str) -> bool:
        """Whether an empty line goes before this: not between the items of
        one list."""
        return bool(self._last) and not self._last == kind != "block"

    def _write(self, lines: list[str]) -> None:
        self._live.erase(self._columns)
        self._stream.write("".join(line + "\n" for line in lines))
        self._stream.flush()

    def _show_soon(self) -> None:
        """Now, or after the while that is between two drawings: what comes
        all at once is worked on once."""
        wait = self._drawn_at + _REDRAW_S - time.monotonic()
        if wait <= 0:
            self._show()
        elif self._timer is None:
            self._timer = threading.Timer(wait, self._show_late)
            self._timer.daemon = True
            self._timer.start()

    def _show_late(self) -> None:
        with self._lock, suppress(OSError, ValueError):
            # a terminal that has gone is the next piece's to find
            if self._timer is not None:
                self._timer = None
                self._show()

    def _show(self) -> None:
        self._settle()
        self._draw()
        self._drawn_at = time.monotonic()

    def _draw(self) -> None:
        """What still grows, on half of the screen: made narrower, it still
        fits on the whole, and nothing of it scrolls out of reach."""
        columns, height = self._size()
        height = max(1, height // 2)
        if self._code is not None:
            may_close = self._fence.startswith(
                self._text.strip(" ")[:len(self._fence)])
            plain = ["" if may_close else cut(self._text.expandtabs(),
                                              columns)]
            rows = self._code.paint(plain)
        else:
            rows, plain = self._typesetter.set_lines(
                cut_ending(self._text, height), columns)
            if rows and self._wants_gap(_name_kind(self._text)):
                rows, plain = ["", *rows], ["", *plain]
        if rows and any(plain):
            self._live.draw(rows[-height:], plain[-height:], columns)
        else:
            self._live.erase(columns)
