"""The Responses API: requests out, answers in. Pure.

Nothing is stored on the server: the whole history goes out each time, and
what the model thought before its calls comes back to it encrypted (replay
"openai-responses"). Shapes of the `openai` SDK's types, which tests hold
requests against; the stream of developers.openai.com, "Streaming events".
"""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatResponse,
    TokenUsage,
    ToolCall,
    decode_tool_calls,
    decode_tool_result,
    replay_of,
)
from claw.core.tool import ToolSpec
from claw.core.value import replace
from claw.providers.quirks import ToolNames
from claw.providers.usage import counted
from claw.providers.visible import VisibleText
from claw.providers.wire import (
    Json,
    arguments_text,
    build_response,
    parts,
    strip_think,
    truncated,
)
from claw.text.segment import clean

# Who writes `ChatResponse.replay` here.
BY = "openai-responses"
_ENDS = ("response.completed", "response.incomplete", "response.done")


def instructions(messages: Sequence[ChatMessage]) -> str | None:
    """All system messages as one text."""
    found = "\n\n".join(m.content for m in messages if m.role == "system")
    return found or None


def input_items(messages: Sequence[ChatMessage],
                names: ToolNames) -> list[Json]:
    """The conversation without its system messages, as input items."""
    return [item for number, message in enumerate(messages)
            for item in _items(message, number, names)]


def _items(message: ChatMessage, number: int,
           names: ToolNames) -> Iterator[Json]:
    if message.role == "system":
        return
    if message.role == "tool":
        result = decode_tool_result(message)
        yield {"type": "function_call_output",
               "call_id": result.tool_call_id, "output": result.content}
        return
    calls = decode_tool_calls(message)
    if calls is not None and (calls.tool_calls or calls.reasoning_content):
        yield from _call_items(calls, number, names)
    elif message.role == "assistant":
        yield from _said(message.content, number)
    else:
        yield {"role": "user", "content": _content(message.content)}


def _content(text: str) -> str | list[Json]:
    if "[IMAGE:data:" not in text:
        return text
    return [{"type": "input_text", "text": p["text"]} if p["type"] == "text"
            else {"type": "input_image", "detail": "auto",
                  "image_url": p["image_url"]["url"]} for p in parts(text)]


def _said(text: str | None, number: int) -> Iterator[Json]:
    """What the assistant said; nothing for an empty text."""
    if text:
        yield {"type": "message", "role": "assistant",
               "id": f"msg_{number:08x}", "status": "completed",
               "content": [{"type": "output_text", "text": text,
                            "annotations": []}]}


def _call_items(calls: AssistantToolCalls, number: int,
                names: ToolNames) -> Iterator[Json]:
    """Calls with what stood around them, where it is known; thoughts
    whose calls were changed since are left out."""
    replay = replay_of(calls, BY)
    items = replay.get("items") if replay else None
    items = [i for i in items if isinstance(i, dict)] \
        if isinstance(items, list) else []
    made = [i.get("call_id") for i in items
            if i.get("type") == "function_call"]
    if items and made == [c.id for c in calls.tool_calls]:
        yield from items
        return
    yield from _said(calls.text, number)
    for call in calls.tool_calls:
        yield {"type": "function_call", "call_id": call.id,
               "name": names.sent(call.name), "arguments": call.arguments}


def responses_tools(tools: Sequence[ToolSpec], schemas: Sequence[Json],
                    names: ToolNames) -> list[Json]:
    """Tools in this API's flat form; `schemas` are their cleaned ones."""
    return [{"type": "function", "name": names.sent(t.name),
             "description": t.description, "parameters": schema,
             "strict": False} for t, schema in zip(tools, schemas,
                                                   strict=True)]


def read_response(data: Any) -> ChatResponse:
    """A response object. Raises ValueError for anything else."""
    if not isinstance(data, dict) or not isinstance(
            data.get("output"), list):
        raise ValueError("no output in it")
    reader = ResponsesReader()
    reader.take({"type": "response.completed", "response": data})
    return reader.end()[1]


def responses_usage(usage: Any) -> TokenUsage | None:
    """Token counts under this API's names."""
    if not isinstance(usage, dict):
        return None
    details = usage.get("input_tokens_details")
    details = details if isinstance(details, dict) else {}
    counts = [usage.get("input_tokens"), usage.get("output_tokens"),
              details.get("cached_tokens"), details.get("cache_write_tokens")]
    numbers = [counted(n) for n in counts]
    return TokenUsage(*numbers) if any(
        n is not None for n in numbers[:3]) else None


class ResponsesReader:
    """The events of one stream, put together; the sister of StreamReader.

    `take` gives the visible text of an event. `finished` says whether the
    terminal event came. With `hold_calls` text from a <tool_call> tag on is
    kept back.
    """

    def __init__(self, *, hold_calls: bool = False) -> None:
        self._hold_calls = hold_calls
        self._visible = VisibleText(hold_calls)
        self._content: list[str] = []
        self._shown: list[str] = []
        self._thoughts: list[str] = []
        self._items: dict[int, Json] = {}
        self._arguments: dict[int, list[str]] = {}
        self._text_of: int | None = None
        self._response: Json = {}
        self._refused = False
        self.finished = False

    def take(self, event: Mapping[str, Any]) -> str:
        """One event; returns what may be shown of it."""
        kind = event.get("type")
        at = event.get("output_index")
        at = at if isinstance(at, int) else 0
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            self._refused |= kind == "response.refusal.delta"
            return self._say(event.get("delta"), at)
        if kind in ("response.reasoning_text.delta",
                    "response.reasoning_summary_text.delta"):
            self._think(event.get("delta"))
        elif kind == "response.function_call_arguments.delta":
            self._arguments.setdefault(at, []).append(
                _string(event.get("delta")))
        elif kind in ("response.output_item.added",
                      "response.output_item.done"):
            item = event.get("item")
            if isinstance(item, dict):
                self._items[at] = item
        elif kind in _ENDS:
            return self._end(event.get("response"))
        return ""

    def take_whole(self, data: Mapping[str, Any]) -> str:
        """An answer in one piece, from a server that does not stream."""
        return self._end(dict(data))

    def end(self) -> tuple[str, ChatResponse]:
        """What was still held back, and the whole answer."""
        rest = self._visible.end()
        self._shown.append(rest)
        content = clean("".join(self._content))
        items = self._output()
        calls = tuple(self._calls(items))
        response = build_response(
            content=content, reasoning=clean("".join(self._thoughts)),
            calls=calls, usage=responses_usage(self._response.get("usage")),
            model=self._response.get("model"), finish=self._finish(calls),
            replay=_replay(items) if calls else None)
        if not strip_think(content).strip():
            return (response.text or "").lstrip(), response
        if not self._hold_calls:
            response = replace(response, text="".join(self._shown))
        return rest, response

    def _say(self, delta: Any, at: int) -> str:
        text = _string(delta)
        if text and self._text_of not in (None, at) and self._content:
            text = "\n\n" + text  # another message of the same answer
        if text:
            self._text_of = at
        self._content.append(text)
        self._shown.append(self._visible.feed(text))
        return self._shown[-1]

    def _think(self, delta: Any) -> None:
        self._thoughts.append(_string(delta))

    def _end(self, response: Any) -> str:
        """The terminal event: what the stream left out is in it."""
        self.finished = True
        self._response = response if isinstance(response, dict) else {}
        output = self._response.get("output")
        if isinstance(output, list) and output:
            self._items = {n: i for n, i in enumerate(output)
                           if isinstance(i, dict)}
        shown = ""
        thought = bool("".join(self._thoughts))
        said = bool("".join(self._content))
        for at, item in self._items.items():
            if item.get("type") == "message" and not said:
                shown += self._say(self._message(item), at)
            elif item.get("type") == "reasoning" and not thought:
                self._think(_thoughts(item))
        return shown

    def _message(self, item: Mapping[str, Any]) -> str:
        found = []
        content = item.get("content")
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict):
                found.append(_string(part.get("text")))
                refusal = _string(part.get("refusal"))
                self._refused |= bool(refusal)
                found.append(refusal)
        return "".join(found)

    def _output(self) -> list[Json]:
        """The items in order, calls with the arguments that streamed."""
        found = []
        for at in sorted(self._items):
            item = self._items[at]
            if item.get("type") == "function_call" and not item.get(
                    "arguments") and at in self._arguments:
                item = {**item, "arguments": "".join(self._arguments[at])}
            found.append(item)
        return found

    def _calls(self, items: Sequence[Json]) -> Iterator[ToolCall]:
        for item in items:
            name = item.get("name")
            if item.get("type") != "function_call" \
                    or not isinstance(name, str) or not name.strip():
                continue
            if self._cut_off() and truncated(item.get("arguments")):
                continue
            yield ToolCall(
                _string(item.get("call_id")) or _string(item.get("id"))
                or f"call_{uuid.uuid4().hex}", name.strip(),
                arguments_text(item.get("arguments")))

    def _cut_off(self) -> bool:
        return self._response.get("status") == "incomplete"

    def _finish(self, calls: Sequence[ToolCall]) -> str | None:
        if self._cut_off():
            details = self._response.get("incomplete_details")
            reason = details.get("reason") if isinstance(details, dict) \
                else None
            return "content_filter" if reason == "content_filter" \
                else "length"
        if self._refused:
            return "refusal"
        return "tool_calls" if calls else "stop"


def _replay(items: Sequence[Json]) -> str | None:
    """The items of a turn with calls, as input for the next; None where
    no thought among them can be shown again."""
    kept = [_as_input(i) for i in items
            if i.get("type") in ("message", "function_call")
            or (i.get("type") == "reasoning" and i.get("encrypted_content"))]
    if not any(i["type"] == "reasoning" for i in kept):
        return None
    return json.dumps({"by": BY, "items": kept}, ensure_ascii=False)


def _as_input(item: Json) -> Json:
    """An output item without what is null."""
    return {k: v for k, v in item.items()
            if v is not None and not (k == "status"
                                      and item["type"] == "reasoning")}


def _thoughts(item: Mapping[str, Any]) -> str:
    """The text of a reasoning item, else its summary."""
    for key in ("content", "summary"):
        pieces = item.get(key)
        text = "\n\n".join(_string(p.get("text")) for p in pieces
                           if isinstance(p, dict)) \
            if isinstance(pieces, list) else ""
        if text:
            return text
    return ""


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
