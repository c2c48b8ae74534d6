"""What a running turn tells whoever watches it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from claw.core.refusal import Refusal

if TYPE_CHECKING:
    from claw.security.prompt_guard import Verdict


class RoundStarted(msgspec.Struct, frozen=True):
    """A model call begins; the first has number 1."""

    number: int
    model: str


class TextDelta(msgspec.Struct, frozen=True):
    """A piece of the answer. Put together the pieces are the answer,
    unless a RoundDiscarded comes between."""

    text: str


class RoundDiscarded(msgspec.Struct, frozen=True):
    """The round ended in tool calls: `text` was said before them and is no
    part of the answer. With live text, what was shown is void."""

    text: str


class ToolStarted(msgspec.Struct, frozen=True):
    """A tool is about to run (the gate has let it pass)."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]


class ToolFinished(msgspec.Struct, frozen=True):
    """A tool returned, or was refused (`seconds` 0)."""

    call_id: str
    name: str
    output: str
    success: bool
    seconds: float


class Notice(msgspec.Struct, frozen=True):
    """Something went wrong that the turn survives."""

    text: str


class CallRefused(msgspec.Struct, frozen=True):
    """A call, perhaps one of a turn within this one, did not run for want
    of a yes. Each comes once."""

    refusal: Refusal


class Guarded(Notice, frozen=True):
    """The prompt guard found something in `source`, and what became of
    it."""

    source: str
    categories: str
    score: float
    blocked: bool

    @classmethod
    def of(cls, source: str, verdict: "Verdict") -> "Guarded":
        kinds = verdict.describe()
        done = "left out" if verdict.blocked else "shown under a warning"
        return cls(f"prompt guard: {source} looks like orders to the model "
                   f"({kinds}); {done}", source, kinds, verdict.score,
                   verdict.blocked)


Event: TypeAlias = (RoundStarted | TextDelta | RoundDiscarded | ToolStarted
                    | ToolFinished | CallRefused | Notice)
OnEvent: TypeAlias = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Nobody watches."""
