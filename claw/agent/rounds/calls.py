"""A tool call on its way through the agent."""

import json
from typing import Any

import msgspec

from claw.core.provider import ToolCall


class ParsedToolCall(msgspec.Struct, frozen=True):
    """A call as the agent will run it."""

    name: str
    arguments: dict[str, Any]
    tool_call_id: str | None = None


class ToolExecutionResult(msgspec.Struct, frozen=True):
    """What a call returned; `output` is what the model will read."""

    name: str
    output: str
    success: bool
    tool_call_id: str | None = None


def native_call(call: ToolCall) -> ParsedToolCall:
    """A call of the provider's own fields; its arguments are {} where
    their JSON text is not an object."""
    return ParsedToolCall(call.name, _read_object(call.arguments) or {},
                          call.id)


def is_broken(call: ToolCall) -> bool:
    """Whether something was meant as arguments and can't be read."""
    return _read_object(call.arguments) is None


def _read_object(text: str, depth: int = 0) -> dict[str, Any] | None:
    """{} for none, None for what is no object. Some servers write the JSON
    text of an object as a JSON string."""
    try:
        value = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return None
    if isinstance(value, str) and not depth:
        return _read_object(value, 1)
    return {} if value is None else value if isinstance(value, dict) else None
