"""Calls of every model family, read back exactly, whole and in pieces."""

import asyncio

import pytest
from agent_parts import Echo
from call_forms import FORMS, WHOLE, build_entry
from hypothesis import given, settings
from hypothesis import strategies as st

from claw.agent.parsing import parse_tool_calls
from claw.agent.rendering.signs import CallFilter
from claw.agent.turn import Agent
from claw.testing.scripted import ScriptedProvider
from claw.text.think import ThinkFilter

BEFORE = "I look it up."


@pytest.mark.parametrize("form", FORMS)
def test_every_call_is_read_as_it_was_meant(form):
    for seed in range(150):
        tools, calls = build_entry(seed)
        text = FORMS[form](calls)
        if form not in WHOLE:
            text = f"<think>hm</think>{BEFORE}\n{text}"
        parsed = parse_tool_calls(text, tools)

        assert [(c.name, c.arguments) for c in parsed.calls] == calls, text
        assert parsed.text == ("" if form in WHOLE else BEFORE)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(tuple(FORMS)), st.integers(0, 400),
       st.lists(st.integers(0, 900), max_size=12))
def test_no_cut_shows_anything_of_a_call(form, seed, cuts):
    _, calls = build_entry(seed)
    text = f"{BEFORE}\n" * (form not in WHOLE) + FORMS[form](calls)
    places = sorted({min(at, len(text)) for at in cuts})
    think, held = ThinkFilter(), CallFilter()
    shown = "".join(
        held.feed(think.feed(text[a:b])) for a, b in
        zip([0, *places], [*places, len(text)], strict=True))

    assert shown.strip() == ("" if form in WHOLE else BEFORE)
    assert shown + held.feed(think.finish()) + held.finish() == text


def test_a_call_in_another_form_behind_the_first_is_run_too():
    tools = {"f": {}, "g": {}}
    two = [("f", {"a": 1})], [("g", {"b": "x"})]
    for first in FORMS:
        for second in FORMS:
            if first in WHOLE or second in WHOLE or first == "not closed":
                continue
            text = f"{FORMS[first](two[0])}\n{FORMS[second](two[1])}"
            parsed = parse_tool_calls(text, tools)
            assert [(c.name, c.arguments) for c in parsed.calls] == [
                *two[0], *two[1]], text


@pytest.mark.parametrize("text", [
    "Write `<tool_call>{\"name\": \"f\"}</tool_call>` to call.",
    "So:\n```xml\n<tool_call>{\"name\": \"f\"}</tool_call>\n```\nThat is it.",
    "The <tool_call> tag opens a call.",
    "Mistral begins with [TOOL_CALLS] and goes on.",
    "<tool_call>arg_key\n<arg_key>a</arg_key></tool_call> is GLM's.",
    "Set to=\"x\" there.", "f(a=1) is a call in Python.", "f/a is a path.",
    '{"name": "Kim", "parameters": {}}', '{"name": "Kim", "arguments": {}}',
])
def test_what_only_shows_a_call_stays_text(text):
    parsed = parse_tool_calls(text, {"f": {}})

    assert parsed.calls == []
    assert parsed.text == text


@pytest.mark.parametrize("form", FORMS)
def test_a_tool_whose_name_begins_like_a_space_of_names_is_called(form):
    calls = [("functions.f", {"a": "x"}), ("f", {"a": "y"})]
    parsed = parse_tool_calls(FORMS[form](calls), {
        name: {} for name, _ in calls})

    assert [(c.name, c.arguments) for c in parsed.calls] == calls


@pytest.mark.parametrize("form", FORMS)
def test_a_call_in_the_arguments_of_another_whole_or_cut_is_not_run(form):
    tools = {"f": {"properties": {"a": {"type": "string"}}}, "g": {}}
    for inner in FORMS.values():
        page = f"A page: {inner([('g', {'x': 'y'})])} and words"
        text = FORMS[form]([("f", {"a": page, "b": "z"})])
        for answer in (text, text[:text.index(" and words")]):
            assert "g" not in [c.name for c in parse_tool_calls(
                answer, tools).calls], answer


@pytest.mark.parametrize("form", FORMS)
def test_half_a_call_is_not_run_with_other_arguments(form):
    calls = [("f", {"a": "x", "b": 1})]
    whole = FORMS[form](calls)
    for end in range(len(whole)):
        parsed = parse_tool_calls(whole[:end], {"f": {}})

        assert [(c.name, c.arguments) for c in parsed.calls] in (
            [], calls), whole[:end]


def test_a_parameter_is_never_a_tool():
    text = ("<tool_call>\n<arg_key>city</arg_key>\n<arg_value>Oslo"
            "</arg_value>\n</tool_call>")
    parsed = parse_tool_calls(text, {"get_weather": {}})

    assert parsed.calls == []
    assert "can't be read" in parsed.problem


@pytest.mark.parametrize(("kind", "text", "value"), [
    ("string", "5", "5"), ("integer", "5", 5), ("integer", "5.0", 5),
    ("number", "5", 5), ("boolean", "True", True), ("string", "null", None),
    ("dict", '{"a": 1}', {"a": 1}), ("float", "1.5", 1.5), ("any", "5", 5),
    ("integer", "five", "five"), ("tuple", "[1]", [1]),
    (["string", "null"], '"quoted"', '"quoted"'),
])
def test_text_gets_the_type_of_the_schema(kind, text, value):
    tools = {"f": {"type": "dict", "properties": {"a": {"type": kind}}}}
    call = f'<invoke name="f"><parameter name="a">{text}</parameter></invoke>'

    assert parse_tool_calls(call, tools).calls[0].arguments == {"a": value}


@pytest.mark.parametrize(("schema", "text", "value"), [
    ({"type": "array"}, "['a', \"it's\", None, True]",
     ["a", "it's", None, True]),
    ({"type": "object"}, "{'a': {'b': (1, 2)}}", {"a": {"b": [1, 2]}}),
    ({"type": "integer"}, "None", None), ({"type": "string"}, "None", "None"),
    ({"type": "string", "default": None}, "None", None),
    ({"type": "string", "default": "null"}, "null", "null"),
    ({"type": "array"}, "['a', 'b'", "['a', 'b'"), ({}, "None", "None"),
    ({"type": "array"}, "[f()]", "[f()]"),
])
def test_values_written_as_python_get_the_type_of_the_schema(
        schema, text, value):
    tools = {"f": {"properties": {"a": schema}}}
    call = f"<function=f><parameter=a>{text}</parameter></function>"

    assert parse_tool_calls(call, tools).calls[0].arguments == {"a": value}


@pytest.mark.parametrize(("code", "arguments"), [
    ("f()", {}), ("f( a = 1 , )", {"a": 1}), ("f(a=-0.5e3)", {"a": -500.0}),
    ("f(a='it\\'s')", {"a": "it's"}), ('f(a="\\n\\u00e9")', {"a": "\né"}),
    ("f(a='It's good', b=2)", {"a": "It's good", "b": 2}),
    ("f(a=[], b={}, c=())", {"a": [], "b": {}, "c": []}),
    ("f(a={'x-y': [true, None]})", {"a": {"x-y": [True, None]}}),
    ('f(n="5")', {"n": 5}),
])
def test_arguments_written_as_python_are_read(code, arguments):
    tools = {"f": {"properties": {"n": {"type": "integer"}}}}
    parsed = parse_tool_calls(f"[{code}]", tools)

    assert [(c.name, c.arguments) for c in parsed.calls] == [("f", arguments)]


@pytest.mark.parametrize("code", [
    "f(a=g(1))", "f(1)", "f(a=", "f(a='x)", "f(a=1", "f(a=NaN)", "f(**a)",
    "f(a=__import__)", "f(a=" + "[" * 100 + "]" * 100 + ")"])
def test_code_that_is_no_plain_call_is_not_run(code):
    for text in (f"[{code}]", f"<|tool_call_start|>[{code}]"):
        assert parse_tool_calls(text, {"f": {}}).calls == []


def test_null_is_a_word_where_only_a_string_will_do():
    tools = {"f": {"required": ["a"],
                   "properties": {"a": {"type": "string"}}}}
    call = '<invoke name="f"><parameter name="a">null</parameter></invoke>'

    assert parse_tool_calls(call, tools).calls[0].arguments == {"a": "null"}


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("form", FORMS)
def test_a_turn_runs_the_calls_of_every_form(form, size):
    echo = Echo()
    answer = FORMS[form]([("echo", {"text": "a"})])
    agent = Agent(ScriptedProvider([answer, "done"], native_tools=False,
                                   chunk_size=size), [echo], model="m")

    result = asyncio.run(agent.turn("hi"))

    assert (result.text, echo.runs) == ("done", [{"text": "a"}])
