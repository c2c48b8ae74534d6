"""The Responses API: what is sent. Pure.

Nothing is stored on the server: the whole history goes out each time, and
what the model thought before its calls comes back to it encrypted (replay
"openai-responses"). Shapes of the `openai` SDK's types, which tests hold
requests against.
"""

from collections.abc import Callable, Iterator, Sequence

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    decode_tool_calls,
    decode_tool_result,
    find_replay,
)
from claw.core.tool import ToolSpec
from claw.providers.openai.quirks import ToolNames
from claw.providers.wire.json import Json, objects_in
from claw.providers.wire.messages import split_parts

# Who writes `ChatResponse.replay` here.
BY = "openai-responses"


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
        yield from _output_text(message.content, number)
    else:
        yield {"role": "user", "content": _content(message.content)}


def _content(text: str) -> str | list[Json]:
    if "[IMAGE:data:" not in text:
        return text
    return [{"type": "input_text", "text": p["text"]} if p["type"] == "text"
            else {"type": "input_image", "detail": "auto",
                  "image_url": p["image_url"]["url"]}
            for p in split_parts(text)]


def _output_text(text: str | None, number: int) -> Iterator[Json]:
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
    items = objects_in((find_replay(calls, BY) or {}).get("items"))
    made = [i.get("call_id") for i in items
            if i.get("type") == "function_call"]
    if items and made == [c.id for c in calls.tool_calls]:
        yield from items
        return
    yield from _output_text(calls.text, number)
    for call in calls.tool_calls:
        yield {"type": "function_call", "call_id": call.id,
               "name": names.to_wire(call.name), "arguments": call.arguments}


def responses_tools(tools: Sequence[ToolSpec], schemas: Sequence[Json],
                    wire_name: Callable[[str], str] = str) -> list[Json]:
    """Tools in this API's flat form; `schemas` are their cleaned ones,
    `wire_name` gives the name that one is sent under."""
    return [{"type": "function", "name": wire_name(t.name),
             "description": t.description, "parameters": schema,
             "strict": False} for t, schema in zip(tools, schemas,
                                                   strict=True)]
