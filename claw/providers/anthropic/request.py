"""The Messages API: what is asked. Pure.

Which models take what (tests hold the table): a temperature up to Claude
4.6, where neither `top_p` nor `thinking` is an option of the owner's;
`thinking` with a budget up to 4.6, adaptive with an effort from 4.6
on. For models of other names the older form is tried first, and a refusal
decides (errors.py).
Source: the anthropic SDK's types (2.12); vendor's pages on adaptive
thinking, prompt caching and structured outputs, read 2026-11.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from claw.core.errors import ConfigError
from claw.core.provider import ChatMessage, ChatRequest
from claw.core.tool import ToolSpec
from claw.core.value import Value, made
from claw.providers.anthropic.messages import (
    THOUGHTS,
    system_text,
    text_block,
    wire_messages,
)
from claw.providers.schema import (
    CleaningStrategy,
    clean_for_anthropic,
    tool_parameters,
)
from claw.providers.settings import ReasoningSettings
from claw.providers.wire.json import Json
from claw.providers.wire.loop import WireRequest
from claw.providers.wire.messages import write_messages

MAX_TOKENS = 4096
CACHED_SYSTEM_BYTES = 3072
CACHED_MESSAGES = 4

# What a setup token speaks for: its requests begin with this sentence.
IDENTITY = "You are Claude Code, Anthropic's official CLI for Claude."

_EPHEMERAL = {"type": "ephemeral"}
_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium",
            "high": "high", "xhigh": "xhigh", "max": "max"}
# Tokens of thought, and the room that adaptive thinking is given.
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384,
            "xhigh": 24576, "max": 32768}
_BUDGET = 4096
_LEAST_BUDGET = 1024
_ADAPTIVE_ROOM = 16384
_VERSION = re.compile(r"claude-(?:[a-z]+-)*?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
_NAME_CHARS = 128


class AnthropicRequest(WireRequest):
    """One request: its body, the tools' own names by those they are sent
    under, and the parts that a server may not take (see errors.py)."""

    names: Mapping[str, str] = made(factory=dict)
    parts: frozenset[str] = frozenset()


class RequestOptions(Value):
    """What of a request is the same for all: how models think, whether
    tools are sent in the API's own form, whether a setup token asks."""

    reasoning: ReasoningSettings = made(factory=ReasoningSettings)
    native_tools: bool = True
    vision: bool = True
    identity: bool = False


def build_request(request: ChatRequest, model: str, temperature: float,
                  options: RequestOptions, without: Collection[str] = (), *,
                  stream: bool = False) -> AnthropicRequest:
    """The request for a model, less what it is known to refuse."""
    tools, schema = request.tools or (), request.response_schema
    native = options.native_tools and "tools" not in without
    messages = write_messages(request, native=native,
                              schema_in_words="format" in without)
    names = tool_names(tools) if native else {}
    body: Json = {"model": model, "max_tokens": MAX_TOKENS, "messages":
                  wire_messages(messages, lambda n: names.get(n, safe(n)),
                                replayed="replay" not in without,
                                vision=options.vision)}
    if stream:
        body["stream"] = True
    if names:
        body["tools"] = wire_tools(tools, names)
    system = system_text(messages)
    blocks = [text for text in (
        IDENTITY if options.identity else "", system) if text]
    if blocks:
        body["system"] = [text_block(text) for text in blocks]
    _add_thinking(body, request.max_tokens, options.reasoning, without)
    if schema is not None and "format" not in without:
        body.setdefault("output_config", {})["format"] = {
            "type": "json_schema", "schema": close_objects(clean_for_anthropic(
                schema))}
    if "thinking" not in body or body["thinking"]["type"] == "disabled":
        version = parse_version(model)
        if "temperature" not in without and (
                version is None or version < (4, 7)) \
                and not {"thinking", "top_p"} & request.options.keys():
            body["temperature"] = min(max(temperature, 0.0), 1.0)
    if "cache" not in without:
        mark_cached(body, system, messages)
    return AnthropicRequest(
        body, {sent: own for own, sent in names.items()},
        frozenset(_parts(body)))


def _parts(body: Json) -> list[str]:
    """The parts of a body that may be refused."""
    found: list[str] = [key for key in (
        "temperature", "thinking", "tools") if key in body]
    config = body.get("output_config", {})
    found += [key for key in ("format", "effort") if key in config]
    if "thinking" in body:
        found.append(body["thinking"]["type"])
    if any(b["type"] in THOUGHTS for b in _blocks(body)):
        found.append("replay")
    if any("cache_control" in b for b in (
            *body.get("system", ()), *body.get("tools", ()),
            *_blocks(body))):
        found.append("cache")
    return found


def _blocks(body: Json) -> list[Json]:
    return [block for message in body["messages"]
            for block in message["content"]]


def mark_cached(body: Json, system: str,
                messages: Sequence[ChatMessage]) -> None:
    """Marks for the vendor's cache: on a system prompt of more than 3072
    bytes, and on the tools that stand before it; on the end of a
    conversation of more than 4 messages. Never more than 3 of the 4."""
    if len(system.encode("utf-8", "surrogatepass")) > CACHED_SYSTEM_BYTES:
        body["system"][-1]["cache_control"] = _EPHEMERAL
        if body.get("tools"):
            body["tools"][-1]["cache_control"] = _EPHEMERAL
    if sum(m.role != "system" for m in messages) > CACHED_MESSAGES:
        last = next((b for b in reversed(body["messages"][-1]["content"])
                     if b["type"] in ("text", "tool_result")), None)
        if last is not None:
            last["cache_control"] = _EPHEMERAL


def _add_thinking(body: Json, max_tokens: int | None,
                  reasoning: ReasoningSettings,
                  without: Collection[str]) -> None:
    """`thinking`, the effort, and room for both in max_tokens."""
    if max_tokens is not None:
        body["max_tokens"] = max_tokens
    kind = thinking_kind(body["model"], reasoning, without)
    if kind is None or (kind == "enabled" and _mid_turn(body["messages"])):
        return
    effort = reasoning.reasoning_effort
    if kind == "disabled":
        body["thinking"] = {"type": "disabled"}
    elif kind == "adaptive":
        body["thinking"] = {"type": "adaptive"}
        if effort and "effort" not in without:
            body["output_config"] = {"effort": _EFFORTS[effort]}
        if max_tokens is None:
            body["max_tokens"] = MAX_TOKENS + _ADAPTIVE_ROOM
    else:
        budget = _BUDGETS[effort] if effort else _BUDGET
        if max_tokens is None:
            body["max_tokens"] = MAX_TOKENS + budget
        else:
            budget = min(budget, max_tokens * 3 // 4)
        if budget >= _LEAST_BUDGET:
            body["thinking"] = {"type": "enabled", "budget_tokens": budget}


def thinking_kind(model: str, reasoning: ReasoningSettings,
                  without: Collection[str]) -> str | None:
    """"adaptive", "enabled", "disabled", or None for no word about it."""
    if "thinking" in without:
        return None
    version = parse_version(model)
    if reasoning.reasoning_enabled is False:
        thinks_unasked = version is None or version >= (5, 0)
        return "disabled" if thinks_unasked and "disabled" not in without \
            else None
    if not reasoning.reasoning_enabled and not reasoning.reasoning_effort:
        return None
    adaptive_first = version is not None and version >= (4, 6)
    kinds = ("adaptive", "enabled") if adaptive_first \
        else ("enabled", "adaptive")
    return next((kind for kind in kinds if kind not in without), None)


def _mid_turn(messages: Sequence[Json]) -> bool:
    """Whether results wait for an answer to calls that came without
    thoughts (of another model, say): thinking with a budget can't begin
    there."""
    if len(messages) < 2 or messages[-1]["content"][0][
            "type"] != "tool_result":
        return False
    return messages[-2]["content"][0]["type"] not in THOUGHTS


def answer_tokens(reasoning: ReasoningSettings) -> int:
    """The most that an answer may have where nobody says."""
    thinks = reasoning.reasoning_enabled or reasoning.reasoning_effort
    if not thinks or reasoning.reasoning_enabled is False:
        return MAX_TOKENS
    return MAX_TOKENS + max(_ADAPTIVE_ROOM, _BUDGETS.get(
        reasoning.reasoning_effort or "", 0))


def check_effort(reasoning: ReasoningSettings) -> None:
    """Raises ConfigError for an effort that no model knows."""
    effort = reasoning.reasoning_effort
    if effort and effort not in _EFFORTS:
        raise ConfigError(
            f"runtime.reasoning_effort = {effort!r} is not known",
            hint=f"one of: {', '.join(_EFFORTS)}")


def parse_version(model: str) -> tuple[int, int] | None:
    """The version in a name: claude-opus-4-6, claude-3-7-sonnet-20250219,
    anthropic/claude-sonnet-5; None for a name without one."""
    found = _VERSION.search(model.lower())
    return (int(found[1]), int(found[2] or 0)) if found else None


def safe(name: str) -> str:
    """A tool's name in the characters that the API takes."""
    return _NO_NAME.sub("_", name)[:_NAME_CHARS] or "tool"


def tool_names(tools: Sequence[ToolSpec]) -> dict[str, str]:
    """Each tool's own name and the one it is sent under."""
    found: dict[str, str] = {}
    for tool in tools:
        sent, number = safe(tool.name), 2
        while sent in found.values():
            tail = f"_{number}"
            sent = safe(tool.name)[:_NAME_CHARS - len(tail)] + tail
            number += 1
        found.setdefault(tool.name, sent)
    return found


def wire_tools(tools: Sequence[ToolSpec],
               names: Mapping[str, str] | None = None) -> list[Json]:
    """Tools as the API takes them, each name once."""
    names = tool_names(tools) if names is None else names
    by_name = {tool.name: tool for tool in tools}
    return [{"name": names[name], "description": tool.description,
             "input_schema": tool_parameters(tool.parameters,
                                             CleaningStrategy.ANTHROPIC)}
            for name, tool in by_name.items()]


def close_objects(schema: Any) -> Any:
    """A schema whose objects take no other properties, as structured
    outputs ask for."""
    if isinstance(schema, list):
        return [close_objects(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {}
    for key, item in schema.items():
        if key in ("properties", "$defs") and isinstance(item, dict):
            # by their names, which are no keywords
            item = {name: close_objects(one) for name, one in item.items()}
        elif key not in ("properties", "$defs", "enum", "const", "default",
                         "examples"):
            item = close_objects(item)
        shut[key] = item
    if shut.get("type") == "object" or "properties" in shut:
        shut["additionalProperties"] = False
    return shut
