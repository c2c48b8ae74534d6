"""What readers of answers share: the text as it comes and as a whole,
thoughts, calls that stand in the text. Pure."""

import json
import re
import uuid
from collections.abc import Mapping
from typing import Any

from claw.core.provider import ChatResponse, TokenUsage, ToolCall
from claw.core.value import replace
from claw.providers.wire.json import (
    Json,
    arguments_text,
    object_at,
    parse_object,
    string_at,
)
from claw.providers.wire.visible import VisibleText
from claw.text.segment import clean

# Compiled where it is used (1.5 ms): a short answer needs none.
_THINK = r"(?s)<think>.*?(?:</think>|\Z)"
_OPEN, _CLOSE = "<tool_call>", "</tool_call>"


class AnswerReader:
    """The pieces of one answer, put together.

    A wire's reader has a `take` that gives the visible text of a piece:
    thoughts are kept apart, half a tag and half a character wait for the
    rest. With `hold_calls` text from a <tool_call> tag on is kept back too,
    and the calls are read out of it in the end.
    """

    def __init__(self, *, hold_calls: bool = False) -> None:
        self._hold_calls = hold_calls
        self._visible = VisibleText(hold_calls)
        self._content: list[str] = []
        self._shown: list[str] = []
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
        self._content.append(text)
        self._shown.append(self._visible.feed(text))
        return self._shown[-1]

    def rest(self) -> str:
        """What was still held back, now that nothing more comes."""
        self._shown.append(self._visible.end())
        return self._shown[-1]

    def end(self) -> tuple[str, ChatResponse]:
        """What was still held back, and the whole answer; its text is what
        was shown. Calls that stand in the text are taken out of it, and
        thoughts stand for a text that is missing."""
        shown, rest = "".join(self._shown), self.rest()
        text = strip_think(clean("".join(self._content)))
        if self._hold_calls:
            text, calls = split_calls(text)
            self._calls += calls
            begun = shown if text.startswith(shown) else shown.rstrip()
            rest = text[len(begun):] if text.startswith(begun) else ""
        if text.strip():
            text = shown + rest
        elif not self._calls:
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


def strip_think(text: str) -> str:
    """Text without <think> blocks; an open one runs to the end."""
    return re.sub(_THINK, "", text).strip() if "<think>" in text else text


def split_calls(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Text and the calls that stand in it in <tool_call> tags. What does
    not parse as a call stays text."""
    calls: list[ToolCall] = []
    rest, at = "", 0
    # No regex: one with two open ends took cubic time over blanks.
    while (start := text.find(_OPEN, at)) >= 0 \
            and (end := text.find(_CLOSE, start)) >= 0:
        call = read_call(parse_object(
            text[start + len(_OPEN):end].strip()) or {})
        if call is None:
            start = end + len(_CLOSE)
        else:
            calls.append(call)
        rest += text[at:start]
        at = end + len(_CLOSE)
    return ((rest + text[at:]).strip() if calls else text), tuple(calls)


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
