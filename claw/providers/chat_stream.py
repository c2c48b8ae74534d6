"""A stream of Chat Completions, put together. Pure."""

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from claw.core.provider import ChatResponse, TokenUsage, ToolCall
from claw.core.value import replace
from claw.providers.usage import usage_in
from claw.providers.visible import VisibleText
from claw.providers.wire import (
    Json,
    arguments_text,
    build_response,
    strip_think,
    text_of,
    thoughts_of,
    truncated,
)
from claw.text.segment import clean


def add_details(found: list[Json], pieces: Any) -> None:
    """Put streamed reasoning_details together: pieces of one index and
    type are one detail."""
    for piece in pieces if isinstance(pieces, list) else []:
        if not isinstance(piece, dict):
            continue
        last = found[-1] if found else None
        if last is None or any(last.get(k) != piece.get(k)
                               for k in ("type", "index")):
            found.append(dict(piece))
            continue
        for key, value in piece.items():
            grows = key in ("text", "summary", "data") and isinstance(
                last.get(key), str) and isinstance(value, str)
            if grows:
                last[key] += value
            elif value is not None:
                last[key] = value


class _PartialCall:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []


class StreamReader:
    """The chunks of one stream, put together.

    `take` gives the visible text of a chunk: thoughts are kept apart, half
    a tag and half a character wait for the rest. With `hold_calls` text
    from a <tool_call> tag on is kept back too. `finished` says whether a
    finish reason came.
    """

    def __init__(self, *, hold_calls: bool = False) -> None:
        self._hold_calls = hold_calls
        self._content: list[str] = []
        self._shown: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_PartialCall] = []
        self._by_index: dict[int, _PartialCall] = {}
        self._usage: TokenUsage | None = None
        self._model: str | None = None
        self._finish: str | None = None
        self._refused = False
        self._details: list[Json] = []
        self._visible = VisibleText(hold_calls)

    @property
    def finished(self) -> bool:
        return self._finish is not None

    def take(self, data: Mapping[str, Any]) -> str:
        """One chunk object; returns what may be shown of it."""
        self._usage = usage_in(data) or self._usage
        if isinstance(data.get("model"), str):
            self._model = data["model"]
        shown = ""
        choices = data.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and not choice.get("index"):
                shown += self._choice(choice)
        return shown

    def take_whole(self, data: Mapping[str, Any]) -> str:
        """An answer in one piece, from a server that does not stream."""
        shown = self.take(data)
        self._finish = self._finish or "stop"
        return shown

    def end(self) -> tuple[str, ChatResponse]:
        """What was still held back, and the whole answer; its text is
        what was shown."""
        rest = self._visible.end()
        self._shown.append(rest)
        content = clean("".join(self._content))
        response = build_response(
            content=content, calls=tuple(self._whole_calls()),
            usage=self._usage, reasoning=clean("".join(self._reasoning)),
            details=self._details, model=self._model,
            finish="refusal" if self._refused else self._finish)
        if not strip_think(content).strip():
            return (response.text or "").lstrip(), response
        if not self._hold_calls:
            response = replace(response, text="".join(self._shown))
        return rest, response

    def _whole_calls(self) -> Iterator[ToolCall]:
        for call in self._calls:
            given = "".join(call.arguments)
            if call.name and not (self._finish == "length"
                                  and truncated(given)):
                yield ToolCall(call.id or f"call_{uuid.uuid4().hex}",
                               call.name, arguments_text(given))

    def _choice(self, choice: Mapping[str, Any]) -> str:
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = choice.get("message")
        if not isinstance(delta, dict):
            return ""
        self._reasoning.append(thoughts_of(delta))
        if "reasoning_details" in delta:
            add_details(self._details, delta["reasoning_details"])
        calls = delta.get("tool_calls")
        for position, call in enumerate(calls if isinstance(calls, list)
                                        else []):
            if isinstance(call, dict):
                self._call(call, position)
        text = text_of(delta.get("content"))
        if not text and delta.get("refusal"):
            text = text_of(delta["refusal"])
            self._refused = True
        self._content.append(text)
        self._shown.append(self._visible.feed(text))
        return self._shown[-1]

    def _call(self, delta: Mapping[str, Any], position: int) -> None:
        inner = delta.get("function")
        inner = inner if isinstance(inner, dict) else delta
        call = self._slot(delta, inner, position)
        if isinstance(delta.get("id"), str) and delta["id"]:
            call.id = delta["id"]
        name = inner.get("name")
        if isinstance(name, str) and name and call.name != name:
            call.name += name
        given = inner.get("arguments", inner.get("parameters"))
        if isinstance(given, dict):
            given = json.dumps(given, ensure_ascii=False)
        if isinstance(given, str):
            call.arguments.append(given)

    def _slot(self, delta: Mapping[str, Any], inner: Mapping[str, Any],
              position: int) -> _PartialCall:
        """The call a delta belongs to: by index; without one a new id or
        a name starts a call, anything else goes on with the last."""
        index = delta.get("index")
        same_id = delta.get("id") in (None, "") or any(
            c.id == delta["id"] for c in self._calls)
        if isinstance(index, int):
            known = self._by_index.get(index)
            if known is not None and (same_id or not known.id):
                return known
        elif self._calls and same_id and not inner.get("name"):
            return self._calls[-1]
        elif self._calls and delta.get("id") and same_id:
            return next(c for c in self._calls if c.id == delta["id"])
        call = _PartialCall()
        self._calls.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        return call
