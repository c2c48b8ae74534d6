"""A running turn on a terminal: the answer as it comes, a line per tool."""

from collections.abc import Mapping
from typing import Any

from claw.agent.events import (
    Event,
    Notice,
    RoundDiscarded,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from claw.cli.chat.markdown import MarkdownStream, PlainStream
from claw.cli.output import Output, hold_back, visible

_HINT_CHARS = 60
_REASON_CHARS = 200


def hint(arguments: Mapping[str, Any]) -> str:
    """What a call is about, in one short line."""
    for name in ("command", "path", "query", "key", "url", "action"):
        value = arguments.get(name)
        if isinstance(value, str):
            line = " ".join(value.split())
            return line if len(line) <= _HINT_CHARS \
                else line[:_HINT_CHARS - 1] + "…"
    return ""


class TurnView:
    """Hears the events of turns and shows them."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._stream: MarkdownStream | PlainStream = (
            MarkdownStream(out.stdout) if out.colour
            else PlainStream(out.stdout))
        self._held = hold_back(out.redactor)

    def on_event(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._out.interrupt_waiting()
            self._stream.feed(self._held.feed(event.text))
        elif isinstance(event, RoundDiscarded):
            self.close()
        elif isinstance(event, ToolStarted):
            self.line(f"· {event.name} {hint(event.arguments)}".rstrip())
        elif isinstance(event, ToolFinished):
            reason = " ".join(event.output.split())[:_REASON_CHARS]
            self.line(f"  ok ({event.seconds:.1f} s)" if event.success
                      else f"  failed: {reason}")
        elif isinstance(event, Notice):
            self.close()
            self._out.warn(event.text)

    def line(self, text: str) -> None:
        """A line beside the conversation, in a quiet colour."""
        self.close()
        text = visible(text)
        self._out.styled((f"\x1b[2m{text}\x1b[0m" if self._out.colour
                          else text) + "\n")
        self._out.stdout.flush()

    def note(self, text: str) -> None:
        """Something to know beside the answer; what is drawn of it stays
        above, or the two would be written over each other."""
        self.close()
        self._out.note(text)

    def close(self) -> None:
        """End what is being drawn, so that something else can be said."""
        self._out.interrupt_waiting()
        if rest := self._held.end():
            self._stream.feed(rest)
        self._stream.finish()
