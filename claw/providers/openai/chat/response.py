"""Chat Completions: answers, whole or in a stream. Pure.

Shapes of the `openai` SDK's types, and of the servers that copy them: calls
with missing ids, arguments as objects, deltas without index, thoughts in
`reasoning_content`, `reasoning` or `reasoning_details` or in <think> tags,
content as a list of parts, usage inside a choice.
"""

import json
from collections.abc import Mapping
from typing import Any

from claw.core.provider import ChatResponse, ToolCall
from claw.providers.openai.chat.request import DETAILS
from claw.providers.wire.json import (
    Json,
    arguments_text,
    is_truncated,
    object_at,
    objects_in,
    string,
    string_at,
)
from claw.providers.wire.reader import (
    EventReader,
    arguments_in,
    new_call_id,
    read_id,
    write_replay,
)
from claw.providers.wire.usage import find_usage


class StreamReader(EventReader):
    """The chunks of one stream, put together."""

    def __init__(self) -> None:
        super().__init__()
        self._started: list[_PartialCall] = []
        self._by_index: dict[int, _PartialCall] = {}
        self._whole = False
        self._refused = False
        self._details: list[Json] = []

    def take(self, data: Mapping[str, Any]) -> str:
        """One chunk object; returns what may be shown of it."""
        self._take_head(data)
        return "".join(self._take_choice(choice)
                       for choice in objects_in(data.get("choices"))
                       if not choice.get("index"))

    def take_whole(self, data: Any) -> str:
        """An answer in one piece. Raises ValueError for anything else."""
        choices = data.get("choices") if isinstance(data, dict) else None
        if not isinstance(choices, list) or not choices \
                or not isinstance(choices[0], dict):
            raise ValueError("no choice in it")
        message = choices[0].get("message")
        if not isinstance(message, dict):
            raise ValueError("no message in it")
        self._whole = True
        self._take_head(data)
        shown = self._take_choice(choices[0])
        self._finish = self._finish or "stop"
        return shown

    def end(self) -> tuple[str, ChatResponse]:
        """What was still held back, and the whole answer."""
        for call in self._started:
            given = "".join(call.arguments)
            if call.name.strip() and not (self._finish == "length"
                                          and is_truncated(given)):
                self._calls.append(ToolCall(
                    call.id or new_call_id(), call.name.strip(),
                    arguments_text(given)))
        return super().end()

    def finish_reason(self) -> str | None:
        return "refusal" if self._refused else self._finish

    def replay(self) -> str | None:
        return write_replay(DETAILS, details=self._details) \
            if self._details else None

    def _take_head(self, data: Mapping[str, Any]) -> None:
        self._usage = find_usage(data) or self._usage
        self._model = string_at(data, "model") or self._model

    def _take_choice(self, choice: Json) -> str:
        self._finish = string_at(choice, "finish_reason") or self._finish
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = object_at(choice, "message")
        self._thoughts.append(read_thoughts(delta))
        add_details(self._details, delta.get("reasoning_details"))
        calls = objects_in(delta.get("tool_calls")) or [
            c for c in [delta.get("function_call")] if isinstance(c, dict)]
        for call in calls:
            self._take_call(call)
        text = join_text(delta.get("content"))
        if not text and delta.get("refusal"):
            text = join_text(delta["refusal"])
            self._refused = True
        return self.say(text)

    def _take_call(self, delta: Json) -> None:
        inner = object_at(delta, "function") or delta
        call = self._slot(delta, inner)
        call.id = read_id(delta, inner) or call.id
        name = string_at(inner, "name")
        if call.name != name:
            call.name += name
        given = arguments_in(inner)
        if isinstance(given, dict):
            given = json.dumps(given, ensure_ascii=False)
        call.arguments.append(string(given))

    def _slot(self, delta: Json, inner: Json) -> "_PartialCall":
        """The call a delta belongs to: by index; without one a new id or
        a name starts a call, anything else goes on with the last. In a
        whole answer each is one."""
        index = None if self._whole else delta.get("index")
        same_id = delta.get("id") in (None, "") or any(
            c.id == delta["id"] for c in self._started)
        if isinstance(index, int):
            known = self._by_index.get(index)
            if known is not None and (same_id or not known.id):
                return known
        elif self._whole:
            pass
        elif self._started and same_id and not inner.get("name"):
            return self._started[-1]
        elif self._started and delta.get("id") and same_id:
            return next(c for c in self._started if c.id == delta["id"])
        call = _PartialCall()
        self._started.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        return call


class _PartialCall:
    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []


def add_details(found: list[Json], pieces: Any) -> None:
    """Put streamed reasoning_details together: pieces of one index and
    type are one detail."""
    for piece in objects_in(pieces):
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


def join_text(content: Any) -> str:
    """Content as a text, or as a list of parts."""
    return string(content) or "".join(
        string_at(p, "text") for p in objects_in(content))


def read_thoughts(message: Mapping[str, Any]) -> str:
    """Thoughts under any of their names; Mistral's are parts of the
    content."""
    return (join_text(message.get("reasoning_content"))
            or join_text(message.get("reasoning"))
            or "".join(join_text(p.get("thinking"))
                       for p in objects_in(message.get("content")))
            or "".join(join_text(p.get("text")) or join_text(p.get("summary"))
                       for p in objects_in(
                           message.get("reasoning_details"))))
