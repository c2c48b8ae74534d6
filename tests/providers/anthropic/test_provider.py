"""The Anthropic provider against a real HTTP server."""

import asyncio
import json
import traceback
from contextlib import contextmanager

import pytest

from claw.core.errors import (
    AuthError,
    ConfigError,
    ContextOverflowError,
    IncompleteAnswerError,
    OverloadedError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import (
    AnthropicTools,
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ProviderCapabilities,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.core.value import replace
from claw.providers.anthropic.auth import auth_style, endpoints
from claw.providers.anthropic.provider import AnthropicProvider
from claw.providers.anthropic.request import IDENTITY
from claw.providers.catalog.info import ModelInfo
from claw.providers.catalog.vendors import Vendor
from claw.providers.connection import Connection
from claw.providers.settings import (
    NamedProviderSettings,
    ReasoningSettings,
)
from claw.testing.fake_anthropic import FakeAnthropic
from claw.testing.fake_anthropic_answers import (
    Reply,
    error_body,
    failure,
    faulty,
    tool_use,
)

CANARY = "sk-ant-api03-canary-1f2e3d4c5b6a"
SETUP = "sk-ant-oat01-canary-0a9b8c7d"
HELLO = ChatRequest([ChatMessage.user("what is this?")])
TOOLS = [ToolSpec("weather", "The weather.", closed_object(
    city=string("a city")))]
WITH_TOOLS = replace(HELLO, tools=TOOLS)
ROW = Vendor("anthropic", "Anthropic", "",
             keys=("ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"),
             auth="x-api-key", vision=True)
THINKS = ReasoningSettings(reasoning_enabled=True)


@contextmanager
def claude(replies=(), *, row=ROW, key=CANARY, timeout_s=20.0,
           reasoning=ReasoningSettings(), model_info=None, headers=None,  # noqa: B008
           named=NamedProviderSettings(), **server):  # noqa: B008
    with FakeAnthropic(replies, **server) as fake:
        yield AnthropicProvider.build(Connection(
            replace(row, url=fake.url), key, timeout_s=timeout_s,
            reasoning=reasoning, model_info=model_info, named=named,
            extra_headers=headers or {})), fake


def run(provider, work):
    async def go():
        try:
            return await work
        finally:
            await provider.aclose()
    return asyncio.run(go())


def chat(provider, request=HELLO, model="claude-haiku-4-5",
         temperature=0.7):
    return run(provider, provider.chat(request, model, temperature))


def stream(provider, request=HELLO, model="claude-haiku-4-5",
           temperature=0.7):
    async def collect():
        return [c async for c in provider.stream_chat(request, model,
                                                      temperature)]
    return run(provider, collect())


def streamed(provider, request=HELLO, model="claude-haiku-4-5",
             temperature=0.7):
    """The whole answer of a stream, once its deltas are held against it."""
    chunks = stream(provider, request, model, temperature)
    assert "".join(c.delta for c in chunks) == (chunks[-1].response.text
                                                or "")
    return chunks[-1].response


both = pytest.mark.parametrize("ask", [chat, streamed],
                               ids=["plain", "streamed"])


@both
def test_a_question_is_asked_and_answered(ask):
    with claude(["It is a test."]) as (provider, server):
        response = ask(provider)

    assert (response.text, response.finish_reason, response.model) == (
        "It is a test.", "stop", "claude-haiku-4-5")
    (sent,) = server.chats
    assert sent.path == "/v1/messages"
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert sent.headers["x-api-key"] == CANARY
    assert "authorization" not in sent.headers
    assert sent.body.pop("stream", False) is (ask is streamed)
    assert sent.body == {
        "model": "claude-haiku-4-5", "max_tokens": 4096, "temperature": 0.7,
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "what is this?"}]}]}


def test_it_says_what_it_can_do():
    with claude() as (provider, _):
        assert provider.capabilities() == ProviderCapabilities(
            native_tool_calling=True, vision=True, prompt_caching=True)
        assert provider.supports_streaming()
        payload = provider.convert_tools(TOOLS)

    assert isinstance(payload, AnthropicTools)
    assert payload.tools[0]["input_schema"]["properties"] == {
        "city": {"type": "string", "description": "a city"}}


@both
def test_a_tool_is_called_and_its_result_goes_back_with_the_thoughts(ask):
    reply = Reply("I look.", (("weather", '{"city": "Oslo"}'),), "Hm. Oslo.")
    with claude([reply, "5 degrees."], reasoning=THINKS) as (provider,
                                                             server):
        async def turn():
            request = WITH_TOOLS
            first = await answer(provider, request)
            history = [*request.messages, encode_tool_calls(
                AssistantToolCalls(first.text, first.tool_calls,
                                   first.reasoning_content, first.replay)),
                encode_tool_result(ToolResultMessage(
                    first.tool_calls[0].id, "5 C"))]
            return first, await answer(provider, replace(
                request, messages=history))

        async def answer(provider, request):
            if ask is chat:
                return await provider.chat(request, "claude-haiku-4-5", 0.5)
            return [c async for c in provider.stream_chat(
                request, "claude-haiku-4-5", 0.5)][-1].response
        first, second = run(provider, turn())

    assert (first.text, first.reasoning_content) == ("I look.", "Hm. Oslo.")
    assert first.finish_reason == "tool_calls"
    assert json.loads(first.tool_calls[0].arguments) == {"city": "Oslo"}
    assert json.loads(first.replay)["by"] == "anthropic"
    assert second.text == "5 degrees."
    asked = server.chats[1].body["messages"]
    assert [m["role"] for m in asked] == ["user", "assistant", "user"]
    assert asked[1]["content"] == [
        {"type": "thinking", "thinking": "Hm. Oslo.",
         "signature": "c2lnbmF0dXJl"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "weather",
         "input": {"city": "Oslo"}}]
    assert asked[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "5 C"}]
    assert CANARY not in repr(first)
    assert "c2lnbmF0dXJl" not in repr(first)


@both
def test_usage_counts_what_the_cache_gave_and_took(ask):
    reply = Reply("fine", usage=(
        ("input_tokens", 10), ("output_tokens", 7),
        ("cache_read_input_tokens", 100),
        ("cache_creation_input_tokens", 20)))
    with claude([reply]) as (provider, _):
        usage = ask(provider).usage

    assert (usage.input_tokens, usage.output_tokens,
            usage.cached_input_tokens, usage.cache_write_tokens) == (
        130, 7, 100, 20)


@pytest.mark.parametrize(("fault", "after", "kind", "words"), [
    ("disconnect", 4, IncompleteAnswerError, "broke off"),
    ("disconnect", 0, IncompleteAnswerError, "broke off"),
    ("no_end", 0, IncompleteAnswerError, "ended before the answer did"),
    ("malformed", 4, IncompleteAnswerError, "no answer"),
    ("malformed", 1, IncompleteAnswerError, "no answer"),
    ("error", 4, OverloadedError, r"API error \(529\): Overloaded"),
    ("error", 0, OverloadedError, r"API error \(529\): Overloaded"),
])
def test_a_stream_without_its_end_is_an_error(fault, after, kind, words):
    with claude([faulty(fault, after)]) as (provider, server), \
            pytest.raises(kind, match=words):
        stream(provider)

    assert len(server.chats) == 1


def test_a_stream_that_falls_silent_is_an_error():
    with claude([faulty("stall")], timeout_s=0.2) as (provider, _), \
            pytest.raises(UnavailableError, match=r"within 0\.2 s"):
        stream(provider)


@pytest.mark.parametrize(("kind", "error", "exception"), [
    ("overloaded_error", 529, OverloadedError),
    ("rate_limit_error", 429, RateLimitedError),
    ("authentication_error", 401, AuthError),
    ("permission_error", 403, AuthError),
    ("invalid_request_error", 400, RequestRefusedError),
    ("api_error", 500, UnavailableError),
    ("an_error_of_tomorrow", 500, UnavailableError),
])
def test_an_error_event_is_the_error_it_names(kind, error, exception):
    with claude([faulty("error", error=kind)]) as (provider, _), \
            pytest.raises(exception, match=rf"\({error}\)"):
        stream(provider)


@both
@pytest.mark.parametrize(("reply", "kind", "words"), [
    (failure(401, "authentication_error", "invalid x-api-key"), AuthError,
     r"\(401\): invalid x-api-key"),
    (failure(429, "rate_limit_error", "slow down", retry_after="7"),
     RateLimitedError, r"\(429\): slow down"),
    (failure(529, "overloaded_error", "Overloaded"), OverloadedError,
     r"\(529\)"),
    (failure(404, "not_found_error", "model: claude-9"),
     RequestRefusedError, r"\(404\): model: claude-9"),
    (failure(400, "invalid_request_error", "prompt is too long: 300000 "
             "tokens > 200000 maximum"), ContextOverflowError, "too long"),
    (Reply(status=502, body="<html><title>Bad Gateway</title></html>",
           content_type="text/html"), UnavailableError, "HTML page"),
    (Reply(body="<html><title>Sign in</title></html>",
           content_type="text/html"), UnavailableError, "web page"),
    (Reply(body="[1, 2"), IncompleteAnswerError, "no answer"),
    (Reply(body='{"hello": 1}'), IncompleteAnswerError, "without content"),
    (Reply(body=error_body("overloaded_error", "Overloaded")),
     OverloadedError, r"\(529\)"),
    (failure(400, "invalid_request_error", "Your credit balance is too low "
             "to access the Anthropic API."), QuotaError, "credit balance"),
])
def test_an_error_says_what_happened(ask, reply, kind, words):
    with claude([reply]) as (provider, server), \
            pytest.raises(kind, match=words) as raised:
        ask(provider)

    assert len(server.chats) == 1
    if kind is RateLimitedError:
        assert raised.value.retry_after_s == 7.0


@both
@pytest.mark.parametrize("reply", [
    failure(401, "authentication_error", f"{CANARY} is wrong"),
    failure(400, "invalid_request_error", f"key {CANARY}"),
    Reply(body=f"{{{CANARY}"), Reply(status=500, body=CANARY),
    faulty("malformed"), faulty("disconnect"),
])
def test_the_key_stands_in_no_error(ask, reply, caplog):
    with claude([reply]) as (provider, _):
        try:
            ask(provider)
        except Exception as error:
            said = "".join(traceback.format_exception(error))
        else:
            pytest.fail("no error")
        assert CANARY not in repr(provider)

    assert CANARY not in said
    assert CANARY not in caplog.text


@both
def test_an_empty_answer_is_asked_for_once_more(ask):
    with claude([Reply(None, thinking="hm"), "here"]) as (provider, server):
        assert ask(provider).text == "here"

    assert len(server.chats) == 2


@both
@pytest.mark.parametrize(("reply", "words", "times"), [
    (Reply(""), "an empty answer, twice", 2),
    (Reply("  \n "), "an empty answer, twice", 2),
    (Reply("<think>only this</think>"), "an empty answer, twice", 2),
    (Reply(thinking="long", stop_reason="max_tokens"),
     "used up its tokens before", 1),
])
def test_an_answer_that_stays_empty_is_said(ask, reply, words, times):
    with claude([reply]) as (provider, server), \
            pytest.raises(IncompleteAnswerError, match=words):
        ask(provider)

    assert len(server.chats) == times


@both
@pytest.mark.parametrize(("text", "details", "words"), [
    (None, {"type": "refusal", "category": "bio",
            "explanation": "Not this."}, r"refused to answer \(bio: Not"),
    (None, None, "refused to answer$"),
    ("I can", {"type": "refusal", "category": None, "explanation": None},
     "refused to answer$"),
])
def test_a_refusal_is_said_as_such_and_not_asked_again(ask, text, details,
                                                       words):
    reply = Reply(text, stop_reason="refusal", stop_details=details)
    with claude([reply]) as (provider, server), \
            pytest.raises(RequestRefusedError, match=words):
        ask(provider)

    assert len(server.chats) == 1


@both
@pytest.mark.parametrize(("part", "message", "gone"), [
    ("temperature", "`temperature` is deprecated for this model.",
     lambda body: "temperature" not in body),
    ("thinking", "thinking: Extra inputs are not permitted",
     lambda body: "thinking" not in body and body["temperature"] == 0.7),
    ("cache_control", "system.0.cache_control: Extra inputs are not "
     "permitted", lambda body: "cache_control" not in str(body)),
])
def test_what_is_refused_is_left_out_from_then_on(ask, part, message, gone):
    request = ChatRequest([ChatMessage.system("x" * 4000),
                           ChatMessage.user("hi")])
    reasoning = THINKS if part == "thinking" else ReasoningSettings()
    with claude(["fine"], reasoning=reasoning, refuse=lambda body:
                message if part in str(body) else None) as (provider,
                                                            server):
        async def twice():
            for _ in range(2):
                if ask is chat:
                    await provider.chat(request, "some-model", 0.7)
                else:
                    async for _ in provider.stream_chat(
                            request, "some-model", 0.7):
                        pass
        run(provider, twice())

    refused, again, later = (r.body for r in server.chats)
    assert part in str(refused)
    assert gone(again)
    assert gone(later)


class Kept:
    """ModelInfo in memory."""

    def __init__(self):
        self.rows = {}

    def find(self, address, model):
        return self.rows.get((address, model), ModelInfo())

    def learn(self, address, model, model_info):
        self.rows[address, model] = model_info


def test_what_was_learned_outlives_the_process():
    kept = Kept()
    with claude(["fine"], model_info=kept, refuse=lambda body:
                "`temperature` is deprecated for this model."
                if "temperature" in body else None) as (provider, server):
        chat(provider, model="new-model")
        again = AnthropicProvider.build(Connection(
            replace(ROW, url=server.url), CANARY, model_info=kept))
        chat(again, model="new-model")

    assert len(server.chats) == 3
    (found,) = kept.rows.values()
    assert found.without == ("temperature",)


def test_thinking_changes_its_form_where_a_model_asks_for_it():
    def refuse(body):
        if body.get("thinking", {}).get("type") == "enabled":
            return ('"thinking.type.enabled" is not supported for this '
                    'model. Use "thinking.type.adaptive" and '
                    '"output_config.effort" to control thinking behavior.')
        if "output_config" in body:
            return "This model does not support the effort parameter."
        return None
    with claude(["fine"], refuse=refuse, reasoning=ReasoningSettings(
            reasoning_effort="high")) as (provider, server):
        chat(provider, model="claude-mythos-preview")

    sent = [(r.body["thinking"]["type"], "output_config" in r.body)
            for r in server.chats]
    assert sent == [("enabled", False), ("adaptive", True),
                    ("adaptive", False)]


def test_thoughts_of_another_model_are_left_out_when_refused():
    replay = json.dumps({"by": "anthropic", "blocks": [
        {"type": "thinking", "thinking": "hm", "signature": "bad"}]})
    with claude(["fine"]) as (provider, server):
        from_tool = tool_calls(replay)
        server.refuse = lambda body: (
            "messages.1.content.0: Invalid `signature` in `thinking` block"
            if "'signature'" in str(body) else None)
        chat(provider, from_tool)

    assert [m["type"] for m in server.chats[1].body["messages"][1][
        "content"]] == ["tool_use"]


def tool_calls(replay=None):
    return ChatRequest([
        ChatMessage.user("hi"),
        encode_tool_calls(AssistantToolCalls(
            None, (ToolCall("c1", "weather", "{}"),), replay=replay)),
        encode_tool_result(ToolResultMessage("c1", "ok"))], tools=TOOLS)


@both
def test_a_schema_is_asked_for_in_words_where_it_is_not_taken(ask):
    request = replace(HELLO, response_schema={
        "type": "object", "properties": {"a": {"type": "string",
                                               "minLength": 3}}})
    with claude(['{"a": "abc"}'], refuse=lambda body:
                "output_config.format: structured outputs are not "
                "supported by this model"
                if "output_config" in body else None) as (provider, server):
        assert ask(provider, request).text == '{"a": "abc"}'

    first, second = (r.body for r in server.chats)
    assert first["output_config"]["format"] == {
        "type": "json_schema", "schema": {
            "type": "object", "properties": {"a": {"type": "string"}},
            "additionalProperties": False}}
    assert "JSON Schema" in second["system"][0]["text"]


@both
def test_a_call_that_is_cut_off_is_not_made(ask):
    reply = Reply("I write", blocks=(
        {"type": "text", "text": "I write"},
        {"type": "tool_use", "id": "t", "name": "weather",
         "input": {"city": "Os"}}), stop_reason="max_tokens")
    with claude([reply]) as (provider, _), \
            pytest.raises(IncompleteAnswerError, match="middle of a tool"):
        ask(provider, WITH_TOOLS)


def test_a_server_that_does_not_stream_is_read_all_the_same():
    body = json.dumps({"type": "message", "role": "assistant", "content": [
        {"type": "text", "text": "whole"}], "stop_reason": "end_turn"})
    with claude([Reply(body=body)]) as (provider, _):
        assert streamed(provider).text == "whole"


def test_a_word_stands_for_an_image_where_none_are_taken():
    picture = "[IMAGE:data:image/png;base64,iVBORw0KGgo=]"
    with claude(row=replace(ROW, vision=False)) as (provider, server):
        chat(provider, ChatRequest([ChatMessage.user(
            f"see {picture} [IMAGE:https://x.io/a.png]")]))
        assert not provider.supports_vision()

    assert server.chats[0].body["messages"][0]["content"] == [
        {"type": "text", "text": "see [image] [IMAGE:https://x.io/a.png]"}]


def test_names_that_the_api_refuses_are_changed_and_changed_back():
    tools = [ToolSpec("weather.now", "", {"type": "object"}),
             ToolSpec("weather_now", "", {"type": "object"}),
             ToolSpec("날씨", "", {"type": "object"})]
    with claude([tool_use("weather_now_2")]) as (provider, server):
        response = chat(provider, replace(HELLO, tools=tools))

    sent = [t["name"] for t in server.chats[0].body["tools"]]
    assert sent == ["weather_now", "weather_now_2", "__"]
    assert response.tool_calls[0].name == "weather_now"


def test_without_native_tools_they_stand_in_the_prompt():
    row = replace(ROW, native_tools=False)
    with claude(["fine"], row=row) as (provider, server):
        chat(provider, tool_calls())
        assert not provider.supports_native_tools()

    body = server.chats[0].body
    assert "tools" not in body
    assert "<tool_call>" in body["system"][0]["text"]
    assert "<tool_call>" in body["messages"][1]["content"][0]["text"]
    assert "<tool_result" in body["messages"][2]["content"][0]["text"]


@both
def test_tools_that_are_refused_stand_in_the_prompt(ask):
    told = ('I look. <tool_call>{"name": "weather", "arguments": '
            '{"city": "Oslo"}}</tool_call> and then')
    with claude([told], refuse=lambda body:
                "tools param requires --jinja flag"
                if "tools" in body else None) as (provider, server):
        response = ask(provider, WITH_TOOLS)

    assert [("tools" in r.body) for r in server.chats] == [True, False]
    assert response.text == told  # the agent reads it


@both
def test_what_only_looked_like_a_call_is_shown(ask):
    text = "Write <tool_call> to call, like <tool_call>{x}</tool_call>!"
    with claude([text], refuse=lambda body: "tools: unknown field"
                if "tools" in body else None) as (provider, _):
        assert ask(provider, WITH_TOOLS).text == text


def test_a_missing_key_is_said_with_both_variables():
    with claude(key=None) as (provider, server):
        for work in (lambda: chat(provider), lambda: stream(provider),
                     lambda: run(provider, provider.models()),
                     lambda: run(provider, provider.warmup())):
            with pytest.raises(AuthError) as raised:
                work()
            assert "ANTHROPIC_API_KEY" in raised.value.message
            assert "ANTHROPIC_OAUTH_TOKEN" in raised.value.message
            assert raised.value.hint == (
                "set ANTHROPIC_API_KEY, or: claw config set "
                "model_providers.anthropic.api_key")

    assert server.requests == []


def test_a_server_of_ones_own_needs_no_key():
    row = Vendor("anthropic-custom:x", "Custom provider", "",
                 default_key="", auth="x-api-key")
    with claude(row=row, key=None) as (provider, server):
        assert chat(provider).text == "what is this?"

    sent = server.chats[0].headers
    assert "x-api-key" not in sent
    assert "authorization" not in sent


def test_a_setup_token_speaks_as_the_program_that_it_is_for():
    request = ChatRequest([ChatMessage.system("Be brief."),
                           ChatMessage.user("hi")])
    with claude(key=SETUP, headers={"Anthropic-Beta": "extra-1"}) as (
            provider, server):
        chat(provider, request)

    sent = server.chats[0]
    assert sent.headers["authorization"] == f"Bearer {SETUP}"
    assert "x-api-key" not in sent.headers
    assert sent.headers["anthropic-beta"] == (
        "claude-code-20250219,oauth-2025-04-20,"
        "interleaved-thinking-2025-05-14,extra-1")
    assert sent.headers["anthropic-dangerous-direct-browser-access"] \
        == "true"
    assert [b["text"] for b in sent.body["system"]] == [
        IDENTITY, "Be brief."]


@pytest.mark.parametrize(("said", "row", "key", "style"), [
    ("", "x-api-key", "sk-ant-api03-x", "x-api-key"),
    ("", "bearer", "sk-ant-api03-x", "x-api-key"),
    ("", "x-api-key", "sk-ant-oat01-x", "bearer"),
    ("", "x-api-key", "aaa.bbb.ccc", "bearer"),
    ("", "x-api-key", "aaa.bbb", "x-api-key"),
    ("", "x-goog-key", "sk-ant-oat01-x", "x-goog-key"),
    ("Bearer", "bearer", "any", "bearer"),
    ("x-api-key", "x-api-key", "sk-ant-oat01-x", "x-api-key"),
    ("api-key", "api-key", "a.b.c", "api-key"),
])
def test_how_a_key_is_sent(said, row, key, style):
    assert auth_style(said, row, key) == style


def test_a_header_of_ones_own_carries_the_key():
    with claude(key="secret-key", row=replace(ROW, auth="api-key")) as (
            provider, server):
        chat(provider)

    assert server.chats[0].headers["api-key"] == "secret-key"
    assert "x-api-key" not in server.chats[0].headers


@pytest.mark.parametrize(("base", "api_path", "chat_url"), [
    ("https://api.anthropic.com", None,
     "https://api.anthropic.com/v1/messages"),
    ("https://api.anthropic.com/", None,
     "https://api.anthropic.com/v1/messages"),
    ("https://api.anthropic.com/v1", None,
     "https://api.anthropic.com/v1/messages"),
    ("https://api.anthropic.com/v1/messages/", None,
     "https://api.anthropic.com/v1/messages"),
    ("https://x.io/anthropic", None, "https://x.io/anthropic/v1/messages"),
    ("https://x.io/v1?k=1", None, "https://x.io/v1/messages?k=1"),
    ("https://x.io/api", "/chat", "https://x.io/api/chat"),
])
def test_where_messages_go(base, api_path, chat_url):
    assert endpoints(base, api_path)[0] == chat_url


@pytest.mark.parametrize("base", [
    "https://x.io/a", "https://x.io/a/v1", "https://x.io/a/v1/messages"])
def test_where_the_models_are(base):
    assert endpoints(base)[1] == "https://x.io/a/v1/models"


def test_models_come_page_by_page():
    names = [f"claude-{n}" for n in range(7)]
    with claude(models=names, page=3) as (provider, server):
        assert run(provider, provider.models()) == names

    assert [r.path for r in server.requests] == [
        "/v1/models?limit=1000", "/v1/models?limit=1000&after_id=claude-2",
        "/v1/models?limit=1000&after_id=claude-5"]


def test_a_list_that_never_ends_is_given_up():
    page = json.dumps({"data": [{"id": "m"}], "has_more": True,
                       "last_id": "m"})
    with claude() as (provider, server):
        server._model_list = lambda _: Reply(body=page)
        assert run(provider, provider.models()) == ["m"]

    assert len(server.requests) == 2


@pytest.mark.parametrize("body", ['{"a": 1}', "[", "null"])
def test_what_is_no_list_of_models_is_said(body):
    with claude() as (provider, server):
        server._model_list = lambda _: Reply(body=body)
        with pytest.raises(UnavailableError, match="no list of models"):
            run(provider, provider.models())


def test_warming_up_asks_for_no_answer():
    with claude() as (provider, server):
        run(provider, provider.warmup())

    assert [(r.method, r.path) for r in server.requests] == [
        ("GET", "/v1/models?limit=1")]


@pytest.mark.parametrize(("temperature", "sent"), [
    (-1, 0), (0.7, 0.7), (1.8, 1.0)])
def test_a_temperature_fits(temperature, sent):
    with claude() as (provider, server):
        chat(provider, temperature=temperature)

    assert server.chats[0].body["temperature"] == sent


def test_an_effort_that_no_model_knows_is_said():
    with pytest.raises(ConfigError, match="reasoning_effort = 'huge'"):
        AnthropicProvider.build(Connection(ROW, CANARY, reasoning=(
            ReasoningSettings(reasoning_effort="huge"))))


def test_a_redirect_to_another_host_does_not_get_the_key():
    with FakeAnthropic() as other:
        moved = Reply(status=307, body="", headers=(
            ("location", f"http://localhost:{other.port}/v1/messages"),))
        with claude([moved]) as (provider, _), \
                pytest.raises(RequestRefusedError, match="307"):
            chat(provider)

        assert other.requests == []


def test_an_event_of_ten_megabytes_is_an_error():
    huge = Reply("x" * 10_000_000, chunk_size=10_000_000)
    with claude([huge]) as (provider, _), \
            pytest.raises(UnavailableError, match="event of more than"):
        stream(provider)


def test_text_that_utf8_cannot_carry_is_sent_all_the_same():
    text = "\0 \ud83d lone \ud83d\ude00"
    with claude(["fine \ud83d"]) as (provider, server):
        server.replies = ["fine"]
        chat(provider, ChatRequest([ChatMessage.system(text * 700),
                                    ChatMessage.user(text)]))

    assert server.chats[0].body["messages"][0]["content"][0]["text"] \
        == "\0 \ufffd lone 😀"
