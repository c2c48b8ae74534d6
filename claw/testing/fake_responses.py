"""The Responses API's shapes, for FakeOpenAI.

What the server says of one Reply: a response object, or the events of a
stream in OpenAI's order. Source: the openai SDK's types.
"""

import json
from collections.abc import Iterator
from typing import Any, Protocol


class Said(Protocol):
    """What of a reply is needed here."""

    @property
    def text(self) -> str | None: ...
    @property
    def tool_calls(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def reasoning(self) -> str | None: ...
    @property
    def refusal(self) -> str | None: ...
    @property
    def finish_reason(self) -> str | None: ...
    @property
    def fault(self) -> str | None: ...
    @property
    def chunk_size(self) -> int: ...


def response(reply: Said, body: Any) -> dict[str, Any]:
    """A whole response."""
    short = reply.finish_reason in ("length", "content_filter")
    reason = {"length": "max_output_tokens"}.get(
        reply.finish_reason or "", reply.finish_reason)
    asked = len(json.dumps(body.get("input", "")).split())
    said = len((reply.text or "").split()) + 5 * len(reply.tool_calls)
    return {
        **_head(body), "status": "incomplete" if short else "completed",
        "incomplete_details": {"reason": reason} if short else None,
        "output": list(_items(reply)),
        "usage": {"input_tokens": asked, "output_tokens": said,
                  "total_tokens": asked + said,
                  "input_tokens_details": {"cached_tokens": 0,
                                           "cache_write_tokens": 0},
                  "output_tokens_details": {"reasoning_tokens": 0}}}


def events(reply: Said, body: Any) -> list[str]:
    """The events of a stream, each with its name."""
    found = [_event(n, kind, data)
             for n, (kind, data) in enumerate(_stream(reply, body))]
    return found[:-1] if reply.fault == "no_end" else found


def last_text(body: dict[str, Any]) -> str:
    """The text of the last user message among the input items."""
    given = body.get("input")
    if isinstance(given, str):
        return given
    for item in reversed(given or []):
        if item.get("role") == "user":
            content = item.get("content")
            return (content if isinstance(content, str)
                    else "".join(p.get("text", "") for p in content or []))
    return ""


def _head(body: Any) -> dict[str, Any]:
    return {"id": "resp_fake", "object": "response", "created_at": 0,
            "model": body.get("model") or "fake-model", "error": None,
            "incomplete_details": None, "instructions": None,
            "metadata": {}, "output": [], "parallel_tool_calls": True,
            "temperature": 1.0, "tool_choice": "auto", "tools": [],
            "top_p": 1.0, "status": "in_progress", "usage": None}


def _items(reply: Said) -> Iterator[dict[str, Any]]:
    if reply.reasoning is not None:
        yield {"type": "reasoning", "id": "rs_1", "status": None,
               "summary": [{"type": "summary_text",
                            "text": reply.reasoning}],
               "encrypted_content": "sealed"}
    if reply.text is not None or reply.refusal is not None:
        yield {"type": "message", "id": "msg_1", "role": "assistant",
               "status": "completed", "content": [_part(reply)]}
    for number, (name, arguments) in enumerate(reply.tool_calls, 1):
        yield {"type": "function_call", "id": f"fc_{number}",
               "call_id": f"call_{number}", "name": name,
               "arguments": arguments, "status": "completed"}


def _part(reply: Said) -> dict[str, Any]:
    if reply.refusal is not None:
        return {"type": "refusal", "refusal": reply.refusal}
    return {"type": "output_text", "text": reply.text, "annotations": [],
            "logprobs": []}


def _stream(reply: Said, body: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "response.created", {"response": _head(body)}
    yield "response.in_progress", {"response": _head(body)}
    for index, item in enumerate(_items(reply)):
        at = {"output_index": index}
        empty = {k: v for k, v in item.items() if k != "encrypted_content"}
        empty |= {"content": []} if item["type"] == "message" else {}
        empty |= {"arguments": ""} if "arguments" in item else {}
        empty |= {"summary": []} if "summary" in item else {}
        yield "response.output_item.added", {**at, "item": empty}
        yield from _pieces(reply, item, {**at, "item_id": item["id"]})
        yield "response.output_item.done", {**at, "item": item}
    whole = response(reply, body)
    yield f"response.{whole['status']}", {"response": whole}


def _pieces(reply: Said, item: dict[str, Any], at: dict[str, Any]
            ) -> Iterator[tuple[str, dict[str, Any]]]:
    more: dict[str, Any] = {}
    if item["type"] == "function_call":
        kind, text = "function_call_arguments", item["arguments"]
    elif item["type"] == "reasoning":
        kind, text = "reasoning_summary_text", item["summary"][0]["text"]
        more = {"summary_index": 0}
    elif reply.refusal is not None:
        kind, text, more = "refusal", reply.refusal, {"content_index": 0}
    else:
        kind, text = "output_text", reply.text or ""
        more = {"content_index": 0, "logprobs": []}
    size = reply.chunk_size
    for start in range(0, len(text), size):
        yield f"response.{kind}.delta", {
            **at, **more, "delta": text[start:start + size]}
    done = "arguments" if kind == "function_call_arguments" else \
        "refusal" if kind == "refusal" else "text"
    name = {"name": item["name"]} if done == "arguments" else {}
    yield f"response.{kind}.done", {**at, **more, **name, done: text}


def _event(number: int, kind: str, data: dict[str, Any]) -> str:
    text = json.dumps({"type": kind, "sequence_number": number, **data},
                      ensure_ascii=False)
    return f"event: {kind}\ndata: {text}"
