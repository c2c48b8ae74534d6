"""What goes into one turn, and what comes out."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from claw.agent.rounds.execute import ToolRecord
from claw.agent.rounds.journal import Journal, ResumedRound
from claw.core.errors import IncompleteAnswerError
from claw.core.memory import MemoryEntry
from claw.core.provider import Passage, TokenUsage
from claw.core.refusal import Refusal, write_remarks
from claw.core.value import Value

RECEIPT = "no tool call did this"
CORRECTION = (
    "Your last answer was not understood: {problem}. Nothing was run. If you "
    "meant to call a tool, write the call again, whole and in the form that "
    "you were told; else answer in words, without tags of a call.")


class MalformedCallError(IncompleteAnswerError):
    """The model writes what opens like a tool call and is none, twice."""

    kind = "malformed_call"

    def __init__(self, problem: str, hint: str | None = None) -> None:
        super().__init__(f"no answer: {problem}",
                         hint=hint or "ask again, or another model")


class TurnResult(Value):
    """What a turn came to. `usage` is the sum over its model calls;
    `provider` is who gave the answer, where it is another one
    than was asked. `refused` are calls that did not run for want of a yes;
    `unsupported` says that the answer claims an act that no call did."""

    text: str
    turn_id: str
    model: str
    usage: TokenUsage
    tool_calls: tuple[ToolRecord, ...]
    recalled: tuple[MemoryEntry, ...]
    iterations: int
    finish_reason: str | None
    provider: str | None = None
    refused: tuple[Refusal, ...] = ()
    unsupported: bool = False

    @property
    def remarks(self) -> list[str]:
        """What claw itself says under the answer, in lines."""
        return [*write_remarks(self.refused),
                *([f"(claw: {RECEIPT})"] if self.unsupported else ())]


class TurnOptions(msgspec.Struct, frozen=True):
    """What one turn may ask for.

    `passages` is material of this turn (piped text, files) that stands in
    the message already; `question` is then the part that the person
    wrote, for recall, classification and autosave. `stream` asks the
    provider for deltas; `live_text` shows text before it is known whether
    the round ends in tool calls (RoundDiscarded takes it back). `stamp`
    puts the time in front of the message; without `directives` a /think:
    at its start is mere text. `temperature` and `model`
    replace the agent's, `options` are the vendor's own. `journal` is told
    each step before the next one; `resumed` are the rounds that it told of
    before the process was killed.
    """

    passages: Sequence[Passage] = ()
    max_tokens: int | None = None
    response_schema: dict[str, Any] | None = None
    options: Mapping[str, Any] = {}
    model: str | None = None
    temperature: float | None = None
    question: str | None = None
    stream: bool = True
    live_text: bool = False
    stamp: bool = True
    directives: bool = True
    journal: Journal | None = None
    resumed: Sequence[ResumedRound] = ()


def total(usages: Sequence[TokenUsage]) -> TokenUsage:
    """The sum, field by field; None where no call said anything."""
    def add(name: str) -> int | None:
        counts = [count for usage in usages
                  if (count := getattr(usage, name)) is not None]
        return sum(counts) if counts else None
    return TokenUsage(add("input_tokens"), add("output_tokens"),
                      add("cached_input_tokens"), add("cache_write_tokens"))
