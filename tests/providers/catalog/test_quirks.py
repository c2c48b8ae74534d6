"""What each vendor wants different, done to bodies; no network."""

import json
import re

import pytest

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ChatResponse,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec
from claw.core.value import replace
from claw.providers.catalog.vendors import Vendor, find_vendor
from claw.providers.openai.body import RequestOptions, build_request
from claw.providers.openai.quirks import ToolNames, call_id, takes_effort
from claw.providers.settings import ReasoningSettings

PLAIN = Vendor("acme", "Acme", "https://acme.invalid/v1")
PNG = "data:image/png;base64,iVBORw0KGgo="
CALLS = AssistantToolCalls("I look.", (ToolCall(
    "call_abc", "weather", '{"city": "Oslo"}'),), "hm")
HISTORY = [ChatMessage.user("weather?"), encode_tool_calls(CALLS),
           encode_tool_result(ToolResultMessage("call_abc", "5 C"))]
TOOL = ToolSpec("weather", "The weather.", {"type": "object"})


def body(vendor, messages=HISTORY, *, tools=(TOOL,), model="m", stream=False,
         without=(), native=True, max_tokens=None, **reasoning):
    row = find_vendor(vendor) if isinstance(vendor, str) else vendor
    return build_request(RequestOptions(
        ChatRequest(messages, tools, max_tokens=max_tokens), model, 0.5,
        without=frozenset(without), native=native, stream=stream,
        reasoning=ReasoningSettings(**reasoning)), row).body


def called(found):
    return next(m for m in found["messages"] if m.get("tool_calls"))


@pytest.mark.parametrize(("vendor", "key"), [
    ("deepseek", "reasoning_content"), ("moonshot", "reasoning_content"),
    ("kimi-code", "reasoning_content"), ("glm", "reasoning_content"),
    ("zai", "reasoning_content"), ("vllm", "reasoning_content"),
    ("fireworks", "reasoning_content"), (PLAIN, "reasoning_content"),
    ("cerebras", "reasoning"), ("openrouter", "reasoning"),
    ("groq", None), ("mistral", None), ("perplexity", None),
    ("cohere", None), ("openai", None), ("azure", None),
])
def test_thoughts_go_back_where_they_are_wanted(vendor, key):
    message = called(body(vendor))

    assert {k: v for k, v in message.items() if "reasoning" in k} == (
        {key: "hm"} if key else {})


@pytest.mark.parametrize(("vendor", "shown"), [
    ("glm", True), ("deepseek", False), ("groq", False)])
def test_thoughts_without_calls_go_back_only_where_always_wanted(
        vendor, shown):
    said = encode_tool_calls(AssistantToolCalls("yes", (), "hm"))
    message = body(vendor, [said])["messages"][0]

    assert message["content"] == "yes"
    assert ("reasoning_content" in message) is shown


def test_openrouters_details_go_back_as_they_came():
    details = [{"type": "reasoning.encrypted", "data": "x", "index": 0}]
    calls = replace(CALLS, replay=json.dumps(
        {"by": "openrouter", "details": details}))
    messages = [encode_tool_calls(calls)]

    assert called(body("openrouter", messages))[
        "reasoning_details"] == details
    assert "reasoning_details" not in called(body("deepseek", messages))


@pytest.mark.parametrize(("learned", "fields"), [
    ((), {"reasoning_content": "hm"}),
    (("thoughts",), {}),
    (("no_thoughts",), {"reasoning_content": "hm"}),
])
def test_what_was_learned_of_thoughts_counts_more(learned, fields):
    message = called(body("deepseek", without=learned))

    assert {k: v for k, v in message.items() if "reasoning" in k} == fields


def test_missing_thoughts_are_a_blank_where_the_server_insists():
    messages = [encode_tool_calls(replace(CALLS, reasoning_content=None))]

    assert called(body("deepseek", messages, without=["no_thoughts"]))[
        "reasoning_content"] == " "
    assert "reasoning_content" not in called(body("deepseek", messages))


def test_minimax_has_its_thoughts_in_the_text():
    found = body("minimax", native=False)["messages"]

    assert "<think>\nhm\n</think>" in found[1]["content"]
    assert "<think>" not in body("venice", native=False)["messages"][1][
        "content"]


def test_minimax_gets_no_system_no_tools_and_no_images():
    found = body("minimax", [ChatMessage.system("Be brief."),
                             ChatMessage.user(f"look [IMAGE:{PNG}]")],
                 native=False)

    (message,) = found["messages"]
    assert message["role"] == "user"
    assert message["content"].startswith("Be brief.\n\n")
    assert message["content"].endswith("look [image]")
    assert "tools" not in found


def test_mistral_gets_ids_of_nine_letters_and_digits():
    found = body("mistral")["messages"]
    sent = found[1]["tool_calls"][0]["id"]

    assert re.fullmatch("[A-Za-z0-9]{9}", sent)
    assert found[2]["tool_call_id"] == sent
    assert body("mistral")["messages"] == found


@pytest.mark.parametrize(("given", "kept"), [
    ("AbC123xyz", True), ("call_1", False), ("abc-12345", False),
    ("", False), ("x" * 40, False), ("äbcdefghi", False),
    ("\ud800", False),
])
def test_ids_that_fit_stay(given, kept):
    found = call_id(given, 9)

    assert (found == given) is kept
    assert re.fullmatch("[A-Za-z0-9]{9}", found)
    assert call_id(given, None) == given


def test_different_ids_stay_different():
    assert len({call_id(f"call_{n}", 9) for n in range(5000)}) == 5000


def test_mistral_gets_a_word_between_a_result_and_a_question():
    found = body("mistral", [*HISTORY, ChatMessage.user("and now?")])

    assert [m["role"] for m in found["messages"]] == [
        "user", "assistant", "tool", "assistant", "user"]
    assert [m["role"] for m in body(
        PLAIN, [*HISTORY, ChatMessage.user("and now?")])["messages"]] == [
        "user", "assistant", "tool", "user"]


def test_perplexity_gets_turns_that_alternate():
    found = body("perplexity", [
        ChatMessage.user("a"), ChatMessage.system("s"),
        ChatMessage.user(f"b [IMAGE:{PNG}]"), ChatMessage.assistant(""),
        ChatMessage.user("c"), ChatMessage.assistant("d"),
        ChatMessage.user("e"), ChatMessage.user("f")], tools=())

    assert [m["role"] for m in found["messages"]] == [
        "system", "user", "assistant", "user"]
    assert found["messages"][1]["content"] == [
        {"type": "text", "text": "a"}, {"type": "text", "text": "b"},
        {"type": "image_url", "image_url": {"url": PNG}},
        {"type": "text", "text": "c"}]
    assert found["messages"][3]["content"] == "e\n\nf"


@pytest.mark.parametrize(("vendor", "left"), [
    ("moonshot", 1), ("mistral", 1), (PLAIN, 3)])
def test_empty_messages_go_only_where_they_are_taken(vendor, left):
    messages = [ChatMessage.system(" "), ChatMessage.assistant(""),
                ChatMessage.user("hi")]

    assert len(body(vendor, messages)["messages"]) == left


@pytest.mark.parametrize(("vendor", "key"), [
    ("openai", "max_completion_tokens"), ("groq", "max_completion_tokens"),
    ("cerebras", "max_completion_tokens"), ("mistral", "max_tokens"),
    ("deepseek", "max_tokens"), (PLAIN, "max_tokens")])
def test_the_limit_has_the_name_that_the_vendor_knows(vendor, key):
    found = body(vendor, max_tokens=7)

    assert {k: v for k, v in found.items() if k.startswith("max_")} == {
        key: 7}


@pytest.mark.parametrize(("without", "key"), [
    (["max_tokens"], "max_completion_tokens"),
    (["max_completion_tokens"], "max_tokens"),
    (["max_tokens", "max_completion_tokens"], "max_tokens")])
def test_a_refused_name_of_the_limit_gives_way_to_the_other(without, key):
    assert body(PLAIN, max_tokens=7, without=without)[key] == 7


@pytest.mark.parametrize("stream", [False, True])
def test_z_ai_streams_calls_only_where_asked(stream):
    assert body("zai", stream=stream)["tool_stream"] is True
    assert "tool_stream" not in body("zai", tools=())
    assert "tool_stream" not in body("glm-cn")


def test_cohere_takes_no_stream_options():
    assert "stream_options" not in body("cohere", stream=True)
    assert "stream_options" in body(PLAIN, stream=True)


@pytest.mark.parametrize(("model", "taken"), [
    ("gpt-5", True), ("gpt-5-mini", True), ("openai/gpt-5.1", True),
    ("gpt-6.1-terra", True), ("some-codex-model", True), ("o3", True),
    ("o4-mini", True), ("GPT-5", True), ("gpt-4o", False),
    ("gpt-oss-120b", False), ("qwen3", False), ("o3x", False),
    ("my-gpt-5", False)])
def test_who_takes_an_effort(model, taken):
    assert takes_effort(model) is taken
    assert ("reasoning_effort" in body(
        PLAIN, model=model, reasoning_effort="low")) is taken


@pytest.mark.parametrize(("vendor", "fields"), [
    ("deepseek", {"thinking": {"type": "disabled"}}),
    ("moonshot", {"thinking": {"type": "disabled"}}),
    ("glm", {"thinking": {"type": "disabled"}}),
    ("qwen", {"enable_thinking": False}),
    ("openrouter", {"reasoning": {"enabled": False}}),
    ("llamacpp", {"chat_template_kwargs": {"enable_thinking": False}}),
    ("groq", {}), (PLAIN, {})])
def test_thinking_is_switched_in_the_vendors_way(vendor, fields):
    off = body(vendor, reasoning_enabled=False)
    usual = body(vendor)

    assert {k: v for k, v in off.items() if k not in usual} == fields
    assert "thinking" not in body(vendor, reasoning_enabled=False,
                                  without=["thinking"])


ODD = ["good_name", "mcp.files/read", "mcp_files_read", "x" * 80,
       "x" * 70 + "y", "ütf", "", "a b"]


def test_names_of_tools_are_those_that_servers_take_and_come_back():
    names = ToolNames(ODD)
    sent = [names.to_wire(n) for n in ODD]

    assert all(re.fullmatch("[A-Za-z0-9_-]{1,64}", s) for s in sent)
    assert len(set(sent)) == len(ODD)
    assert [names.from_wire(s) for s in sent] == ODD
    assert names.to_wire("good_name") == "good_name"
    assert names.to_wire("mcp_files_read") == "mcp_files_read"
    assert names.from_wire("never_sent") == "never_sent"


def test_a_call_comes_back_under_the_tools_own_name():
    names = ToolNames(["mcp.read"])
    response = ChatResponse(tool_calls=(
        ToolCall("1", names.to_wire("mcp.read"), "{}"),
        ToolCall("2", "other", "{}")))

    assert [c.name for c in names.restore(response).tool_calls] == [
        "mcp.read", "other"]


def test_odd_names_are_the_same_in_tools_and_history():
    tool = replace(TOOL, name="mcp.files/read")
    calls = replace(CALLS, tool_calls=(ToolCall("1", tool.name, "{}"),))
    found = body("openrouter", [encode_tool_calls(calls)], tools=[tool])

    assert called(found)["tool_calls"][0]["function"]["name"] \
        == found["tools"][0]["function"]["name"] == "mcp_files_read"


def test_schemas_are_cleaned_by_the_vendors_strategy():
    tool = replace(TOOL, parameters={
        "type": "object", "additionalProperties": False, "properties": {
            "a": {"type": "string", "minLength": 1}}})
    kept = body("openai", tools=[tool])["tools"][0]["function"]["parameters"]
    careful = body(PLAIN, tools=[tool])["tools"][0]["function"]["parameters"]

    assert kept["additionalProperties"] is False
    assert kept["properties"]["a"]["minLength"] == 1
    assert "additionalProperties" not in careful
