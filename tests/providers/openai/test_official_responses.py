"""OpenAI and the Responses API against a real HTTP server: over our wire,
and through OpenAI's own client."""

import asyncio
import json

import pytest

from claw.core.errors import (
    AuthError,
    IncompleteAnswerError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec
from claw.core.value import replace
from claw.providers.catalog.info import ModelInfo
from claw.providers.catalog.vendors import find_vendor
from claw.providers.connection import Connection
from claw.providers.openai.official import OpenAIProvider
from claw.providers.settings import NamedProviderSettings, ReasoningSettings
from claw.testing.fake_openai import (
    FakeOpenAI,
    Reply,
    cut_off,
    endless,
    failure,
    malformed,
    stalled,
)

HELLO = ChatRequest([ChatMessage.system("Be brief."),
                     ChatMessage.user("hello")], max_tokens=9)
TOOLS = ChatRequest([ChatMessage.user("hello")], tools=[
    ToolSpec("now", "the time", {"type": "object"})])


CLIENT = {}


@pytest.fixture(autouse=True, params=["http", "sdk"])
def client(request, monkeypatch):
    monkeypatch.setitem(CLIENT, "client", request.param)
    return request.param


def ask(server, request=HELLO, *, streamed=False, model="gpt-5-codex",
        wire_api=None, timeout_s=20.0, **rest):
    row = replace(find_vendor("openai"), url=server.url)
    provider = OpenAIProvider.build(Connection(
        row, "sk-secret", NamedProviderSettings(wire_api=wire_api, **CLIENT),
        timeout_s=timeout_s, **rest))

    async def go():
        try:
            if not streamed:
                return await provider.chat(request, model, 0.5)
            chunks = [c async for c in provider.stream_chat(request, model,
                                                            0.5)]
            assert "".join(c.delta for c in chunks) == (
                chunks[-1].response.text or "")
            return chunks[-1].response
        finally:
            await provider.aclose()
    return asyncio.run(go())


@pytest.mark.parametrize("streamed", [False, True])
def test_text_calls_and_usage(streamed):
    reply = Reply("I look.", tool_calls=(("now", '{"a": 1}'),),
                  reasoning="hm")
    with FakeOpenAI([reply]) as server:
        response = ask(server, TOOLS, streamed=streamed)

    assert server.requests[0].path == "/v1/responses"
    assert response.text == "I look."
    assert json.loads(response.tool_calls[0].arguments) == {"a": 1}
    assert response.usage.output_tokens == 7
    assert response.reasoning_content == "hm"
    body = server.requests[0].body
    assert body["tools"] == [{
        "type": "function", "name": "now", "description": "the time",
        "parameters": {"type": "object"}, "strict": False}]
    assert "temperature" not in body
    assert body["include"] == ["reasoning.encrypted_content"]


def test_the_body_stores_nothing_and_has_the_system_text_apart():
    with FakeOpenAI(["fine"]) as server:
        ask(server, wire_api="responses", model="gpt-4o")

    assert server.requests[0].body == {
        "model": "gpt-4o", "stream": False, "store": False,
        "temperature": 0.5, "instructions": "Be brief.",
        "max_output_tokens": 9,
        "input": [{"role": "user", "content": "hello"}]}


def test_chat_completions_stay_where_they_are_asked_for():
    with FakeOpenAI(["fine"]) as server:
        ask(server, wire_api="chat_completions")
        ask(server, model="gpt-4o")

    assert len(server.chats) == 2


def test_the_effort_goes_where_each_api_has_it():
    with FakeOpenAI(["fine"]) as server:
        reasoning = ReasoningSettings(reasoning_effort="low")
        ask(server, model="gpt-5-mini", reasoning=reasoning)
        ask(server, model="gpt-6-luna", reasoning=reasoning)
        ask(server, model="gpt-4o", reasoning=reasoning)

    chat, responses, plain = (r.body for r in server.requests)
    assert chat["reasoning_effort"] == "low"
    assert responses["reasoning"] == {"effort": "low"}
    assert "reasoning_effort" not in plain


def test_thoughts_go_back_sealed_with_their_calls():
    reply = Reply(tool_calls=(("now", "{}"),), reasoning="hm")
    with FakeOpenAI([reply, "It is noon."]) as server:
        first = ask(server, TOOLS)
        call = first.tool_calls[0]
        ask(server, replace(TOOLS, messages=[
            *TOOLS.messages,
            encode_tool_calls(AssistantToolCalls(
                None, first.tool_calls, first.reasoning_content,
                first.replay)),
            encode_tool_result(ToolResultMessage(call.id, "noon"))]))

    back = server.requests[1].body["input"]
    assert [i.get("type", "user") for i in back] == [
        "user", "reasoning", "function_call", "function_call_output"]
    assert back[1]["encrypted_content"] == "sealed"
    assert back[2]["call_id"] == back[3]["call_id"] == call.id


@pytest.mark.each("streamed", [False, True])
@pytest.mark.each(("reply", "kind", "words"), [
    (failure(401, "bad sk-secret"), AuthError, r"\(401\): bad \[REDACTED\]"),
    (failure(429, "slow", retry_after="3"), RateLimitedError, "slow"),
    (failure(404, "no model"), RequestRefusedError, "no model"),
    (failure(500, "oh"), UnavailableError, r"\(500\): oh"),
    (cut_off(after_chunks=2), IncompleteAnswerError, "broke off"),
    (malformed(), IncompleteAnswerError, "broke off|no answer"),
    (stalled(after_chunks=2), UnavailableError, "within 0.5 s"),
    (Reply(""), IncompleteAnswerError, "empty answer"),
    (Reply("", finish_reason="length"), IncompleteAnswerError, "its tokens"),
    (Reply(body="<html>", content_type="text/html"), UnavailableError,
     "web page"),
    (Reply(body='{"status": "failed", "error": {"code": "server_error", '
                '"message": "it fell"}, "output": []}'),
     UnavailableError, r"\(500\): it fell"),
])
def test_errors_are_those_of_the_table(streamed, reply, kind, words):
    with FakeOpenAI([reply]) as server, pytest.raises(
            kind, match=words) as caught:
        ask(server, streamed=streamed, timeout_s=0.5)

    assert type(caught.value) is kind
    assert "sk-secret" not in str(caught.value)
    assert len(server.requests) == (
        2 if reply.text == "" and not reply.finish_reason else 1)


@pytest.mark.parametrize(("event", "kind", "words"), [
    ({"type": "error", "code": "rate_limit_exceeded", "message": "slow"},
     RateLimitedError, "slow"),
    ({"type": "response.failed", "response": {
        "status": "failed", "error": {"code": "server_error",
                                      "message": "it fell"}}},
     UnavailableError, r"\(500\): it fell"),
])
def test_an_error_event_is_that_error(event, kind, words):
    data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
    reply = Reply(body=data, content_type="text/event-stream")
    with FakeOpenAI([reply]) as server, pytest.raises(kind, match=words):
        ask(server, streamed=True)


def test_a_stream_without_its_terminal_event_is_an_error():
    with FakeOpenAI([endless()]) as server, pytest.raises(
            IncompleteAnswerError, match="ended before"):
        ask(server, streamed=True)


NO_TOOLS_IN_CHAT = failure(400, (
    "Function tools with reasoning_effort are not supported for gpt-5.9 in "
    "/v1/chat/completions. To use function tools, use /v1/responses or set "
    "reasoning_effort to 'none'."))


class Kept:
    def __init__(self):
        self.kept = {}

    def find(self, address, model):
        return self.kept.get((address, model), ModelInfo())

    def learn(self, address, model, model_info):
        self.kept[address, model] = model_info


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("refusal", [
    NO_TOOLS_IN_CHAT,
    failure(404, "This model is only supported in v1/responses and not in "
                 "v1/chat/completions."),
    failure(404, "This is not a chat model and thus not supported in the "
                 "v1/chat/completions endpoint."),
    failure(400, "The chatCompletion operation does not work with the "
                 "specified model, x."),
])
def test_a_model_that_wants_the_other_api_gets_it_from_then_on(
        streamed, refusal):
    keeper = Kept()
    with FakeOpenAI([refusal, "fine"]) as server:
        assert ask(server, TOOLS, streamed=streamed, model="next",
                   model_info=keeper).text == "fine"
        ask(server, TOOLS, model="next", model_info=keeper)

    assert [r.path for r in server.requests] == [
        "/v1/chat/completions", "/v1/responses", "/v1/responses"]
    assert keeper.kept[f"{server.url}/chat/completions",
                       "next"].without == ("chat",)


def test_a_proxy_without_the_responses_api_is_asked_the_old_way():
    with FakeOpenAI(["fine"], apis=["chat"]) as server:
        assert ask(server).text == "fine"

    assert [r.path for r in server.requests] == [
        "/v1/responses", "/v1/chat/completions"]


def test_an_unknown_model_is_not_asked_for_twice():
    with FakeOpenAI(strict_models=True) as server, pytest.raises(
            RequestRefusedError, match="does not exist"):
        ask(server)

    assert len(server.requests) == 1


def test_azure_has_an_address_of_its_own_for_it():
    named = NamedProviderSettings(azure_openai_deployment="dep",
                                  **CLIENT)
    with FakeOpenAI(["hello from azure"]) as server:
        server_url = server.url
        row = replace(find_vendor("azure"),
                      url=server_url.removesuffix("/v1"))
        provider = OpenAIProvider.build(Connection(row, "azure-key", named))

        async def go():
            text = await provider.simple_chat("hello", "gpt-6-luna", 0.5)
            await provider.aclose()
            await provider.aclose()
            return text
        assert asyncio.run(go()) == "hello from azure"

    sent = server.requests[0]
    assert sent.path == "/openai/v1/responses?api-version=preview"
    assert sent.headers["api-key"] == "azure-key"
    assert "authorization" not in sent.headers
    assert sent.body["model"] == "dep"


def test_an_odd_key_of_the_answer_does_no_harm():
    whole = json.dumps({
        "output": [{"type": "message", "role": "assistant", "brand_new": {},
                    "content": [{"type": "output_text", "text": "yes",
                                 "annotations": 3}]}],
        "usage": {"input_tokens": "many"}, "service_tier": 7})
    with FakeOpenAI([Reply(body=whole)]) as server:
        assert ask(server).text == "yes"
        assert ask(server, streamed=True).text == "yes"
