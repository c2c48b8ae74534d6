"""From a request to the body that one server gets. Pure.

Only what was asked for goes out, less what the model is known to refuse
(`without`, see refusals); tools it can't take stand in the prompt.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from claw.core.provider import (
    ChatMessage,
    ChatRequest,
    prompt_guide,
    with_instructions,
)
from claw.core.registry import load_dotted
from claw.core.tool import ToolSpec
from claw.core.value import Value
from claw.providers.chat_stream import StreamReader
from claw.providers.quirks import (
    ToolNames,
    bare_model,
    fit_messages,
    takes_effort,
    thinking_fields,
)
from claw.providers.refusals import Feature
from claw.providers.responses_wire import (
    ResponsesReader,
    input_items,
    instructions,
    responses_tools,
)
from claw.providers.settings import ReasoningSettings
from claw.providers.vendors import Vendor
from claw.providers.wire import (
    Json,
    WireRules,
    merge_system,
    told_messages,
    wire_messages,
)

# Loaded with the first tool: a local model mostly gets them in words.
_LATE = {"clean": "claw.providers.schema:clean_schema",
         "strategy": "claw.providers.schema:CleaningStrategy"}

Api: TypeAlias = Literal["chat", "responses"]


class Asked(Value):
    """One request and how it is to be made.

    `native`: tools go in the API's own format. `temperature` None is left
    out. `thinks`: the model sends thoughts that can be shown it again.
    """

    request: ChatRequest
    model: str
    temperature: float | None
    api: Api = "chat"
    without: frozenset[Feature] = frozenset()
    native: bool = True
    stream: bool = False
    thinks: bool = False
    reasoning: ReasoningSettings = ReasoningSettings()


class Plan(Value):
    """One body and how to read its answer; `reads_calls`: the calls will
    stand in the text. `names` are those of the tools that were sent."""

    api: Api
    body: Json
    names: ToolNames
    reads_calls: bool = False

    def reader(self) -> StreamReader | ResponsesReader:
        if self.api == "responses":
            return ResponsesReader(hold_calls=self.reads_calls)
        return StreamReader(hold_calls=self.reads_calls)


def plan(asked: Asked, vendor: Vendor) -> Plan:
    """The body for one request."""
    names = ToolNames(t.name for t in asked.request.tools or ())
    messages = _messages(asked, vendor)
    body = _responses(asked, vendor, messages, names) \
        if asked.api == "responses" else _chat(asked, vendor, messages, names)
    return Plan(asked.api, body, names, reads_calls=bool(
        asked.request.tools and vendor.native_tools and not asked.native))


def _messages(asked: Asked, vendor: Vendor) -> list[ChatMessage]:
    request = asked.request
    messages = list(request.messages)
    if not asked.native:
        messages = told_messages(messages, thoughts=vendor.replay == "always"
                                 and vendor.thoughts == "think")
        if request.tools:
            messages = with_instructions(messages,
                                         prompt_guide(request.tools))
    schema = request.response_schema
    if schema is not None and "response_format" in asked.without:
        messages = with_instructions(messages, schema_words(schema))
    return merge_system(messages) if vendor.merge_system else messages


def _chat(asked: Asked, vendor: Vendor, messages: Sequence[ChatMessage],
          names: ToolNames) -> Json:
    request, without = asked.request, asked.without
    body: Json = {
        "model": asked.model, "stream": asked.stream,
        "messages": fit_messages(
            wire_messages(messages, wire_rules(vendor, without)),
            vendor, names)}
    if asked.temperature is not None and "temperature" not in without:
        body["temperature"] = asked.temperature
    if asked.stream and vendor.stream_usage \
            and "stream_options" not in without:
        body["stream_options"] = {"include_usage": True}
    if asked.native and request.tools:
        body["tools"] = [
            {"type": "function", "function": {
                "name": names.sent(t.name), "description": t.description,
                "parameters": schema}}
            for t, schema in zip(request.tools,
                                 schemas(request.tools, vendor),
                                 strict=True)]
        body["tool_choice"] = "auto"
        if vendor.tool_stream:
            body["tool_stream"] = True
    if request.max_tokens is not None:
        body[_limit_name(vendor, without)] = request.max_tokens
    if request.response_schema is not None \
            and "response_format" not in without:
        body["response_format"] = {
            "type": "json_schema", "json_schema": {
                "name": "answer", "schema": request.response_schema}}
    effort = asked.reasoning.reasoning_effort
    if effort and takes_effort(asked.model):
        body["reasoning_effort"] = effort
    body |= thinking_fields(vendor, asked.reasoning.reasoning_enabled)
    return {k: v for k, v in body.items() if k not in _left_out(without)}


def _responses(asked: Asked, vendor: Vendor,
               messages: Sequence[ChatMessage], names: ToolNames) -> Json:
    request, without = asked.request, asked.without
    body: Json = {"model": asked.model, "stream": asked.stream,
                  "input": input_items(messages, names), "store": False}
    system = instructions(messages)
    if system:
        body["instructions"] = system
    if asked.temperature is not None and "temperature" not in without:
        body["temperature"] = asked.temperature
    if asked.native and request.tools:
        body["tools"] = responses_tools(
            request.tools, schemas(request.tools, vendor), names)
        body["tool_choice"] = "auto"
    if request.max_tokens is not None:
        body["max_output_tokens"] = request.max_tokens
    if request.response_schema is not None \
            and "response_format" not in without:
        body["text"] = {"format": {
            "type": "json_schema", "name": "answer", "strict": False,
            "schema": request.response_schema}}
    effort = asked.reasoning.reasoning_effort
    if effort and takes_effort(asked.model):
        body["reasoning"] = {"effort": effort}
    if asked.thinks:
        body["include"] = ["reasoning.encrypted_content"]
    return {k: v for k, v in body.items() if k not in _left_out(without)}


def _left_out(without: frozenset[Feature]) -> frozenset[Feature]:
    """Keys that are gone altogether: a limit only changed its name."""
    return without - {"max_tokens", "max_completion_tokens", "tools",
                      "response_format"}


def _limit_name(vendor: Vendor, without: frozenset[Feature]) -> str:
    names = ["max_tokens", "max_completion_tokens"]
    names.remove(vendor.max_tokens_key)
    return vendor.max_tokens_key if vendor.max_tokens_key not in without \
        or names[0] in without else names[0]


def wire_rules(vendor: Vendor, without: frozenset[Feature]) -> WireRules:
    """How messages look, by the vendor and by what was learned."""
    replay = vendor.replay
    if "no_thoughts" in without and replay == "never":
        replay = "with_calls"
    if "thoughts" in without:
        replay = "never"
    return WireRules(replay, vendor.thoughts, fill="no_thoughts" in without,
                     images=vendor.vision or not vendor.merge_system)


def schemas(tools: Sequence[ToolSpec], vendor: Vendor) -> list[Json]:
    """The tools' schemas as the vendor takes them."""
    clean = load_dotted(_LATE["clean"])
    strategy = load_dotted(_LATE["strategy"])(vendor.schema)
    return [clean(t.parameters, strategy) for t in tools]


def schema_words(schema: Mapping[str, Any]) -> str:
    """A JSON Schema as an instruction, for servers that take none."""
    return ("Answer with one JSON value and nothing else, no code fence. "
            "It must be valid against this JSON Schema:\n"
            + json.dumps(schema, ensure_ascii=False))


def thinks(model: str) -> bool:
    """Whether a model of OpenAI's thinks before it answers, by its name."""
    return takes_effort(model) and "-chat" not in bare_model(model)
