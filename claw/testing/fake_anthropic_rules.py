"""What the Messages API refuses in a request, in its own words. Pure.

    complaint(body)     # None, or the sentence of an invalid_request_error

Source: the anthropic SDK's types (2.12) and the API's error texts as issues
of its clients quote them. The fake server asks this of every request.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

Json = dict[str, Any]

_ID = re.compile(r"[A-Za-z0-9_-]+")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_KINDS = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MARKS = 4
_LEAST_BUDGET = 1024


def complaint(body: Any) -> str | None:
    """The first thing that is wrong with a body."""
    return next(_complaints(body), None)


def _complaints(body: Any) -> Iterator[str]:
    if not isinstance(body, dict):
        yield "the body is no JSON object"
        return
    for key, kind in (("model", str), ("max_tokens", int),
                      ("messages", list)):
        if not isinstance(body.get(key), kind):
            yield f"{key}: Field required"
            return
    yield from _settings(body)
    yield from _tools(body.get("tools", []))
    yield from _texts("system", body.get("system", []))
    yield from _messages(body["messages"])
    marks = sum(1 for _ in _marked(body))
    if marks > _MARKS:
        yield (f"A maximum of {_MARKS} blocks with cache_control may be "
               f"provided. Found {marks}.")


def _settings(body: Json) -> Iterator[str]:
    thinking = body.get("thinking") or {}
    temperature = body.get("temperature")
    if temperature is not None and not 0 <= temperature <= 1:
        yield "temperature: range: 0..1"
    if thinking.get("type") == "enabled":
        if temperature not in (None, 1):
            yield ("`temperature` may only be set to 1 when thinking is "
                   "enabled.")
        budget = thinking.get("budget_tokens", 0)
        if budget < _LEAST_BUDGET:
            yield ("thinking.enabled.budget_tokens: Input should be greater "
                   "than or equal to 1024")
        if budget >= body["max_tokens"]:
            yield ("`max_tokens` must be greater than "
                   "`thinking.budget_tokens`.")


def _tools(tools: Sequence[Json]) -> Iterator[str]:
    names = [tool.get("name", "") for tool in tools]
    if len(set(names)) != len(names):
        yield "tools: Tool names must be unique."
    for index, tool in enumerate(tools):
        where = f"tools.{index}.custom"
        if not _NAME.fullmatch(names[index]):
            yield f"{where}.name: String should match pattern {_NAME.pattern}"
        schema = tool.get("input_schema") or {}
        if schema.get("type") != "object":
            yield f"{where}.input_schema.type: Field required"
        if {"oneOf", "allOf", "anyOf"} & set(schema):
            yield (f"{where}.input_schema: input_schema does not support "
                   "oneOf, allOf, or anyOf at the top level")


def _messages(messages: Sequence[Json]) -> Iterator[str]:
    if not messages:
        yield "messages: at least one message is required"
        return
    if messages[0].get("role") != "user":
        yield "messages: first message must use the \"user\" role"
    waiting: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        where = f"messages.{index}"
        content = _blocks(message)
        if not content:
            yield f"{where}: all messages must have non-empty content"
        yield from _texts(where, content)
        results = [b.get("tool_use_id") for b in content
                   if b.get("type") == "tool_result"]
        yield from _paired(where, waiting, results)
        if [b.get("type") == "tool_result" for b in content] != sorted(
                (b.get("type") == "tool_result" for b in content),
                reverse=True):
            yield (f"{where}: `tool_result` blocks must stand before the "
                   "rest")
        waiting = [b["id"] for b in content if b.get("type") == "tool_use"]
        for wire_id in waiting:
            if wire_id in seen:
                yield f"{where}: `tool_use` ids must be unique"
            if not _ID.fullmatch(wire_id):
                yield f"{where}: tool_use.id: String should match pattern"
            seen.add(wire_id)
        yield from _thoughts(where, message, content)
    yield from _paired(f"messages.{len(messages)}", waiting, [])
    last = _blocks(messages[-1])
    if messages[-1].get("role") == "assistant" and last and last[-1].get(
            "text", "x")[-1:].isspace():
        yield ("messages: final assistant content cannot end with trailing "
               "whitespace")


def _paired(where: str, waiting: Sequence[str],
            results: Sequence[Any]) -> Iterator[str]:
    missing = [i for i in waiting if i not in results]
    if missing:
        yield (f"{where}: `tool_use` ids were found without `tool_result` "
               f"blocks immediately after: {', '.join(missing)}")
    for wire_id in results:
        if wire_id not in waiting:
            yield (f"{where}: unexpected `tool_use_id` found in "
                   f"`tool_result` blocks: {wire_id}")


def _thoughts(where: str, message: Json,
              content: Sequence[Json]) -> Iterator[str]:
    kinds = [b.get("type") in ("thinking", "redacted_thinking")
             for b in content]
    if any(kinds) and message.get("role") != "assistant":
        yield f"{where}: thinking blocks are the assistant's"
    for block in content:
        if block.get("type") == "thinking" and not block.get("signature"):
            yield f"{where}: Invalid `signature` in `thinking` block"


def _texts(where: str, content: Any) -> Iterator[str]:
    """Blocks must say something, images be images."""
    for index, block in enumerate(content if isinstance(content, list)
                                  else []):
        at = f"{where}.content.{index}"
        if block.get("type") == "text" and not block.get("text", "").strip():
            yield f"{at}: text content blocks must be non-empty"
        if block.get("type") == "tool_result" and isinstance(
                block.get("content"), list):
            yield from _texts(at, block["content"])
        source = block.get("source") or {}
        if source.get("type") == "base64" \
                and source.get("media_type") not in _KINDS:
            yield f"{at}.image.source.base64.media_type: Input should be " \
                  f"one of {', '.join(_KINDS)}"


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _marked(value: Any) -> Iterator[Json]:
    if isinstance(value, list):
        for item in value:
            yield from _marked(item)
    elif isinstance(value, dict):
        if "cache_control" in value:
            yield value
        for key in ("messages", "system", "tools", "content"):
            yield from _marked(value.get(key))
