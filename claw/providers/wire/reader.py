"""What readers of answers share: the text as it comes and as a whole,
thoughts, calls. Pure."""

import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from claw.core.provider import ChatResponse, TokenUsage, ToolCall
from claw.core.value import replace
from claw.providers.wire.json import (
    Json,
    arguments_text,
    object_at,
    string_at,
)
from claw.text.segment import clean
from claw.text.think import ThinkFilter, strip_think


class VisibleText(ThinkFilter):
    """An answer without thoughts, cut anywhere, as UTF-8 can carry it: a
    character that comes as two surrogates is put together."""

    def __init__(self) -> None:
        super().__init__()
        self._half = ""

    def feed(self, delta: str) -> str:
        delta, self._half = self._half + delta, ""
        if "\ud800" <= delta[-1:] <= "\udbff":  # the other half comes later
            delta, self._half = delta[:-1], delta[-1]
        return super().feed(clean(delta))

    def finish(self) -> str:
        half, self._half = clean(self._half), ""
        return super().feed(half) + super().finish()


class AnswerReader:
    """The pieces of one answer, put together.

    A wire's reader has a `take` that gives the visible text of a piece:
    thoughts are left out, half a tag and half a character wait for the
    rest. Calls that a model writes as text are text here: the agent reads
    them.
    """

    def __init__(self) -> None:
        self._visible = VisibleText()
        self._thoughts: list[str] = []
        self._calls: list[ToolCall] = []
        self._usage: TokenUsage | None = None
        self._model: str | None = None
        self._finish: str | None = None

    @property
    def finished(self) -> bool:
        """Whether it was said why the answer ended."""
        return self._finish is not None

    def say(self, text: str) -> str:
        """Add text; returns what may be shown of it."""
        return self._visible.feed(text)

    def rest(self) -> str:
        """What was still held back, now that nothing more comes."""
        return self._visible.finish()

    def end(self) -> tuple[str, ChatResponse]:
        """What was still held back, and the whole answer; its text is what
        was shown, less what turned out to be thoughts then. Thoughts stand
        for a text that is missing."""
        rest = self.rest()
        text = self._visible.answer
        if not text.strip() and not self._calls:
            text = rest = self.thoughts_as_text()
        return rest, clean_response(self._response(
            text if text.strip() else None))

    def thoughts_as_text(self) -> str:
        """What stands for a text that is missing; nothing where there was
        no room left for it."""
        return "" if self.finish_reason() == "length" else strip_think(
            clean("".join(self._thoughts))).strip()

    def finish_reason(self) -> str | None:
        return self._finish

    def replay(self) -> str | None:
        """What the model has to be shown again beside its calls."""
        return None

    def _response(self, text: str | None) -> ChatResponse:
        return ChatResponse(
            text=text, tool_calls=tuple(self._calls), usage=self._usage,
            reasoning_content=clean("".join(self._thoughts)) or None,
            model=self._model, finish_reason=self.finish_reason(),
            replay=self.replay() if self._calls else None)


class EventReader(AnswerReader, ABC):
    """A reader of events, and of an answer in one piece."""

    @abstractmethod
    def take(self, data: Mapping[str, Any]) -> str:
        """One event; returns what may be shown of it."""

    @abstractmethod
    def take_whole(self, data: Any) -> str:
        """An answer in one piece. Raises ValueError for anything else."""


def read_call(data: Json) -> ToolCall | None:
    """A call in any of the accepted shapes; None without a name."""
    inner = object_at(data, "function") or data
    name = string_at(inner, "name").strip()
    return ToolCall(read_id(data, inner) or new_call_id(), name,
                    arguments_text(arguments_in(inner))) if name else None


def read_id(*places: Json) -> str:
    """The id of a call under any of its names, "" where there is none."""
    return next((found for place in places
                 for key in ("id", "tool_call_id", "call_id")
                 if (found := string_at(place, key))), "")


def arguments_in(inner: Mapping[str, Any]) -> Any:
    """The arguments of a call under either of their names."""
    return inner.get("arguments", inner.get("parameters"))


def new_call_id() -> str:
    """An id for a call that came without one."""
    return f"call_{uuid.uuid4().hex}"


def write_replay(by: str, **kept: Any) -> str:
    """ChatResponse.replay of the wire format `by`."""
    return json.dumps({"by": by, **kept}, ensure_ascii=False)


def clean_response(response: ChatResponse) -> ChatResponse:
    """The answer as UTF-8 can carry it: a lone surrogate, which JSON may
    hold, is one that no file and no terminal takes."""
    names = ("text", "reasoning_content", "model", "finish_reason", "replay")
    texts = {name: getattr(response, name) or "" for name in names}
    parts = [t for c in response.tool_calls
             for t in (c.id, c.name, c.arguments)]
    try:
        "".join([*texts.values(), *parts]).encode()
    except UnicodeEncodeError:
        return replace(
            response, tool_calls=tuple(
                ToolCall(clean(c.id), clean(c.name), clean(c.arguments))
                for c in response.tool_calls),
            **{name: clean(text) for name, text in texts.items() if text})
    return response
