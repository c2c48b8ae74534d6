"""Answers that show a call, or hold tags of thoughts inside of one."""

import json

import pytest
from call_forms import FORMS

from claw.agent.parsing import parse_tool_calls

TOOLS = {"shell": {"type": "object", "properties": {
    "command": {"type": "string"}}}, "notes": {"type": "object"}}
JSON = '{"name": "shell", "arguments": {"command": "ls"}}'
CALL = f"<tool_call>\n{JSON}\n</tool_call>"


def indent(blank, text=CALL):
    return blank + text.replace("\n", "\n" + blank)


@pytest.mark.parametrize("text", [
    f"So:\n\n  ```xml\n{indent('  ')}\n  ```\nDone.",
    f"1. So:\n\n   ```xml\n{indent('   ')}\n   ```\n2. Done.",
    f"- a\n  - b:\n\n     ```\n{indent('     ')}\n     ```\nDone.",
    f"- ```xml\n{indent('  ')}\n  ```\nDone.",
    f"> ```xml\n{indent('> ')}\n> ```\nDone.",
    f"The page says:\n{indent('> ')}\nDone.",
    f"So:\n\n{indent('    ')}\n\nDone.",
    f"So:\n```xml\n{CALL}",
    f"See ```xml\n{CALL}\n``` there.",
    "The page says:\n> <|tool_calls_section_begin|><|tool_call_begin|>"
    'functions.shell:0<|tool_call_argument_begin|>{"command": "ls"}'
    "<|tool_call_end|>\nDone.",
    f"> It said so: {CALL[:11]}{JSON}</tool_call>",
    'So:\n\n    [TOOL_CALLS]shell[ARGS]{"command": "ls"}[TOOL_CALLS]shell'
    '[ARGS]{"command": "ls"}\n\nDone.',
    f"Write `{CALL}` now.",
    "Write `<tool_call>" + JSON.replace("ls", "x" * 500)
    + "</tool_call>` now.",
    "```py\nx = '''\n```tool_call\n" + JSON + "\n```\n'''\n```",
])
def test_a_call_shown_in_a_list_a_quotation_or_code_is_not_run(text):
    parsed = parse_tool_calls(text, TOOLS)

    assert (parsed.calls, parsed.text, parsed.problem) == ([], text, "")


@pytest.mark.parametrize("text", [
    f"Models use the <tool_call> tag. So:\n```json\n{JSON}\n```\nDone.",
    f"Models use the <tool_call> tag: {JSON} is one.",
    f"First comes <tool_call>, then {JSON}, then </tool_call>.",
])
def test_a_tag_named_in_a_sentence_makes_no_call_of_the_json_behind_it(text):
    assert parse_tool_calls(text, TOOLS).calls == []


@pytest.mark.parametrize("text", [
    f"1. First:\n\n    I look it up. {CALL}", f"a > b: {CALL}",
    f"> It said no.\n{CALL}", f"> It said no.\n\nSo: {CALL}"])
def test_a_call_beside_what_is_shown_is_run(text):
    assert len(parse_tool_calls(text, TOOLS).calls) == 1


@pytest.mark.parametrize("value", [
    [{"name": "shell", "description": "runs", "parameters": TOOLS["shell"]}],
    {"name": "shell", "parameters": TOOLS["shell"]},
    [{"type": "function", "function": {
        "name": "shell", "description": "d", "parameters": {}}}],
    {"name": "shell", "version": "1.0", "input": "index.js"},
    [{"name": "shell"}, {"name": "notes"}],
])
@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```"])
def test_a_list_of_tools_that_was_asked_for_as_json_runs_none(form, value):
    text = form.format(json.dumps(value))

    assert parse_tool_calls(text, TOOLS).calls == []


@pytest.mark.parametrize("value", [
    "re.sub('<think>.*?</think>', '', x)", "</think> ends it", "<think>",
    "[THINK]a[/THINK]", "<|channel|>analysis<|message|>x<|end|>"])
@pytest.mark.parametrize("form", FORMS)
def test_tags_of_thoughts_in_arguments_reach_the_tool(form, value):
    calls = [("shell", {"command": value}), ("notes", {"a": value})]
    for before in ("", "<think>I may use <tool_call> now.</think>\n",
                   "So I use <tool_call> now.\n</think>\n"):
        parsed = parse_tool_calls(before + FORMS[form](calls), TOOLS)

        assert [(c.name, c.arguments) for c in parsed.calls] == calls
        assert parsed.text == ""


@pytest.mark.parametrize("text", [
    '{"name": "shell", "parameters": {"command": "ls"',
    '[{"name": "shell", "arguments": {"command": "ls"}]',
    '{"type": "function", "name": "shell", "parameters": {',
    '<tool_call>{"name": "shell", "arguments": "{\\"command\\": \\"ls"}'
    "</tool_call>",
])
def test_a_call_whose_json_was_cut_is_no_answer_and_loses_no_arguments(text):
    parsed = parse_tool_calls(text, TOOLS)

    assert parsed.calls == []
    assert parsed.problem


@pytest.mark.parametrize("text", [
    JSON + "\n</tool_call>", JSON + "<|eot_id|>",
    '<|tool▁calls▁begin|><|tool▁call▁begin|>function<|tool▁sep|>shell\n'
    '```json\n{"command": "ls"}\n```<|tool▁call▁end|><|tool▁calls▁end|>',
])
def test_a_call_whose_marks_a_server_changed_is_run(text):
    parsed = parse_tool_calls(text, TOOLS)

    assert [(c.name, c.arguments) for c in parsed.calls] == [
        ("shell", {"command": "ls"})]
    assert parsed.text == ""


@pytest.mark.parametrize("text", [
    'I would call shell(command="ls") now.', 'shell(command="ls")',
    '[shell(command="ls")] is how Llama 4 writes it.',
    'So: [shell(command="ls")]', "[shell(ls)]", "[shell]", "[other(a=1)]",
    '[shell(command="ls"), other(a=1)]', '[shell(command=ls())]',
    "The start_function_call mark opens call:shell{command:1}.",
    "functools has partial and reduce.",
])
def test_code_in_an_answer_is_no_call(text):
    parsed = parse_tool_calls(text, TOOLS)

    assert (parsed.calls, parsed.text) == ([], text)


@pytest.mark.parametrize("thoughts", [
    "<mm:think>{}</mm:think>", "{}</mm:think>",
    "<|START_THINKING|>{}<|END_THINKING|>",
    "<|channel>thought\n{}<channel|>",
    "<|open|>think<|sep|>{}<|close|>think<|sep|>", "{}<|close|>think<|sep|>",
])
def test_a_call_in_thoughts_of_any_family_is_not_run(thoughts):
    text = thoughts.format(f"Perhaps {CALL}") + "\nNo."
    parsed = parse_tool_calls(text, TOOLS)

    assert (parsed.calls, parsed.text) == ([], "No.")
