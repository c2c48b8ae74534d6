"""What an error of the Messages API says about a request. Pure.

Servers that copy the API word their refusals in other ways, so the table
looks for words, and only for parts that the request really had.
Source: the API's own error texts, as issues of its clients quote them, and
the error types of the anthropic SDK (2.12).
"""

from collections.abc import Collection
from typing import Any

from claw.providers.wire.json import object_at, string_at
from claw.providers.wire.refusals import Refusal

# The parts of a request that a server may not take: "temperature", "tools",
# "cache" (marks for it), "format" (the schema of an answer), "effort",
# "replay" (earlier thoughts), "thinking" (any word about it), and its kinds
# "enabled", "adaptive" and "disabled".

STATUSES = {
    "invalid_request_error": 400, "authentication_error": 401,
    "billing_error": 402, "permission_error": 403, "not_found_error": 404,
    "conflict_error": 409, "request_too_large": 413, "rate_limit_error": 429,
    "api_error": 500, "timeout_error": 504, "overloaded_error": 529}

_TOOLS = ("requires --jinja", "tools param requires", "tool use", "tools",
          "tool_choice", "function calling")
_NOT_TAKEN = ("unknown", "unsupported", "unrecognized", "not support",
              "not permitted", "not allowed", "not available", "unexpected",
              "deprecated", "may only", "does not exist", "requires")


def find_refusal(status: int | None, message: str,
                 parts: Collection[str]) -> Refusal | None:
    """The part that an error refuses, or None. `parts` are those that the
    request had."""
    if status not in (400, 404, 422, 500, 501):
        return None
    text = message.lower().translate({ord(c): None for c in "'\"`"})
    not_taken = any(words in text for words in _NOT_TAKEN)
    if "replay" in parts and "signature" in text:
        return Refusal("replay", lasting=False)
    if "thinking" in parts:
        found = _find_thinking(text, parts, not_taken)
        if found is not None:
            return found
    if "effort" in parts and "effort" in text:
        return Refusal("effort")
    if "format" in parts and any(words in text for words in (
            "output_config", "output_format", "json_schema",
            "structured output", "format.schema")):
        return Refusal("format", lasting="schema:" not in text)
    if "cache" in parts and "cache_control" in text:
        return Refusal("cache")
    if "tools" in parts and not_taken and "tools." not in text and any(
            words in text for words in _TOOLS):
        return Refusal("tools")
    if "temperature" in parts and "temperature" in text and not_taken:
        return Refusal("temperature")
    return None


def _find_thinking(text: str, parts: Collection[str],
              not_taken: bool) -> Refusal | None:
    if "but found tool_use" in text or "must start with a thinking" in text:
        return Refusal("thinking", lasting=False)
    if not not_taken:
        return None
    if "enabled" in parts and "thinking.type.enabled" in text:
        return Refusal("enabled")
    if "adaptive" in parts and "adaptive" in text:
        return Refusal("adaptive")
    if "disabled" in parts and "thinking" in text and "disabled" in text:
        return Refusal("disabled")
    return Refusal("thinking") if "thinking" in text else None


def error_status(data: Any) -> int:
    """The status that an error object in a stream would have had."""
    return STATUSES.get(string_at(object_at(data, "error"), "type"), 500)
