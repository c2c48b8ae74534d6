"""Ollama's own chat API: answers and lines of streams. Pure.

Differs from Chat Completions in its thoughts (`thinking`) and its streams
(a JSON object a line, the last one with `done`).
Source: docs.ollama.com/api/chat and the `ollama` SDK's types, read 2026-11.
"""

from collections.abc import Collection, Mapping
from typing import Any

from claw.core.errors import UnavailableError
from claw.core.provider import TokenUsage, ToolCall
from claw.providers.wire.json import (
    arguments_text,
    objects_in,
    parse_object,
    string,
    string_at,
)
from claw.providers.wire.reader import (
    AnswerReader,
    arguments_in,
    read_call,
)
from claw.providers.wire.usage import read_count
from claw.text.segment import clean
from claw.text.think import strip_think

LINE_BYTES = 8 * 1024 * 1024


def read_calls(message: Mapping[str, Any],
               known: Collection[str] = ()) -> tuple[ToolCall, ...]:
    """The calls of a message. A model that wraps a call in another
    ("tool_call" with the real one as its arguments, "tool.NAME",
    "tool_call>NAME") is understood; `known` names are taken as they are."""
    found = (read_call(c) for c in objects_in(message.get("tool_calls")))
    return tuple(call if call.name in known else ToolCall(
        call.id, *_unwrap(call.name, call.arguments))
        for call in found if call is not None)


def _unwrap(name: str, arguments: str) -> tuple[str, str]:
    for prefix in ("tool_call>", "tool_call<", "tool_call.", "tool."):
        if name.startswith(prefix):
            name = name.removeprefix(prefix).strip(" <>") or "tool_call"
            break
    if name in ("tool_call", "tool"):
        body = parse_object(arguments) or {}
        if inner := string_at(body, "name").strip():
            return _unwrap(inner, arguments_text(arguments_in(body)))
    return name, arguments


def read_usage(data: Mapping[str, Any]) -> TokenUsage | None:
    """Token counts; a count that is left out stands for a prompt that was
    in the cache."""
    found = [read_count(data.get("prompt_eval_count")),
             read_count(data.get("eval_count"))]
    return None if found == [None, None] else TokenUsage(*found)


class Lines:
    """Bytes in, lines of JSON out, cut anywhere. A line of more than
    `line_bytes` raises UnavailableError that names `who`."""

    def __init__(self, who: str, line_bytes: int = LINE_BYTES) -> None:
        self._who = who
        self._limit = line_bytes
        self._waiting: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that this chunk completes, without blank ones."""
        *ended, rest = chunk.split(b"\n")
        found: list[str] = []
        for piece in ended:
            self._keep(piece)
            found += self.end()
        self._keep(rest)
        return found

    def end(self) -> list[str]:
        """The line that was left open, if it says anything."""
        line = b"".join(self._waiting).strip()
        self._waiting, self._size = [], 0
        return [line.decode("utf-8", "replace")] if line else []

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._waiting.append(piece)
            self._size += len(piece)
        if self._size > self._limit:
            raise UnavailableError(
                f"{self._who} sent a line of more than {self._limit} bytes",
                hint="is that the right server? check the base URL")


class Reader(AnswerReader):
    """The objects of one answer, put together; a plain answer is one.
    `known` are the names of the tools on offer."""

    def __init__(self, known: Collection[str] = ()) -> None:
        super().__init__()
        self._known = known

    def take(self, data: Mapping[str, Any]) -> str:
        """One object; returns what may be shown of it."""
        self._usage = read_usage(data) or self._usage
        self._model = string_at(data, "model") or self._model
        if data.get("done") is True:
            self._finish = string(data.get("done_reason", "stop")) or "stop"
        message = data.get("message")
        if not isinstance(message, dict):
            return ""
        self._thoughts.append(string_at(message, "thinking"))
        self._calls += read_calls(message, self._known)
        return self.say(string_at(message, "content"))

    def thoughts_as_text(self) -> str:
        """Where nothing was said, the thoughts are the answer."""
        return strip_think(clean("".join(self._thoughts))).strip()
