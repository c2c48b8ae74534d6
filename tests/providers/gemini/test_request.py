"""What is sent to Gemini, held against the types of Google's own SDK."""

import itertools
import json

import pytest
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

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
from claw.core.value import replace
from claw.net.http import to_bytes
from claw.providers.gemini.errors import find_refusal
from claw.providers.gemini.request import (
    UNSIGNED,
    build_contents,
    build_request,
    declarations,
    split_parts,
    thinking_config,
)
from claw.providers.settings import ReasoningSettings

CONTENTS = TypeAdapter(list[types.Content])
TOOLS = TypeAdapter(list[types.Tool])
user, assistant = ChatMessage.user, ChatMessage.assistant
PNG = "data:image/png;base64,iVBORw0KGgo="
WEATHER = ToolSpec("weather", "The weather.",
                   closed_object(city=string("a city")))
BARE = ToolSpec("now", "", {"type": "object", "properties": {}})


def calls(*made, text=None, replay=None):
    return encode_tool_calls(AssistantToolCalls(
        text, tuple(ToolCall(*c) for c in made),
        replay=replay and json.dumps(replay)))


def result(call_id, text):
    return encode_tool_result(ToolResultMessage(call_id, text))


def checked(body):
    """A body, as bytes carry it, that the SDK's types take whole."""
    body = json.loads(to_bytes(body))
    assert set(body) <= {"contents", "systemInstruction", "tools",
                         "generationConfig"}
    CONTENTS.validate_python(body["contents"])
    if "systemInstruction" in body:
        types.Content.model_validate(body["systemInstruction"])
    TOOLS.validate_python(body.get("tools", []))
    types.GenerationConfig.model_validate(body.get("generationConfig", {}))
    return body


def test_the_sdks_types_refuse_what_they_do_not_know():
    with pytest.raises(ValidationError):
        CONTENTS.validate_python([{"role": "user", "text": "x"}])


# conversations of every kind

TEXT = st.text(st.characters(codec=None), max_size=30) | st.sampled_from([
    "", "  ", "\0", "\ud83d lone", f"see [IMAGE:{PNG}] this", "[IMAGE:x]",
    "[IMAGE:https://a.example/b.png?c=d] and", '{"tool_calls": []}'])
NAME = st.sampled_from(["weather", "now", "a.b:c-d", "날씨", "x" * 200, "1"])
ARGS = st.sampled_from(['{"city": "Oslo"}', "{}", "[1]", "no", '{"n": NaN}',
                        '{"a": {"b": [null, "\\ud800"]}}'])
SIGNATURE = st.sampled_from([None, "c2lnbmVk", UNSIGNED])


@st.composite
def rounds(draw):
    """Calls and their results, some lost, some of nobody."""
    made = [(f"id-{draw(st.integers(0, 5))}", draw(NAME), draw(ARGS))
            for _ in range(draw(st.integers(1, 4)))]
    kept = [{"id": "v", "signature": draw(SIGNATURE)} for _ in made]
    replay = draw(st.sampled_from([
        None, {"by": "gemini", "calls": kept, "text": "c2ln"},
        {"by": "gemini", "calls": [7]}, {"by": "other", "calls": kept},
        {"by": "gemini", "calls": [7 for _ in made]}]))
    answers = [result(draw(st.sampled_from([c[0] for c in made] + ["x"])),
                      draw(TEXT)) for _ in range(draw(st.integers(0, 4)))]
    return [calls(*made, text=draw(TEXT), replay=replay), *answers]


MESSAGE = st.builds(lambda make, text: [make(text)], st.sampled_from([
    ChatMessage.system, user, assistant, ChatMessage.tool]), TEXT)
TALK = st.lists(MESSAGE | rounds(), max_size=8).map(
    lambda found: [m for group in found for m in group])
FEATURE = st.sampled_from(["config", "tools", "declarations", "system",
                           "signatures", "unsigned", "ids", "levels",
                           "thinking", "json_schema", "schema",
                           "temperature", "max_tokens"])


@settings(max_examples=300, deadline=None)
@given(TALK, st.sampled_from(["gemini-2.5-pro", "gemini-3-pro", "m"]),
       st.sets(FEATURE), st.booleans(), st.sampled_from(
           [None, {"type": "object", "properties": {
               "a": {"type": ["string", "null"], "minLength": 2}}}]),
       st.sampled_from([None, "low", "high", "none", "odd"]))
def test_any_conversation_is_a_valid_request(talk, model, without, tooled,
                                             schema, effort):
    request = ChatRequest(talk, tools=[WEATHER, BARE] if tooled else None,
                          response_schema=schema, max_tokens=9)
    body = checked(build_request(request, model, 0.5, without=without,
                        reasoning=ReasoningSettings(
                            reasoning_effort=effort)).body)

    roles = [c["role"] for c in body["contents"]]
    assert roles[0] == "user"
    assert all(a != b for a, b in itertools.pairwise(roles))
    sent = [p for c in body["contents"] for p in c["parts"]]
    assert all(p and "" not in p.values() for p in sent)
    assert all(c["parts"] for c in body["contents"])
    for part in sent:  # each with one thing in it
        assert len(set(part) - {"thoughtSignature"}) == 1


@settings(max_examples=200, deadline=None)
@given(TALK)
def test_a_gemini_3_never_sees_an_unsigned_step(talk):
    found = build_contents(talk, sign=True)
    turn = max((i for i, c in enumerate(found) if c["role"] == "user"
                and any("text" in p or "inlineData" in p or "fileData" in p
                        for p in c["parts"])), default=0)

    for content in found[turn:]:
        made = [p for p in content["parts"] if "functionCall" in p]
        if made:
            assert made[0].get("thoughtSignature")


# what stands where

def test_all_system_messages_are_one_instruction():
    request = ChatRequest([ChatMessage.system("Be brief."), user("hi"),
                           ChatMessage.system(" "),
                           ChatMessage.system("Be kind.")])
    body = checked(build_request(request, "m", 0.5).body)

    assert body["systemInstruction"] == {
        "parts": [{"text": "Be brief.\n\nBe kind."}]}
    assert body["contents"] == [{"role": "user", "parts": [{"text": "hi"}]}]


@pytest.mark.parametrize(("asked", "sent"), [(None, 8192), (50, 50)])
def test_tokens_are_limited_as_asked(asked, sent):
    body = build_request(ChatRequest([user("?")], max_tokens=asked), "m",
                         0.5).body

    assert body["generationConfig"]["maxOutputTokens"] == sent


def test_a_call_goes_back_as_gemini_can_take_it():
    found = build_contents([user("?"), calls(("a", "날씨 now", '{"n": NaN}'),
                                       ("b", "x" * 200, "[1]")),
                      result("a", "5")])

    first, second = (p["functionCall"] for p in found[1]["parts"])
    assert first == {"name": "____now", "args": {"n": None}}
    assert second == {"name": "_" + "x" * 127, "args": {}}
    assert found[2]["parts"][0]["functionResponse"]["name"] == "____now"


def test_neighbours_of_one_role_are_one_content():
    found = build_contents([user("a"), user("b"), assistant("c"),
                            assistant("d"), user("e")])

    assert [(c["role"], [p["text"] for p in c["parts"]]) for c in found] == [
        ("user", ["a", "b"]), ("model", ["c", "d"]), ("user", ["e"])]


@pytest.mark.parametrize("messages", [
    [], [ChatMessage.system("x")], [user("")], [assistant("hello")]])
def test_a_conversation_begins_with_the_user(messages):
    first = build_contents(messages)[0]

    assert first["role"] == "user"
    assert first["parts"][0]["text"].strip()


def test_results_of_a_round_are_one_content_in_order():
    found = build_contents([
        user("?"), calls(("a", "weather", "{}"), ("b", "now", "{}")),
        result("a", "5"), result("b", "noon"), user("and?")])

    assert found[2] == {"role": "user", "parts": [
        {"functionResponse": {"name": "weather",
                              "response": {"output": "5"}}},
        {"functionResponse": {"name": "now",
                              "response": {"output": "noon"}}},
        {"text": "and?"}]}


def test_ids_that_come_again_mean_the_last_call():
    found = build_contents([
        user("?"), calls(("a", "weather", "{}")), result("a", "5"),
        calls(("a", "now", "{}")), result("a", "noon")])

    names = [p["functionResponse"]["name"] for c in found
             for p in c["parts"] if "functionResponse" in p]
    assert names == ["weather", "now"]


def test_a_result_of_nobody_is_told_in_words():
    (content,) = build_contents([user("?"), result("gone", "5 degrees")])

    assert "5 degrees" in content["parts"][1]["text"]


@pytest.mark.parametrize(("model", "signature"), [
    ("gemini-3-pro-preview", UNSIGNED), ("models/gemini-3.1-pro", UNSIGNED),
    ("gemini-12-pro", UNSIGNED), ("gemini-2.5-pro", None),
    ("gemma-3-27b-it", None)])
def test_calls_of_another_provider_carry_the_stand_in_where_it_is_needed(
        model, signature):
    other = {"by": "anthropic", "calls": [{"signature": "x"}] * 2}
    request = ChatRequest([
        user("first"), calls(("z", "now", "{}")), result("z", "noon"),
        user("?"), calls(("a", "weather", "{}"), ("b", "now", "{}"),
                         replay=other), result("a", "5")])
    body = checked(build_request(request, model, 0.5).body)

    signed = [p.get("thoughtSignature") for c in body["contents"]
              for p in c["parts"] if "functionCall" in p]
    # only the first call of a step, and only since the last question
    assert signed == [None, signature, None]


def test_a_kept_signature_stays_where_it_was_in_old_turns_too():
    kept = {"by": "gemini", "calls": [{}, {"signature": "b2xk"}]}
    found = build_contents([
        user("?"), calls(("a", "now", "{}"), ("b", "now", "{}"), replay=kept),
        result("a", "1"), result("b", "2"), user("more")], sign=True)

    assert [p.get("thoughtSignature") for p in found[1]["parts"]] == [
        None, "b2xk"]


# images

@pytest.mark.parametrize(("text", "found"), [
    (f"a [IMAGE:{PNG}] b", [
        {"text": "a"}, {"inlineData": {"mimeType": "image/png",
                                       "data": "iVBORw0KGgo="}},
        {"text": "b"}]),
    ("[IMAGE:https://a.example/b.JPG?w=1#x]", [{"fileData": {
        "fileUri": "https://a.example/b.JPG?w=1#x",
        "mimeType": "image/jpeg"}}]),
    ("[IMAGE:gs://bucket/b]", [{"fileData": {
        "fileUri": "gs://bucket/b"}}]),
    ("see [IMAGE:/etc/passwd]", [{"text": "see [IMAGE:/etc/passwd]"}]),
    ("[IMAGE:file:///x.png]", [{"text": "[IMAGE:file:///x.png]"}]),
    ("  indented", [{"text": "  indented"}]),
    (" \n", []),
])
def test_images_become_parts(text, found):
    assert split_parts(text) == found
    CONTENTS.validate_python([{"role": "user", "parts": found}])


# tools

def test_a_tool_without_parameters_sends_no_empty_object():
    assert declarations([BARE]) == [{"name": "now", "description": "now"}]


@pytest.mark.parametrize("parameters", [{}, {"type": "object"},
                                        {"properties": {}}])
def test_no_shape_of_nothing_is_sent(parameters):
    (declared,) = declarations([replace(BARE, parameters=parameters)])

    assert "parameters" not in declared


def test_a_parameter_of_any_type_is_declared_with_one():
    parameters = {"type": "object", "properties": {
        "value": {"description": "anything"}, "rows": {"type": "array"}}}
    (declared,) = declarations([replace(BARE, parameters=parameters)])

    assert declared["parameters"]["properties"] == {
        "value": {"description": "anything", "type": "string"},
        "rows": {"type": "array", "items": {"type": "string"}}}


@pytest.mark.parametrize(("name", "taken"), [
    ("a", True), ("_a.b:c-d", True), ("x" * 128, True), ("x" * 129, False),
    ("1a", False), ("-a", False), ("a b", False), ("날씨", False),
    ("", False), ("a\n", False)])
def test_names_that_gemini_refuses_are_left_out(name, taken):
    assert bool(declarations([replace(WEATHER, name=name)])) is taken


def test_a_name_is_declared_once():
    assert len(declarations([WEATHER, WEATHER])) == 1


# thinking

@pytest.mark.parametrize(("model", "enabled", "effort", "expected"), [
    ("gemini-3-pro", None, None, {}),
    ("gemini-3-flash", None, "low",
     {"includeThoughts": True, "thinkingLevel": "LOW"}),
    ("gemini-3-flash", True, None, {"includeThoughts": True}),
    ("gemini-3-flash", False, "high", {"thinkingLevel": "MINIMAL"}),
    ("gemini-3-pro", False, None, {"thinkingLevel": "LOW"}),
    ("gemini-3-pro-preview", None, "medium",
     {"includeThoughts": True, "thinkingLevel": "HIGH"}),
    ("gemini-3.1-pro", None, "Medium",
     {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
    ("gemini-2.5-flash", None, "high",
     {"includeThoughts": True, "thinkingBudget": 24576}),
    ("gemini-2.5-flash", True, None,
     {"includeThoughts": True, "thinkingBudget": -1}),
    ("gemini-2.5-flash", False, None, {"thinkingBudget": 0}),
    ("gemini-2.5-pro", False, None, {"thinkingBudget": 128}),
    ("gemini-flash-latest", None, "low",
     {"includeThoughts": True, "thinkingLevel": "LOW"}),
])
def test_thinking_is_asked_for_as_the_model_knows_it(model, enabled, effort,
                                                     expected):
    found = thinking_config(model, ReasoningSettings(
        reasoning_enabled=enabled, reasoning_effort=effort))

    assert found == expected
    types.ThinkingConfig.model_validate(found)


# refusals

BODY = build_request(ChatRequest(
    [ChatMessage.system("s"), user("?")], tools=[WEATHER],
    response_schema={"type": "object"}), "gemini-3-flash", 0.5,
    reasoning=ReasoningSettings(reasoning_effort="low")).body


@pytest.mark.parametrize(("message", "feature", "lasting"), [
    ('Unknown name "generationConfig": Cannot find field.', "config", True),
    ("Unknown name \"thinkingLevel\" at 'generation_config."
     "thinking_config': Cannot find field.", "levels", True),
    ("Unknown name \"const\" at 'tools[0].function_declarations[5]."
     "parameters.properties[8].value.any_of[2]': Cannot find field.",
     "declarations", True),
    ("Unknown name \"$ref\" at 'tools[0].function_declarations[5]."
     "parameters': Cannot find field.", "declarations", False),
    ("Unknown name \"id\" at 'contents[1].parts[0].function_call': Cannot "
     "find field.", "ids", True),
    ("Unknown name \"thoughtSignature\" at 'contents[1].parts[0]'",
     "unsigned", True),
    ("Function call is missing a thought_signature in functionCall parts",
     "signatures", True),
    ("Developer instruction is not enabled for models/gemma-3-27b-it",
     "system", True),
    ("Thinking level is not supported for this model.", "levels", True),
    ("Budget 0 is invalid. This model only works in thinking mode.",
     "thinking", True),
    ("Unable to submit request because Thinking is not enabled",
     "thinking", True),
    ("Unable to submit request because it has a maxOutputTokens value of "
     "9 but the supported range is from 1 to 8", "max_tokens", False),
    ("JSON mode is not enabled for models/gemma-3", "schema", False),
    ("something about the weather", None, None),
    ("models/x is not found", None, None),
])
def test_a_refusal_names_what_to_say_another_way(message, feature, lasting):
    found = find_refusal(400, message, BODY)

    assert (found and found.feature) == feature
    assert (found and found.lasting) is lasting


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_other_failures_refuse_nothing(status):
    assert find_refusal(status, 'Unknown name "tools"', BODY) is None


def test_words_about_parts_that_were_not_sent_refuse_nothing():
    bare = build_request(ChatRequest([user("?")]), "m", 0.5).body

    assert find_refusal(400, "Function calling is not enabled", bare) is None


def test_words_of_the_model_itself_refuse_nothing():
    assert find_refusal(None, "Malformed call: the temperature(x)",
                        BODY) is None
    assert find_refusal(None, "MISSING_THOUGHT_SIGNATURE",
                   BODY).feature == "signatures"
