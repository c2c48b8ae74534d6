"""The Gemini provider against a real HTTP server."""

import asyncio
import json
import logging
import traceback
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from claw.core.errors import (
    AuthError,
    ConfigError,
    IncompleteAnswerError,
    OverloadedError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    GeminiTools,
    PromptGuided,
    TokenUsage,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.core.value import replace
from claw.net.lean import httpx
from claw.providers.catalog.info import ModelInfo
from claw.providers.catalog.vendors import Vendor
from claw.providers.connection import Connection
from claw.providers.gemini.http import endpoint, model_path
from claw.providers.gemini.provider import GeminiProvider
from claw.providers.settings import NamedProviderSettings, ReasoningSettings
from claw.testing.fake_gemini import (
    FakeGemini,
    Reply,
    bad_key,
    call,
    call_part,
    cut_off,
    endless,
    failure,
    html_page,
    malformed,
    over_quota,
    said,
    stalled,
)

KEY = "canary-key-123/4+5=6"
HELLO = ChatRequest([ChatMessage.user("what is this?")])
TOOLS = [ToolSpec("weather", "The weather.", closed_object(
    city=string("a city")))]
WITH_TOOLS = replace(HELLO, tools=TOOLS)
ROW = Vendor("gemini", "Gemini", "", keys=("GEMINI_API_KEY",),
             plugin="gemini")


@contextmanager
def gemini(replies=(), *, row=ROW, key=KEY, timeout_s=20.0, server=None,
           **given):
    with FakeGemini(replies, **(server or {})) as fake:
        yield GeminiProvider(Connection(
            replace(row, url=fake.url), key=key, timeout_s=timeout_s,
            **given)), fake


def run(provider, work):
    async def go():
        try:
            return await work
        finally:
            await provider.aclose()
    return asyncio.run(go())


def chat(provider, request=HELLO, *, model="m", times=1):
    async def go():
        return [await provider.chat(request, model, 0.5)
                for _ in range(times)][-1]
    return run(provider, go())


def chunks_of(provider, request=HELLO, shown=None, model="m"):
    async def go():
        chunks = []
        async for chunk in provider.stream_chat(request, model, 0.5):
            chunks.append(chunk)
            if shown is not None:
                shown.append(chunk.delta)
        return chunks
    return run(provider, go())


def streamed(provider, request=HELLO, **given):
    chunks = chunks_of(provider, request, **given)
    assert chunks[-1].is_final
    assert "".join(c.delta for c in chunks) == (
        chunks[-1].response.text or "")
    return chunks[-1].response


def both(provider_of, request=HELLO):
    """The response, plain and streamed."""
    with provider_of() as (provider, _):
        plain = chat(provider, request)
    with provider_of() as (provider, _):
        return plain, streamed(provider, request)


ASKS = pytest.mark.parametrize("ask", [chat, streamed])


def test_the_key_goes_in_the_query_and_nowhere_else():
    with gemini(server={"api_key": KEY}) as (provider, fake):
        streamed(provider)
        chat_ = GeminiProvider(Connection(provider.vendor, key=KEY))
        chat(chat_)

    stream, plain = fake.chats
    assert stream.path == "/v1beta/models/m:streamGenerateContent"
    assert stream.query == {"alt": ["sse"], "key": [KEY]}
    assert plain.path == "/v1beta/models/m:generateContent"
    assert plain.query == {"key": [KEY]}
    for request in fake.chats:
        assert "authorization" not in request.headers
        assert KEY not in str(request.headers) + request.raw.decode()


def test_a_short_question_has_a_short_body():
    with gemini() as (provider, fake):
        streamed(provider)

    assert fake.chats[0].body == {
        "contents": [{"role": "user",
                      "parts": [{"text": "what is this?"}]}],
        "generationConfig": {"temperature": 0.5, "maxOutputTokens": 8192}}


def test_a_gateway_may_want_the_key_in_a_header():
    with FakeGemini() as fake:
        provider = GeminiProvider.build(Connection(
            replace(ROW, url=f"{fake.url}/proxy/v1?tenant=a"), key=KEY,
            named=NamedProviderSettings(auth="X-Own-Key"),
            extra_headers={"X-More": "1"}))
        chat(provider)

    (request,) = fake.chats
    assert request.path == "/proxy/v1/models/m:generateContent"
    assert request.query == {"tenant": ["a"]}
    assert request.headers["x-own-key"] == KEY
    assert request.headers["x-more"] == "1"


@pytest.mark.parametrize(("base", "root"), [
    ("", "https://generativelanguage.googleapis.com/v1beta"),
    ("https://a.example", "https://a.example/v1beta"),
    ("https://a.example/v1beta/", "https://a.example/v1beta"),
    ("https://a.example/v1alpha", "https://a.example/v1alpha"),
    ("https://a.example/x/v1/models/", "https://a.example/x/v1"),
    (" https://a.example/gemini", "https://a.example/gemini/v1beta"),
])
def test_the_version_is_added_where_it_is_missing(base, root):
    assert endpoint(base) == (root, "")


def test_what_is_no_address_is_said_when_the_provider_is_built():
    with pytest.raises(ConfigError, match="is no address"):
        GeminiProvider.build(Connection(replace(ROW, url="http://["),
                                        env={"HOME": "/nowhere"}))


@pytest.mark.parametrize(("model", "path"), [
    ("gemini-2.5-pro", "models/gemini-2.5-pro"),
    (" models/gemini-2.5-pro", "models/gemini-2.5-pro"),
    ("tunedModels/my-1", "tunedModels/my-1"),
    ("google/gemini 3?key=x#y", "models/google%2Fgemini%203%3Fkey%3Dx%23y"),
    ("../../v1/secret", "models/..%2F..%2Fv1%2Fsecret"),
    ("a:countTokens", "models/a%3AcountTokens"),
    ("모델", "models/%EB%AA%A8%EB%8D%B8"),
    ("\ud800", "models/%3F"),
])
def test_models_have_a_path_that_is_theirs_alone(model, path):
    assert model_path(model) == path


def test_a_model_with_odd_characters_arrives_whole():
    with gemini(server={"strict_models": True,
                        "models": ["a/b c?d"]}) as (provider, fake):
        assert chat(provider, model="models/a/b c?d").text
    assert fake.chats[0].query == {"key": [KEY]}


def test_plain_and_streamed_answers_agree():
    text = "A longer answer. 안녕 👋 <b> \x1b[2J"
    plain, stream = both(lambda: gemini([text]))

    assert plain.text == stream.text
    assert plain.text.startswith("A longer answer. 안녕 👋")
    assert plain.usage == stream.usage
    assert plain.finish_reason == stream.finish_reason == "stop"
    assert plain.model == stream.model == "fake-model-001"


def test_a_stream_comes_in_pieces():
    with gemini([said("one two three", chunk_size=4)]) as (provider, _):
        chunks = chunks_of(provider)

    assert [c.delta for c in chunks] == ["one ", "two ", "thre", "e", ""]


@pytest.mark.parametrize("split", [1, 2, 3, 5])
def test_half_a_character_at_a_border_is_no_loss(split):
    text = "안녕 👩‍👧 é ok"
    with gemini([said(text, split=split, chunk_size=3)]) as (provider, _):
        assert streamed(provider).text == text


def test_tokens_are_counted_as_the_contract_means_them():
    usage = {"promptTokenCount": 100, "cachedContentTokenCount": 60,
             "candidatesTokenCount": 7, "thoughtsTokenCount": 30,
             "totalTokenCount": 137}
    plain, stream = both(lambda: gemini([said("yes", usage=usage)]))

    assert plain.usage == stream.usage == TokenUsage(100, 37, 60)


THOUGHT = {"text": "hm, hm. ", "thought": True}


@pytest.mark.parametrize(("parts", "text", "reasoning"), [
    ((THOUGHT, {"text": "yes"}), "yes", "hm, hm. "),
    (({"text": "<think>hm</think>\n\nyes"},), "yes", None),
    ((THOUGHT, {"text": "one, "}, {"text": "two"}), "one, two", "hm, hm. "),
    ((THOUGHT, {"text": "  "}), "hm, hm.", "hm, hm. "),
])
def test_thoughts_are_not_part_of_the_answer(parts, text, reasoning):
    plain, stream = both(lambda: gemini([Reply(parts, chunk_size=3)]))

    assert plain.text == stream.text == text
    assert plain.reasoning_content == stream.reasoning_content == reasoning


def test_of_two_thoughts_alone_the_first_is_the_answer():
    reply = Reply((THOUGHT, {"text": "more", "thought": True}))
    with gemini([reply]) as (provider, _):
        response = chat(provider)

    assert response.text == "hm, hm."
    assert response.reasoning_content == "hm, hm. more"


def test_native_calls_come_back_as_calls():
    plain, stream = both(lambda: gemini([call("weather", city="Oslo")]),
                         WITH_TOOLS)

    for response in (plain, stream):
        (made,) = response.tool_calls
        assert made.id
        assert made.name == "weather"
        assert json.loads(made.arguments) == {"city": "Oslo"}
        assert response.finish_reason == "tool_calls"
        assert response.replay is None  # nothing to show again


def test_a_turn_of_several_calls_shows_everything_again():
    parts = ({"text": "I look.", "thoughtSignature": "c2lnLXRleHQ="},
             call_part("weather", {"city": "Oslo"}, signature="c2lnMQ==",
                       call_id="v1"),
             call_part("weather", {"city": "Bergen"}))
    for ask in (chat, streamed):
        with gemini([Reply(parts), "5 and 7"]) as (provider, fake):
            first = ask(provider, WITH_TOOLS)
            renamed = [replace(c, id=f"mine-{n}")
                       for n, c in enumerate(first.tool_calls)]
            history = ChatRequest([
                *HELLO.messages,
                encode_tool_calls(AssistantToolCalls(
                    first.text, tuple(renamed), replay=first.replay)),
                encode_tool_result(ToolResultMessage("mine-0", "5")),
                encode_tool_result(ToolResultMessage("mine-1", "7"))],
                tools=TOOLS)
            assert ask(GeminiProvider(Connection(provider.vendor, key=KEY)),
                       history).text == "5 and 7"

        assert first.tool_calls[0].id == "v1"
        _, model, results = fake.chats[1].body["contents"]
        assert model == {"role": "model", "parts": [
            {"text": "I look.", "thoughtSignature": "c2lnLXRleHQ="},
            {"functionCall": {"name": "weather", "args": {"city": "Oslo"},
                              "id": "v1"}, "thoughtSignature": "c2lnMQ=="},
            {"functionCall": {"name": "weather",
                              "args": {"city": "Bergen"}}}]}
        assert results == {"role": "user", "parts": [
            {"functionResponse": {"name": "weather", "id": "v1",
                                  "response": {"output": "5"}}},
            {"functionResponse": {"name": "weather",
                                  "response": {"output": "7"}}}]}


def test_tools_are_sent_only_where_there_are_some():
    with gemini() as (provider, fake):
        chat(provider, WITH_TOOLS)
    with gemini() as (bare, plain):
        chat(bare, replace(HELLO, tools=[]))

    (tool,) = fake.chats[0].body["tools"]
    (declared,) = tool["functionDeclarations"]
    assert declared["name"] == "weather"
    assert "additionalProperties" not in declared["parameters"]
    assert "tools" not in plain.chats[0].body


def test_native_tools_have_the_gemini_payload():
    with gemini() as (provider, _):
        payload = provider.convert_tools(TOOLS)
        assert isinstance(payload, GeminiTools)
        assert payload.function_declarations[0]["name"] == "weather"
        assert provider.supports_native_tools()
        assert provider.supports_vision()


def test_a_tool_with_a_name_that_gemini_refuses_is_left_out_and_told():
    heard = []
    tools = [*TOOLS, replace(TOOLS[0], name="날씨")]
    with gemini(notify=heard.append) as (provider, fake):
        chat(provider, replace(HELLO, tools=tools), times=2)

    (tool,) = fake.chats[0].body["tools"]
    assert [d["name"] for d in tool["functionDeclarations"]] == ["weather"]
    assert len(heard) == 1
    assert "'날씨'" in heard[0]


CALL_IN_TEXT = ('I look. <tool_call>{"name": "weather", "arguments": '
                '{"city": "Oslo"}}</tool_call> Wait.')
NO_TOOLS = failure(400, "Function calling is not enabled for models/m")


@ASKS
def test_refused_tools_are_told_in_the_prompt(ask):
    heard = []
    with gemini([NO_TOOLS, said(CALL_IN_TEXT, chunk_size=3)],
                notify=heard.append) as (provider, fake):
        response = ask(provider, WITH_TOOLS)

    assert [("tools" in r.body) for r in fake.chats] == [True, False]
    system = fake.chats[1].body["systemInstruction"]["parts"][0]["text"]
    assert "**weather**" in system
    assert response.text == CALL_IN_TEXT  # the agent reads it
    assert heard == ["m takes no tools; they are described in the prompt"]


def test_what_was_refused_is_not_tried_again_and_kept_for_later():
    class Notes:
        kept = ModelInfo()

        def find(self, address, model):
            return self.kept

        def learn(self, address, model, model_info):
            self.kept = model_info
    notes = Notes()
    with gemini([NO_TOOLS, "fine"], model_info=notes) as (provider, fake):
        chat(provider, WITH_TOOLS, times=2)
        later = GeminiProvider(Connection(provider.vendor, key=KEY,
                                          model_info=notes))
        assert not asyncio.run(later.takes_tools("m"))
        chat(later, WITH_TOOLS)

    assert [("tools" in r.body) for r in fake.chats] == [
        True, False, False, False]
    assert notes.kept == ModelInfo(native_tools=False, without=("tools",))
    assert later.address == f"{fake.url}/v1beta"


def test_a_vendor_without_native_tools_gets_them_in_the_prompt():
    row = replace(ROW, native_tools=False)
    with gemini([CALL_IN_TEXT], row=row) as (provider, fake):
        response = chat(provider, WITH_TOOLS)

        assert isinstance(provider.convert_tools(TOOLS), PromptGuided)
    assert "tools" not in fake.chats[0].body
    assert response.text == CALL_IN_TEXT  # the dispatcher reads the calls


@ASKS
@pytest.mark.parametrize(("refused", "absent"), [
    ("generationConfig", "generationConfig"),
    ("temperature", "temperature"),
    ("maxOutputTokens", "maxOutputTokens"),
    ("thinkingConfig", "thinkingConfig"),
    ("systemInstruction", "systemInstruction"),
    ("tools", "tools"),
])
def test_an_unknown_field_is_left_out_from_then_on(ask, refused, absent):
    request = replace(WITH_TOOLS, messages=[ChatMessage.system("Be brief."),
                                            *HELLO.messages])
    with gemini(["fine"], server={"refuse": [refused]},
                reasoning=ReasoningSettings(reasoning_effort="low")) as (
            provider, fake):
        assert ask(provider, request).text == "fine"
        again = fake.chats[-1].body
    assert len(fake.chats) == 2
    assert absent not in {*again, *again.get("generationConfig", {})}
    if refused == "systemInstruction":
        assert again["contents"][0]["parts"][0]["text"].startswith(
            "Be brief.")


def test_a_schema_goes_native_then_cleaned_then_in_words():
    schema = {"type": "object", "properties": {"a": {"type": "string",
                                                     "pattern": "x"}},
              "additionalProperties": False}
    request = replace(HELLO, response_schema=schema)
    with gemini(['{"a": "x"}'], server={"refuse": [
            "responseJsonSchema", "responseSchema"]}) as (provider, fake):
        chat(provider, request)

    first, second, third = (r.body["generationConfig"] for r in fake.chats)
    assert first["responseMimeType"] == "application/json"
    assert first["responseJsonSchema"] == schema
    assert second["responseSchema"] == {
        "type": "object", "properties": {"a": {"type": "string"}}}
    assert not {"responseMimeType", "responseSchema"} & set(third)
    system = fake.chats[2].body["systemInstruction"]["parts"][0]["text"]
    assert json.dumps(schema) in system


def test_tools_and_a_schema_at_once_may_be_too_much():
    refusal = failure(400, "Function calling with a response mime type: "
                           "'application/json' is unsupported")
    request = replace(WITH_TOOLS, response_schema={"type": "object"})
    with gemini([refusal, "{}"]) as (provider, fake):
        chat(provider, request)
        second = fake.chats[1].body

    assert "tools" in second
    assert "responseMimeType" not in second["generationConfig"]


def test_a_cleaned_schema_that_is_refused_goes_as_it_was():
    refusal = failure(400, "* GenerateContentRequest.tools[0]."
                           "function_declarations[0].parameters.properties"
                           "[x].properties: should be non-empty for OBJECT "
                           "type")
    with gemini([refusal, "fine"]) as (provider, fake):
        chat(provider, WITH_TOOLS)

    (declared,) = fake.chats[1].body["tools"][0]["functionDeclarations"]
    assert declared["parametersJsonSchema"] == TOOLS[0].parameters
    assert "parameters" not in declared


@ASKS
@pytest.mark.parametrize("refusal", [
    failure(400, "Function call is missing a thought_signature in "
                 "functionCall parts."),
    failure(400, "Thought signature is not valid."),
    said("", finish_reason="MISSING_THOUGHT_SIGNATURE")])
def test_a_refused_signature_is_replaced_by_the_vendors_stand_in(
        ask, refusal):
    replay = json.dumps({"by": "gemini", "calls": [{"signature": "b2xk"}]})
    made = call("weather", city="Oslo")
    with gemini([made, refusal, "fine"]) as (provider, fake):
        first = chat(provider, WITH_TOOLS)
        history = replace(WITH_TOOLS, messages=[
            *HELLO.messages,
            encode_tool_calls(AssistantToolCalls(
                None, first.tool_calls, replay=replay)),
            encode_tool_result(ToolResultMessage(
                first.tool_calls[0].id, "5"))])
        ask(GeminiProvider(Connection(provider.vendor, key=KEY)), history)

    sent = [r.body["contents"][1]["parts"][0]["thoughtSignature"]
            for r in fake.chats[1:]]
    assert sent == ["b2xk", "skip_thought_signature_validator"]


# what ends an answer

@ASKS
@pytest.mark.parametrize(("reason", "kind"), [
    ("SAFETY", RequestRefusedError), ("RECITATION", RequestRefusedError),
    ("BLOCKLIST", RequestRefusedError),
    ("PROHIBITED_CONTENT", RequestRefusedError),
    ("SPII", RequestRefusedError), ("IMAGE_SAFETY", RequestRefusedError),
    ("LANGUAGE", RequestRefusedError), ("OTHER", IncompleteAnswerError),
    ("MALFORMED_FUNCTION_CALL", IncompleteAnswerError),
    ("UNEXPECTED_TOOL_CALL", IncompleteAnswerError),
    ("A_REASON_OF_2030", IncompleteAnswerError),
])
def test_an_answer_that_was_stopped_is_an_error_that_names_why(
        ask, reason, kind):
    reply = said("", finish_reason=reason)
    with gemini([reply]) as (provider, fake), pytest.raises(
            kind, match=reason) as caught:
        ask(provider)

    assert type(caught.value) is kind
    assert len(fake.chats) == 1


def test_what_was_shown_of_a_stopped_answer_stays_shown():
    shown = []
    reply = said("half an answer <thi", finish_reason="SAFETY")
    with gemini([reply]) as (provider, _), pytest.raises(
            RequestRefusedError, match="SAFETY"):
        chunks_of(provider, HELLO, shown)

    assert "".join(shown) == "half an answer <thi"


@ASKS
def test_a_blocked_prompt_is_refused_with_its_reason(ask):
    feedback = {"promptFeedback": {
        "blockReason": "PROHIBITED_CONTENT",
        "blockReasonMessage": f"no such things, {KEY}"}}
    reply = Reply(extra={**feedback, "candidates": []})
    with gemini([reply]) as (provider, _), pytest.raises(
            RequestRefusedError, match=r"PROHIBITED_CONTENT.*no such"
            ) as e:
        ask(provider)

    assert KEY not in str(e.value)


@ASKS
def test_an_answer_at_its_limit_says_so(ask):
    with gemini([said("half", finish_reason="MAX_TOKENS")]) as (provider, _):
        assert ask(provider).finish_reason == "length"


@ASKS
@pytest.mark.parametrize("parts", [(), (THOUGHT,)])
def test_an_answer_that_used_up_its_tokens_says_so(ask, parts):
    reply = Reply(parts, finish_reason="MAX_TOKENS")
    with gemini([reply]) as (provider, fake), pytest.raises(
            IncompleteAnswerError) as caught:
        ask(provider)

    assert "--max-tokens" in caught.value.hint
    assert len(fake.chats) == 1


@ASKS
def test_an_empty_answer_is_asked_for_once_more(ask):
    with gemini(["", "second"]) as (provider, fake):
        assert ask(provider).text == "second"
    assert len(fake.chats) == 2


@ASKS
def test_two_empty_answers_are_an_error(ask):
    with gemini([""]) as (provider, fake), pytest.raises(
            IncompleteAnswerError, match="empty answer"):
        ask(provider)
    assert len(fake.chats) == 2


@pytest.mark.parametrize("reply", [
    cut_off("half an answer", after_chunks=1),
    endless("half an answer"),
    malformed("half an answer", after_chunks=1),
])
def test_a_broken_stream_keeps_what_came_and_is_an_error(reply):
    shown = []
    with gemini([reply]) as (provider, fake), pytest.raises(
            IncompleteAnswerError):
        chunks_of(provider, HELLO, shown)

    assert "".join(shown).startswith("half an")
    assert len(fake.chats) == 1  # never asked again behind one's back


def test_a_stream_that_ends_before_anything_is_an_error_too():
    with gemini([Reply(fault="no_end")]) as (provider, fake), pytest.raises(
            IncompleteAnswerError, match="ended before"):
        chunks_of(provider)
    assert len(fake.chats) == 1


def test_what_breaks_after_the_end_does_not_matter():
    done = json.dumps({"candidates": [{
        "content": {"parts": [{"text": "whole"}]}, "finishReason": "STOP"}]})
    reply = Reply(content_type="text/event-stream",
                  body=f"data: {done}\n\ndata: {{not json\n\n")
    with gemini([reply]) as (provider, _):
        assert streamed(provider).text == "whole"


@ASKS
def test_a_stalled_answer_ends_at_the_time_limit(ask):
    with gemini([stalled("half an answer", 1)], timeout_s=0.2) as (
            provider, _), pytest.raises(UnavailableError, match=r"0\.2 s"):
        ask(provider)


def test_a_server_that_does_not_stream_is_read_whole():
    rows = [{"candidates": [{"content": {"parts": [{"text": text}]},
                             **end}]}
            for text, end in (("a", {}), ("b", {"finishReason": "STOP"}))]
    with gemini([Reply(body=json.dumps(rows))]) as (provider, _):
        assert streamed(provider).text == "ab"
    with gemini([Reply(body=json.dumps(rows[1]))]) as (provider, _):
        assert streamed(provider).text == "b"


# what fails

def sse(data):
    return Reply(content_type="text/event-stream", body=f"data: {data}\n\n")


@ASKS
@pytest.mark.parametrize(("reply", "kind", "words"), [
    (failure(401, f"bad key {KEY}"), AuthError, r"\(401\): bad key \[RED"),
    (failure(403, "no", "PERMISSION_DENIED"), AuthError, r"\(403\)"),
    (over_quota(), RateLimitedError, r"\(429\): You exceeded"),
    (over_quota(quota="PerDay"), QuotaError, r"\(429\): You exceeded"),
    (failure(404, "no model m", "NOT_FOUND"), RequestRefusedError,
     r"\(404\)"),
    (failure(400, "nonsense"), RequestRefusedError, "nonsense"),
    (failure(400, f"no such address: /x?key={quote(KEY, safe='')}"),
     RequestRefusedError, r"key=\[REDACTED\]"),
    (failure(500, "oh", "INTERNAL"), UnavailableError, r"\(500\): oh"),
    (html_page(502), UnavailableError, "HTML page"),
    (Reply(body="[1]"), IncompleteAnswerError, "no answer"),
    (Reply(body="null"), IncompleteAnswerError, "no answer"),
    (Reply(body="<html>", content_type="text/html"), UnavailableError,
     "web page"),
    (Reply(body=f'{{"error": {{"message": "at {KEY}", "code": 429}}}}'),
     RateLimitedError, r"at \[REDACTED\]"),
    (Reply(body='{"error": "odd"}'), UnavailableError, "odd"),
    (cut_off(after_chunks=0), IncompleteAnswerError, "broke off"),
    (Reply(body="[" * 100_000), IncompleteAnswerError, "no answer"),
])
def test_failures_are_one_sentence_of_the_right_kind(ask, reply, kind, words):
    with gemini([reply]) as (provider, fake), pytest.raises(
            kind, match=words) as caught:
        ask(provider)

    assert type(caught.value) is kind
    assert len(fake.chats) == 1
    shown = "".join(traceback.format_exception(caught.value))
    assert KEY not in shown
    assert "canary" not in shown + str(caught.value.hint)


@ASKS
def test_a_key_that_is_none_is_an_auth_error_though_it_comes_as_400(ask):
    with gemini([bad_key()]) as (provider, _), pytest.raises(
            AuthError, match="API key not valid") as caught:
        ask(provider)

    assert "GEMINI_API_KEY" in caught.value.hint


@ASKS
def test_an_overloaded_model_is_named_so(ask):
    reply = failure(503, "The model is overloaded. Please try again later.",
                    "UNAVAILABLE")
    with gemini([reply]) as (provider, _), pytest.raises(
            OverloadedError, match="overloaded"):
        ask(provider)


@pytest.mark.parametrize(("reply", "wait"), [
    (over_quota("31s"), 31.0), (over_quota("0.5s"), 0.5),
    (over_quota("soon"), None),
    (failure(429, "slow", retry_after="9"), 9.0),
])
def test_the_wait_that_google_asks_for_is_kept(reply, wait):
    with gemini([reply]) as (provider, _), pytest.raises(
            RateLimitedError) as caught:
        chat(provider)

    assert caught.value.retry_after_s == wait


@pytest.mark.parametrize(("data", "kind"), [
    ('{"error":{"message":"overloaded","code":503}}', UnavailableError),
    ('{"error":{"message":"slow","code":429,"details":[{"retryDelay":'
     '"7s"}]}}', RateLimitedError),
])
def test_an_error_inside_a_stream_is_that_error(data, kind):
    with gemini([sse(data)]) as (provider, _), pytest.raises(kind) as caught:
        chunks_of(provider)
    if kind is RateLimitedError:
        assert caught.value.retry_after_s == 7.0


def test_a_refusal_after_the_first_words_is_not_asked_around():
    first = json.dumps({"candidates": [{"content": {"parts": [
        {"text": "half"}]}}]})
    refusal = ('{"error": {"code": 400, "message": "Function calling is '
               'not enabled"}}')
    with gemini([sse(f"{first}\n\ndata: {refusal}")]) as (
            provider, fake), pytest.raises(RequestRefusedError):
        chunks_of(provider, WITH_TOOLS)

    assert len(fake.chats) == 1


@ASKS
@pytest.mark.parametrize("body", [
    {}, {"candidates": []}, {"candidates": "x"}, {"candidates": [7]}])
def test_an_answer_without_a_candidate_is_none(ask, body):
    with gemini([Reply(body=json.dumps(body))]) as (provider, _), \
            pytest.raises(IncompleteAnswerError):
        ask(provider)


@ASKS
@pytest.mark.parametrize("candidate", [
    {"content": 7}, {"content": {"parts": 7}}, {"content": {"parts": [7]}},
    {"content": {"parts": [{"functionCall": {"args": {}}}]}},
    {"content": {"parts": [{"functionCall": {"name": 7}}]}},
    {"content": {"parts": [{"text": 7}]}},
])
def test_an_answer_of_wrong_types_is_an_empty_one(ask, candidate):
    body = {"candidates": [{**candidate, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": "x"},
            "promptFeedback": 7, "modelVersion": 7}
    with gemini([Reply(body=json.dumps(body))]) as (provider, _), \
            pytest.raises(IncompleteAnswerError, match="empty answer"):
        ask(provider)


def test_ten_megabytes_in_one_event_are_a_named_error():
    data = json.dumps({"candidates": [{"content": {"parts": [
        {"text": "x" * 10_000_000}]}, "finishReason": "STOP"}]})
    with gemini([sse(data)]) as (provider, _), pytest.raises(
            UnavailableError, match="event of more than"):
        chunks_of(provider)


@ASKS
def test_a_missing_key_is_said_before_anything_is_sent(ask):
    row = replace(ROW, url="https://gemini.invalid")
    with pytest.raises(AuthError, match="Gemini API key not set") as caught:
        ask(GeminiProvider(Connection(row)))

    assert "GEMINI_API_KEY" in caught.value.hint
    assert "config set model_providers.gemini.api_key" in caught.value.hint


def test_a_missing_model_is_named_with_the_way_to_see_them():
    with gemini(server={"strict_models": True}) as (provider, _), \
            pytest.raises(RequestRefusedError) as caught:
        chat(provider)

    assert '"m"' in caught.value.hint
    assert "claw provider models gemini" in caught.value.hint


@ASKS
@pytest.mark.parametrize("url", [
    "http://127.0.0.1:9", "http://no.such.host.invalid", "nonsense://x",
    "http://127.0.0.1:99999"])
def test_a_server_that_is_not_there_is_named_without_the_key(ask, url):
    provider = GeminiProvider(Connection(replace(ROW, url=url), key=KEY))

    with pytest.raises(UnavailableError, match="could not reach") as caught:
        ask(provider)
    assert "canary" not in "".join(traceback.format_exception(caught.value))


def test_a_redirect_to_another_host_takes_no_key_along():
    with FakeGemini() as other:
        away = Reply(status=307, body="moved", headers=(
            ("Location", f"http://localhost:{other.port}/v1beta/x"),))
        with gemini([away]) as (provider, _), pytest.raises(
                RequestRefusedError, match=r"\(307\)") as caught:
            chat(provider)

    assert other.requests == []
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("level", ["INFO", "DEBUG"])
def test_no_log_line_and_no_repr_holds_the_key(caplog, level):
    with caplog.at_level(level), gemini(
            [failure(500, "oh"), "fine"],
            transport=httpx.AsyncHTTPTransport()) as (provider, _):
        async def go():
            with pytest.raises(UnavailableError):
                await provider.chat(HELLO, "m", 0.5)
            await provider.models()
            return [c async for c in provider.stream_chat(HELLO, "m", 0.5)]
        run(provider, go())
        shown = repr(provider) + repr(vars(provider))

    lines = [r.getMessage() for r in caplog.records]
    assert any("key=[REDACTED]" in line for line in lines)
    assert "canary" not in shown + "".join(lines)
    assert logging.getLogger("httpx").filters


# the list of models

def test_models_are_those_that_can_answer_from_every_page():
    names = ["gemini-a", "gemini-b", "text-embedding-1", "gemini-c"]
    with gemini(server={"models": names, "page_size": 2,
                        "api_key": KEY}) as (provider, fake):
        assert run(provider, provider.models()) == [
            "gemini-a", "gemini-b", "gemini-c"]

    assert [r.path for r in fake.requests] == ["/v1beta/models"] * 2
    assert fake.requests[1].query["pageToken"] == ["2"]


@pytest.mark.parametrize("reply", [
    '{"models": 7}', "[]", "<html>", '{"models": [{"name": 7}, 7]}'])
def test_a_list_that_is_none_is_said(reply, monkeypatch):
    with gemini() as (provider, fake):
        monkeypatch.setattr(fake, "_model_list",
                            lambda _: Reply(body=reply))
        if "[{" in reply:
            assert run(provider, provider.models()) == []
            return
        with pytest.raises(UnavailableError, match="no list of models"):
            run(provider, provider.models())


@pytest.mark.parametrize("call_", ["models", "warmup"])
def test_a_wrong_key_shows_when_models_are_asked_for(call_):
    with gemini(server={"api_key": "another"}) as (provider, _), \
            pytest.raises(AuthError):
        run(provider, getattr(provider, call_)())


def test_a_stream_left_early_closes_its_connection():
    with gemini([said("x" * 5000, chunk_size=1)]) as (provider, fake):
        async def go():
            stream = provider.stream_chat(HELLO, "m", 0.5)
            async for _ in stream:
                break
            await stream.aclose()
            return await provider.chat(HELLO, "m", 0.5)

        assert run(provider, go()).text
    assert len(fake.chats) == 2
