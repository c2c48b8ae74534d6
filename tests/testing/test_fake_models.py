"""The doubles of the other model APIs, and the contracts' own teeth: what
they say, word for word."""

import json
import urllib.error
import urllib.request

import pytest

from claw.core.tool import Tool, ToolResult
from claw.testing import fake_anthropic_answers as anthropic
from claw.testing import fake_gemini as gemini
from claw.testing.contracts.tool import check_schema, check_spec, nonsense
from claw.testing.fake_ollama import FakeOllama, Model, broken_down
from claw.testing.fake_openai import Reply
from claw.testing.fake_skeleton import TOKEN, FakeSkeleton


def fetch(url, body=None, **headers):
    request = urllib.request.Request(
        url, None if body is None else json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def ask(server, text="hello there", **extra):
    status, body = fetch(f"{server.url}/api/chat", {
        "model": "fake-model", "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": text}], **extra})
    return status, [json.loads(line) for line in body.splitlines()]


def test_ollama_answers_whole():
    reply = Reply("two words", reasoning="hm", tool_calls=(
        ("f", '{"a": 1}'), ("g", "no json")))
    with FakeOllama([reply]) as server:
        status, (found,) = ask(server, stream=False)

    assert status == 200
    assert found["message"] == {
        "role": "assistant", "content": "two words", "thinking": "hm",
        "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}},
                       {"function": {"name": "g", "arguments": "no json"}}]}
    assert found["eval_count"] == 12
    assert found["prompt_eval_count"] == 4
    assert (found["done"], found["done_reason"]) == (True, "stop")


def test_ollama_streams_in_pieces():
    with FakeOllama([Reply("eight letters", reasoning="hm", chunk_size=8)],
                    write_bytes=5) as server:
        _, found = ask(server)

    assert [line["message"] for line in found] == [
        {"role": "assistant", "content": "", "thinking": "hm"},
        {"role": "assistant", "content": "eight le"},
        {"role": "assistant", "content": "tters"},
        {"role": "assistant", "content": ""}]
    assert [line["done"] for line in found] == [False, False, False, True]


def test_ollama_breaks_down_in_mid_stream():
    with FakeOllama([broken_down("a longer answer")]) as server:
        _, found = ask(server)
        status, (plain,) = ask(server, stream=False)

    assert "error" not in found[0]
    assert list(found[1]) == ["error"]
    assert len(found) == 2
    assert (status, list(plain)) == (500, ["error"])


def test_ollama_forgets_what_is_longer_than_its_context():
    with FakeOllama(["ok"], [Model("fake-model", num_ctx=100)]) as server:
        ask(server, "x" * 392)  # 100 tokens with the system message
        fits = server.forgot
        ask(server, "x" * 396)
        status, (refusal,) = ask(server, "x" * 396, truncate=False)
        ask(server, options={"num_ctx": 200})
        _, page = fetch(f"{server.url}/api/ps")

    assert (fits, server.forgot) == (0, 1)
    assert status == 400
    assert json.loads(refusal["error"])["error"]["n_prompt_tokens"] == 101
    assert server.loads == [("fake-model", 100), ("fake-model", 200)]
    assert json.loads(page)["models"] == [{
        "name": "fake-model:latest", "model": "fake-model:latest",
        "context_length": 200}]


def test_ollama_refuses_what_a_model_can_not():
    with FakeOllama(["ok"], api_key="k") as server:
        assert ask(server)[0] == 401
        server.api_key = None
        assert ask(server, tools=[{}])[0] == 400
        assert ask(server, think=True)[0] == 400
        assert ask(server, model="other")[0] == 404
        assert fetch(f"{server.url}/api/none", {})[0] == 404
        assert fetch(f"{server.url}/none")[0] == 404
        assert fetch(f"{server.url}/api/chat", [])[0] == 400
        assert len(server.chats) == 5
        _, shown = fetch(f"{server.url}/api/show", {"name": "fake-model"})

    shown = json.loads(shown)
    assert shown["capabilities"] == ["completion"]
    assert shown["model_info"]["fake.context_length"] == 32768
    assert "thinking" not in shown
    assert "num_ctx" not in shown["parameters"]


def test_anthropic_says_every_block_whole_and_in_pieces():
    reply = anthropic.Reply(
        text="two words", thinking="hmm", chunk_size=5,
        tool_calls=(("f", '{"a": 1}'),), usage=(("output_tokens", 3),),
        stop_details={"why": 1})
    body = {"model": "m", "messages": [{"role": "user", "content": "a b"}]}
    found = anthropic.message(reply, body)

    assert [b["type"] for b in found["content"]] == [
        "thinking", "text", "tool_use"]
    assert found["content"][2]["input"] == {"a": 1}
    assert found["stop_reason"] == "tool_use"
    assert (found["model"], found["stop_details"]) == ("m", {"why": 1})
    assert found["usage"] == {
        "input_tokens": 5, "output_tokens": 3,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    events = anthropic.events(reply, body)
    assert [e["type"].removeprefix("content_block_") for e in events] == [
        "message_start", "start", "ping", "delta", "delta", "stop",
        "start", "delta", "delta", "stop",
        "start", "delta", "delta", "delta", "stop",
        "message_delta", "message_stop"]
    assert [e["delta"] for e in events if "index" in e and "delta" in e] == [
        {"type": "thinking_delta", "thinking": "hmm"},
        {"type": "signature_delta", "signature": "c2lnbmF0dXJl"},
        {"type": "text_delta", "text": "two w"},
        {"type": "text_delta", "text": "ords"},
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "input_json_delta", "partial_json": '{"a":'},
        {"type": "input_json_delta", "partial_json": " 1}"}]
    assert [e["content_block"] for e in events if "content_block" in e] == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]
    assert events[-2] == {
        "type": "message_delta", "usage": {"output_tokens": 3},
        "delta": {"stop_reason": "tool_use", "stop_sequence": None,
                  "stop_details": {"why": 1}}}


@pytest.mark.each(("content", "text"), [
    ("plain", "plain"), ([{"text": "a"}, {"text": "b"}], "ab"),
    ([{"type": "image"}], "(no text)"), (None, "(no text)")])
def test_anthropic_finds_the_last_text_of_the_user(content, text):
    assert anthropic.last_user_text({"messages": [
        {"role": "user", "content": "before"},
        {"role": "user", "content": content},
        {"role": "assistant", "content": "no"}]}) == text


def test_gemini_answers_whole_and_in_pieces():
    reply = gemini.Reply(({"text": "eight letters"},
                          gemini.call_part("f", {"a": 1}, call_id="7")),
                         chunk_size=8, extra={"x": 1})
    body = {"contents": [{"role": "user", "parts": [{"text": "a b"}]}]}
    whole, = gemini.answers(reply, body, stream=False)
    stream = gemini.answers(reply, body, stream=True)

    call = {"functionCall": {"name": "f", "args": {"a": 1}, "id": "7"}}
    assert whole["candidates"] == [{
        "content": {"role": "model",
                    "parts": [{"text": "eight letters"}, call]},
        "index": 0, "finishReason": "STOP"}]
    assert [a["candidates"][0]["content"]["parts"] for a in stream] == [
        [{"text": "eight le"}], [{"text": "tters"}], [call]]
    assert ["finishReason" in a["candidates"][0] for a in stream] == [
        False, False, True]
    assert stream[-1]["usageMetadata"] == whole["usageMetadata"] == {
        "promptTokenCount": 6, "candidatesTokenCount": 2,
        "totalTokenCount": 8}
    assert all(a["x"] == 1 for a in stream)
    cut = gemini.answers(gemini.endless("a"), body, stream=True)
    assert "finishReason" not in cut[-1]["candidates"][0]


def test_the_skeletons_platform_keeps_what_was_not_confirmed():
    key = {"Authorization": f"Bearer {TOKEN}"}
    with FakeSkeleton() as platform:
        platform.post("one")
        platform.post("two", "bob")
        url = platform.url
        assert fetch(f"{url}/me", **key) == (200, '{"name": "skeleton"}')
        assert fetch(f"{url}/me")[0] == 401
        status, page = fetch(f"{url}/messages?after=1", **key)
        assert fetch(f"{url}/messages", {"to": "bob"}, **key) == (200, "{}")

    assert status == 200
    assert [(m["id"], m["from"], m["text"]) for m in json.loads(page)] == [
        (2, "bob", "two")]
    assert platform.sent == [{"to": "bob"}]


class Good(Tool):
    """Keeps what every tool promises."""

    name = "good"
    description = "Does good."
    schema = {"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string", "description": "what"}}}

    def parameters_schema(self):
        return dict(self.schema)

    async def execute(self, args):
        return ToolResult(output="")


@pytest.mark.each("change", [
    {"name": "not good"}, {"name": "x" * 65}, {"description": " "},
    {"description": "x" * 1025}])
def test_a_tool_that_no_provider_takes_is_told(change):
    check_spec(Good())
    check_spec(type("Long", (Good,), {"description": "x" * 1024})())
    with pytest.raises(AssertionError):
        check_spec(type("Bad", (Good,), change)())


@pytest.mark.each("schema", [
    {**Good.schema, "type": "array"}, {**Good.schema, "properties": []},
    {**Good.schema, "required": ["b"]},
    {**Good.schema, "properties": {"a b": {"description": "x"}}},
    {**Good.schema, "properties": {"a": {"description": " "}}}])
def test_a_schema_that_is_none_is_told(schema):
    check_schema(Good())
    with pytest.raises(AssertionError):
        check_schema(type("Bad", (Good,), {"schema": schema})())


def test_a_schema_that_callers_can_change_is_told():
    shared = type("Shared", (Good,), {
        "schema": dict(Good.schema),
        "parameters_schema": lambda self: self.schema})
    with pytest.raises(AssertionError, match="callers can change"):
        check_schema(shared())


def test_nonsense_is_of_every_kind():
    tried = list(nonsense(Good()))

    assert tried[:9] == [None, True, 7, "x", [], [{}], {},
                         {"no-such-parameter": 1}, {"": {}}]
    assert len(tried) == 39
    assert {type(args["a"]) for args in tried[9:]} == {
        type(None), bool, int, float, str, list, dict}
