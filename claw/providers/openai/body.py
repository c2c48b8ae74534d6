"""From a request to the body that one server gets. Pure.

Only what was asked for goes out, less what the model is known to refuse
(`without`, see wire.refusals); tools it can't take stand in the prompt.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from claw.core.provider import ChatMessage, ChatRequest
from claw.core.tool import ToolSpec
from claw.core.value import Value
from claw.providers.catalog.vendors import Vendor
from claw.providers.openai.chat.request import WireRules, wire_messages
from claw.providers.openai.chat.response import StreamReader
from claw.providers.openai.quirks import (
    ToolNames,
    fit_messages,
    takes_effort,
    thinking_fields,
)
from claw.providers.openai.responses.request import (
    input_items,
    responses_tools,
)
from claw.providers.openai.responses.response import ResponsesReader
from claw.providers.settings import ReasoningSettings
from claw.providers.wire.json import Json
from claw.providers.wire.loop import WireRequest
from claw.providers.wire.messages import (
    join_system,
    merge_system,
    wire_tools,
    write_messages,
)
from claw.providers.wire.refusals import Feature

Api: TypeAlias = Literal["chat", "responses"]


class RequestOptions(Value):
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


class OpenAIRequest(WireRequest):
    """One body and the API it is for. `names` are those of the tools that
    were sent."""

    api: Api = "chat"
    names: ToolNames = ToolNames()

    def reader(self) -> StreamReader | ResponsesReader:
        return (ResponsesReader() if self.api == "responses"
                else StreamReader())


def build_request(options: RequestOptions, vendor: Vendor) -> OpenAIRequest:
    """The body for one request."""
    request, without = options.request, options.without
    names = ToolNames(t.name for t in request.tools or ())
    messages = write_messages(
        request, native=options.native,
        schema_in_words="response_format" in without,
        thoughts=vendor.replay == "always" and vendor.thoughts == "think")
    if vendor.merge_system:
        messages = merge_system(messages)
    body: Json = {"model": options.model, "stream": options.stream}
    if options.temperature is not None:
        body["temperature"] = options.temperature
    body |= _responses_fields(options, messages, names) \
        if options.api == "responses" \
        else _chat_fields(options, vendor, messages, names)
    if options.native and request.tools:
        write = responses_tools if options.api == "responses" else wire_tools
        body["tools"] = list(write(
            request.tools, schemas(request.tools, vendor), names.to_wire))
        body["tool_choice"] = "auto"
    # Keys that are gone altogether: a limit only changed its name.
    left_out = without - {"max_tokens", "max_completion_tokens", "tools",
                          "response_format"}
    return OpenAIRequest(
        {k: v for k, v in body.items() if k not in left_out},
        options.api, names)


def _chat_fields(options: RequestOptions, vendor: Vendor,
                 messages: Sequence[ChatMessage], names: ToolNames) -> Json:
    request, without = options.request, options.without
    body: Json = {"messages": fit_messages(
        wire_messages(messages, wire_rules(vendor, without)), vendor, names)}
    if options.stream and vendor.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if options.native and request.tools and vendor.tool_stream:
        body["tool_stream"] = True
    if request.max_tokens is not None:
        body[_limit_name(vendor, without)] = request.max_tokens
    if request.response_schema is not None \
            and "response_format" not in without:
        body["response_format"] = {
            "type": "json_schema", "json_schema": {
                "name": "answer", "schema": request.response_schema}}
    effort = options.reasoning.reasoning_effort
    if effort and takes_effort(options.model):
        body["reasoning_effort"] = effort
    return body | thinking_fields(vendor, options.reasoning.reasoning_enabled)


def _responses_fields(options: RequestOptions,
                      messages: Sequence[ChatMessage],
                      names: ToolNames) -> Json:
    request = options.request
    body: Json = {"input": input_items(messages, names), "store": False}
    system = join_system(messages)
    if system:
        body["instructions"] = system
    if request.max_tokens is not None:
        body["max_output_tokens"] = request.max_tokens
    if request.response_schema is not None \
            and "response_format" not in options.without:
        body["text"] = {"format": {
            "type": "json_schema", "name": "answer", "strict": False,
            "schema": request.response_schema}}
    effort = options.reasoning.reasoning_effort
    if effort and takes_effort(options.model):
        body["reasoning"] = {"effort": effort}
    if options.thinks:
        body["include"] = ["reasoning.encrypted_content"]
    return body


def _limit_name(vendor: Vendor, without: frozenset[Feature]) -> str:
    usual = vendor.max_tokens_key
    other = "max_tokens" if usual != "max_tokens" else "max_completion_tokens"
    return usual if usual not in without or other in without else other


def wire_rules(vendor: Vendor, without: frozenset[Feature]) -> WireRules:
    """How messages look, by the vendor and by what was refused."""
    replay = vendor.replay
    if "no_thoughts" in without and replay == "never":
        replay = "with_calls"
    if "thoughts" in without:
        replay = "never"
    return WireRules(replay, vendor.thoughts, fill="no_thoughts" in without,
                     images=vendor.vision or not vendor.merge_system)


def schemas(tools: Sequence[ToolSpec], vendor: Vendor) -> list[Json]:
    """The tools' schemas as the vendor takes them, to be read only: they
    are the same with every call, and cleaning them costs 0.4 ms."""
    from claw.providers.schema import CleaningStrategy, clean_schema
    strategy = CleaningStrategy(vendor.schema)
    found = []
    for tool in tools:
        known = vendor.schema, repr(tool.parameters)
        if known not in _cleaned:
            if len(_cleaned) >= _MOST_CLEANED:
                _cleaned.clear()
            _cleaned[known] = clean_schema(tool.parameters, strategy)
        found.append(_cleaned[known])
    return found


_MOST_CLEANED = 500
_cleaned: dict[tuple[str, str], Json] = {}
