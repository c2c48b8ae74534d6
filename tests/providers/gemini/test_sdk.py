"""Google's own SDK and ours, asking the same server, read the same."""

import asyncio
import json

import pytest
from google import genai
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st

from claw.core.provider import ChatMessage, ChatRequest
from claw.core.tool import ToolSpec, closed_object, string
from claw.providers.catalog.vendors import Vendor
from claw.providers.connection import Connection
from claw.providers.gemini.provider import GeminiProvider
from claw.testing.fake_gemini import FakeGemini, Reply, call_part, said

TOOL = ToolSpec("weather", "The weather.", closed_object(city=string("c")))
ASKED = ChatRequest([ChatMessage.user("hello")], tools=[TOOL])
USAGE = {"promptTokenCount": 100, "cachedContentTokenCount": 60,
         "candidatesTokenCount": 7, "thoughtsTokenCount": 30,
         "totalTokenCount": 137}
REPLIES = {
    "text": said("Hello. 안녕 👋", usage=USAGE),
    "thoughts": Reply(({"text": "hm", "thought": True}, {"text": "yes"}),
                      usage=USAGE),
    "calls": Reply((
        {"text": "I look."},
        call_part("weather", {"city": "Oslo"}, signature="c2ln",
                  call_id="v1"),
        call_part("weather", {"city": "ベルゲン", "n": 1.5})), usage=USAGE),
    "cut": said("half", finish_reason="MAX_TOKENS", usage=USAGE),
}


@pytest.fixture(scope="module")
def peers():
    """(the server, the SDK's client)."""
    with FakeGemini() as server, genai.Client(
            api_key="k", http_options=types.HttpOptions(
                base_url=server.url)) as client:
        yield server, client


def theirs(client, *, stream):
    """(text, thoughts, calls, usage) as the SDK reads them."""
    if stream:
        chunks = list(client.models.generate_content_stream(
            model="m", contents="hello"))
    else:
        chunks = [client.models.generate_content(model="m",
                                                 contents="hello")]
    found = [p for c in chunks for p in c.candidates[0].content.parts or []]
    usage = chunks[-1].usage_metadata
    return ("".join(p.text for p in found if p.text and not p.thought),
            "".join(p.text for p in found if p.text and p.thought),
            [(p.function_call.name, p.function_call.args)
             for p in found if p.function_call],
            (usage.prompt_token_count, usage.candidates_token_count
             + (usage.thoughts_token_count or 0),
             usage.cached_content_token_count))


def ours(url, *, stream):
    async def go():
        provider = GeminiProvider(Connection(
            Vendor("gemini", "Gemini", url), key="k"))
        try:
            if stream:
                return [c async for c in provider.stream_chat(
                    ASKED, "m", 0.5)][-1].response
            return await provider.chat(ASKED, "m", 0.5)
        finally:
            await provider.aclose()
    found = asyncio.run(go())
    usage = found.usage
    return (found.text or "", found.reasoning_content or "",
            [(c.name, json.loads(c.arguments)) for c in found.tool_calls],
            (usage.input_tokens, usage.output_tokens,
             usage.cached_input_tokens))


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_answers_are_read_as_the_sdk_reads_them(peers, reply, stream):
    server, client = peers
    server.replies = [reply]

    assert ours(server.url, stream=stream) == theirs(client, stream=stream)


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"],
                              exclude_characters="<"), min_size=1,
                max_size=20).filter(lambda t: t.strip() == t)
PART = st.one_of(
    st.builds(lambda t: {"text": t}, WORDS),
    st.builds(lambda t: {"text": t, "thought": True}, WORDS),
    st.builds(lambda a: call_part("weather", a), st.dictionaries(
        WORDS, WORDS | st.integers(-9, 9) | st.none(), max_size=3)))


@settings(max_examples=40, deadline=None)
@given(st.lists(PART, max_size=5), WORDS, st.integers(1, 9))
def test_any_answer_is_read_as_the_sdk_reads_it(peers, parts, last, size):
    server, client = peers
    server.replies = [Reply((*parts, {"text": last}), usage=USAGE,
                            chunk_size=size)]

    for stream in (False, True):
        assert ours(server.url, stream=stream) == theirs(client,
                                                         stream=stream)
