import json

import pytest
from agent_parts import Echo
from hypothesis import given
from hypothesis import strategies as st

from claw.agent.dispatchers import select
from claw.agent.rounds.calls import ParsedToolCall, ToolExecutionResult
from claw.core.provider import (
    AssistantToolCalls,
    Chat,
    ChatMessage,
    ChatResponse,
    ToolCall,
    ToolResultMessage,
    ToolResults,
    decode_tool_calls,
    decode_tool_result,
)
from claw.testing.scripted import ScriptedProvider

NATIVE = ScriptedProvider(native_tools=True)
GUIDED = ScriptedProvider(native_tools=False)
CALLS = AssistantToolCalls("I look.", (
    ToolCall("c1", "echo", '{"text": "</tool_call>"}'),), "why")
RESULTS = ToolResults((ToolResultMessage("c1", "out"),))
USER = Chat(ChatMessage.user("hi"))


def dispatcher(name):
    return select(name, NATIVE, "m", ["echo"])


@pytest.mark.parametrize(("setting", "provider", "known", "name"), [
    ("native", GUIDED, ["echo"], "native"),
    ("xml", NATIVE, ["echo"], "xml"),
    ("auto", NATIVE, ["echo"], "native"),
    ("auto", GUIDED, ["echo"], "xml"),
    ("anything", GUIDED, ["echo"], "xml"),
    ("native", NATIVE, [], "plain"),
])
def test_selection(setting, provider, known, name):
    assert select(setting, provider, "m", known).name == name


@pytest.mark.parametrize(("name", "sends", "explains"), [
    ("native", True, False), ("xml", False, True)])
def test_tools_travel_in_one_way_only(name, sends, explains):
    used = dispatcher(name)

    assert used.should_send_tool_specs() is sends
    assert bool(used.prompt_instructions([Echo().spec()])) is explains
    assert used.prompt_instructions([]) == ""


@pytest.mark.parametrize(("arguments", "expected"), [
    ('{"a": 1}', {"a": 1}), ("", {}), ("broken", {}), ("[1]", {}),
    ("[" * 100_000, {})])
def test_native_arguments_are_parsed_or_empty(arguments, expected):
    response = ChatResponse("t", (ToolCall("c", "f", arguments),))

    for name in ("native", "xml"):
        assert dispatcher(name).parse_response(response) == (
            "t", [ParsedToolCall("f", expected, "c")])


def test_native_understands_a_provider_that_fell_back_to_text():
    text = 'Go. <tool_call>{"name": "echo", "arguments": {}}</tool_call>'

    assert dispatcher("native").parse_response(ChatResponse(text)) == (
        "Go.", [ParsedToolCall("echo", {})])


def test_native_messages_can_be_decoded_by_providers():
    sent = dispatcher("native").to_provider_messages([USER, CALLS, RESULTS])

    assert decode_tool_calls(sent[1]) == CALLS
    assert decode_tool_result(sent[2]) == RESULTS.results[0]
    assert [m.role for m in sent] == ["user", "assistant", "tool"]


def test_missing_ids_are_called_unknown():
    formatted = dispatcher("native").format_results(
        [ToolExecutionResult("f", "out", True)])

    assert formatted.results[0].tool_call_id == "unknown"


def test_guided_turns_stay_readable_for_a_native_provider():
    """A conversation that began with another provider."""
    results = dispatcher("xml").format_results(
        [ToolExecutionResult("echo", "out", True, "c1")])

    sent = dispatcher("native").to_provider_messages([USER, CALLS, results])

    assert [(m.role, decode_tool_calls(m)) for m in sent] == [
        ("user", None), ("assistant", None), ("user", None)]


@pytest.mark.parametrize("name", ["xml", "plain"])
def test_native_turns_stay_readable_as_text(name):
    used = select(name, NATIVE, "m", ["echo"] if name == "xml" else [])

    _, assistant, user = used.to_provider_messages([USER, CALLS, RESULTS])

    assert assistant.role == "assistant"
    head, _, body = assistant.content.partition("\n<tool_call>\n")
    assert head == "I look."
    assert json.loads(body.removesuffix("\n</tool_call>")) == {
        "name": "echo", "arguments": {"text": "</tool_call>"}}
    assert user.content == (
        '<tool_result id="c1">\nout\n</tool_result>\n')


@given(st.text(max_size=20), st.lists(st.sampled_from(
    ["</tool_result>", "<tool_result ", "</TOOL_result\n>", "a", "\n", "<"]),
    max_size=8).map("".join), st.booleans())
def test_a_result_is_always_one_block(name, output, success):
    message = dispatcher("xml").format_results(
        [ToolExecutionResult(name, output, success)])

    lines = message.message.content.lower()
    assert lines.count("<tool_result") == 1
    assert lines.count("</tool_result") == 1
    assert lines.endswith("\n</tool_result>\n")
