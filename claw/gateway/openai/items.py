"""The input of /v1/responses as messages. Pure.

Source: the openai SDK's types, read 2026-11. What a model said and the
calls behind it are one message for a provider.
"""

from collections.abc import Iterator

from claw.core.provider import ChatMessage, ToolCall
from claw.gateway.openai.content import (
    CONTENT,
    WITH_IMAGES,
    build_assistant,
    build_result,
    read_call,
    read_text,
)
from claw.gateway.openai.errors import BadRequest
from claw.gateway.openai.fields import MOST_OBJECTS, Fields, optional

_MESSAGE = {"enum": ["message", None]}
_ITEM = {"type": "object", "anyOf": [
    {"required": ["role"], "properties": {
        "type": _MESSAGE, "content": CONTENT,
        "role": {"enum": ["system", "developer", "assistant"]}}},
    {"required": ["role"], "properties": {
        "type": _MESSAGE, "content": WITH_IMAGES, "role": {"const": "user"}}},
    {"required": ["type", "call_id", "name"], "properties": {
        "type": {"const": "function_call"}, "name": {"type": "string"},
        "call_id": {"type": "string", "minLength": 1},
        "arguments": optional(str)}},
    {"required": ["type", "call_id"], "properties": {
        "type": {"const": "function_call_output"}, "output": CONTENT,
        "call_id": {"type": "string"}}},
    {"required": ["type"], "properties": {"type": {"const": "reasoning"}}}]}
INPUT = {"type": ["string", "array"], "minItems": 1, "items": _ITEM,
         "maxItems": MOST_OBJECTS, "contains": {"properties": {
             "role": {"enum": ["user", "assistant"]},
             "type": {"enum": ["message", None, "function_call",
                               "function_call_output"]}}}}


def read_input(fields: Fields) -> list[ChatMessage]:
    """The conversation. Raises BadRequest."""
    given = fields.any("input")
    if isinstance(given, str):
        return [ChatMessage.user(given)]
    if given is None:
        raise BadRequest("input is missing", "input")
    return list(_read_items(fields.objects("input")))


def _read_items(items: list[Fields]) -> Iterator[ChatMessage]:
    said: list[str] = []
    calls: list[ToolCall] = []
    for item in items:
        kind = item.get("type", str) or "message"
        if kind == "reasoning":
            continue  # thoughts of another server's, which only it can read
        if kind == "function_call":
            calls.append(read_call(item.any("call_id"), item))
            continue
        is_said = kind == "message" and item.any("role") == "assistant"
        if (said or calls) and (calls or not is_said):
            yield build_assistant("".join(said), calls)
            said, calls = [], []
        if is_said:
            said.append(read_text(item))
        else:
            yield _read_item(item, kind)
    if said or calls:
        yield build_assistant("".join(said), calls)


def _read_item(item: Fields, kind: object) -> ChatMessage:
    if kind == "function_call_output":
        return build_result(item.need("call_id", str),
                            read_text(item, "output"))
    if kind != "message":
        raise BadRequest(f"{item.name('type')}: {str(kind)[:60]!r} is not "
                         "taken here", item.name("type"),
                         "unsupported_content")
    role = item.need("role", str)
    if role in ("system", "developer"):
        return ChatMessage.system(read_text(item))
    if role == "user":
        return ChatMessage.user(read_text(item, images=True))
    raise BadRequest(f"{item.name('role')}: {role[:40]!r} is none of system, "
                     "developer, user and assistant", item.name("role"))
