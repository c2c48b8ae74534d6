"""Ollama's own chat API: what is sent. Pure.

Differs from Chat Completions in its calls (arguments are an object, results
name their tool) and images (base64 apart from the text).
Source: docs.ollama.com/api/chat and the `ollama` SDK's types, read 2026-11.
"""

from collections.abc import Sequence

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    decode_tool_calls,
    decode_tool_result,
)
from claw.providers.wire.json import Json, as_text, parse_object
from claw.providers.wire.messages import split_parts

# Options that stand beside `options`.
OPTIONS_OUTSIDE = ("think", "keep_alive", "truncate", "shift", "logprobs",
                   "top_logprobs")


def wire_messages(messages: Sequence[ChatMessage], *,
                  sees: bool = True) -> list[Json]:
    """Messages as the API takes them. Without `sees` the images of the
    past are only mentioned."""
    names: dict[str, str] = {}
    found: list[Json] = []
    for message in messages:
        calls = decode_tool_calls(message)
        if message.role == "tool":
            result = decode_tool_result(message)
            wire: Json = {"role": "tool", "content": as_text(result.content),
                          "tool_call_id": as_text(result.tool_call_id)}
            if wire["tool_call_id"] in names:
                wire["tool_name"] = names[wire["tool_call_id"]]
        elif calls is not None and calls.tool_calls:
            names.update((c.id, c.name) for c in calls.tool_calls)
            wire = _wire_calls(calls)
        else:
            wire = _wire_text(message, sees)
        found.append(wire)
    return found


def _wire_calls(calls: AssistantToolCalls) -> Json:
    wire: Json = {
        "role": "assistant", "content": calls.text or "",
        "tool_calls": [{"id": c.id, "function": {
            "name": c.name,
            "arguments": parse_object(c.arguments) or {}}}
            for c in calls.tool_calls]}
    if calls.reasoning_content:
        wire["thinking"] = calls.reasoning_content
    return wire


def _wire_text(message: ChatMessage, sees: bool) -> Json:
    if message.role != "user" or "[IMAGE:data:" not in message.content:
        return {"role": message.role, "content": message.content}
    texts: list[str] = []
    images: list[str] = []
    for part in split_parts(message.content):
        if part["type"] == "text":
            texts.append(part["text"])
        elif sees:
            images.append(part["image_url"]["url"].partition("base64,")[2])
        else:
            texts.append("[image]")
    wire: Json = {"role": "user", "content": "\n".join(texts)}
    if images:
        wire["images"] = images
    return wire


def has_image(message: ChatMessage) -> bool:
    """Whether a message carries a picture that would be sent."""
    return message.role == "user" and any(
        p["type"] == "image_url" for p in split_parts(message.content))
