"""What claw.testing.fake_anthropic says: messages, and the events of their
streams in the order in which the API sends them.

Source: the anthropic SDK's types and stream fixtures (2.12).
"""

import json
from dataclasses import dataclass, field
from typing import Any

from claw.testing.model_server import WireReply, wire_headers

Json = dict[str, Any]


@dataclass(frozen=True)
class Reply(WireReply):
    """What the server says to one request.

    `thinking`, `text` and `tool_calls` (name, arguments as JSON text) come
    in this order; `blocks` are blocks of any kind in their place. `usage`
    and `stop_details` are sent as they are. One more `fault` is "error", an
    error event of the kind `error`.
    """

    text: str | None = None
    tool_calls: tuple[tuple[str, str], ...] = ()
    thinking: str | None = None
    blocks: tuple[Json, ...] = ()
    stop_reason: str | None = None
    stop_details: Json | None = None
    usage: tuple[tuple[str, int], ...] = ()
    error: str = "overloaded_error"
    after_chunks: int = field(default=4, kw_only=True)


def tool_use(tool: str, /, **arguments: Any) -> Reply:
    """The model asks for one tool."""
    return Reply(tool_calls=((tool, json.dumps(arguments)),))


def error_body(kind: str, message: str) -> str:
    return json.dumps({"type": "error", "error": {
        "type": kind, "message": message}, "request_id": "req_fake"})


def failure(status: int, kind: str, message: str, **headers: str) -> Reply:
    """An error as the API words it; header names with _ for -."""
    return Reply(status=status, body=error_body(kind, message),
                 headers=wire_headers(headers))


def refused(message: str) -> Reply:
    """HTTP 400."""
    return failure(400, "invalid_request_error", message)


def faulty(fault: str, after_events: int = 4,
           text: str = "half an answer", error: str = "overloaded_error"
           ) -> Reply:
    """A text that a fault cuts short."""
    return Reply(text, fault=fault, after_chunks=after_events, error=error)


def last_user_text(body: Json) -> str:
    """The text of the last user message of a request body."""
    for message in reversed(body.get("messages", [])):
        content = message.get("content")
        if message.get("role") == "user" and isinstance(content, str):
            return content
        if message.get("role") == "user":
            text = "".join(b.get("text", "") for b in content or [])
            return text or "(no text)"
    return ""


def build_content(reply: Reply) -> list[Json]:
    """The blocks of a reply."""
    if reply.blocks:
        return list(reply.blocks)
    found: list[Json] = []
    if reply.thinking is not None:
        found.append({"type": "thinking", "thinking": reply.thinking,
                      "signature": "c2lnbmF0dXJl"})
    if reply.text is not None:
        found.append({"type": "text", "text": reply.text})
    return found + [
        {"type": "tool_use", "id": f"toolu_{number}", "name": name,
         "input": json.loads(arguments)}
        for number, (name, arguments) in enumerate(reply.tool_calls, 1)]


def message(reply: Reply, body: Any) -> Json:
    """A message object."""
    return {**_head(body), "content": build_content(reply),
            "stop_reason": _stop(reply), "stop_sequence": None,
            "stop_details": reply.stop_details, "usage": usage(reply, body)}


def events(reply: Reply, body: Any) -> list[Json]:
    """The events of a stream, message_stop last."""
    counts = usage(reply, body)
    found: list[Json] = [{"type": "message_start", "message": {
        **_head(body), "content": [], "stop_reason": None,
        "stop_sequence": None, "usage": {**counts, "output_tokens": 1}}}]
    for index, block in enumerate(build_content(reply)):
        start, deltas = _cut(block, reply.chunk_size)
        found.append({"type": "content_block_start", "index": index,
                      "content_block": start})
        if index == 0:
            found.append({"type": "ping"})
        found += [{"type": "content_block_delta", "index": index,
                   "delta": delta} for delta in deltas]
        found.append({"type": "content_block_stop", "index": index})
    delta: Json = {"stop_reason": _stop(reply), "stop_sequence": None}
    if reply.stop_details is not None:
        delta["stop_details"] = reply.stop_details
    found.append({"type": "message_delta", "delta": delta, "usage": {
        "output_tokens": counts["output_tokens"]}})
    return [*found, {"type": "message_stop"}]


def _cut(block: Json, size: int) -> tuple[Json, list[Json]]:
    """A block as a stream brings it: how it begins, and its deltas."""
    kind = block["type"]
    if kind == "text":
        return {**block, "text": ""}, [
            {"type": "text_delta", "text": piece}
            for piece in _pieces(block["text"], size)]
    if kind == "thinking":
        return {**block, "thinking": "", "signature": ""}, [
            *({"type": "thinking_delta", "thinking": piece}
              for piece in _pieces(block["thinking"], size)),
            {"type": "signature_delta", "signature": block["signature"]}]
    if kind in ("tool_use", "server_tool_use"):
        given = block["input"]
        text = given if isinstance(given, str) else json.dumps(
            given, ensure_ascii=False)
        return {**block, "input": {}}, [
            {"type": "input_json_delta", "partial_json": piece}
            for piece in ("", *_pieces(text, size))]
    return block, []


def usage(reply: Reply, body: Any) -> dict[str, int]:
    """Words, in place of tokens."""
    return {"input_tokens": len(json.dumps(body.get("messages", [])).split()),
            "output_tokens": len((reply.text or "").split()) + 5 * len(
                reply.tool_calls),
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            **dict(reply.usage)}


def _head(body: Any) -> Json:
    return {"id": "msg_fake", "type": "message", "role": "assistant",
            "model": body.get("model") or "fake-model"}


def _stop(reply: Reply) -> str:
    calls = any(b["type"] == "tool_use" for b in build_content(reply))
    return reply.stop_reason or ("tool_use" if calls else "end_turn")


def _pieces(text: str, size: int) -> list[str]:
    return [text[i:i + size] for i in range(0, len(text), size)]
