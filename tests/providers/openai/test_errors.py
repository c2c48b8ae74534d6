"""Errors and odd answers that come with HTTP 200."""

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
from claw.core.provider import ChatMessage, ChatRequest, TokenUsage
from claw.core.tool import ToolSpec
from claw.core.value import replace
from claw.providers.catalog.vendors import Vendor, find_vendor
from claw.providers.connection import Connection
from claw.providers.openai.errors import find_error
from claw.providers.openai.provider import CompatibleProvider
from claw.testing.fake_openai import FakeOpenAI, Reply

HELLO = ChatRequest([ChatMessage.user("hi")])


def ask(reply, *, streamed=False, vendor=None, request=HELLO):
    row = find_vendor(vendor) if vendor else Vendor(
        "acme", "Acme", "", default_key="")
    with FakeOpenAI([reply] if isinstance(reply, Reply) else reply) as fake:
        provider = CompatibleProvider(Connection(
            replace(row, url=fake.url), key="secret-key", timeout_s=0.5))

        async def go():
            try:
                if not streamed:
                    return await provider.chat(request, "m", 0.5), ""
                chunks = [c async for c in provider.stream_chat(
                    request, "m", 0.5)]
                return chunks[-1].response, "".join(c.delta for c in chunks)
            finally:
                await provider.aclose()
        return asyncio.run(go())


def whole(**data):
    return Reply(body=json.dumps(data))


def events(*data):
    return Reply(content_type="text/event-stream", body="".join(
        f"data: {json.dumps(d)}\n\n" for d in data))


DELTA = {"choices": [{"index": 0, "delta": {"content": "half"}}]}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("reply", "kind", "words"), [
    (whole(error={"message": "slow", "code": 429}), RateLimitedError, "slow"),
    (whole(error={"message": "who", "code": "invalid_api_key"}), AuthError,
     "who"),
    (whole(error="odd"), UnavailableError, "odd"),
    (whole(choices=[{"finish_reason": "error", "error": {
        "code": 502, "message": "upstream"},
        "message": {"role": "assistant", "content": "half"}}]),
     UnavailableError, r"\(502\): upstream"),
    (whole(choices=None, base_resp={"status_code": 1004,
                                    "status_msg": "login fail"}),
     AuthError, "login fail"),
    (whole(choices=None, base_resp={"status_code": 1002,
                                    "status_msg": "rate"}),
     RateLimitedError, "rate"),
    (whole(code=500, msg="404 NOT_FOUND", success=False), UnavailableError,
     "404 NOT_FOUND"),
    (whole(object="error", message="too odd", type="BadRequestError",
           code=400), RequestRefusedError, "too odd"),
    (whole(choices=[]), IncompleteAnswerError, "without a message"),
])
def test_an_error_with_status_200_is_an_error(streamed, reply, kind, words):
    with pytest.raises(kind, match=words):
        ask(reply, streamed=streamed)


@pytest.mark.parametrize(("last", "kind", "words"), [
    ({"error": {"code": 502, "message": "Provider disconnected"},
      "choices": [{"index": 0, "delta": {"content": ""},
                   "finish_reason": "error"}]},
     UnavailableError, r"\(502\): Provider disconnected"),
    ({"choices": [{"index": 0, "delta": {}, "finish_reason": "error",
                   "error": {"code": 429, "message": "slow"}}]},
     RateLimitedError, "slow"),
    ({"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]},
     UnavailableError, "broke off with an error"),
    ({"error": {"type": "overloaded_error", "message": "busy"}},
     UnavailableError, r"\(503\): busy"),
    ({"error": {"message": "Provider returned error", "code": 400,
                "metadata": {"raw": "thinking is not for you"}}},
     RequestRefusedError, "thinking is not for you"),
])
def test_an_error_in_the_middle_of_a_stream_is_no_short_answer(last, kind,
                                                               words):
    with pytest.raises(kind, match=words):
        ask(events(DELTA, last), streamed=True)


@pytest.mark.parametrize("data", [
    {"choices": [{"message": {"content": "a"}}], "error": None},
    {"choices": [{"message": {"content": "a"}}],
     "base_resp": {"status_code": 0}},
    {"choices": [], "usage": {"prompt_tokens": 1}},
    {"type": "response.created", "response": {"status": "in_progress",
                                              "error": None}},
    {"output": [], "error": None}, {}, {"success": True},
    {"base_resp": None}, {"choices": [None, 3]}, {"error": ""},
])
def test_what_is_no_error_is_none(data):
    assert find_error(data) is None


@pytest.mark.parametrize(("error", "status"), [
    ({"code": "429"}, 429), ({"code": 99999}, 502),
    ({"code": "rate_limit_exceeded"}, 429),
    ({"type": "insufficient_quota"}, 429),
    ({"code": "context_length_exceeded"}, 400),
    ({"type": "authentication_error"}, 401),
    ({"status": 503}, 503), ({"code": True}, 502), ({"code": []}, 502),
    ({"type": "server_error"}, 500), ("text", 502),
    ({"code": "1113", "message": "no money"}, 502),
])
def test_codes_of_errors_become_statuses(error, status):
    assert find_error({"error": error}).status == status


@pytest.mark.parametrize("raw", [None, "", {"a": 1}, 5])
def test_only_a_text_from_the_provider_behind_comes_with_an_error(raw):
    error = find_error({"error": {"message": "no", "metadata": {"raw": raw}}})

    assert error.text == "no"


@pytest.mark.parametrize("streamed", [False, True])
def test_a_refusal_is_what_the_model_says(streamed):
    response, shown = ask(Reply(refusal="I can't help with that."),
                          streamed=streamed)

    assert response.text == "I can't help with that."
    assert response.finish_reason == "refusal"
    assert shown in ("", response.text)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_held_back_answer_says_so(streamed):
    with pytest.raises(IncompleteAnswerError, match="content filter"):
        ask(Reply("", finish_reason="content_filter"), streamed=streamed)
    response, _ = ask(Reply("The begin", finish_reason="content_filter"),
                      streamed=streamed)

    assert response.text == "The begin"
    assert response.finish_reason == "content_filter"


@pytest.mark.parametrize("streamed", [False, True])
def test_thoughts_that_used_up_the_tokens_are_no_answer(streamed):
    with pytest.raises(IncompleteAnswerError, match="its tokens"):
        ask(Reply(reasoning="hm, hm", finish_reason="length"),
            streamed=streamed)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_that_was_cut_off_is_never_run_with_nothing(streamed):
    reply = Reply(tool_calls=(("rm", '{"path": "/tm'),),
                  finish_reason="length")
    with pytest.raises(IncompleteAnswerError, match="its tokens"):
        ask(reply, streamed=streamed)


def test_details_of_thoughts_are_put_together_and_kept_beside_calls():
    def thought(**detail):
        return {"choices": [{"index": 0, "delta": {
            "reasoning": detail.get("text", ""),
            "reasoning_details": [detail]}}]}
    reply = events(
        thought(type="reasoning.text", text="It ", index=0, format="f"),
        thought(type="reasoning.text", text="is.", index=0,
                signature="sig"),
        thought(type="reasoning.encrypted", data="x", index=1),
        {"choices": [{"index": 0, "finish_reason": "tool_calls", "delta": {
            "tool_calls": [{"index": 0, "id": "1", "function": {
                "name": "now", "arguments": "{}"}}]}}]})
    tools = [ToolSpec("now", "the time", {"type": "object"})]
    response, _ = ask(reply, streamed=True, vendor="openrouter",
                      request=replace(HELLO, tools=tools))

    assert response.reasoning_content == "It is."
    assert json.loads(response.replay) == {"by": "openrouter", "details": [
        {"type": "reasoning.text", "text": "It is.", "index": 0,
         "format": "f", "signature": "sig"},
        {"type": "reasoning.encrypted", "data": "x", "index": 1}]}


@pytest.mark.parametrize(("chunk", "usage"), [
    ({"usage": {"prompt_tokens": 9, "completion_tokens": 4,
                "cached_tokens": 3}}, TokenUsage(9, 4, 3)),
    ({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop",
                   "usage": {"prompt_tokens": 9, "completion_tokens": 4}}]},
     TokenUsage(9, 4)),
    ({"x_groq": {"usage": {"prompt_tokens": 9, "completion_tokens": 4}}},
     TokenUsage(9, 4)),
    ({"usage": {"prompt_tokens": 9, "completion_tokens": 4,
                "total_tokens": 20, "completion_tokens_details": {
                    "reasoning_tokens": 7}}}, TokenUsage(9, 11)),
    ({"usage": {"prompt_tokens": 9, "completion_tokens": 11,
                "total_tokens": 20, "completion_tokens_details": {
                    "reasoning_tokens": 7}}}, TokenUsage(9, 11)),
    ({"usage": {"prompt_tokens": 9, "completion_tokens": 1,
                "prompt_tokens_details": {"cached_tokens": 0,
                                          "cache_write_tokens": 8}}},
     TokenUsage(9, 1, 0, 8)),
])
def test_usage_is_found_wherever_it_stands(chunk, usage):
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    response, _ = ask(events(DELTA, chunk, end), streamed=True)

    assert response.usage == usage


def test_mistrals_thoughts_are_parts_and_not_shown():
    delta = {"content": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "yes"}]}
    response, shown = ask(events({"choices": [{
        "index": 0, "delta": delta, "finish_reason": "stop"}]}),
        streamed=True)

    assert (shown, response.reasoning_content) == ("yes", "hm")


@pytest.mark.parametrize("fault", ["disconnect", "stall"])
def test_a_connection_lost_behind_the_end_lost_nothing(fault):
    reply = Reply("all of it", fault=fault, after_chunks=4, chunk_size=100)
    response, shown = ask(reply, streamed=True)

    assert shown == response.text == "all of it"


def test_a_call_comes_back_under_its_own_name():
    tool = ToolSpec("mcp.files/read", "reads", {"type": "object"})

    def called(body):
        return Reply(tool_calls=(
            (body["tools"][0]["function"]["name"], "{}"),))
    for streamed in (False, True):
        response, _ = ask([called], streamed=streamed,
                          request=replace(HELLO, tools=[tool]))
        assert [c.name for c in response.tool_calls] == ["mcp.files/read"]


@pytest.mark.parametrize("streamed", [False, True])
def test_no_secret_comes_out_of_an_error(streamed):
    with pytest.raises(UnavailableError) as caught:
        ask(whole(error={"message": "bad secret-key and sk-abcdef123"}),
            streamed=streamed)

    assert "secret-key" not in str(caught.value)
    assert "sk-abc" not in str(caught.value)
    assert "[REDACTED]" in str(caught.value)
