"""The Responses API: answers, whole or in a stream. Pure.

Shapes of the `openai` SDK's types; the stream of developers.openai.com,
"Streaming events".
"""

from collections.abc import Mapping, Sequence
from typing import Any

from claw.core.provider import ChatResponse, TokenUsage, ToolCall
from claw.providers.openai.responses.request import BY
from claw.providers.wire.json import (
    Json,
    arguments_text,
    is_truncated,
    object_at,
    objects_in,
    string_at,
)
from claw.providers.wire.reader import (
    EventReader,
    new_call_id,
    write_replay,
)
from claw.providers.wire.usage import read_count

_ENDS = ("response.completed", "response.incomplete", "response.done")


def responses_usage(usage: Any) -> TokenUsage | None:
    """Token counts under this API's names."""
    if not isinstance(usage, dict):
        return None
    details = object_at(usage, "input_tokens_details")
    counts = [usage.get("input_tokens"), usage.get("output_tokens"),
              details.get("cached_tokens"), details.get("cache_write_tokens")]
    numbers = [read_count(n) for n in counts]
    return TokenUsage(*numbers) if any(
        n is not None for n in numbers[:3]) else None


class ResponsesReader(EventReader):
    """The events of one stream, put together; the sister of StreamReader."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, Json] = {}
        self._arguments: dict[int, list[str]] = {}
        self._text_at: int | None = None
        self._final: Json | None = None
        self._refused = False
        self._has_calls = False

    @property
    def finished(self) -> bool:
        """Whether the terminal event came."""
        return self._final is not None

    def take(self, event: Mapping[str, Any]) -> str:
        """One event; returns what may be shown of it."""
        kind = event.get("type")
        at = event.get("output_index")
        at = at if isinstance(at, int) else 0
        delta = string_at(event, "delta")
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            self._refused |= kind == "response.refusal.delta"
            return self._say_at(delta, at)
        if kind in ("response.reasoning_text.delta",
                    "response.reasoning_summary_text.delta"):
            self._thoughts.append(delta)
        elif kind == "response.function_call_arguments.delta":
            self._arguments.setdefault(at, []).append(delta)
        elif kind in ("response.output_item.added",
                      "response.output_item.done"):
            if isinstance(event.get("item"), dict):
                self._items[at] = event["item"]
        elif kind in _ENDS:
            return self._take_end(object_at(event, "response"))
        return ""

    def take_whole(self, data: Any) -> str:
        """An answer in one piece. Raises ValueError for anything else."""
        if not isinstance(data, dict) or not isinstance(
                data.get("output"), list):
            raise ValueError("no output in it")
        return self._take_end(data)

    def end(self) -> tuple[str, ChatResponse]:
        """What was still held back, and the whole answer."""
        response = self._final or {}
        self._usage = responses_usage(response.get("usage"))
        self._model = string_at(response, "model") or None
        for at, item in self._items.items():
            if item.get("type") == "function_call" \
                    and not item.get("arguments") and at in self._arguments:
                self._items[at] = {
                    **item, "arguments": "".join(self._arguments[at])}
        self._calls += self._read_calls()
        self._has_calls = bool(self._calls)
        return super().end()

    def finish_reason(self) -> str | None:
        if self._cut_off:
            details = object_at(self._final, "incomplete_details")
            return "content_filter" if details.get("reason") \
                == "content_filter" else "length"
        if self._refused:
            return "refusal"
        return "tool_calls" if self._has_calls else "stop"

    def replay(self) -> str | None:
        """The items of a turn with calls, as input for the next; None
        where no thought among them can be shown again."""
        kept = [{k: v for k, v in item.items() if v is not None
                 and not (k == "status" and item["type"] == "reasoning")}
                for item in self._sorted_items()
                if item.get("type") in ("message", "function_call")
                or (item.get("type") == "reasoning"
                    and item.get("encrypted_content"))]
        return write_replay(BY, items=kept) \
            if any(i["type"] == "reasoning" for i in kept) else None

    @property
    def _cut_off(self) -> bool:
        return (self._final or {}).get("status") == "incomplete"

    def _say_at(self, text: str, at: int) -> str:
        if text and self._text_at not in (None, at):
            text = "\n\n" + text  # another message of the same answer
        if text:
            self._text_at = at
        return self.say(text)

    def _take_end(self, response: Json) -> str:
        """The terminal event: what the stream left out is in it."""
        self._final = response
        output = response.get("output")
        if isinstance(output, list) and output:
            self._items = {n: i for n, i in enumerate(output)
                           if isinstance(i, dict)}
        shown = ""
        thought, said = any(self._thoughts), self._text_at is not None
        for at, item in self._items.items():
            if item.get("type") == "message" and not said:
                parts = objects_in(item.get("content"))
                self._refused |= any(string_at(p, "refusal") for p in parts)
                shown += self._say_at("".join(
                    string_at(p, "text") + string_at(p, "refusal")
                    for p in parts), at)
            elif item.get("type") == "reasoning" and not thought:
                self._thoughts.append(
                    _join_texts(item, "content")
                    or _join_texts(item, "summary"))
        return shown

    def _sorted_items(self) -> list[Json]:
        return [self._items[at] for at in sorted(self._items)]

    def _read_calls(self) -> Sequence[ToolCall]:
        return [ToolCall(
            string_at(item, "call_id") or string_at(item, "id")
            or new_call_id(), string_at(item, "name").strip(),
            arguments_text(item.get("arguments")))
            for item in self._sorted_items()
            if item.get("type") == "function_call"
            and string_at(item, "name").strip()
            and not (self._cut_off and is_truncated(item.get("arguments")))]


def _join_texts(item: Mapping[str, Any], key: str) -> str:
    return "\n\n".join(string_at(p, "text")
                       for p in objects_in(item.get(key)))
