"""Messages in words: what stands in the prompt where an API has no field
for it, or a model does not take the field. Pure."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    decode_tool_calls,
    decode_tool_result,
    prompt_guide,
    with_instructions,
)
from claw.core.tool import ToolSpec
from claw.providers.wire.json import Json, parse_object

# Compiled where it is used (1.5 ms): a short question needs none.
_IMAGE = r"\[IMAGE:(data:image/[\w.+-]+;base64,[\w+/=-]+)\]"


def split_parts(content: str) -> list[Json]:
    """Text and `[IMAGE:data:...]` markers as content parts, in order."""
    found: list[Json] = []
    for index, piece in enumerate(re.split(_IMAGE, content)):
        if index % 2:
            found.append({"type": "image_url", "image_url": {"url": piece}})
        elif piece.strip():
            found.append({"type": "text", "text": piece.strip()})
    return found


def drop_images(content: str) -> str:
    """Text with "[image]" in place of each image."""
    return re.sub(_IMAGE, "[image]", content)


def write_messages(request: ChatRequest, *, native: bool,
                   schema_in_words: bool, thoughts: bool = False
                   ) -> list[ChatMessage]:
    """The messages of a request, with everything in words that has no
    field: tools and calls without `native`, the schema of the answer with
    `schema_in_words`."""
    messages = list(request.messages)
    if not native:
        messages = spell_out_calls(messages, thoughts=thoughts)
        if request.tools:
            messages = with_instructions(messages,
                                         prompt_guide(request.tools))
    if request.response_schema is not None and schema_in_words:
        messages = with_instructions(
            messages, schema_words(request.response_schema))
    return messages


def schema_words(schema: Mapping[str, Any]) -> str:
    """A JSON Schema as an instruction, for servers that take none."""
    return ("Answer with one JSON value and nothing else, no code fence. "
            "It must be valid against this JSON Schema:\n"
            + json.dumps(schema, ensure_ascii=False))


def spell_out_calls(messages: Sequence[ChatMessage],
                    thoughts: bool = False) -> list[ChatMessage]:
    """The same conversation without native calls: calls in <tool_call>
    tags, results as a user message, as the prompt guide promises. With
    `thoughts` these stand before them, in tags too."""
    found: list[ChatMessage] = []
    for message in messages:
        calls = decode_tool_calls(message)
        if message.role == "tool":
            result = decode_tool_result(message)
            message = ChatMessage.user(
                f'<tool_result id="{result.tool_call_id}">\n'
                f"{result.content}\n</tool_result>")
        elif calls is not None:
            text = _write_calls(calls)
            if thoughts and calls.reasoning_content:
                text = wrap_thoughts(calls.reasoning_content, text)
            message = ChatMessage.assistant(text)
        found.append(message)
    return found


def _write_calls(calls: AssistantToolCalls) -> str:
    lines = [calls.text] if calls.text else []
    for call in calls.tool_calls:
        body = json.dumps({"name": call.name,
                           "arguments": parse_object(call.arguments) or {}},
                          ensure_ascii=False)
        lines.append(f"<tool_call>\n{body}\n</tool_call>")
    return "\n".join(lines)


def wrap_thoughts(thoughts: str, text: str | None) -> str:
    """Thoughts in <think> tags before the text."""
    return f"<think>\n{thoughts}\n</think>\n\n{text or ''}"


def join_system(messages: Sequence[ChatMessage]) -> str:
    """All system messages as one text."""
    return "\n\n".join(m.content for m in messages if m.role == "system")


def merge_system(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """System messages at the head of the first user message, for servers
    that know no system role."""
    system = join_system(messages)
    rest = [m for m in messages if m.role != "system"]
    if not system:
        return rest
    for index, message in enumerate(rest):
        if message.role == "user":
            rest[index] = ChatMessage.user(f"{system}\n\n{message.content}")
            return rest
    return [ChatMessage.user(system), *rest]


def wire_tools(tools: Sequence[ToolSpec], schemas: Sequence[Json] = (),
               wire_name: Callable[[str], str] = str) -> tuple[Json, ...]:
    """Tools as Chat Completions takes them; `schemas` are their cleaned
    ones, `wire_name` gives the name that one is sent under."""
    return tuple({"type": "function", "function": {
        "name": wire_name(t.name), "description": t.description,
        "parameters": schema}} for t, schema in zip(
            tools, schemas or [t.parameters for t in tools], strict=True))
