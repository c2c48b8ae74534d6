"""What the compatible provider learns of a server, and its second API."""

import asyncio
from contextlib import contextmanager

import pytest

from claw.core.errors import (
    AuthError,
    IncompleteAnswerError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ToolCall,
    encode_tool_calls,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.core.value import replace
from claw.providers.catalog.address import responses_endpoint
from claw.providers.catalog.info import ModelInfo
from claw.providers.catalog.vendors import Vendor, find_vendor
from claw.providers.connection import Connection
from claw.providers.openai.provider import CompatibleProvider
from claw.providers.settings import NamedProviderSettings
from claw.testing.fake_openai import FakeOpenAI, Reply, failure, tool_call

HELLO = ChatRequest([ChatMessage.system("Be brief."),
                     ChatMessage.user("what is this?")])
TOOLS = [ToolSpec("weather", "The weather.", closed_object(
    city=string("a city")))]
WITH_TOOLS = replace(HELLO, tools=TOOLS)
ROW = Vendor("acme", "Acme", "", default_key="")
CALL_IN_TEXT = ('<tool_call>{"name": "weather", "arguments": '
                '{"city": "Oslo"}}</tool_call>')


class Kept:
    """Remembers model info, as the one in a file does."""

    def __init__(self, **model_info):
        self.kept = {}
        self.given = ModelInfo(**model_info)
        self.asked = []

    def find(self, address, model):
        self.asked.append((address, model))
        return self.kept.get((address, model), self.given)

    def learn(self, address, model, model_info):
        self.kept[address, model] = model_info


@contextmanager
def acme(replies=(), *, row=ROW, model_info=None, heard=None, query="",
         key=None, **server):
    with FakeOpenAI(replies, **server) as fake:
        yield CompatibleProvider(Connection(
            replace(row, url=fake.url + query), model_info=model_info, key=key,
            notify=heard.append if heard is not None else print)), fake


def run(provider, work):
    async def go():
        try:
            return await work
        finally:
            await provider.aclose()
    return asyncio.run(go())


def chat(provider, request=HELLO, *, times=1, model="m"):
    async def go():
        return [await provider.chat(request, model, 0.5)
                for _ in range(times)][-1]
    return run(provider, go())


def stream(provider, request=HELLO):
    async def go():
        return [c async for c in provider.stream_chat(request, "m", 0.5)]
    return run(provider, go())[-1].response


ASKED = pytest.mark.parametrize("ask", [chat, stream])


def paths(fake):
    return [r.path.removeprefix("/v1") for r in fake.requests]


# Facts.

def test_a_refusal_is_remembered_for_the_next_process():
    keeper, heard = Kept(), []
    with acme([CALL_IN_TEXT], refuse_tools=True, model_info=keeper,
              heard=heard, query="?api-version=1") as (provider, fake):
        chat(provider, WITH_TOOLS)
        url = f"{fake.url}/chat/completions"
        again = CompatibleProvider(Connection(provider.vendor,
                                              model_info=keeper))
        response = chat(again, WITH_TOOLS)

    assert keeper.kept == {(url, "m"): ModelInfo(False, ("tools",))}
    assert [("tools" in r.body) for r in fake.requests] == [
        True, False, False]
    assert response.text == CALL_IN_TEXT
    assert len(heard) == 1
    assert "m takes no tools" in heard[0]


def test_facts_are_asked_for_once_for_each_model():
    keeper = Kept()
    with acme(["fine"], model_info=keeper) as (provider, _):
        chat(provider, times=3)

    assert len(keeper.asked) == 1


def test_a_refusal_of_one_time_is_not_remembered():
    keeper = Kept()
    refusal = failure(400, "tool call validation failed: x")
    with acme([refusal, "fine"], model_info=keeper) as (provider, fake):
        chat(provider, WITH_TOOLS)
        chat(CompatibleProvider(Connection(provider.vendor)), WITH_TOOLS)

    assert keeper.kept == {}
    assert [("tools" in r.body) for r in fake.requests] == [
        True, False, True]


@pytest.mark.parametrize(("row", "native"), [
    (replace(ROW, local=True, native_tools=False), True),
    (replace(ROW, native_tools=False), False)])
def test_what_is_known_counts_more_than_the_guess_for_a_local_server(
        row, native):
    with acme([tool_call("weather", city="Oslo")], row=row,
              model_info=Kept(native_tools=True)) as (provider, fake):
        chat(provider, WITH_TOOLS)

    assert ("tools" in fake.requests[0].body) is native


def test_models_are_learned_apart():
    with acme(refuse_tools=True) as (provider, fake):
        async def go():
            await provider.chat(WITH_TOOLS, "a", 0.5)
            await provider.chat(WITH_TOOLS, "b", 0.5)
        run(provider, go())

    assert [("tools" in r.body) for r in fake.requests] == [
        True, False, True, False]


THOUGHTS = replace(HELLO, messages=[encode_tool_calls(AssistantToolCalls(
    None, (ToolCall("1", "weather", "{}"),), "hm"))])
NO_THOUGHTS = replace(HELLO, messages=[encode_tool_calls(AssistantToolCalls(
    None, (ToolCall("1", "weather", "{}"),)))])


@pytest.mark.parametrize(("request_", "words", "before", "after"), [
    (THOUGHTS, "'messages.2' : property 'reasoning_content' is unsupported",
     "hm", None),
    (NO_THOUGHTS, "The `reasoning_content` in the thinking mode must be "
     "passed back to the API.", None, " "),
    (NO_THOUGHTS, "thinking is enabled but reasoning_content is missing in "
     "assistant tool call message at index 2", None, " "),
])
def test_thoughts_are_left_out_or_filled_in_as_the_server_says(
        request_, words, before, after):
    with acme([failure(400, words), "fine"]) as (provider, fake):
        assert chat(provider, request_).text == "fine"

    assert [r.body["messages"][0].get("reasoning_content")
            for r in fake.requests] == [before, after]


def test_no_refusal_is_tried_for_ever():
    with acme([failure(400, "unknown parameter: tools")]) as (
            provider, fake), pytest.raises(RequestRefusedError):
        chat(provider, WITH_TOOLS)

    assert len(fake.requests) == 2


# The Responses API.

@ASKED
def test_without_chat_completions_the_responses_api_is_asked(ask):
    keeper = Kept()
    with acme(["fine"], apis=["responses"], model_info=keeper) as (
            provider, fake):
        assert ask(provider).text == "fine"
        again = CompatibleProvider(Connection(provider.vendor,
                                              model_info=keeper))
        assert ask(again).text == "fine"

    assert paths(fake) == ["/chat/completions", "/responses", "/responses"]
    assert fake.requests[1].body["instructions"] == "Be brief."
    assert fake.requests[1].body["input"] == [
        {"role": "user", "content": "what is this?"}]


@ASKED
def test_when_both_fail_the_first_error_is_told(ask):
    with acme(apis=[]) as (provider, fake), pytest.raises(
            RequestRefusedError, match="no such path") as caught:
        ask(provider)

    assert paths(fake) == ["/chat/completions", "/responses"]
    assert "base URL" in caught.value.hint


@ASKED
def test_a_key_that_only_the_second_refuses_is_not_the_news(ask):
    replies = [failure(404, "nothing here"), failure(401, "who are you")]
    with acme(replies) as (provider, _), pytest.raises(
            RequestRefusedError, match="nothing here"):
        ask(provider)


@ASKED
@pytest.mark.parametrize("reply", [
    failure(404, "The model `m` does not exist"),
    failure(404, 'model "m" not found, try pulling it first'),
    failure(400, "nonsense"), failure(500, "oh"), failure(429, "slow"),
])
def test_other_errors_ask_nobody_else(ask, reply):
    with acme([reply]) as (provider, fake), pytest.raises(UnavailableError):
        ask(provider)

    assert paths(fake) == ["/chat/completions"]


@pytest.mark.parametrize("name", ["glm", "nvidia", "minimax"])
def test_who_has_no_second_api_is_not_asked_for_it(name):
    row = replace(find_vendor(name), native_tools=True)
    with acme(apis=["responses"], row=row, key="k") as (
            provider, fake), pytest.raises(RequestRefusedError):
        chat(provider)

    assert paths(fake) == ["/chat/completions"]


def test_a_server_that_is_down_is_tried_once():
    with acme() as (provider, fake):
        pass
    with pytest.raises(UnavailableError, match="refused"):
        chat(provider)
    assert fake.requests == []


def test_after_chat_has_worked_a_404_is_what_it_says():
    with acme(["fine", failure(404, "gone")]) as (
            provider, fake), pytest.raises(RequestRefusedError):
        chat(provider, times=2)

    assert paths(fake) == ["/chat/completions"] * 2


def test_a_stream_that_broke_off_is_not_asked_for_again():
    broken = Reply("half", fault="disconnect", after_chunks=6)
    with acme([failure(404, "no"), broken]) as (
            provider, fake), pytest.raises(IncompleteAnswerError):
        stream(provider)

    assert paths(fake) == ["/chat/completions", "/responses"]


@ASKED
def test_the_responses_api_is_asked_outright_where_that_is_set(ask):
    with FakeOpenAI([Reply("I look.", tool_calls=(
            ("weather", '{"city": "Oslo"}'),))]) as fake:
        provider = CompatibleProvider.build(Connection(
            replace(ROW, url=fake.url),
            named=NamedProviderSettings(wire_api="responses")))
        response = ask(provider, WITH_TOOLS)

    assert paths(fake) == ["/responses"]
    assert response.tool_calls[0].name == "weather"
    assert fake.requests[0].body["tools"][0]["name"] == "weather"
    assert fake.requests[0].body["store"] is False


@ASKED
def test_tools_go_into_the_prompt_there_too(ask):
    with acme([CALL_IN_TEXT], refuse_tools=True,
              row=replace(ROW, wire_api="responses")) as (provider, fake):
        response = ask(provider, WITH_TOOLS)

    assert response.text == CALL_IN_TEXT
    assert "**weather**" in fake.requests[1].body["instructions"]


def test_a_missing_key_is_missed_before_anything_is_sent():
    row = replace(ROW, default_key=None, keys=("ACME_KEY",))
    with acme(row=row) as (provider, fake), pytest.raises(AuthError):
        stream(provider)

    assert fake.requests == []


@pytest.mark.parametrize(("base", "api_path", "expected"), [
    ("http://h/v1", None, "http://h/v1/responses"),
    ("http://h/v1/chat/completions", None, "http://h/v1/responses"),
    ("http://h/v1/responses", None, "http://h/v1/responses"),
    ("http://h", None, "http://h/v1/responses"),
    ("http://h/", None, "http://h/v1/responses"),
    ("http://h/v1?a=b", None, "http://h/v1/responses?a=b"),
    ("http://h/v1", "/own/chat", "http://h/v1/responses"),
    ("http://h/v1", "/own/responses", "http://h/v1/own/responses"),
])
def test_the_address_of_the_responses_api(base, api_path, expected):
    assert responses_endpoint(base, api_path) == expected
