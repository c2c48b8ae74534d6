"""The Ollama provider against a real HTTP server that behaves like one."""

import asyncio
import json
import socket
from contextlib import contextmanager

import pytest

from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    ContextOverflowError,
    IncompleteAnswerError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    OpenAITools,
    PromptGuided,
    TokenUsage,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.core.value import replace
from claw.net.lean import httpx
from claw.providers.catalog.info import ModelInfo
from claw.providers.catalog.model_info import ModelInfoFile
from claw.providers.catalog.vendors import Vendor
from claw.providers.connection import Connection
from claw.providers.ollama.provider import OllamaProvider
from claw.providers.settings import NamedProviderSettings, ReasoningSettings
from claw.testing.contracts.provider import ProviderContract
from claw.testing.fake_ollama import (
    FakeOllama,
    Model,
    broken_down,
    failure,
)
from claw.testing.fake_openai import (
    Reply,
    cut_off,
    endless,
    html_page,
    malformed,
    stalled,
    tool_call,
)

OLLAMA = Vendor("ollama", "Ollama", "http://localhost:11434/v1", local=True,
                default_key="ollama", native_tools=False, vision=True,
                start_hint="start it with: ollama serve")
TOOL = ToolSpec("shell", "Runs a command.",
                closed_object(command=string("what to run")))
PNG = "iVBORw0KGgo="
IMAGE = f"[IMAGE:data:image/png;base64,{PNG}]"
ABLE = [Model("m", tools=True, vision=True, thinking=True)]
PLAIN = [Model("m")]
OLD = [Model("m", tools=True, tells=False)]


def connected(url, *, native=False, named=None, **more):
    return Connection(
        replace(OLLAMA, url=url, native_tools=native),
        named=NamedProviderSettings(**(named or {})),
        **{"timeout_s": 2.0, **more})


def use(provider, work):
    async def go():
        try:
            return await work(provider)
        finally:
            await provider.aclose()
    return asyncio.run(go())


def hello(*messages, **more):
    return ChatRequest([*messages, ChatMessage.user("hello")], **more)


def ask(server, request=None, *, model="m", stream=False, **connection):
    """The answer to one request; streamed, its deltas are checked."""
    return asked(OllamaProvider.build(connected(server.url, **connection)),
                 request or hello(), model, stream)


def asked(provider, request, model="m", stream=False):
    async def work(provider):
        if not stream:
            return await provider.chat(request, model, 0.5)
        chunks = [c async for c in provider.stream_chat(request, model, 0.5)]
        assert [c.is_final for c in chunks].count(True) == 1
        response = chunks[-1].response
        assert "".join(c.delta for c in chunks) == (response.text or "")
        return response
    return use(provider, work)


both = pytest.mark.parametrize("stream", [False, True])


class Contract(ProviderContract):
    models = (Model("fake-model", tools=True),)
    native = False

    @contextmanager
    def running(self):
        with FakeOllama(models=self.models) as server:
            yield OllamaProvider.build(connected(server.url,
                                                 native=self.native))


class TestOllama(Contract):
    pass


class TestOllamaWithNativeTools(Contract):
    native = True


class TestOllamaThatRefusesTools(Contract):
    models = (Model("fake-model", tells=False),)
    native = True


class TestOllamaWithoutTools(Contract):
    models = (Model("fake-model"),)


@both
def test_an_answer_with_its_numbers(stream):
    with FakeOllama(["Hello there."], ABLE) as server:
        response = ask(server, hello(max_tokens=50), stream=stream)

    assert response.text == "Hello there."
    assert response.model == "m"
    assert response.finish_reason == "stop"
    assert response.usage == TokenUsage(1, 2)
    assert server.chats[0].body == {
        "model": "m", "stream": stream, "truncate": False,
        "messages": [{"role": "user", "content": "hello"}],
        "options": {"temperature": 0.5, "num_predict": 50}}


def test_a_short_question_costs_one_request():
    with FakeOllama(["x"], ABLE) as server:
        ask(server)

    assert [r.path for r in server.requests] == ["/api/chat"]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_stream_may_be_cut_inside_a_character(size):
    text = "é 你好 👩‍👩‍👧 fin"
    with FakeOllama([text], ABLE, write_bytes=size) as server:
        assert ask(server, stream=True).text == text


@pytest.mark.parametrize("path", ["", "/", "/v1", "/api", "/api/chat"])
def test_any_form_of_the_address_works(path):
    with FakeOllama(["x"], ABLE) as server:
        provider = OllamaProvider.build(connected(server.url + path))
        assert asked(provider, hello()).text == "x"


@pytest.mark.parametrize(("reply", "stream", "error", "words"), [
    (cut_off(), True, IncompleteAnswerError, "broke off"),
    (cut_off(), False, IncompleteAnswerError, "broke off"),
    (endless(), True, IncompleteAnswerError, "ended before the answer did"),
    (malformed(), True, IncompleteAnswerError, "is no answer"),
    (malformed(), False, IncompleteAnswerError, "is no answer"),
    (broken_down(), True, UnavailableError, "while running the model"),
    (broken_down(), False, UnavailableError, "while running the model"),
    (stalled(), True, UnavailableError, "did not answer within 0.3 s"),
    (stalled(), False, UnavailableError, "did not answer within 0.3 s"),
    (html_page(200), True, UnavailableError, "web page"),
    (html_page(200), False, UnavailableError, "web page"),
    (html_page(502), False, UnavailableError, "HTML page"),
    (Reply(body="[]"), False, IncompleteAnswerError, "is no answer"),
    (Reply(body="[" * 100_000), False, IncompleteAnswerError, "no answer"),
    (Reply(body=""), True, IncompleteAnswerError, "ended before"),
    (Reply(body='{"message": {"content": "x"}, "done": false}'), False,
     IncompleteAnswerError, "ended before"),
    (Reply(body="x" * (9 * 1024 * 1024)), True, UnavailableError,
     "a line of more than"),
    (failure(429, "too many"), False, UnavailableError, "(429): too many"),
    (failure(401, "unauthorized"), False, AuthError, "(401)"),
])
def test_what_goes_wrong_has_a_name(reply, stream, error, words):
    with FakeOllama([reply], ABLE) as server, \
            pytest.raises(error) as caught:
        ask(server, stream=stream, timeout_s=0.3)

    assert words in caught.value.message
    assert caught.value.__cause__ is not caught.value


def test_what_was_said_before_a_break_is_shown_and_not_asked_again():
    async def work(provider):
        got = []
        try:
            async for chunk in provider.stream_chat(hello(), "m", 0.5):
                got.append(chunk.delta)
        except IncompleteAnswerError:
            return "".join(got)
    with FakeOllama([cut_off("half an answer", 2)], ABLE) as server:
        said = use(OllamaProvider.build(connected(server.url)), work)

    assert said == "half an answer"
    assert len(server.chats) == 1


@both
def test_an_empty_answer_is_asked_for_once_more(stream):
    with FakeOllama(["", "Hello."], ABLE) as server:
        assert ask(server, stream=stream).text == "Hello."

    assert len(server.chats) == 2


@both
def test_two_empty_answers_are_an_error(stream):
    with FakeOllama(["", " "], ABLE) as server, \
            pytest.raises(IncompleteAnswerError, match="empty answer, twice"):
        ask(server, stream=stream)


@both
def test_no_room_for_an_answer_is_said(stream):
    with FakeOllama([Reply("", finish_reason="length")], ABLE) as server, \
            pytest.raises(IncompleteAnswerError) as caught:
        ask(server, stream=stream)

    assert "--max-tokens" in caught.value.hint
    assert len(server.chats) == 1


@both
def test_a_model_that_is_not_there_is_one_pull_away(stream):
    with FakeOllama(models=ABLE) as server, \
            pytest.raises(RequestRefusedError) as caught:
        ask(server, model="qwen9", stream=stream)

    assert caught.value.status == 404
    assert "model 'qwen9' not found" in caught.value.message
    assert caught.value.hint.startswith("ollama pull qwen9; see: claw")


def test_a_server_that_is_not_running_says_how_to_start_it():
    with FakeOllama() as server:
        pass
    with pytest.raises(UnavailableError) as caught:
        ask(server)

    assert "connection refused" in caught.value.message
    assert caught.value.hint == "start it with: ollama serve"


def test_too_little_memory_is_told_with_a_way_out():
    said = "model requires more system memory (9 GiB) than is available"
    with FakeOllama([failure(500, said)], ABLE) as server, \
            pytest.raises(UnavailableError) as caught:
        ask(server)

    assert "num_ctx in [model_providers.ollama]" in caught.value.hint


# Context

def long(tokens):
    """A text of that many tokens as the fake counts them."""
    return ChatMessage.user("word" * tokens)


@both
def test_a_long_prompt_asks_for_context_and_nothing_is_forgotten(stream):
    with FakeOllama(["x"], PLAIN) as server:
        ask(server, hello(long(9000)), stream=stream)

    assert server.forgot == 0
    assert server.chats[0].body["options"]["num_ctx"] == 16384


def test_without_it_the_same_prompt_is_forgotten():
    """The fake, and with it the tests here, would notice."""
    with FakeOllama(["x"], PLAIN) as server:
        httpx.post(f"{server.url}/api/chat", json={
            "model": "m", "stream": False,
            "messages": [{"role": "user", "content": "word" * 9000}]})

    assert server.forgot == 1


def test_the_context_only_grows_and_the_model_is_loaded_as_seldom():
    async def work(provider):
        for size in (10, 9000, 10, 7000, 9000):
            await provider.chat(hello(long(size)), "m", 0.5)
    with FakeOllama(["x"], PLAIN) as server:
        use(OllamaProvider.build(connected(server.url)), work)

    assert server.loads == [("m", 4096), ("m", 16384)]
    assert [r.path for r in server.requests].count("/api/show") == 1
    assert [r.path for r in server.requests].count("/api/ps") == 1


def test_a_model_that_someone_loaded_with_more_is_left_as_it_is():
    with FakeOllama(["x"], PLAIN, loads=[("m", 32768)]) as server:
        ask(server, hello(long(9000)))

    assert server.loads == [("m", 32768)]


def test_the_context_of_the_modelfile_is_enough_when_it_is():
    models = [Model("m", num_ctx=16384)]
    with FakeOllama(["x"], models) as server:
        ask(server, hello(long(9000)))

    assert "num_ctx" not in server.chats[0].body["options"]
    assert server.loads == [("m", 16384)]


def test_what_the_server_was_told_to_give_counts():
    with FakeOllama(["x"], PLAIN, context=32768) as server:
        ask(server, hello(long(9000)),
            env={"OLLAMA_CONTEXT_LENGTH": "32768"})

    assert "num_ctx" not in server.chats[0].body["options"]


def test_a_configured_context_is_kept_to():
    with FakeOllama(["x"], PLAIN) as server:
        ask(server, named={"num_ctx": 2048})

    assert server.chats[0].body["options"]["num_ctx"] == 2048


@both
def test_a_configured_context_that_is_too_small_is_an_error(stream):
    with FakeOllama(["x"], PLAIN) as server, \
            pytest.raises(ContextOverflowError) as caught:
        ask(server, hello(long(3000)), named={"num_ctx": 2048},
            stream=stream)

    assert "longer than the context of m" in caught.value.message
    assert "num_ctx in [model_providers.ollama]" in caught.value.hint
    assert server.forgot == 0


@both
def test_more_than_the_model_can_take_is_an_error(stream):
    models = [Model("m", context_length=8192)]
    with FakeOllama(["x"], models) as server, \
            pytest.raises(ContextOverflowError, match="tokens"):
        ask(server, hello(long(20_000)), stream=stream)

    assert [c.body["options"]["num_ctx"] for c in server.chats] == [8192]


@both
def test_a_prompt_that_was_guessed_too_short_is_asked_again(stream):
    """A tokenizer may make far more of a text than was thought."""
    inner = {"error": {"message": "request (21000 tokens) exceeds the "
                                  "available context size (4096 tokens)"}}
    replies = [failure(400, json.dumps(inner)), "Hello."]
    with FakeOllama(replies, PLAIN) as server:
        assert ask(server, stream=stream).text == "Hello."

    assert server.chats[1].body["options"]["num_ctx"] == 32768


def test_a_server_that_never_finds_it_enough_is_asked_twice():
    reply = failure(400, "the input length exceeds the context length")
    with FakeOllama([reply], PLAIN) as server, \
            pytest.raises(ContextOverflowError):
        ask(server)

    assert len(server.chats) == 2


# Tools

@both
@pytest.mark.parametrize("models", [ABLE, OLD])
def test_a_native_call_comes_back(models, stream):
    with FakeOllama([tool_call("shell", command="ls")], models) as server:
        response = ask(server, hello(tools=[TOOL]), native=models is OLD,
                       stream=stream)

    (call,) = response.tool_calls
    assert (call.name, json.loads(call.arguments)) == (
        "shell", {"command": "ls"})
    assert call.id
    assert response.text is None
    assert server.chats[0].body["tools"] == [{"type": "function", "function": {
        "name": "shell", "description": "Runs a command.",
        "parameters": TOOL.parameters}}]


@both
@pytest.mark.parametrize(("models", "native"), [
    (PLAIN, True), (PLAIN, False), (OLD, False)])
def test_a_model_without_tools_reads_of_them_in_the_prompt(
        models, native, stream):
    told = 'I look. <tool_call>{"name": "shell"}</tool_call>'
    with FakeOllama([told], models) as server:
        response = ask(server, hello(tools=[TOOL]), native=native,
                       stream=stream)

    body = server.chats[0].body
    assert "tools" not in body
    assert "**shell**" in body["messages"][0]["content"]
    assert response.text == told  # the agent reads it


@both
def test_a_refusal_of_tools_is_learned_and_said_once(stream):
    heard, model_info = [], ModelInfoFile(None)
    models = [Model("m", tells=False)]
    with FakeOllama(["Fine."], models) as server:
        provider = OllamaProvider.build(connected(
            server.url, native=True, model_info=model_info,
            notify=heard.append))

        async def work(provider):
            for _ in range(3):
                if stream:
                    async for _ in provider.stream_chat(
                            hello(tools=[TOOL]), "m", 0.5):
                        pass
                else:
                    await provider.chat(hello(tools=[TOOL]), "m", 0.5)
        use(provider, work)

    assert ["tools" in c.body for c in server.chats] == [
        True, False, False, False]
    assert len(heard) == 1
    assert "m takes no tools" in heard[0]
    known = model_info.find(server.url, "m")
    assert known.native_tools is False
    assert known.without == ("tools",)


def test_a_refusal_is_learned_also_where_nobody_keeps_it():
    async def work(provider):
        for _ in range(2):
            await provider.chat(hello(tools=[TOOL]), "m", 0.5)
    with FakeOllama(["Fine."], [Model("m", tells=False)]) as server:
        use(OllamaProvider.build(connected(server.url, native=True)), work)

    assert ["tools" in c.body for c in server.chats] == [True, False, False]


@pytest.mark.parametrize(("known", "models", "named", "native"), [
    (None, ABLE, {}, True),
    (None, PLAIN, {}, False),
    (None, OLD, {}, False),
    (True, OLD, {}, True),
    (False, ABLE, {}, False),
    (True, PLAIN, {}, False),
    (True, ABLE, {"native_tools": False}, False),
    (False, OLD, {"native_tools": True}, True),
])
def test_who_decides_whether_tools_are_native(known, models, named, native):
    model_info = ModelInfoFile(None)
    with FakeOllama(["x"], models) as server:
        model_info.learn(server.url, "m", ModelInfo(known))
        provider = OllamaProvider.build(connected(
            server.url, model_info=model_info, named=named))

        async def work(provider):
            await provider.chat(hello(tools=[TOOL]), "m", 0.5)
            return await provider.takes_tools("m")
        takes = use(provider, work)

    assert takes is native
    assert ("tools" in server.chats[0].body) is native


@pytest.mark.parametrize(("known", "named", "native"), [
    (None, {}, False),
    (True, {}, True),
    (False, {}, False),
    (True, {"native_tools": False}, False),
])
def test_a_model_that_was_seen_calling_tools_is_said_to(known, named, native):
    model_info = ModelInfoFile(None)
    model_info.learn("http://x", "m", ModelInfo(known))
    provider = OllamaProvider.build(connected(
        "http://x", model_info=model_info, named=named))

    assert provider.capabilities_for("m").native_tool_calling is native
    assert not provider.capabilities_for("other").native_tool_calling


def test_a_history_of_calls_is_told_where_tools_are_not_native():
    calls = AssistantToolCalls(None, (ToolCall("c1", "shell", "{}"),))
    request = hello(encode_tool_calls(calls),
                    encode_tool_result(ToolResultMessage("c1", "a.txt")),
                    tools=[TOOL])
    with FakeOllama(["x"], PLAIN) as server:
        ask(server, request)
    with FakeOllama(["x"], ABLE) as able:
        ask(able, request)

    told = server.chats[0].body["messages"]
    assert "<tool_call>" in told[1]["content"]
    assert '<tool_result id="c1">' in told[2]["content"]
    assert able.chats[0].body["messages"][1]["tool_name"] == "shell"


def test_the_vendor_says_what_is_usual():
    here = OllamaProvider.build(connected("http://x"))
    native = OllamaProvider.build(connected("http://x", native=True))
    blind = OllamaProvider.build(connected("http://x",
                                           named={"vision": False}))

    assert not here.supports_native_tools()
    assert isinstance(here.convert_tools([TOOL]), PromptGuided)
    assert isinstance(native.convert_tools([TOOL]), OpenAITools)
    assert (here.supports_vision(), blind.supports_vision()) == (True, False)


# Images, schema, thoughts

def test_images_are_sent_to_a_model_that_sees():
    request = ChatRequest([ChatMessage.user(f"What is it? {IMAGE}")])
    with FakeOllama(["A cat."], ABLE) as server:
        ask(server, request)

    assert server.chats[0].body["messages"] == [
        {"role": "user", "content": "What is it?", "images": [PNG]}]


def test_an_image_for_a_model_without_eyes_is_refused():
    request = ChatRequest([ChatMessage.user(f"What is it? {IMAGE}")])
    with FakeOllama(["x"], PLAIN) as server, \
            pytest.raises(RequestRefusedError, match="takes no images"):
        ask(server, request)

    assert server.chats == []


def test_an_older_image_does_not_end_the_conversation():
    with FakeOllama(["x"], PLAIN) as server:
        ask(server, hello(ChatMessage.user(f"Look {IMAGE}"),
                          ChatMessage.assistant("Nice.")))

    assert server.chats[0].body["messages"][0] == {
        "role": "user", "content": "Look\n[image]"}


def test_a_schema_is_the_format():
    schema = {"type": "object"}
    with FakeOllama(["{}"], ABLE) as server:
        ask(server, hello(response_schema=schema))

    assert server.chats[0].body["format"] == schema


def test_a_server_from_before_schemas_is_told_in_words():
    old = failure(400, "json: cannot unmarshal object into Go struct field "
                       "ChatRequest.format of type string")
    with FakeOllama([old, "{}"], ABLE) as server:
        ask(server, hello(response_schema={"type": "object"}))

    body = server.chats[1].body
    assert "format" not in body
    assert "JSON Schema" in body["messages"][0]["content"]


LEVELS = [Model("m", thinking=True, levels=("low", "medium", "high"))]
SWITCH = [Model("m", thinking=True, levels=(True, False))]


@pytest.mark.parametrize(("models", "enabled", "effort", "think"), [
    (ABLE, None, None, None),
    (ABLE, True, None, True),
    (ABLE, False, None, False),
    (ABLE, False, "high", False),
    (SWITCH, None, "high", True),
    (LEVELS, None, "high", "high"),
    (LEVELS, True, "minimal", "low"),
    (PLAIN, True, "high", None),
    (PLAIN, False, None, None),
])
def test_thinking_is_asked_for_as_the_model_takes_it(models, enabled, effort,
                                                     think):
    with FakeOllama(["x"], models) as server:
        ask(server, reasoning=ReasoningSettings(
            reasoning_enabled=enabled, reasoning_effort=effort))

    assert server.chats[0].body.get("think") == think
    assert len(server.chats) == 1


def test_gpt_oss_takes_levels_also_where_the_server_does_not_say_so():
    with FakeOllama(["x"], [Model("gpt-oss:20b", thinking=True)]) as server:
        ask(server, model="gpt-oss:20b",
            reasoning=ReasoningSettings(reasoning_effort="medium"))

    assert server.chats[0].body["think"] == "medium"


@both
def test_a_failure_with_thoughts_is_tried_once_without(stream):
    models = [Model("m", tells=False)]
    thinking = ReasoningSettings(reasoning_enabled=True)
    with FakeOllama(["Fine."], models) as server:
        provider = OllamaProvider.build(connected(server.url,
                                                  reasoning=thinking))

        async def work(provider):
            for _ in range(2):
                if stream:
                    async for _ in provider.stream_chat(hello(), "m", 0.5):
                        pass
                else:
                    await provider.chat(hello(), "m", 0.5)
        use(provider, work)

    assert ["think" in c.body for c in server.chats] == [True, False, False]


def test_what_was_said_is_not_said_again_without_thoughts():
    async def work(provider):
        got = []
        try:
            async for chunk in provider.stream_chat(hello(), "m", 0.5):
                got.append(chunk.delta)
        except UnavailableError:
            return got
    with FakeOllama([broken_down("half an answer")], ABLE) as server:
        said = use(OllamaProvider.build(connected(
            server.url, reasoning=ReasoningSettings(
                reasoning_enabled=True))), work)

    assert said == ["half an"]
    assert len(server.chats) == 1


def test_thoughts_come_apart_from_the_answer():
    with FakeOllama([Reply("4", reasoning="two and two")], ABLE) as server:
        response = ask(server, stream=True)

    assert (response.text, response.reasoning_content) == (
        "4", "two and two")


# Cloud and keys

def test_a_cloud_model_needs_a_server_that_is_not_here():
    with FakeOllama(["x"], ABLE) as server, pytest.raises(
            ConfigError, match="is this machine") as caught:
        ask(server, model="m:cloud", key="sk-secret")

    assert "api_url https://ollama.com" in caught.value.hint
    assert server.requests == []


def remote(replies, seen):
    def answer(request):
        seen.append(request)
        return replies.pop(0) if replies else httpx.Response(200, json={
            "message": {"content": "x"}, "done": True})
    return httpx.MockTransport(answer)


def test_a_cloud_model_needs_a_key():
    provider = OllamaProvider.build(connected(
        "https://ollama.com", transport=remote([], [])))

    with pytest.raises(AuthError, match="needs an API key"):
        asked(provider, hello(), "m:cloud")


def test_the_key_goes_to_other_machines_only():
    seen = []
    provider = OllamaProvider.build(connected(
        "https://ollama.com/api", key="top-secret",
        transport=remote([], seen)))
    asked(provider, hello(), "gpt-oss:120b:cloud")
    with FakeOllama(["x"], ABLE) as server:
        ask(server, key="top-secret")

    assert str(seen[0].url) == "https://ollama.com/api/chat"
    assert seen[0].headers["authorization"] == "Bearer top-secret"
    assert json.loads(seen[0].content)["model"] == "gpt-oss:120b"
    assert "authorization" not in server.chats[0].headers


def test_the_cloud_gives_all_its_context_unasked():
    seen = []
    provider = OllamaProvider.build(connected(
        "https://ollama.com", key="k" * 9, transport=remote([], seen)))
    asked(provider, hello(long(9000)), "m")

    assert [r.url.path for r in seen] == ["/api/chat"]
    assert "num_ctx" not in json.loads(seen[0].content)["options"]


def test_no_error_shows_the_key():
    said = httpx.Response(400, json={"error": "bad key top-secret!"})
    moved = httpx.Response(307, headers={"location": "https://evil/api"})
    for reply in (said, moved, httpx.Response(401, text="top-secret")):
        seen = []
        provider = OllamaProvider.build(connected(
            "https://ollama.com", key="top-secret",
            transport=remote([reply], seen)))
        with pytest.raises(ClawError) as caught:
            asked(provider, hello())

        assert "top-secret" not in f"{caught.value!r}{caught.value.hint}"
        assert {r.url.host for r in seen} == {"ollama.com"}


# The rest

def test_models_are_those_that_were_pulled():
    models = [Model("a:1b"), Model("b:latest")]
    with FakeOllama(models=models) as server:
        names = use(OllamaProvider.build(connected(server.url)),
                    lambda p: p.models())

    assert names == ["a:1b", "b:latest"]


@pytest.mark.parametrize("text", ["[]", "{}", "x", '{"models": 3}'])
def test_a_list_that_is_none_is_an_error(text):
    provider = OllamaProvider.build(connected(
        "http://box", transport=remote([httpx.Response(200, text=text)],
                                       [])))
    with pytest.raises(UnavailableError, match="gave no list of models"):
        use(provider, lambda p: p.models())


def test_warming_up_asks_for_the_version():
    with FakeOllama() as server:
        use(OllamaProvider.build(connected(server.url)),
            lambda p: p.warmup())

    assert [r.path for r in server.requests] == ["/api/version"]


@pytest.mark.parametrize(("given", "used"), [(120.0, 300.0), (60.0, 60.0)])
def test_a_model_is_given_time_to_load(given, used):
    provider = OllamaProvider.build(connected("http://x", timeout_s=given))

    assert provider._http.timeout_s == used


def test_a_server_that_can_not_tell_of_models_is_not_asked_twice():
    seen = []
    gone = httpx.Response(404, text="404 page not found")
    provider = OllamaProvider.build(connected(
        "http://box", native=True, transport=remote([gone], seen)))

    async def work(provider):
        for _ in range(2):
            await provider.chat(hello(tools=[TOOL]), "m", 0.5)
    use(provider, work)

    assert [r.url.path for r in seen] == [
        "/api/show", "/api/chat", "/api/chat"]
    assert "tools" in json.loads(seen[1].content)


def test_a_server_that_hangs_up_at_once_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(UnavailableError):
        asked(OllamaProvider.build(connected(f"http://127.0.0.1:{port}")),
              hello(tools=[TOOL]))
