"""What a server's refusal says about what it can't take. Pure.

Servers disagree on wording, so the table looks for words in the text, and
only for parts that the request really had. Sources: the reference's list
for tools; error texts of OpenAI, Azure, vLLM, llama.cpp, Groq, Cerebras,
DeepSeek and Moonshot as people report them.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from claw.core.value import Value

# "tools": no tools in its own format. "chat": speaks the Responses API
# only. "thoughts": refuses thoughts shown again; "no_thoughts": insists on
# them. Any other is the key of a body that is left out.
Feature: TypeAlias = str


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
    "tool choice requires", "does not support function calling",
    "not support function calling",
)
_TOOLS_KEY = r"\btools\b(?!\[|\.\d|\.function)"
_THIS_TIME = ("tool call validation failed", "was not in request")
_NOT_TAKEN = ("unknown", "unsupported", "unrecognized", "not support",
              "not permitted", "not allowed", "unexpected", "deprecated",
              "only the default", "forbidden", "not available",
              "is allowed for this model", "only 1 is allowed",
              "no longer supported")
_CHAT = ("v1/responses", "responses api", "not a chat model",
         "not accessible via the /chat/completions",
         "chatcompletion operation does not work")
_THOUGHTS = ("reasoning_content", "reasoning_details", "reasoning",
             "thinking")
_MISSING = ("missing", "must be passed back", "must be provided",
            "is required")
# Keys that may go without harm, longest first.
_OPTIONAL = ("chat_template_kwargs", "parallel_tool_calls",
             "reasoning_effort", "enable_thinking", "tool_stream",
             "thinking", "reasoning", "include", "store")


def refused_feature(status: int | None, message: str,
                    body: Mapping[str, Any]) -> Refused | None:
    """The part of `body` that an error refuses, or None.

    `status` is the HTTP status. Quotes around names do not matter.
    """
    if status not in (400, 404, 405, 415, 422, 500, 501):
        return None
    text = message.lower().translate({ord(c): None for c in "'\"`"})
    if status in (400, 404) and "messages" in body and any(
            words in text for words in _CHAT):
        return Refused("chat")
    if "tools" in body:
        if any(words in text for words in _TOOLS):
            return Refused("tools")
        if any(words in text for words in _THIS_TIME):
            return Refused("tools", lasting=False)
    if status == 500:
        return None
    return _thoughts(text, body) or _parameter(text, body)


def _thoughts(text: str, body: Mapping[str, Any]) -> Refused | None:
    if "reasoning_content" in text and any(w in text for w in _MISSING):
        return Refused("no_thoughts")
    messages = body.get("messages")
    shown = {name for message in messages if isinstance(message, dict)
             for name in _THOUGHTS if name in message} \
        if isinstance(messages, list) else set()
    if any(name in text for name in shown) and "reasoning_effort" not in text \
            and _refuses(text):
        return Refused("thoughts")
    return None


def _parameter(text: str, body: Mapping[str, Any]) -> Refused | None:
    if "stream_options" in body and "stream_options" in text:
        return Refused("stream_options")
    if "response_format" in body and any(
            w in text for w in ("response_format", "json_schema",
                                "structured output", "guided_json")):
        return Refused("response_format")
    if "max_tokens" in body and "max_completion_tokens" in text:
        return Refused("max_tokens")
    if "max_completion_tokens" in body and "max_completion_tokens" in text \
            and _refuses(text):
        return Refused("max_completion_tokens")
    if "temperature" in body and "temperature" in text and _refuses(text):
        return Refused("temperature")
    if "include" in body and "encrypted content" in text:
        return Refused("include")
    for name in _OPTIONAL:
        if name in body and name in text and _refuses(text):
            return Refused(name)
    if "tools" in body and re.search(_TOOLS_KEY, text) and _refuses(text):
        return Refused("tools")
    return None


def _refuses(text: str) -> bool:
    return any(words in text for words in _NOT_TAKEN)
