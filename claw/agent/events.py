"""What a running turn tells whoever watches it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """A model call begins; the first has number 1."""

    number: int
    model: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer. Put together the pieces are the answer,
    unless a RoundDiscarded comes between."""

    text: str


@dataclass(frozen=True, slots=True)
class RoundDiscarded:
    """The round ended in tool calls: `text` was said before them and is no
    part of the answer. With live text, what was shown is void."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is about to run (the gate has let it pass)."""

    call_id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool returned, or was refused (`seconds` 0)."""

    call_id: str
    name: str
    output: str
    success: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Notice:
    """Something went wrong that the turn survives."""

    text: str


Event: TypeAlias = (RoundStarted | TextDelta | RoundDiscarded | ToolStarted
                    | ToolFinished | Notice)
OnEvent: TypeAlias = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Nobody watches."""
