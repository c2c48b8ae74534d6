"""One entry of the log: a question, and what came of it."""

import json
import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from claw.core.labels import read_labels
from claw.core.refusal import NOT_DONE, Refusal
from claw.core.value import Value

Outcome: TypeAlias = Literal["answered", "failed", "interrupted"]
State: TypeAlias = Literal["answered", "failed", "interrupted", "running"]


class Start(Value):
    """What is known before the model is asked.

    `id` is the turn's; `parent` the entry that it goes on from; who does not
    know that one says with `is_first` that there is none. `origin` is
    "ask", "agent" or "channel:chat", `sender` who wrote there. `under` is
    what stands under the prompt in the message (piped text, files), and
    `passages` what these are called.
    """

    id: str
    origin: str
    prompt: str
    under: str = ""
    parent: str | None = None
    session: str | None = None
    sender: str | None = None
    provider: str | None = None
    model: str | None = None
    system: str | None = None
    passages: tuple[str, ...] = ()
    is_first: bool = False


class End(Value):
    """What came of it.

    `message` is the message as the model got it, None where it got none;
    `rounds` are the calls of tools and their results, as session files have
    them; `labels` the origins of foreign text in all of it; `error` what
    went wrong, calls that ran not for want of a yes too.
    """

    outcome: Outcome
    answer: str | None = None
    message: str | None = None
    rounds: tuple[dict[str, Any], ...] = ()
    labels: tuple[str, ...] = ()
    provider: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    duration_ms: int | None = None
    error: str | None = None


class Entry(Value):
    """An entry as it is kept. `at` is when it was asked, RFC 3339 in UTC;
    `root` the first entry of its conversation. The message that the model
    got is `before` (memories, the time), `prompt` and `under`."""

    seq: int
    id: str
    parent: str | None
    root: str
    at: str
    origin: str
    session: str | None
    sender: str | None
    provider: str | None
    model: str | None
    state: State
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    duration_ms: int | None
    labels: tuple[str, ...]
    passages: tuple[str, ...]
    error: str | None
    system: str | None
    before: str
    prompt: str
    under: str
    rounds: tuple[dict[str, Any], ...]
    answer: str | None

    @property
    def refused(self) -> list[str]:
        """What did not run for want of a yes."""
        return [line for line in (self.error or "").split("\n")
                if line.startswith(NOT_DONE)]

    @property
    def message(self) -> str:
        """The message as the model got it."""
        return self.before + self.prompt + self.under

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The calls of tools, in order."""
        return [{"name": str(call.get("name")),
                 "arguments": str(call.get("arguments"))}
                for record in self.rounds
                if record.get("type") == "AssistantToolCalls"
                for call in _read_calls(record)]

    def to_json(self, *, whole: bool = True) -> dict[str, Any]:
        """As `claw log show --json` prints it; without `whole` as lists
        do, without what stood around the question."""
        value: dict[str, Any] = {
            "id": self.id, "parent": self.parent, "conversation": self.root,
            "at": self.at, "origin": self.origin, "session": self.session,
            "sender": self.sender, "provider": self.provider,
            "model": self.model, "state": self.state, "error": self.error,
            "usage": {"input_tokens": self.input_tokens,
                      "output_tokens": self.output_tokens},
            "cost": self.cost, "duration_ms": self.duration_ms,
            "passages": list(self.passages), "prompt": self.prompt,
            "answer": self.answer}
        if whole:
            value |= {"system": self.system, "before": self.before,
                      "under": self.under, "tool_calls": self.tool_calls,
                      "messages": list(self.rounds),
                      "labels": list(self.labels)}
        return value


def write_error(error: str | None, refused: Sequence[Refusal]) -> str | None:
    """The error of an entry, a line for each thing that went wrong."""
    return "\n".join([*([error] if error else ()),
                      *(one.remark for one in refused)]) or None


def _read_calls(record: dict[str, Any]) -> list[dict[str, Any]]:
    data = record.get("data")
    calls = data.get("tool_calls") if isinstance(data, dict) else None
    return [call for call in calls if isinstance(call, dict)] \
        if isinstance(calls, list) else []


def read_text(value: object) -> str | None:
    """A column that is to hold a text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if value is None or isinstance(value, str) else str(value)


def read_number(value: object) -> Any:
    """A column that is to hold a number; None for what is none."""
    return value if isinstance(value, int | float) \
        and math.isfinite(value) else None


def read_json(text: str | None) -> list[Any]:
    """A column that holds a JSON array; what is none is empty."""
    if not text:
        return []
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) else []


def read_strings(text: str | None) -> tuple[str, ...]:
    """The same where it holds texts."""
    return tuple(one for one in read_json(text) if isinstance(one, str))


def read_origins(text: str | None) -> tuple[str, ...]:
    """Labels; of what can't be read they say that it is foreign."""
    return read_labels(None if text is None else read_json(text) or text)
