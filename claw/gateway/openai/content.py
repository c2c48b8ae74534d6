"""Messages of OpenAI's clients as messages of providers. Pure.

An image is a data: URL in the client's message and a marker in the text
(core/images.py).
"""

import re
from collections.abc import Sequence
from typing import Any

from claw.core.images import MARK
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ToolCall,
    ToolResultMessage,
    decode_tool_calls,
    encode_tool_calls,
    encode_tool_result,
)
from claw.gateway.openai.errors import BadRequest
from claw.gateway.openai.fields import Fields

_IMAGE = re.compile(r"data:image/[\w.+-]{1,40};base64,[\w+/=-]+")
_TEXTS = ("text", "input_text", "output_text", "refusal")
# Schemas of what is read here.
_PARTS: list[dict[str, Any]] = [
    {"type": "object", "required": ["type", "text"], "properties": {
        "type": {"enum": [kind for kind in _TEXTS if kind != "refusal"]},
        "text": {"type": "string"}}},
    {"type": "object", "required": ["type", "refusal"], "properties": {
        "type": {"const": "refusal"}, "refusal": {"type": "string"}}}]
_ADDRESS = {"type": "string", "pattern": f"^{_IMAGE.pattern}$"}
_IMAGE_PART = {
    "type": "object", "required": ["type", "image_url"], "properties": {
        "type": {"enum": ["image_url", "input_image"]},
        "image_url": {"anyOf": [_ADDRESS, {
            "type": "object", "required": ["url"],
            "properties": {"url": _ADDRESS}}]}}}
_KINDS = ["string", "array", "null"]
CONTENT = {"type": _KINDS, "items": {"anyOf": _PARTS}}
WITH_IMAGES = {"type": _KINDS, "items": {"anyOf": [*_PARTS, _IMAGE_PART]}}


def read_text(message: Fields, key: str = "content", *,
              images: bool = False) -> str:
    """Content as a text, or as a list of parts; "" for none."""
    content = message.any(key)
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise BadRequest(f"{message.name(key)} must be a string or a list",
                         message.name(key))
    parts = [_read_part(part, images=images) for part in message.objects(key)]
    # an image stands on a line of its own
    return "\n".join(parts) if any(p.startswith(MARK) for p in parts) \
        else "".join(parts)


def _read_part(part: Fields, *, images: bool) -> str:
    kind = part.need("type", str)
    if kind in _TEXTS:
        text: str = part.need("refusal" if kind == "refusal" else "text", str)
        return text
    if kind in ("image_url", "input_image") and images:
        return _read_image(part)
    raise BadRequest(f"{part.name('type')}: {kind[:40]!r} is not taken here; "
                     "text is" + (", and images" if images else ""),
                     part.name("type"), "unsupported_content")


def _read_image(part: Fields) -> str:
    found = part.any("image_url")
    if isinstance(found, dict):
        found = found.get("url")
    name = part.name("image_url")
    if not isinstance(found, str):
        raise BadRequest(f"{name}: an image is given by its address", name)
    if not _IMAGE.fullmatch(found):
        raise BadRequest(
            f"{name}: claw fetches no images for others; send it as "
            "data:image/png;base64,...", name, "unsupported_image")
    return f"{MARK}{found}]"


def build_assistant(text: str, calls: Sequence[ToolCall],
                    thoughts: str | None = None) -> ChatMessage:
    """What a model said before."""
    if calls:
        return encode_tool_calls(AssistantToolCalls(text or None,
                                                    tuple(calls), thoughts))
    message = ChatMessage.assistant(text)
    # A text that looks like our own form of calls is no call.
    return ChatMessage.assistant(f" {text}") \
        if decode_tool_calls(message) is not None else message


def build_result(call_id: str, text: str) -> ChatMessage:
    return encode_tool_result(ToolResultMessage(call_id, text))


def read_call(call_id: Any, function: Fields) -> ToolCall:
    if not isinstance(call_id, str) or not call_id:
        raise BadRequest(f"{function.name('id')} is missing",
                         function.name("id"))
    return ToolCall(call_id, function.need("name", str),
                    function.get("arguments", str) or "{}")


def check_order(messages: Sequence[ChatMessage], param: str) -> None:
    """Raise BadRequest for a conversation in which nothing is asked."""
    if not any(one.role != "system" for one in messages):
        raise BadRequest(f"{param} holds no message", param)
