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
    try:
        value = json.loads(call.arguments) if call.arguments.strip() else {}
    except (ValueError, RecursionError):
        value = {}
    return ParsedToolCall(
        call.name, value if isinstance(value, dict) else {}, call.id)
