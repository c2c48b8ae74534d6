"""The events of a turn as JSON: for `claw agent --jsonl` (cli/chat/jsonl.py
says which there are), `claw ask --jsonl` and the gateway's page."""

from collections.abc import Callable
from typing import Any

from claw.agent.rounds.events import (
    CallRefused,
    Event,
    Notice,
    RoundDiscarded,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from claw.security.redact.held_back import HeldBack
from claw.security.redact.redactor import Redactor


def event_json(event: Event) -> dict[str, Any] | None:
    """An event as its line, None for one that has none."""
    if isinstance(event, TextDelta):
        return {"type": "text", "delta": event.text} if event.text else None
    if isinstance(event, RoundDiscarded):
        return {"type": "discard"}
    if isinstance(event, ToolStarted):
        return {"type": "tool_start", "name": event.name,
                "arguments": dict(event.arguments)}
    if isinstance(event, ToolFinished):
        return {"type": "tool_end", "name": event.name,
                "success": event.success, "output": event.output}
    if isinstance(event, CallRefused):
        return {"type": "refused", **event.refusal.to_json()}
    return ({"type": "notice", "text": event.text} if isinstance(event, Notice)
            else None)


class EventLines:
    """Events as lines. Text that may begin a secret waits for more."""

    def __init__(self, redactor: Redactor | None,
                 say: Callable[[dict[str, Any]], None]) -> None:
        self._held = HeldBack(redactor)
        self._say = say

    def take(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._write(TextDelta(self._held.feed(event.text)))
        else:
            self.end()
            self._write(event)

    def end(self) -> None:
        """Say what waits: nothing more comes."""
        self._write(TextDelta(self._held.end()))

    def _write(self, event: Event) -> None:
        if (line := event_json(event)) is not None:
            self._say(line)
