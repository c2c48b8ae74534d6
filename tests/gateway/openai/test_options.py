"""What a client asks, in the words of each vendor's API."""

import pytest

from claw.core.provider import ChatMessage
from claw.gateway.openai.call import Format, ModelCall, build_tools, read_tool
from claw.gateway.openai.chat import parse_chat
from claw.gateway.openai.errors import BadRequest
from claw.gateway.openai.fields import Fields
from claw.gateway.openai.options import Target, build_chat_request

DIALECTS = ("chat", "responses", "anthropic", "gemini", "ollama", "other")


def build(dialect, *, native=True, own=False, tool="", choice=(
        "auto", False), parallel=None, strict=None, **options):
    found = [read_tool(Fields({"name": tool, "strict": strict}))] \
        if tool else []
    return build_chat_request(ModelCall(
        "m", (ChatMessage.user("hi"),),
        build_tools(found, choice, parallel), **options),
        Target(dialect, native, own))


@pytest.mark.each("dialect, expected", [
    ("chat", {"top_p": 0.5, "stop": ["X"], "seed": 1}),
    ("anthropic", None), ("responses", None),
    ("gemini", {"topP": 0.5, "stopSequences": ["X"], "seed": 1}),
    ("ollama", {"top_p": 0.5, "stop": ["X"], "seed": 1}), ("other", None)])
def test_sampling_is_said_in_the_vendors_words_or_refused(dialect, expected):
    sampling = {"top_p": 0.5, "stop": ["X"], "seed": 1}
    if expected is None:
        with pytest.raises(BadRequest):
            build(dialect, sampling=sampling)
    else:
        assert build(dialect, sampling=sampling).options == expected


def test_anthropic_has_its_own_word_for_stop():
    assert build("anthropic", sampling={"stop": ["X"]}).options == {
        "stop_sequences": ["X"]}


@pytest.mark.each("dialect, required, named", [
    ("chat", "required", {"type": "function", "function": {"name": "t"}}),
    ("responses", "required", {"type": "function", "name": "t"}),
    ("anthropic", {"type": "any"}, {"type": "tool", "name": "t"})])
def test_the_choice_of_a_tool(dialect, required, named):
    assert build(dialect, tool="t", choice=("required", False)).options == {
        "tool_choice": required}
    assert build(dialect, tool="t", choice=("t", True)).options == {
        "tool_choice": named}


def test_gemini_is_told_which_tool_beside_its_settings():
    assert build("gemini", tool="t", choice=("t", True)).options == {
        "toolConfig": {"functionCallingConfig": {
            "mode": "ANY", "allowedFunctionNames": ["t"]}}}


@pytest.mark.each("dialect", DIALECTS)
def test_no_tool_may_be_called_where_none_is_chosen(dialect):
    request = build(dialect, tool="t", choice=("none", False))

    assert request.tools is None \
        or request.options == {"tool_choice": "none"}


def test_a_model_without_tools_of_its_own_can_not_be_made_to_call_one():
    with pytest.raises(BadRequest, match="by itself"):
        build("chat", native=False, tool="t", choice=("required", False))


@pytest.mark.each("dialect, options, schema", [
    ("chat", {"response_format": {"type": "json_object"}}, None),
    ("responses", {"text": {"format": {"type": "json_object"}}}, None),
    ("gemini", {"responseMimeType": "application/json"}, None),
    ("ollama", {}, {"type": "object"})])
def test_plain_json(dialect, options, schema):
    request = build(dialect, answer=Format("json_object"))

    assert (request.options, request.response_schema) == (options, schema)


def test_openai_itself_hears_the_name_of_a_schema():
    answer = Format("json_schema", {"type": "object"}, "row", True)

    assert build("chat", own=True, answer=answer).options == {
        "response_format": {"json_schema": {"name": "row", "strict": True}}}
    assert build("chat", answer=answer).options == {}
    assert build("chat", answer=answer).response_schema == {"type": "object"}


def test_strict_tools_stay_strict_where_the_api_knows_it():
    [tool] = build("chat", tool="t", strict=True).options["tools"]

    assert tool["function"]["strict"] is True
    assert "tools" not in build("anthropic", tool="t", strict=True).options


def test_what_the_ledger_can_not_price_is_not_passed_on():
    with pytest.raises(BadRequest):
        build("chat", extra={"plugins": []})
    with pytest.raises(BadRequest):
        build("anthropic", extra={"min_p": 0.1})
    assert build("chat", extra={"min_p": 0.1}).options == {"min_p": 0.1}


def test_what_says_nothing_is_not_asked_of_anybody():
    """Clients send every key with its usual value."""
    call = parse_chat({
        "model": "m", "messages": [{"role": "user", "content": "hi"}],
        "n": 1, "top_p": 1, "frequency_penalty": 0, "presence_penalty": 0.0,
        "logprobs": False, "stop": None, "seed": None, "logit_bias": {},
        "service_tier": "auto", "tools": [], "user": "u", "store": False,
        "stream_options": {"include_usage": True}, "functions": []})

    assert (dict(call.sampling), dict(call.extra)) == ({}, {})


@pytest.mark.each("body", [
    None, [], {}, {"model": "m"}, {"model": 1, "messages": []},
    {"model": "m", "messages": "hi"}, {"model": "m", "messages": []},
    {"model": "m", "messages": [1]}, {"model": "m", "messages": [{}]},
    {"model": "m", "messages": [{"role": "system", "content": "x"}]},
    {"model": "m", "messages": [{"role": "user", "content": 5}]},
    {"model": "m", "messages": [{"role": "user", "content": [{}]}]},
    {"model": "m", "messages": [{"role": "robot", "content": "x"}]},
    {"model": "m", "messages": [{"role": "tool", "content": "x"}]},
    {"model": "m", "messages": [{"role": "assistant", "tool_calls": [
        {"type": "function"}]}]},
    {"model": "m", "messages": [{"role": "user", "content": "x"}],
     "tools": [{"type": "function", "function": {"name": "a b"}}]},
    {"model": "m", "messages": [{"role": "user", "content": "x"}],
     "response_format": {"type": "json_schema"}}])
def test_nonsense_is_a_bad_request(body):
    with pytest.raises(BadRequest):
        parse_chat(body)
