import json
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.agent.parsing import parse_tool_calls
from claw.agent.rounds.calls import ParsedToolCall as Call

TOOLS = ("shell", "file_read", "memory_store", "http_request", "f")
LS = Call("shell", {"command": "ls"})
LS_JSON = '{"name": "shell", "arguments": {"command": "ls"}}'

ACCEPTED = {
    # form 2: the whole text is JSON
    "object with tool_calls": (
        '{"content": "ok", "tool_calls": [{"id": "c1", "function": '
        '{"name": "shell", "arguments": "{\\"command\\": \\"ls\\"}"}}]}',
        "ok", [Call("shell", {"command": "ls"}, "c1")]),
    "array of calls": (f"[{LS_JSON}, {LS_JSON}]", "", [LS, LS]),
    "one call object": (LS_JSON, "", [LS]),
    "parameters instead of arguments": (
        '{"name": "shell", "parameters": {"command": "ls"}}', "", [LS]),
    "think block before the JSON": (
        f"<think>hm</think>\n{LS_JSON}", "", [LS]),
    "name of a tool on offer alone": (
        '{"name": "shell"}', "", [Call("shell", {})]),
    # form 3: attributed invoke
    "attributed invoke": (
        'Now <invoke name="shell"><parameter name="command">ls</parameter>'
        '<parameter name="n">3</parameter><parameter name="e"></parameter>'
        "</invoke> go", "Now\ngo",
        [Call("shell", {"command": "ls", "n": 3, "e": ""})]),
    "attributed invoke, single quotes, upper case, wrapped": (
        "<minimax:tool_call><INVOKE NAME='shell'><PARAMETER NAME='command'>"
        "ls</PARAMETER></INVOKE></minimax:tool_call>", "", [LS]),
    "attributed invoke with a JSON body": (
        '<invoke name="shell">{"command": "ls"}</invoke>', "", [LS]),
    "attributed invoke with another JSON body": (
        '<invoke name="f">[1]</invoke>', "", [Call("f", {"value": [1]})]),
    "attributed invoke with a text body": (
        '<invoke name="f">hello</invoke>', "",
        [Call("f", {"content": "hello"})]),
    # form 4: tags
    "tool_call": (f"a <tool_call>{LS_JSON}</tool_call> b", "a\nb", [LS]),
    "toolcall": (f"<toolcall>{LS_JSON}</toolcall>", "", [LS]),
    "tool-call": (f"<tool-call>{LS_JSON}</tool-call>", "", [LS]),
    "invoke": (f"<invoke>{LS_JSON}</invoke>", "", [LS]),
    "minimax": (
        f"<minimax:toolcall>{LS_JSON}</minimax:toolcall>", "", [LS]),
    "prose and a fence in the tag": (
        f"<toolcall>I will:\n```json\n{LS_JSON}\n```</toolcall>", "", [LS]),
    "several objects in one tag": (
        f"<toolcall>{LS_JSON}\n{LS_JSON}</toolcall>", "", [LS, LS]),
    "line end inside a JSON string": (
        '<tool_call>{"name": "shell", "arguments": {"command": "a\nb"}}'
        "</tool_call>", "", [Call("shell", {"command": "a\nb"})]),
    "nested XML": (
        "<tool_call><shell><command>ls</command></shell></tool_call>", "",
        [LS]),
    "nested XML with JSON": (
        '<tool_call><shell>{"command": "ls"}</shell></tool_call>', "", [LS]),
    "nested XML beside a meta tag": (
        "<tool_call><thinking>a</thinking><shell>ls</shell></tool_call>", "",
        [Call("shell", {"content": "ls"})]),
    "GLM call with parameters": (
        '<tool_call>shell(command="ls")</tool_call>', "", [LS]),
    "GLM self-closing": ('<tool_call>shell command="ls" /></tool_call>', "",
                         [LS]),
    "GLM bracket": ("<tool_call>bash>ls</tool_call>", "", [LS]),
    "GLM lines": (
        "<tool_call>file_read>\npath: a.txt\nraw: yes</tool_call>", "",
        [Call("file_read", {"path": "a.txt", "raw": True})]),
    "closed by another tag of the family": (
        f"<tool_call>{LS_JSON}</invoke> end", "end", [LS]),
    "not closed, JSON at once": (
        f"go <tool_call>\n{LS_JSON} rest", "go\nrest", [LS]),
    "not closed, JSON further on": (
        f"<tool_call>here: {LS_JSON}", "", [LS]),
    "not closed, GLM": ("<tool_call>shell>ls", "", [LS]),
    # form 5 and 6: fences
    "call fence": (f"a\n```tool_call\n{LS_JSON}\n```\nb", "a\nb", [LS]),
    "call fence closed by a tag": (
        f"```invoke\n{LS_JSON}\n</tool_call>", "", [LS]),
    "tool fence": ('```tool shell\n{"command": "ls"}\n```', "", [LS]),
    "tool fence without an end": ('```tool shell\n{"command": "ls"}', "",
                                  [LS]),
    "tool fence, arguments no object": ("```tool shell\n[1]\n```", "",
                                        [Call("shell", {})]),
    # form 7 and 8
    "arrow block": (
        'TOOL_CALL {tool => "shell", args => { --command "ls" }} /TOOL_CALL',
        "", [LS]),
    "arrow block in brackets": (
        '[TOOL_CALL]\n{tool => "shell", args => {\n  --command "say \\"a\\""'
        "\n}}\n[/TOOL_CALL]", "",
        [Call("shell", {"command": 'say "a"'})]),
    "function block": (
        "<FunctionCall>\nfile_read\n<code>path>a.txt\nlimit>3</code>\n"
        "</FunctionCall>", "",
        [Call("file_read", {"path": "a.txt", "limit": "3"})]),
    # form 9: lines
    "line": ("I look\nshell/command>ls -l", "I look",
             [Call("shell", {"command": "ls -l"})]),
    "line with JSON": ('bash/{"command": "ls"}', "", [LS]),
    "line with a web address": (
        "web_search/url>https://a.example/x?y=1&z=2", "",
        [Call("shell", {"command": "curl -s 'https://a.example/x?y=1&z=2'"})
         ]),
    "line for http_request": (
        "http_request/url>https://a.example", "",
        [Call("http_request",
              {"url": "https://a.example", "method": "GET"})]),
}

REFUSED = {
    "JSON inside prose": f"For example {LS_JSON} is a call.",
    "JSON in a plain fence": f"```json\n{LS_JSON}\n```",
    "an answer in JSON": '{"name": "Kim", "age": 30}',
    "a call inside a think block": (
        f"<think><tool_call>{LS_JSON}</tool_call></think>done"),
    "unclosed think block": f"<think><tool_call>{LS_JSON}</tool_call>",
    "cut-off JSON": '<tool_call>{"name": "shell", "arguments": {"comm',
    "empty name": '<tool_call>{"name": " "}</tool_call>',
    "a path": "and/or>maybe",
    "address of another kind for the shell": "shell/url>file:///etc/passwd",
    "address that leaves its quotes": "shell/url>https://a';id;'",
    "NaN": '{"name": "shell", "arguments": {"x": NaN}}',
    "tag in upper case": f"<TOOL_CALL>{LS_JSON}</TOOL_CALL>",
    "nothing": "",
    "brackets": "[[[]]]",
    "numbers": "42",
}


@pytest.mark.each("form", ACCEPTED)
def test_accepted_form(form):
    text, visible, calls = ACCEPTED[form]

    parsed = parse_tool_calls(text, TOOLS)

    assert parsed.calls == calls
    assert parsed.text == visible


@pytest.mark.parametrize("form", REFUSED)
def test_refused(form):
    assert parse_tool_calls(REFUSED[form], TOOLS).calls == []


def test_without_known_tools_a_named_object_is_a_call():
    assert parse_tool_calls('{"name": "x"}').calls == [Call("x", {})]


def test_a_tool_of_the_house_beats_an_alias():
    calls = parse_tool_calls("fetch/url>https://a.example", ("fetch",)).calls

    assert calls == [Call("fetch", {"url": "https://a.example"})]


@pytest.mark.parametrize(("inner", "expected"), [
    ('{"name": "f", "arguments": "{\\"a\\": 1}"}', {"a": 1}),
    ('{"name": "f", "arguments": "not json"}', {}),
    ('{"name": "f", "arguments": null}', {}),
    ('{"name": "f", "arguments": [1]}', {"value": [1]}),
    ('{"name": "f"}', {}),
    ('{"function": {"name": "f", "parameters": {"a": 1}}}', {"a": 1}),
])
def test_shapes_of_arguments(inner, expected):
    parsed = parse_tool_calls(f"<toolcall>{inner}</toolcall>")

    assert [c.arguments for c in parsed.calls] == [expected]


@pytest.mark.parametrize("field", ["id", "tool_call_id", "call_id"])
def test_call_ids(field):
    text = json.dumps({"name": "f", "arguments": {}, field: "c9"})

    assert parse_tool_calls(text).calls[0].tool_call_id == "c9"


MEGABYTE = 1_000_000
HOSTILE = {
    "open tags": "<tool_call>",
    "empty calls": "<tool_call></tool_call>",
    "calls that nothing closes": '<tool_call>{"name":"x"} ',
    "other family": "<tool_call></invoke>",
    "braces": "<tool_call>{",
    "brackets": "[",
    "empty objects": "<tool_call>" + "{}" * 50,
    "open objects": '{"a":',
    "open strings": '<tool_call>["',
    "invokes": '<invoke name="a">',
    "invoke starts": "<invoke name=",
    "parameters": '<invoke name="a"><parameter name="b">',
    "nested": "<tool_call><a><b>",
    "fences": "```tool_call\n",
    "tool fences": "```tool a\n",
    "arrows": 'TOOL_CALL {tool => "',
    "arrow pairs": 'TOOL_CALL args => {--a "\\',
    "functions": "<FunctionCall><code>",
    "lines": "a/b>\n",
    "slashes": "a/",
    "think": "<think>",
    "think pairs": "<think></think>",
    "quotes": '<tool_call>a b="',
    "spaces": "<invoke name" + " " * 60,
    "words": "a" * 100,
}


@pytest.fixture
def cpu_limit():
    """Ends a test that computes for a minute: a walk that is not linear
    would take hours over a megabyte."""
    def stop(number, frame):
        raise AssertionError("a minute of computing for a megabyte")
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_anything_is_read_to_its_end(name, cpu_limit):
    unit = HOSTILE[name]
    text = unit * (MEGABYTE // len(unit))
    closed = "</tool_call>/TOOL_CALL</FunctionCall></invoke>"

    for whole in (text, text + closed):
        assert isinstance(parse_tool_calls(whole, TOOLS).calls, list)


@given(st.lists(st.sampled_from([
    "<tool_call>", "</tool_call>", "<invoke>", '<invoke name="a">',
    "</invoke>", LS_JSON, "{", "}", "[", "]", '"', "name", ":", "```",
    "tool ", "shell", ">", "/", "\n", " ", "TOOL_CALL", "=>", "--a",
    "\x00", "\ud800", "🦀", "<parameter name='x'>"]), max_size=25)
    .map("".join))
def test_no_text_breaks_the_parser(text):
    for known in ((), TOOLS):
        parsed = parse_tool_calls(text, known)
        assert all(call.name.strip() and isinstance(call.arguments, dict)
                   for call in parsed.calls)
