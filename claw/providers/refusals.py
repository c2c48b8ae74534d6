"""What a server's refusal says about what it can't take. Pure.

Servers disagree on wording, so the table looks for words in the text, and
only for parameters that the request really had.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from claw.core.value import Value

Feature: TypeAlias = Literal["tools", "stream_options", "response_format",
                             "max_tokens", "temperature"]


class Refused(Value):
    """A part of a request to leave out; `lasting` when the model will
    never take it, not only this time."""

    feature: Feature
    lasting: bool = True


_TOOLS = (
    "unknown parameter: tools", "unsupported parameter: tools",
    "unrecognized field tools", "does not support tools",
    "does not support tool", "function calling is not supported",
    "support tool use", "tools is not supported", "tools are not supported",
    "tool_choice", "requires --jinja", "tools param requires",
)
_THIS_TIME = ("tool call validation failed", "was not in request")
_NOT_TAKEN = ("unknown", "unsupported", "unrecognized", "not support",
              "not permitted", "not allowed", "unexpected", "deprecated",
              "only the default")


def refused_feature(status: int | None, message: str,
                    body: Mapping[str, Any]) -> Refused | None:
    """The part of `body` that an error refuses, or None.

    `status` is the HTTP status. Quotes around names do not matter.
    """
    if status not in (400, 404, 405, 415, 422, 500, 501):
        return None
    text = message.lower().translate({ord(c): None for c in "'\"`"})
    if "tools" in body:
        if any(words in text for words in _TOOLS):
            return Refused("tools")
        if any(words in text for words in _THIS_TIME):
            return Refused("tools", lasting=False)
    if status == 500:
        return None
    if "stream_options" in body and "stream_options" in text:
        return Refused("stream_options")
    if "response_format" in body and any(
            w in text for w in ("response_format", "json_schema",
                                "structured output", "guided_json")):
        return Refused("response_format")
    if "max_tokens" in body and "max_completion_tokens" in text:
        return Refused("max_tokens")
    if "temperature" in body and "temperature" in text and any(
            words in text for words in _NOT_TAKEN):
        return Refused("temperature")
    return None
