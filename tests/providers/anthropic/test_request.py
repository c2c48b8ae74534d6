"""The body of a request for the Messages API."""

import pytest

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.providers.anthropic.errors import (
    STATUSES,
    error_status,
    find_refusal,
)
from claw.providers.anthropic.request import (
    RequestOptions,
    build_request,
    close_objects,
    parse_version,
    tool_names,
    wire_tools,
)
from claw.providers.settings import ReasoningSettings

TOOL = ToolSpec("look", "Look.", closed_object(at=string("a place")))
MARK = {"type": "ephemeral"}
PNG = "[IMAGE:data:image/png;base64,iVBORw0KGgo=]"


def body(*messages, model="claude-haiku-4-5", without=(), tools=None,
         max_tokens=None, temperature=0.7, schema=None, native=True,
         **reasoning):
    return build_request(
        ChatRequest(list(messages) or [ChatMessage.user("hi")], tools=tools,
                    max_tokens=max_tokens, response_schema=schema),
        model, temperature, RequestOptions(ReasoningSettings(**reasoning),
                                   native_tools=native), without).body


def talk(count):
    """So many messages, the last one of the user."""
    return [ChatMessage.user(f"q{n}") if (count - n) % 2
            else ChatMessage.assistant(f"a{n}") for n in range(count)]


def marks(found):
    return [path for path, block in [
        *((f"system.{n}", b) for n, b in enumerate(found.get("system", ()))),
        *((f"tools.{n}", b) for n, b in enumerate(found.get("tools", ()))),
        *((f"messages.{m}.{n}", b)
          for m, message in enumerate(found["messages"])
          for n, b in enumerate(message["content"]))]
        if block.get("cache_control") == MARK]


@pytest.mark.parametrize(("system", "marked"), [
    ("x" * 3072, []),
    ("x" * 3073, ["system.0"]),
    ("안" * 1024, []),  # three bytes each
    ("안" * 1024 + "x", ["system.0"]),
])
def test_a_system_prompt_of_more_than_3072_bytes_is_cached(system, marked):
    found = body(ChatMessage.system(system), ChatMessage.user("hi"))

    assert marks(found) == marked


@pytest.mark.parametrize(("count", "marked"), [
    (1, []), (3, []), (4, []), (5, ["messages.4.0"]), (6, ["messages.6.0"]),
])
def test_a_conversation_of_more_than_four_messages_is_cached(count, marked):
    system = ChatMessage.system("brief")

    assert marks(body(system, *talk(count))) == marked


def test_the_tools_are_cached_with_the_system_prompt_only():
    tools = [TOOL, ToolSpec("other", "", {"type": "object"})]

    assert marks(body(*talk(5), tools=tools)) == ["messages.4.0"]
    assert marks(body(ChatMessage.system("x" * 4000), *talk(5),
                      tools=tools)) == ["system.0", "tools.1",
                                        "messages.4.0"]


def test_the_mark_stands_on_text_or_a_result():
    history = [*talk(3), ChatMessage.assistant("a"),
               ChatMessage.user(f"see {PNG}")]
    assert marks(body(*history)) == ["messages.4.0"]

    call = AssistantToolCalls(None, (ToolCall("1", "look", "{}"),))
    history = [*talk(3), encode_tool_calls(call), encode_tool_result(
        ToolResultMessage("1", "ok"))]
    assert marks(body(*history)) == ["messages.4.0"]


def test_without_a_cache_nothing_is_marked():
    assert marks(body(ChatMessage.system("x" * 4000), *talk(9),
                      without=("cache",))) == []


def test_a_setup_token_does_not_change_what_is_cached():
    plan = build_request(
        ChatRequest([ChatMessage.system("x" * 4000)]), "m", 0.5,
        RequestOptions(identity=True))

    assert marks(plan.body) == ["system.1"]


@pytest.mark.parametrize(("model", "version"), [
    ("claude-opus-4-6", (4, 6)), ("claude-opus-4-20250514", (4, 0)),
    ("claude-sonnet-4-5-20250929", (4, 5)), ("claude-sonnet-5", (5, 0)),
    ("claude-3-7-sonnet-20250219", (3, 7)), ("claude-2.1", (2, 1)),
    ("claude-3-opus-latest", (3, 0)), ("claude-haiku-5-5", (5, 5)),
    ("anthropic/claude-sonnet-4.5", (4, 5)),
    ("us.anthropic.claude-opus-4-6-v1", (4, 6)),
    ("claude-mythos-preview", None), ("MiniMax-M2", None), ("", None),
    ("claude-opus-4-0", (4, 0)),
])
def test_the_version_in_a_name(model, version):
    assert parse_version(model) == version


ON = {"reasoning_enabled": True}
OFF = {"reasoning_enabled": False}
BUDGET = {"type": "enabled", "budget_tokens": 4096}
ADAPTIVE = {"type": "adaptive"}
NONE = {"type": "disabled"}


@pytest.mark.parametrize(
    ("model", "reasoning", "thinking", "effort", "max_tokens",
     "temperature"), [
        ("claude-haiku-4-5", {}, None, None, 4096, True),
        ("claude-haiku-4-5", ON, BUDGET, None, 8192, False),
        ("claude-haiku-4-5", {"reasoning_effort": "minimal"},
         {"type": "enabled", "budget_tokens": 1024}, None, 5120, False),
        ("claude-haiku-4-5", {"reasoning_effort": "high"},
         {"type": "enabled", "budget_tokens": 16384}, None, 20480, False),
        ("claude-haiku-4-5", OFF, None, None, 4096, True),
        ("claude-haiku-4-5", {**OFF, "reasoning_effort": "high"}, None,
         None, 4096, True),
        ("claude-opus-4-6", {}, None, None, 4096, True),
        ("claude-opus-4-6", ON, ADAPTIVE, None, 20480, False),
        ("claude-opus-4-6", {"reasoning_effort": "minimal"}, ADAPTIVE,
         "low", 20480, False),
        ("claude-opus-4-6", OFF, None, None, 4096, True),
        ("claude-opus-4-8", {}, None, None, 4096, False),
        ("claude-sonnet-5", {}, None, None, 4096, False),
        ("claude-sonnet-5", OFF, NONE, None, 4096, False),
        ("claude-sonnet-5", {"reasoning_effort": "medium"}, ADAPTIVE,
         "medium", 20480, False),
        ("some-model", {}, None, None, 4096, True),
        ("some-model", ON, BUDGET, None, 8192, False),
        ("some-model", OFF, NONE, None, 4096, True),
    ])
def test_how_models_are_asked_to_think(model, reasoning, thinking, effort,
                                       max_tokens, temperature):
    found = body(model=model, **reasoning)

    assert found.get("thinking") == thinking
    assert found.get("output_config", {}).get("effort") == effort
    assert found["max_tokens"] == max_tokens
    assert ("temperature" in found) is temperature


@pytest.mark.parametrize(("max_tokens", "thinking"), [
    (300, None), (1365, None), (1366, 1024), (4000, 3000), (9000, 4096)])
def test_the_limit_that_was_asked_for_holds(max_tokens, thinking):
    found = body(max_tokens=max_tokens, **ON)

    assert found["max_tokens"] == max_tokens
    assert found.get("thinking", {}).get("budget_tokens") == thinking
    assert ("temperature" in found) is (thinking is None)


@pytest.mark.parametrize(("without", "thinking"), [
    (("enabled",), ADAPTIVE), (("enabled", "adaptive"), None),
    (("thinking",), None)])
def test_forms_of_thinking_that_are_refused_are_not_tried(without, thinking):
    assert body(without=without, **ON).get("thinking") == thinking


def test_thinking_does_not_begin_in_the_middle_of_a_turn():
    call = AssistantToolCalls(None, (ToolCall("1", "look", "{}"),))
    history = [ChatMessage.user("q"), encode_tool_calls(call),
               encode_tool_result(ToolResultMessage("1", "ok"))]

    assert "thinking" not in body(*history, **ON)
    assert body(*history, model="claude-opus-4-6", **ON)["thinking"] \
        == ADAPTIVE
    assert body(*history, ChatMessage.assistant("a"),
                ChatMessage.user("more"), **ON)["thinking"] == BUDGET


def test_tools_are_cleaned_and_each_is_sent_once():
    tools = [ToolSpec("a", "A.", {
        "anyOf": [{"type": "object", "properties": {
            "x": {"type": "string", "minLength": 2, "pattern": "^a"},
            "y": {"$ref": "#/$defs/Y"}}}],
        "$defs": {"Y": {"type": "integer"}}}),
        ToolSpec("a", "A again.", {})]

    assert wire_tools(tools) == [{
        "name": "a", "description": "A again.", "input_schema": {
            "type": "object", "properties": {}}}]
    (found,) = wire_tools(tools[:1])
    assert found["input_schema"]["type"] == "object"
    assert found["input_schema"]["properties"] == {
        "x": {"type": "string"}, "y": {"type": "integer"}}
    assert not {"anyOf", "$defs"} & set(found["input_schema"])


def test_long_and_like_names_stay_apart():
    names = ["a" * 130, "a" * 131, "b.c", "b_c", ""]
    found = tool_names([ToolSpec(n, "", {}) for n in names])

    sent = list(found.values())
    assert len(set(sent)) == len(names)
    assert all(1 <= len(n) <= 128 for n in sent)


def test_a_schema_is_closed_but_for_what_is_data():
    schema = {"type": "object", "properties": {
        "properties": {"type": "array", "items": {"properties": {}}},
        "type": {"enum": [{"type": "object"}]}}}

    assert close_objects(schema) == {
        "type": "object", "additionalProperties": False, "properties": {
            "properties": {"type": "array", "items": {
                "properties": {}, "additionalProperties": False}},
            "type": {"enum": [{"type": "object"}]}}}


ALL = frozenset(("temperature", "thinking", "enabled", "effort", "format",
                 "cache", "replay", "tools"))


@pytest.mark.each(("message", "parts", "part", "lasting"), [
    ("`temperature` is deprecated for this model.", ALL, "temperature",
     True),
    ("temperature: Extra inputs are not permitted", ALL, "temperature",
     True),
    ("temperature: range: 0..1", ALL, None, None),
    ("`temperature` is deprecated", ALL - {"temperature"}, None, None),
    ('"thinking.type.enabled" is not supported for this model. Use '
     '"thinking.type.adaptive" and "output_config.effort"', ALL, "enabled",
     True),
    ("adaptive thinking is not supported on this model",
     ALL | {"adaptive"}, "adaptive", True),
    ("thinking: Extra inputs are not permitted", ALL, "thinking", True),
    ('"thinking.type.disabled" is not supported for this model.',
     (ALL - {"enabled"}) | {"disabled"}, "disabled", True),
    ("messages.1.content.0: Invalid `signature` in `thinking` block", ALL,
     "replay", False),
    ("messages.1.content.0.type: Expected `thinking` or "
     "`redacted_thinking`, but found `tool_use`.", ALL, "thinking", False),
    ("This model does not support the effort parameter.", ALL, "effort",
     True),
    ("output_config.format: structured outputs are not supported", ALL,
     "format", True),
    ("output_config.format.schema: property 'minimum' is not supported",
     ALL, "format", False),
    ("system.0.cache_control: Extra inputs are not permitted", ALL, "cache",
     True),
    ("tools param requires --jinja flag", ALL, "tools", True),
    ("this model does not support tool use", ALL, "tools", True),
    ("tools.0.custom.input_schema: not supported", ALL, None, None),
    ("messages.0: unexpected `tool_use_id` found in `tool_result` blocks",
     ALL, None, None),
    ("prompt is too long: 1 tokens > 0 maximum", ALL, None, None),
    ("max_tokens: 999999 > 64000", ALL, None, None),
])
def test_what_a_refusal_refuses(message, parts, part, lasting):
    found = find_refusal(400, f"Anthropic API error (400): {message}", parts)

    assert (found and found.feature) == part
    assert (found and found.lasting) == lasting


@pytest.mark.parametrize("status", [None, 401, 403, 413, 429, 529])
def test_other_errors_refuse_nothing(status):
    assert find_refusal(status, "`temperature` is deprecated", ALL) is None


@pytest.mark.parametrize(("data", "status"), [
    *((({"type": "error", "error": {"type": kind}}), status)
      for kind, status in STATUSES.items()),
    ({"error": {"type": "new_error"}}, 500), ({"error": "text"}, 500),
    ({}, 500), (None, 500), ({"error": {"type": []}}, 500)])
def test_an_error_object_has_the_status_of_its_type(data, status):
    assert error_status(data) == status
