"""Ollama's shapes: messages out, objects in, lines cut anywhere."""

import json

import pytest

from claw.core.errors import UnavailableError
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    TokenUsage,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.providers.ollama.request import wire_messages
from claw.providers.ollama.response import (
    Lines,
    Reader,
    read_calls,
    read_usage,
)
from claw.providers.ollama.server import find_root, host_url, strip_path

PNG = "iVBORw0KGgo="
IMAGE = f"[IMAGE:data:image/png;base64,{PNG}]"
HERE = "http://localhost:11434"


@pytest.mark.parametrize(("url", "expected"), [
    (HERE, HERE),
    (HERE + "/", HERE),
    (HERE + "/v1", HERE),
    (HERE + "/v1/", HERE),
    (HERE + "/api", HERE),
    (HERE + "/api/chat", HERE),
    (HERE + "/api/chat/", HERE),
    (" https://box/ollama/api ", "https://box/ollama"),
    ("https://box/v1?key=x#y", "https://box"),
    ("https://box/myapi", "https://box/myapi"),
])
def test_a_path_of_the_api_is_no_part_of_the_address(url, expected):
    assert strip_path(url) == expected


@pytest.mark.parametrize(("host", "expected"), [
    ("0.0.0.0", "http://127.0.0.1:11434"),
    ("0.0.0.0:9999", "http://127.0.0.1:9999"),
    (":9999", "http://127.0.0.1:9999"),
    ("[::]:9999", "http://[::1]:9999"),
    ("[fe80::1]", "http://[fe80::1]:11434"),
    ("box", "http://box:11434"),
    ("box:80/path/", "http://box:80/path"),
    ("https://box", "https://box:443"),
    ("http://box", "http://box:80"),
    ("https://box:1/api", "https://box:1"),
    ("box:port", "box:port"),
])
def test_ollama_host_leaves_out_what_it_likes(host, expected):
    assert host_url(host) == expected


@pytest.mark.parametrize(("url", "env", "by_name", "expected"), [
    (HERE + "/v1", {}, True, HERE),
    (HERE + "/v1", {"OLLAMA_HOST": "box"}, True, "http://box:11434"),
    (HERE + "/v1", {"OLLAMA_HOST": " "}, True, HERE),
    ("http://mine:1/v1", {"OLLAMA_HOST": "box"}, True, "http://mine:1"),
    ("http://mine:1", {"ZEROCLAW_PROVIDER_URL": "http://z/api"}, True,
     "http://z"),
    ("http://mine:1", {"ZEROCLAW_PROVIDER_URL": "http://z"}, False,
     "http://mine:1"),
])
def test_the_environment_may_name_the_server(url, env, by_name, expected):
    assert find_root(url, env, by_name=by_name) == expected


def test_calls_and_results_go_back_in_ollamas_form():
    calls = AssistantToolCalls("I look.", (
        ToolCall("c1", "weather", '{"city": "Oslo"}'),
        ToolCall("c2", "time", "not json")), "hm")
    wire = wire_messages([
        ChatMessage.user("hello"), encode_tool_calls(calls),
        encode_tool_result(ToolResultMessage("c2", "noon")),
        encode_tool_result(ToolResultMessage("c1", "5 degrees")),
        ChatMessage.tool("foreign")])

    assert wire == [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "I look.", "thinking": "hm",
         "tool_calls": [
             {"id": "c1", "function": {"name": "weather",
                                       "arguments": {"city": "Oslo"}}},
             {"id": "c2", "function": {"name": "time", "arguments": {}}}]},
        {"role": "tool", "content": "noon", "tool_call_id": "c2",
         "tool_name": "time"},
        {"role": "tool", "content": "5 degrees", "tool_call_id": "c1",
         "tool_name": "weather"},
        {"role": "tool", "content": "foreign", "tool_call_id": "unknown"}]


def test_images_go_apart_from_the_text():
    (wire,) = wire_messages([ChatMessage.user(f"a {IMAGE} b {IMAGE}")])

    assert wire == {"role": "user", "content": "a\nb",
                    "images": [PNG, PNG]}


def test_without_eyes_images_are_mentioned():
    (wire,) = wire_messages([ChatMessage.user(f"a {IMAGE}")], sees=False)

    assert wire == {"role": "user", "content": "a\n[image]"}


def test_an_image_marker_of_the_model_is_text():
    (wire,) = wire_messages([ChatMessage.assistant(IMAGE)])

    assert wire == {"role": "assistant", "content": IMAGE}


def call(name, arguments, **more):
    return {"tool_calls": [{"function": {"name": name,
                                         "arguments": arguments}, **more}]}


@pytest.mark.parametrize(("name", "arguments"), [
    ("shell", {"command": "ls"}),
    ("shell", '{"command": "ls"}'),
    ("tool.shell", {"command": "ls"}),
    ("tool_call>shell", {"command": "ls"}),
    ("tool_call<shell>", {"command": "ls"}),
    ("tool_call.shell", {"command": "ls"}),
    ("tool_call", {"name": "shell", "arguments": {"command": "ls"}}),
    ("tool_call", {"name": "tool.shell", "arguments": '{"command": "ls"}'}),
    ("tool_call", {"name": "shell", "parameters": {"command": "ls"}}),
    (" shell ", {"command": "ls"}),
])
def test_a_wrapped_call_is_the_call_inside(name, arguments):
    (found,) = read_calls(call(name, arguments))

    assert found.name == "shell"
    assert json.loads(found.arguments) == {"command": "ls"}
    assert found.id.startswith("call_")


@pytest.mark.parametrize("name", ["tool.shell", "tool_call", "tool"])
def test_a_name_on_offer_is_taken_as_it_is(name):
    arguments = {"name": "other", "arguments": {}}
    (found,) = read_calls(call(name, arguments), [name])

    assert found.name == name
    assert json.loads(found.arguments) == arguments


@pytest.mark.parametrize(("message", "expected"), [
    ({}, []),
    ({"tool_calls": "x"}, []),
    ({"tool_calls": [None, {}, {"function": {"name": " "}}]}, []),
    (call("f", None), [("f", "{}")]),
    (call("f", "garbage"), [("f", "garbage")]),
    (call("f", {"ü": "\ud800"}), [("f", '{"ü": "\ud800"}')]),
])
def test_calls_that_are_none_are_left_out(message, expected):
    assert [(c.name, c.arguments) for c in read_calls(message)] == expected


def test_an_id_that_came_is_kept():
    (found,) = read_calls(call("f", {}, id="abc"))

    assert found.id == "abc"


@pytest.mark.parametrize(("data", "expected"), [
    ({}, None),
    ({"prompt_eval_count": 5, "eval_count": 2}, TokenUsage(5, 2)),
    ({"eval_count": 2}, TokenUsage(None, 2)),
    ({"prompt_eval_count": True, "eval_count": "2"}, None),
])
def test_usage_is_what_was_counted(data, expected):
    assert read_usage(data) == expected


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_may_be_cut_anywhere(size):
    said = ['{"a":"é 你好 👩"}', '{"b":2}', '{"c":3}']
    data = ("\n".join(said[:2]) + "\r\n\n" + said[2]).encode()
    lines = Lines("Ollama")
    found = [line for at in range(0, len(data), size)
             for line in lines.feed(data[at:at + size])]

    assert found + lines.end() == said
    assert lines.end() == []


def test_a_line_without_end_is_an_error():
    lines = Lines("Ollama", line_bytes=100)
    lines.feed(b"x" * 60)

    with pytest.raises(UnavailableError, match="Ollama sent a line of more"):
        lines.feed(b"x" * 60)


def read(*objects, **options):
    reader = Reader(**options)
    shown = [reader.take(o) for o in objects]
    rest, response = reader.end()
    assert "".join([*shown, rest]) == (response.text or "")
    return "".join(shown), response


def said(text, **more):
    return {"model": "m", "message": {"role": "assistant", "content": text},
            "done": False, **more}


def test_the_pieces_make_the_answer():
    shown, response = read(
        said("Hel"), said("lo."),
        said("", done=True, done_reason="length", prompt_eval_count=9,
             eval_count=2))

    assert shown == "Hello."
    assert (response.text, response.model) == ("Hello.", "m")
    assert response.finish_reason == "length"
    assert response.usage == TokenUsage(9, 2)


def test_thoughts_are_kept_apart_wherever_they_stand():
    shown, response = read(
        {"message": {"thinking": "deep", "content": ""}},
        said("<thi"), said("nk>more</think>Yes"), said("", done=True))

    assert shown == response.text == "Yes"
    assert response.reasoning_content == "deep"


def test_thoughts_alone_are_the_answer():
    _, response = read({"message": {"thinking": " 42 ", "content": ""}},
                       said("<think>x</think>", done=True))

    assert response.text == "42"


def test_thoughts_before_a_call_are_no_answer():
    _, response = read(
        {"message": {"thinking": "I call", "content": "", **call("f", {})}},
        said("", done=True))

    assert response.text is None
    assert response.reasoning_content == "I call"
    assert [c.name for c in response.tool_calls] == ["f"]


@pytest.mark.parametrize("odd", [
    {}, {"message": None}, {"message": {"content": 5, "thinking": [1]}},
    {"done": "yes"}, {"model": 3, "done": True, "done_reason": 7},
])
def test_odd_objects_say_nothing(odd):
    _, response = read(odd)

    assert response.text is None


@pytest.mark.parametrize(("done", "finished"), [
    (True, True), ("yes", False), (False, False), (1, False)])
def test_only_done_ends_an_answer(done, finished):
    reader = Reader()
    reader.take(said("x", done=done))

    assert reader.finished is finished
