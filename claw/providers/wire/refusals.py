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
from claw.providers.wire.json import objects_in

# "tools": no tools in its own format. "chat": speaks the Responses API
# only. "thoughts": refuses thoughts shown again; "no_thoughts": insists on
# them. Any other is the key of a body that is left out.
Feature: TypeAlias = str


class Refusal(Value):
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
# Keys of a body, words that speak of them, and whether more has to be said;
# the first that fits counts. The last may go without harm, longest first.
_PARAMETERS: tuple[tuple[Feature, tuple[str, ...], bool], ...] = (
    ("stream_options", ("stream_options",), False),
    ("response_format", ("response_format", "json_schema",
                         "structured output", "guided_json"), False),
    ("max_tokens", ("max_completion_tokens",), False),
    ("max_completion_tokens", ("max_completion_tokens",), True),
    ("temperature", ("temperature",), True),
    ("include", ("encrypted content",), False),
    *((name, (name,), True) for name in (
        "chat_template_kwargs", "parallel_tool_calls", "reasoning_effort",
        "enable_thinking", "tool_stream", "thinking", "reasoning", "include",
        "store")),
)


def find_refusal(status: int | None, message: str,
                    body: Mapping[str, Any]) -> Refusal | None:
    """The part of `body` that an error refuses, or None.

    `status` is the HTTP status. Quotes around names do not matter.
    """
    if status not in (400, 404, 405, 415, 422, 500, 501):
        return None
    text = message.lower().translate({ord(c): None for c in "'\"`"})
    if status in (400, 404) and "messages" in body and any(
            words in text for words in _CHAT):
        return Refusal("chat")
    if "tools" in body:
        if any(words in text for words in _TOOLS):
            return Refusal("tools")
        if any(words in text for words in _THIS_TIME):
            return Refusal("tools", lasting=False)
    return None if status == 500 \
        else _find_thoughts(text, body) or _find_parameter(text, body)


def _find_thoughts(text: str, body: Mapping[str, Any]) -> Refusal | None:
    if "reasoning_content" in text and any(w in text for w in _MISSING):
        return Refusal("no_thoughts")
    shown = {name for message in objects_in(body.get("messages"))
             for name in _THOUGHTS if name in message}
    if any(name in text for name in shown) and "reasoning_effort" not in text \
            and _refuses(text):
        return Refusal("thoughts")
    return None


def _find_parameter(text: str, body: Mapping[str, Any]) -> Refusal | None:
    for feature, words, strict in _PARAMETERS:
        if feature in body and any(w in text for w in words) \
                and (not strict or _refuses(text)):
            return Refusal(feature)
    if "tools" in body and re.search(_TOOLS_KEY, text) and _refuses(text):
        return Refusal("tools")
    return None


def _refuses(text: str) -> bool:
    return any(words in text for words in _NOT_TAKEN)
