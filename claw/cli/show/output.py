"""stdout carries the result and nothing else; notes go to stderr.

Text is UTF-8 on any locale. On a terminal control characters of foreign
text are shown, not obeyed: a memory must not be able to move the cursor.
"""

import json as json_module
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from claw.cli.show.bars import count_cells, count_columns, lay_out, wrap
from claw.cli.show.look import paint
from claw.cli.show.progress import Waiting
from claw.core.errors import ClawError
from claw.core.streams import get_stdout
from claw.security.redact.redactor import Redactor

if TYPE_CHECKING:
    from claw.cli.chat.markdown import MarkdownStream
    from claw.security.redact.held_back import HeldBack

_CONTROL = ("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f"
            "\u202a-\u202e\u2066-\u2069]")

_HANG = "  "  # before what goes on on the next line of a terminal


def visible(text: str) -> str:
    """Text with its control characters spelled out (\\x1b, \\u202e)."""
    return re.sub(
        _CONTROL, lambda m: m[0].encode("unicode_escape").decode(), text)


def join_lines(text: str) -> str:
    """Foreign text within one line of a result, control characters spelled
    out: a name with a line feed is no row of its own."""
    return visible(" ".join(text.split()))


def fold(text: str, columns: int) -> list[str]:
    """The lines, those that are too long broken between words."""
    return [_HANG * bool(number) + part for line in text.split("\n")
            for number, part in enumerate(
                [line] if count_cells(line) <= columns
                else wrap(line, columns - len(_HANG)))]


def to_json(value: Any) -> str:
    """JSON text; other scripts stay readable. Lone surrogates and what a
    terminal would act on are escaped."""
    text = json_module.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json_module.dumps(value)
    return re.sub(_CONTROL, lambda m: f"\\u{ord(m[0]):04x}", text)


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def wants_colour(stream: TextIO | None,
                 env: Mapping[str, str] = os.environ) -> bool:
    """NO_COLOR, CLICOLOR_FORCE and TERM=dumb are honoured."""
    if env.get("NO_COLOR"):
        return False
    return env.get("CLICOLOR_FORCE", "0") != "0" \
        or (is_terminal(stream) and env.get("TERM") != "dumb")


def wants_styles(stream: TextIO | None,
                 env: Mapping[str, str] = os.environ) -> bool:
    """Whether escapes go out at all: those of bold text and of layout stay
    under NO_COLOR."""
    return wants_colour(stream, env) or (
        is_terminal(stream) and env.get("TERM") != "dumb")


def hold_back(redactor: Redactor | None) -> "HeldBack":
    """For an answer that comes in pieces; only commands that ask a model
    load it."""
    from claw.security.redact.held_back import HeldBack
    return HeldBack(redactor)


def error_json(error: ClawError) -> dict[str, Any]:
    """An error as its document, with what had come of an answer."""
    found: dict[str, Any] = {"error": {
        "kind": error.kind, "message": error.message, "hint": error.hint}}
    return found if error.text is None else {**found, "text": error.text}


class Output:
    """The streams of one run. With a `redactor` nothing is printed that it
    would take out."""

    def __init__(self, *, json: bool = False, quiet: bool = False,
                 json_notes: bool = False, stdout: TextIO | None = None,
                 stderr: TextIO | None = None,
                 redactor: Redactor | None = None) -> None:
        self.json = json
        self.quiet = quiet
        self.json_notes = json_notes
        self.stdout = stdout or get_stdout()
        self.stderr = stderr or sys.stderr
        self.redactor = redactor
        self._held: HeldBack | None = None
        self._markdown: MarkdownStream | None = None
        self._line_open = False
        self._waiting: Waiting | None = None

    @contextmanager
    def waiting(self, text: str) -> Iterator[None]:
        """Say that work goes on when it takes over a second; the first
        word of the result or a note ends it. Only on a terminal."""
        if not self.quiet and is_terminal(self.stderr):
            self._waiting = Waiting(text, self.stderr)
        try:
            yield
        finally:
            self.interrupt_waiting()

    def progress(self, text: str) -> None:
        """What the waiting line says from now on."""
        if self._waiting is not None:
            self._waiting.update(text)

    def interrupt_waiting(self) -> None:
        """Take the waiting line away, e.g. to ask something."""
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    @property
    def on_terminal(self) -> bool:
        """Whether a person reads the result as it is printed."""
        return is_terminal(self.stdout)

    @property
    def columns(self) -> int:
        """How wide the terminal of the result is; 80 where it is none."""
        return count_columns(self.stdout)

    @property
    def colour(self) -> bool:
        return wants_colour(self.stdout)

    def paint(self, text: str, style: str) -> str:
        """Our own text in one of the styles of look.py, for `styled`; as it
        is where no escapes are wanted."""
        return paint(text, style, colour=self.colour) \
            if wants_styles(self.stdout) else text

    def render_markdown(self) -> None:
        """What is streamed from now on is Markdown, and a person sees it
        set. In a pipe and on TERM=dumb it stays what it is."""
        if self.on_terminal and wants_styles(self.stdout):
            from claw.cli.chat.markdown import MarkdownStream
            self._markdown = MarkdownStream(self.stdout, colour=self.colour)

    def result(self, text: str) -> None:
        """A whole result with one final newline."""
        self.piece(text)
        self.end()

    def show_for_approval(self) -> None:
        """From now on nothing is left out that could hide a line: a person
        reads it before a yes."""
        if self.redactor is not None:
            self.redactor = self.redactor.for_approval()

    def redact(self, text: str) -> str:
        """The text as it may be printed."""
        return text if self.redactor is None else self.redactor(text)

    def stream(self, text: str) -> None:
        """A part of an answer that is still coming, cut anywhere."""
        if self._held is None:
            self._held = hold_back(self.redactor)
        self._show(self._held.feed(text))

    def _show(self, text: str) -> None:
        if self._markdown is None:
            self._write(text)
        elif text:
            self.interrupt_waiting()
            self._markdown.feed(text)

    def piece(self, text: str) -> None:
        """A part of a result that is still coming."""
        self._write(self.redact(text))

    def _write(self, text: str) -> None:
        if text:
            self.interrupt_waiting()
            self.stdout.write(visible(text) if self.on_terminal else text)
            self.stdout.flush()
            self._line_open = not text.endswith("\n")

    def styled(self, text: str) -> None:
        """A part of a result whose escape sequences are our own."""
        text = self.redact(text)
        self.stdout.write(text)
        self._line_open = not text.endswith("\n")

    def end(self) -> None:
        """Close the last line of a result."""
        if self._held is not None:
            self._show(self._held.end())
        if self._markdown is not None:
            self._markdown.finish()
        if self._line_open:
            self.stdout.write("\n")
            self._line_open = False
        self.stdout.flush()

    def table(self, rows: Sequence[Sequence[str]], *,
              head: Sequence[str] = (), right: Collection[int] = ()) -> None:
        """Rows in columns for a person, folded where they don't fit, under
        the `head`; in a pipe tabs between the cells and no head."""
        if not rows:
            return
        if not self.on_terminal:
            self.result("\n".join("\t".join(row).rstrip() for row in rows))
            return
        cells = [[visible(self.redact(cell)) for cell in row]
                 for row in (*([head] if head else []), *rows)]
        self.result("\n".join(lay_out(cells, self.columns, right=right,
                                      head=bool(head))))

    def document(self, value: Any) -> None:
        """One JSON document."""
        self.lines([value])

    def lines(self, values: Iterable[Any]) -> None:
        """One JSON object a line."""
        for value in values:
            self.stdout.write(to_json(
                value if self.redactor is None
                else self.redactor.record(value)) + "\n")
        self.stdout.flush()

    def note(self, text: str) -> None:
        """Something worth saying that is not the result."""
        if not self.quiet:
            self._say("note", text)

    def report(self, text: str) -> None:
        """A note that was asked for: said also where others are not."""
        self._say("note", text)

    def warn(self, text: str) -> None:
        """Something that may be wrong."""
        if not self.quiet:
            self._say("warning", text)

    def error(self, error: ClawError) -> None:
        """What went wrong and what to do: always said."""
        if self.json:
            self.document(error_json(error))
        text = error.message
        if error.hint:  # brackets in brackets are hard to read
            text += f" ({error.hint})" \
                if "(" not in error.hint and text[-1:] != ")" \
                else f"; {error.hint}"
        self._say("error", text)

    def _say(self, level: str, text: str) -> None:
        self.interrupt_waiting()
        text = self.redact(text)
        if is_terminal(self.stdout) and is_terminal(self.stderr):
            if self._markdown is not None:
                self._markdown.pause()
            elif self._line_open:
                self.end()
        if self.json_notes:
            line = to_json({"level": level, "message": text})
        else:
            prefix = "" if level == "note" else f"{level}: "
            line = f"claw: {prefix}{visible(text)}"
            if is_terminal(self.stderr):
                line = "\n".join(fold(line, count_columns(self.stderr)))
        self.stderr.write(line + "\n")
        self.stderr.flush()
