"""The compatible provider against a real HTTP server."""

import asyncio
import json
from contextlib import contextmanager

import pytest

from claw.core.errors import (
    AuthError,
    IncompleteAnswerError,
    OverloadedError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import (
    ChatMessage,
    ChatRequest,
    OpenAITools,
    PromptGuided,
    TokenUsage,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.core.value import replace
from claw.providers.anthropic.provider import model_names as anthropic_names
from claw.providers.catalog.address import endpoints, model_names
from claw.providers.catalog.local import parse_models
from claw.providers.catalog.vendors import Vendor
from claw.providers.connection import Connection
from claw.providers.gemini.provider import model_names as gemini_names
from claw.providers.openai.provider import CompatibleProvider
from claw.testing.fake_openai import (
    FakeOpenAI,
    Reply,
    cut_off,
    endless,
    failure,
    html_page,
    malformed,
    stalled,
    tool_call,
)

HELLO = ChatRequest([ChatMessage.user("what is this?")])
TOOLS = [ToolSpec("weather", "The weather.", closed_object(
    city=string("a city")))]
WITH_TOOLS = replace(HELLO, tools=TOOLS)
ROW = Vendor("acme", "Acme", "", default_key="")


@contextmanager
def acme(replies=(), *, row=ROW, key=None, timeout_s=20.0, headers=None,
         **server):
    with FakeOpenAI(replies, **server) as fake:
        yield CompatibleProvider(Connection(
            replace(row, url=fake.url), key=key, timeout_s=timeout_s,
            extra_headers=headers or {})), fake


def run(provider, work):
    async def go():
        try:
            return await work
        finally:
            await provider.aclose()
    return asyncio.run(go())


def chat(provider, request=HELLO, *, times=1):
    async def go():
        return [await provider.chat(request, "m", 0.5)
                for _ in range(times)][-1]
    return run(provider, go())


def stream(provider, request=HELLO, shown=None):
    async def go():
        chunks = []
        async for chunk in provider.stream_chat(request, "m", 0.5):
            chunks.append(chunk)
            if shown is not None:
                shown.append(chunk.delta)
        return chunks
    return run(provider, go())


def both(provider_of, request=HELLO):
    """The response, plain and streamed."""
    with provider_of() as (provider, _):
        plain = chat(provider, request)
    with provider_of() as (provider, _):
        streamed = stream(provider, request)[-1].response
    return plain, streamed


def test_a_short_question_has_a_short_body():
    with acme() as (provider, fake):
        stream(provider)

    assert len(fake.requests[0].raw) - len("what is this?") < 300
    assert fake.requests[0].body == {
        "model": "m", "stream": True, "temperature": 0.5,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "what is this?"}]}


def test_plain_and_streamed_answers_agree():
    plain, streamed = both(lambda: acme(["A longer answer. 안녕 👋"]))

    assert plain.text == streamed.text == "A longer answer. 안녕 👋"
    assert plain.usage == streamed.usage == TokenUsage(6, 5, None)
    assert plain.finish_reason == streamed.finish_reason == "stop"


def test_a_stream_comes_in_pieces():
    with acme([Reply("one two three", chunk_size=4)]) as (provider, _):
        chunks = stream(provider)

    assert [c.delta for c in chunks] == ["one ", "two ", "thre", "e", ""]


@pytest.mark.parametrize("reply", [
    Reply("<think>hm, hm</think>\n\nyes", chunk_size=3),
    Reply("yes", reasoning="hm, hm"),
])
def test_thoughts_are_not_part_of_the_answer(reply):
    plain, streamed = both(lambda: acme([reply]))

    assert plain.text == streamed.text == "yes"


def test_native_calls_come_back_as_calls():
    plain, streamed = both(lambda: acme([tool_call("weather", city="Oslo")]),
                           WITH_TOOLS)

    for response in (plain, streamed):
        (call,) = response.tool_calls
        assert call.name == "weather"
        assert json.loads(call.arguments) == {"city": "Oslo"}


def test_tools_are_sent_only_where_there_are_some():
    with acme() as (provider, fake):
        chat(provider, WITH_TOOLS)
    with acme() as (bare, plain):
        chat(bare, replace(HELLO, tools=[]))

    body = fake.requests[0].body
    assert body["tools"][0]["function"]["name"] == "weather"
    assert body["tool_choice"] == "auto"
    assert not {"tools", "tool_choice"} & set(plain.requests[0].body)


CALL_IN_TEXT = ('I look. <tool_call>{"name": "weather", "arguments": '
                '{"city": "Oslo"}}</tool_call>')


@pytest.mark.parametrize("ask", [chat, lambda *a: stream(*a)[-1].response])
def test_refused_tools_are_told_in_the_prompt(ask):
    with acme([CALL_IN_TEXT], refuse_tools=True) as (provider, fake):
        response = ask(provider, WITH_TOOLS)

    assert [("tools" in r.body) for r in fake.requests] == [True, False]
    guide = fake.requests[1].body["messages"][0]
    assert guide["role"] == "system"
    assert "**weather**" in guide["content"]
    assert response.text == CALL_IN_TEXT  # the agent reads it


def test_what_was_refused_once_is_not_tried_again():
    with acme(refuse_tools=True) as (provider, fake):
        chat(provider, WITH_TOOLS, times=3)

    assert [("tools" in r.body) for r in fake.requests] == [
        True, False, False, False]


@pytest.mark.parametrize(("key", "request_", "left"), [
    ("stream_options", HELLO, {"model", "messages", "stream",
                               "temperature"}),
    ("temperature", HELLO, {"model", "messages", "stream",
                            "stream_options"}),
])
def test_other_refused_parameters_are_left_out(key, request_, left):
    with acme(["fine"], refuse_keys=[key]) as (provider, fake):
        response = stream(provider, request_)[-1].response

    assert response.text == "fine"
    assert set(fake.requests[-1].body) == left


def test_max_tokens_takes_the_name_that_the_server_knows():
    refusal = failure(400, "Unsupported parameter: 'max_tokens' is not "
                           "supported. Use 'max_completion_tokens' instead.")
    with acme([refusal, "fine"]) as (provider, fake):
        chat(provider, replace(HELLO, max_tokens=50))

    assert fake.requests[0].body["max_tokens"] == 50
    assert fake.requests[1].body["max_completion_tokens"] == 50
    assert "max_tokens" not in fake.requests[1].body


def test_a_schema_goes_native_and_else_into_the_prompt():
    schema = {"type": "object", "required": ["a"]}
    request = replace(HELLO, response_schema=schema)
    with acme(['{"a": 1}'], refuse_keys=["response_format"]) as (
            provider, fake):
        chat(provider, request)

    first, second = (r.body for r in fake.requests)
    assert first["response_format"]["json_schema"]["schema"] == schema
    assert "response_format" not in second
    assert json.dumps(schema) in second["messages"][0]["content"]


def test_a_vendor_without_native_tools_gets_them_in_the_prompt():
    row = replace(ROW, native_tools=False)
    with acme([CALL_IN_TEXT], row=row) as (provider, fake):
        response = chat(provider, WITH_TOOLS)

        assert isinstance(provider.convert_tools(TOOLS), PromptGuided)
    assert "tools" not in fake.requests[0].body
    assert response.text == CALL_IN_TEXT  # the dispatcher reads the calls
    assert response.tool_calls == ()


def test_native_tools_have_the_openai_payload():
    with acme() as (provider, _):
        assert isinstance(provider.convert_tools(TOOLS), OpenAITools)


def test_a_vendor_that_knows_no_system_role_gets_it_in_the_question():
    request = ChatRequest([ChatMessage.system("Be brief."),
                           ChatMessage.user("hi")])
    with acme(row=replace(ROW, merge_system=True)) as (provider, fake):
        chat(provider, request)

    assert fake.requests[0].body["messages"] == [
        {"role": "user", "content": "Be brief.\n\nhi"}]


@pytest.mark.parametrize(("auth", "header", "value"), [
    ("bearer", "authorization", "Bearer k-1"),
    ("x-api-key", "x-api-key", "k-1"),
    ("X-Own-Key", "x-own-key", "k-1"),
])
def test_the_key_goes_where_the_vendor_wants_it(auth, header, value):
    row = replace(ROW, auth=auth, headers=(("X-Title", "claw"),))
    with acme(row=row, key="k-1", headers={"X-More": "1"}) as (
            provider, fake):
        chat(provider)

    sent = fake.requests[0].headers
    assert sent[header] == value
    assert (sent["x-title"], sent["x-more"]) == ("claw", "1")


def test_without_a_key_no_header_is_sent_and_none_is_missed_locally():
    with acme() as (provider, fake):
        chat(provider)

    assert "authorization" not in fake.requests[0].headers


@pytest.mark.parametrize("ask", [chat, stream])
def test_a_vendor_that_needs_a_key_says_how_to_set_it(ask):
    row = Vendor("acme", "Acme", "https://acme.invalid/v1",
                 keys=("ACME_API_KEY",))
    with pytest.raises(AuthError, match="Acme API key not set") as caught:
        ask(CompatibleProvider(Connection(row)))

    assert "ACME_API_KEY" in caught.value.hint


@pytest.mark.each("ask", [chat, stream])
@pytest.mark.each(("reply", "kind", "words"), [
    (failure(401, "bad key k-secret"), AuthError, r"\(401\): bad key \[RED"),
    (failure(429, "slow", retry_after="9"), RateLimitedError, r"\(429\)"),
    (failure(404, "no model m"), RequestRefusedError, r"\(404\)"),
    (failure(400, "nonsense"), RequestRefusedError, "nonsense"),
    (failure(503, "busy"), OverloadedError, r"\(503\): busy"),
    (html_page(502), UnavailableError, "HTML page"),
    (Reply(body="[1]"), IncompleteAnswerError, "no answer"),
    (Reply(body="{}"), IncompleteAnswerError, "without a message"),
    (Reply(body="<html>", content_type="text/html"), UnavailableError,
     "web page"),
    (Reply(body="\n<!doctype html>", content_type="text/plain"),
     UnavailableError, "web page"),
    (Reply(body='{"error": {"message": "busy", "code": 429}}'),
     RateLimitedError, "busy"),
    (Reply(body='{"error": "odd"}'), UnavailableError, "odd"),
    (cut_off(after_chunks=0), IncompleteAnswerError, "broke off"),
])
def test_failures_are_one_sentence_of_the_right_kind(ask, reply, kind, words):
    with acme([reply], key="k-secret") as (provider, _), pytest.raises(
            kind, match=words) as caught:
        ask(provider)

    assert type(caught.value) is kind
    assert "k-secret" not in str(caught.value)


def test_a_missing_model_is_named_with_the_way_to_see_them():
    with acme(strict_models=True) as (provider, _), pytest.raises(
            RequestRefusedError) as caught:
        chat(provider)

    assert '"m"' in caught.value.hint
    assert "claw provider models acme" in caught.value.hint


@pytest.mark.parametrize("reply", [
    cut_off("half an answer", after_chunks=2),
    endless("half an answer"),
    malformed("half an answer", after_chunks=2),
])
def test_a_broken_stream_keeps_what_came_and_is_an_error(reply):
    shown = []
    with acme([reply]) as (provider, fake), pytest.raises(
            IncompleteAnswerError):
        stream(provider, HELLO, shown)

    assert "".join(shown).startswith("half an")
    assert len(fake.requests) == 1  # never asked again behind one's back


def test_a_stalled_stream_ends_at_the_time_limit():
    shown = []
    with acme([stalled("half an answer", 2)], timeout_s=0.3) as (
            provider, _), pytest.raises(UnavailableError, match=r"0\.3 s"):
        stream(provider, HELLO, shown)

    assert shown == ["half an"]


def test_an_error_inside_a_stream_is_that_error():
    reply = Reply(content_type="text/event-stream", body=(
        'data: {"choices":[{"delta":{"content":"a"}}]}\n\n'
        'data: {"error":{"message":"overloaded","code":503}}\n\n'))
    with acme([reply]) as (provider, _), pytest.raises(
            UnavailableError, match=r"\(503\): overloaded"):
        stream(provider)


def test_a_server_that_does_not_stream_is_read_whole():
    whole = Reply(body=json.dumps({"choices": [
        {"message": {"role": "assistant", "content": "whole"}}]}))
    with acme([whole]) as (provider, _):
        chunks = stream(provider)

    assert chunks[0].delta == "whole"
    assert chunks[-1].response.text == "whole"


def test_a_stream_is_read_whatever_it_calls_itself():
    reply = Reply(content_type="text/plain", body=(
        ': hello\n\ndata: {"choices":[{"delta":{"content":"a"},'
        '"finish_reason":"stop"}]}\n\ndata: [DONE]'))
    with acme([reply]) as (provider, _):
        assert stream(provider)[-1].response.text == "a"


@pytest.mark.parametrize("ask", [chat, lambda p: stream(p)[-1].response])
def test_an_empty_answer_is_asked_for_once_more(ask):
    with acme(["", "second"]) as (provider, fake):
        assert ask(provider).text == "second"
    assert len(fake.requests) == 2


@pytest.mark.parametrize("ask", [chat, stream])
def test_two_empty_answers_are_an_error(ask):
    with acme([""]) as (provider, fake), pytest.raises(
            IncompleteAnswerError, match="empty answer"):
        ask(provider)
    assert len(fake.requests) == 2


@pytest.mark.parametrize("ask", [chat, stream])
def test_an_answer_that_used_up_its_tokens_says_so(ask):
    reply = Reply("<think>much thought", finish_reason="length")
    with acme([reply]) as (provider, fake), pytest.raises(
            IncompleteAnswerError) as caught:
        ask(provider)

    assert "--max-tokens" in caught.value.hint
    assert len(fake.requests) == 1


def test_a_stream_left_early_closes_its_connection():
    with acme([Reply("x" * 5000, chunk_size=1)]) as (provider, fake):
        async def go():
            stream_ = provider.stream_chat(HELLO, "m", 0.5)
            async for _ in stream_:
                break
            await stream_.aclose()
            return await provider.chat(HELLO, "m", 0.5)

        assert run(provider, go()).text
    assert len(fake.requests) == 2


def test_a_cancelled_chat_leaves_the_provider_usable():
    with acme([Reply("late", delay_s=20), "now"]) as (provider, _):
        async def go():
            task = asyncio.create_task(provider.chat(HELLO, "m", 0.5))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await provider.chat(HELLO, "m", 0.5)

        assert run(provider, go()).text == "now"


def test_models_are_listed():
    with acme(models=["b", "a"]) as (provider, _):
        assert run(provider, provider.models()) == ["b", "a"]


@pytest.mark.parametrize(("data", "names"), [
    ({"data": [{"id": "a"}, {"id": "b"}]}, ["a", "b"]),
    ({"models": [{"name": "a"}, {"model": "b"}]}, ["a", "b"]),
    ([{"id": "a"}, "b", 3, {}], ["a", "b"]),
    ({"data": []}, []),
])
def test_model_lists_in_every_shape(data, names):
    assert model_names(data) == names


@pytest.mark.parametrize("name", [
    "", "  ", "a\nb", "\x1b[31mred", "a\u202eb", "\ud800", "m" * 1025, None])
def test_a_server_s_names_that_no_model_has_are_left_out(name):
    """One with a line feed was two lines of `claw provider models`, and one
    of a megabyte was asked for and kept."""
    rows = [{"id": name, "name": name}, {"id": "good:7b", "name": "good:7b"}]
    answer = b"HTTP/1.1 200 OK\r\n\r\n" + json.dumps({"data": rows}).encode()

    assert model_names({"data": rows}) == ["good:7b"]
    assert parse_models(answer) == ["good:7b"]
    assert gemini_names({"models": rows}) == ["good:7b"]
    assert anthropic_names({"data": rows}) == ["good:7b"]


@pytest.mark.parametrize("data", [{}, {"data": {}}, None, "x", 3])
def test_what_is_no_model_list_is_refused(data):
    with pytest.raises(ValueError):
        model_names(data)


@pytest.mark.parametrize(("base", "api_path", "chat_at", "models_at"), [
    ("http://h/v1", None, "http://h/v1/chat/completions",
     "http://h/v1/models"),
    ("http://h/v1/", None, "http://h/v1/chat/completions",
     "http://h/v1/models"),
    ("http://h", None, "http://h/chat/completions", "http://h/models"),
    ("http://h/v1/chat/completions", None, "http://h/v1/chat/completions",
     "http://h/v1/models"),
    ("http://h/v1", "/own/chat", "http://h/v1/own/chat",
     "http://h/v1/models"),
    ("http://h/d?api-version=1", None,
     "http://h/d/chat/completions?api-version=1",
     "http://h/d/models?api-version=1"),
])
def test_addresses(base, api_path, chat_at, models_at):
    assert endpoints(base, api_path) == (chat_at, models_at)
