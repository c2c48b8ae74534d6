"""A running turn on a terminal: the answer as it comes, a line per tool."""

from claw.agent.rendering.cut import hint
from claw.agent.rounds.events import (
    CallRefused,
    Event,
    Notice,
    RoundDiscarded,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from claw.cli.show.look import TOOL
from claw.cli.show.output import Output, fold, visible

_REASON_CHARS = 200


class TurnView:
    """Hears the events of turns and shows them."""

    def __init__(self, out: Output) -> None:
        self._out = out
        out.render_markdown()

    def on_event(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._out.stream(event.text)
        elif isinstance(event, RoundDiscarded):
            self.close()
        elif isinstance(event, ToolStarted):
            self.line(f"{TOOL} {event.name} {hint(event.arguments)}".rstrip())
        elif isinstance(event, ToolFinished):
            reason = " ".join(event.output.split())[:_REASON_CHARS]
            self.line(f"  ok ({event.seconds:.1f} s)" if event.success
                      else f"  failed: {reason}")
        elif isinstance(event, CallRefused):
            self.close()
            self._out.warn(event.refusal.remark)
        elif isinstance(event, Notice):
            self.close()
            self._out.warn(event.text)

    def line(self, text: str) -> None:
        """A line beside the conversation, in a quiet colour; a long one is
        broken between words."""
        for part in fold(visible(text), self._out.columns):
            self.exact_line(part, "quiet")

    def exact_line(self, text: str, style: str) -> None:
        """A line that is not broken: what is read before a yes."""
        self.close()
        self._out.styled(self._out.paint(visible(text), style) + "\n")
        self._out.stdout.flush()

    def note(self, text: str) -> None:
        """Something to know beside the answer; what is drawn of it stays
        above, or the two would be written over each other."""
        self.close()
        self._out.note(text)

    def close(self) -> None:
        """End what is being drawn, so that something else can be said."""
        self._out.interrupt_waiting()
        self._out.end()
