"""The cached provider: what is given again, and what never is."""

import asyncio
import hashlib
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from claw.core.errors import IncompleteAnswerError, RateLimitedError
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ChatResponse,
    Passage,
    Provider,
    TokenUsage,
    ToolCall,
    ToolResultMessage,
    WrappedProvider,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec
from claw.core.value import replace
from claw.providers.resilience.cache import (
    MAX_CHARS,
    CachedProvider,
    request_key,
)
from claw.storage.response_cache import open_response_cache
from claw.testing.contracts.provider import ProviderContract
from claw.testing.scripted import ScriptedProvider

SYSTEM, USER = ChatMessage.system, ChatMessage.user
ASK = ChatRequest([SYSTEM("be brief"), USER("hello?")])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory" / "response_cache.db"


@pytest.fixture
def cached(path):
    made = []

    def cached(*script, said=None, **options):
        inner = ScriptedProvider(list(script), **options)
        cache = open_response_cache(path)
        made.append(cache)
        return inner, CachedProvider(
            inner, cache, said.append if said is not None else print)
    yield cached
    for cache in made:
        cache.close()


def chat(provider, request=ASK, model="m", temperature=0.0):
    return asyncio.run(provider.chat(request, model, temperature))


def stream(provider, request=ASK, model="m", temperature=0.0):
    async def gathered():
        return [chunk async for chunk in
                provider.stream_chat(request, model, temperature)]
    return asyncio.run(gathered())


class TestCached(ProviderContract):
    @contextmanager
    def running(self):
        with tempfile.TemporaryDirectory() as folder, closing(
                open_response_cache(Path(folder) / "c.db")) as cache:
            yield CachedProvider(ScriptedProvider(), cache)


# --- given again ------------------------------------------------------

def test_the_same_question_is_asked_once(cached):
    inner, provider = cached("one", "two")

    first, second = chat(provider), chat(provider)

    assert (first.text, second.text) == ("one", "one")
    assert len(inner.requests) == 1
    assert second.finish_reason == "stop"
    assert second.usage == TokenUsage(0, 0)
    assert second.tool_calls == ()


def test_another_process_is_answered_too(cached):
    chat(cached("one")[1])
    inner, provider = cached("two")

    assert chat(provider).text == "one"
    assert inner.requests == []


def test_a_hit_streams_as_one_chunk(cached):
    _, provider = cached("the whole answer")
    asked = stream(provider)

    piece, final = stream(provider)

    assert len(asked) > 2
    assert piece.delta == "the whole answer"
    assert final.is_final
    assert final.delta == ""
    assert final.response.text == "the whole answer"
    assert final.response.finish_reason == "stop"


def test_streamed_and_whole_answers_are_the_same_ones(cached):
    inner, provider = cached("one", "two", "three")
    stream(provider)
    assert chat(provider).text == "one"

    other = ChatRequest([USER("else")])
    chat(provider, other)
    assert stream(provider, other)[0].delta == "two"
    assert len(inner.requests) == 2


def test_a_hit_is_counted(cached, path):
    _, provider = cached(ChatResponse("one", usage=TokenUsage(9, 5)))
    for _ in range(3):
        chat(provider)

    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute(
            "SELECT model, response, token_count, hit_count "
            "FROM response_cache").fetchone()
    assert row == ("m", "one", 5, 2)


def test_a_stream_that_is_left_at_its_end_is_kept(cached):
    inner, provider = cached("one", "two")

    async def left():
        chunks = provider.stream_chat(ASK, "m", 0.0)
        async for chunk in chunks:
            if chunk.is_final:
                break
        await chunks.aclose()
    asyncio.run(left())

    assert chat(provider).text == "one"
    assert len(inner.requests) == 1


def test_tools_may_be_there_as_long_as_none_is_called(cached):
    tools = [ToolSpec("t", "d", {"type": "object"})]
    inner, provider = cached("one", "two")

    request = ChatRequest(ASK.messages, tools)
    assert [chat(provider, request).text for _ in "ab"] == ["one", "one"]
    assert len(inner.requests) == 1


# --- never given again ------------------------------------------------

@pytest.mark.parametrize("temperature", [0.1, 0.7, 1.0, 1e-9, float("nan")])
def test_only_temperature_zero_is_looked_up(cached, path, temperature):
    inner, provider = cached("one", "two", "three")

    chat(provider, temperature=temperature)
    stream(provider, temperature=temperature)

    assert len(inner.requests) == 2
    assert not path.exists()


CALL = (ToolCall("1", "t", "{}"),)


@pytest.mark.parametrize("response", [
    ChatResponse("text", tool_calls=CALL),
    ChatResponse(None, tool_calls=CALL),
    ChatResponse("text", finish_reason="length"),
    ChatResponse("text", finish_reason="max_tokens"),
    ChatResponse("text", finish_reason="content_filter"),
    ChatResponse("text", finish_reason="tool_calls"),
    ChatResponse(None), ChatResponse(""), ChatResponse(" \n"),
    ChatResponse('I look. <tool_call>{"name": "t"}</tool_call>'),
    ChatResponse("<invoke name='t'>"), ChatResponse("```tool_call\n{}"),
    ChatResponse('{"tool_calls": []}'),
], ids=lambda each: repr(each)[:60])
@pytest.mark.parametrize("ask", [chat, stream])
def test_only_whole_final_texts_are_kept(cached, path, response, ask):
    inner, provider = cached(response, "two")

    ask(provider)
    ask(provider)

    assert len(inner.requests) == 2


def test_a_very_long_answer_is_not_kept(cached):
    _, provider = cached("x" * (MAX_CHARS + 1), "two")

    chat(provider)

    assert chat(provider).text == "two"


@pytest.mark.parametrize("reason", [None, "stop", "STOP", "end_turn"])
def test_a_finished_answer_is_kept(cached, reason):
    inner, provider = cached(ChatResponse("one", finish_reason=reason))

    assert [chat(provider).text for _ in "ab"] == ["one", "one"]
    assert len(inner.requests) == 1


def test_errors_are_not_kept(cached):
    inner, provider = cached(RateLimitedError("slow down"), "two")

    with pytest.raises(RateLimitedError):
        chat(provider)

    assert chat(provider).text == "two"
    assert len(inner.requests) == 2


def test_a_stream_that_breaks_off_is_not_kept(cached):
    _, provider = cached("the answer", cut_after=1)
    with pytest.raises(IncompleteAnswerError):
        stream(provider)

    inner, provider = cached("whole")
    assert chat(provider).text == "whole"
    assert len(inner.requests) == 1


# --- what makes a question another one --------------------------------

SPEC = ToolSpec("t", "d", {"type": "object"})
PLAIN = [SYSTEM("s"), USER("and then?")]
REQUESTS = {
    "plain": ChatRequest(PLAIN),
    "no system": ChatRequest(PLAIN[1:]),
    "another system": ChatRequest([SYSTEM("S"), PLAIN[1]]),
    "another message": ChatRequest([PLAIN[0], USER("and now?")]),
    "an earlier conversation": ChatRequest(
        [PLAIN[0], USER("a"), ChatMessage.assistant("b"), PLAIN[1]]),
    "another conversation": ChatRequest(
        [PLAIN[0], USER("a"), ChatMessage.assistant("c"), PLAIN[1]]),
    "two systems": ChatRequest([SYSTEM(""), *PLAIN]),
    "a call before": ChatRequest([*PLAIN, encode_tool_calls(
        AssistantToolCalls(None, CALL)), encode_tool_result(
            ToolResultMessage("1", "r"))]),
    "another result": ChatRequest([*PLAIN, encode_tool_calls(
        AssistantToolCalls(None, CALL)), encode_tool_result(
            ToolResultMessage("1", "R"))]),
    "tools": ChatRequest(PLAIN, [SPEC]),
    "other tools": ChatRequest(PLAIN, [replace(SPEC, description="e")]),
    "a schema": ChatRequest(PLAIN, response_schema={"type": "object"}),
    "another schema": ChatRequest(PLAIN, response_schema={"type": "array"}),
    "a limit": ChatRequest(PLAIN, max_tokens=10),
    "another limit": ChatRequest(PLAIN, max_tokens=11),
    "a passage": ChatRequest(PLAIN, passages=(Passage("stdin", "a"),)),
    "another passage": ChatRequest(PLAIN, passages=(Passage("stdin", "b"),)),
    "an image": ChatRequest([USER("[IMAGE:data:image/png;base64,AA==] a")]),
    "another image": ChatRequest(
        [USER("[IMAGE:data:image/png;base64,BB==] a")]),
    "half a character": ChatRequest([USER("\ud83d")]),
}


def test_no_two_requests_share_an_answer():
    keys = [request_key(request, "m") for request in REQUESTS.values()]
    keys += [request_key(request, "hint:m") for request in REQUESTS.values()]
    keys += [request_key(request, "m", "https://other.test")
             for request in REQUESTS.values()]

    assert None not in keys
    assert len(set(keys)) == 3 * len(REQUESTS)


@pytest.mark.each("name", list(REQUESTS))
def test_the_same_request_has_the_same_key(name):
    assert request_key(REQUESTS[name], "m") == request_key(
        replace(REQUESTS[name]), "m")


@pytest.mark.parametrize(("messages", "text"), [
    ([SYSTEM("s"), USER("u")], "m|s|u"),
    ([USER("u")], "m||u"),
    ([SYSTEM(""), USER("u")], "m||u"),
    ([SYSTEM("s"), USER("a|b")], "m|s|a|b"),
    ([SYSTEM("è 你"), USER("🦀")], "m|è 你|🦀")])
def test_a_plain_question_has_the_key_of_the_reference(messages, text):
    assert request_key(ChatRequest(messages), "m") == hashlib.sha256(
        text.encode()).hexdigest()


def test_a_bar_in_the_prompt_does_not_make_two_questions_one():
    def key(system, user, model="m"):
        return request_key(ChatRequest([SYSTEM(system), USER(user)]), model)

    assert len({key("a", "b|c"), key("a|b", "c"), key("", "a|b|c"),
                key("b", "c", "m|a")}) == 4


@pytest.mark.parametrize("marker", ["[IMAGE:/tmp/a.png]",
                                    "[IMAGE:https://x.test/a.png]"])
def test_an_image_that_is_somewhere_else_may_change(cached, path, marker):
    _, provider = cached("one", "two")
    request = ChatRequest([USER(f"what is this? {marker}")])

    assert [chat(provider, request).text for _ in "ab"] == ["one", "two"]
    assert not path.exists()


def test_a_schema_that_is_no_json_is_not_looked_up(cached):
    _, provider = cached("one", "two")
    request = replace(ASK, response_schema={"x": object()})

    assert [chat(provider, request).text for _ in "ab"] == ["one", "two"]


# --- trouble ----------------------------------------------------------

def test_a_damaged_cache_costs_no_answer_and_is_said_once(cached, path):
    path.parent.mkdir()
    path.write_bytes(b"nonsense" * 1000)
    said = []
    _, provider = cached("one", "two", said=said)

    assert [chat(provider).text for _ in "abc"] == ["one", "one", "one"]
    assert len(said) == 1
    assert "kept aside" in said[0]


def test_a_locked_cache_costs_no_answer_and_is_said_once(cached, path):
    said = []
    inner, provider = cached("one", "two", "three", said=said)
    chat(provider)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        # Found in memory; what can't be counted is given all the same.
        assert chat(provider).text == "one"
        request = ChatRequest([USER("new")])
        assert chat(provider, request).text == "two"
        assert chat(provider, request).text == "three"

    assert len(said) == 1
    assert "locked" in said[0]
    assert len(inner.requests) == 3


def test_a_folder_that_can_not_be_written_costs_no_answer(cached, path):
    path.parent.write_text("a file")
    said = []
    _, provider = cached("one", "two", said=said)

    assert chat(provider).text == "one"
    assert stream(provider)[-1].response.text == "two"
    assert len(said) == 1


def test_the_event_loop_goes_on_while_the_cache_waits(cached, path):
    _, provider = cached("one", "two", said=[])
    chat(provider)
    ticks = []

    async def beside():
        async def tick():
            while True:
                ticks.append(1)
                await asyncio.sleep(0.01)
        task = asyncio.create_task(tick())
        await provider.chat(ChatRequest([USER("new")]), "m", 0.0)
        task.cancel()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        asyncio.run(beside())

    assert len(ticks) > 5


# --- the rest is passed on --------------------------------------------

def test_what_the_provider_can_do_is_passed_on(cached):
    inner, provider = cached(native_tools=True, vision=True,
                             models=("a", "b"))

    assert provider.name == inner.name
    assert provider.capabilities() == inner.capabilities()
    assert provider.capabilities_for("a") == inner.capabilities()
    assert provider.supports_vision()
    assert provider.supports_native_tools()
    assert provider.supports_streaming() == inner.supports_streaming()
    assert provider.convert_tools([SPEC]) == inner.convert_tools([SPEC])
    assert asyncio.run(provider.models()) == ["a", "b"]


def test_every_member_of_a_provider_is_there_on_purpose():
    defaults = {"chat_with_tools", "stream_chat_with_system",
                "stream_chat_with_history"}  # stand on chat, stream_chat
    public = {name for name in vars(Provider) if not name.startswith("_")
              and callable(getattr(Provider, name))}

    own = {*vars(CachedProvider), *vars(WrappedProvider)}
    assert public - own == defaults


def test_simple_questions_are_passed_on(cached):
    _, provider = cached("one", "two", "three")

    async def asked():
        return [await provider.simple_chat("u", "m", 0.0),
                await provider.chat_with_system("s", "u", "m", 0.0),
                await provider.chat_with_history([USER("u")], "m", 0.0)]
    assert asyncio.run(asked()) == ["one", "two", "three"]


def test_closing_closes_the_provider_and_the_file(cached, path):
    inner, provider = cached("one", "two")
    chat(provider)

    asyncio.run(provider.aclose())
    asyncio.run(provider.aclose())

    assert inner.closed
    assert not path.with_name(path.name + "-wal").exists()
    assert chat(provider).text == "one"
