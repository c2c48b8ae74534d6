"""All of our wires that a real llama.cpp server speaks, against one.

Its model is random: what it says means nothing, but how it says it does.
"""

import asyncio
import json
import os
import subprocess
import sys

import jsonschema
import pytest

from claw.core.errors import ContextOverflowError, IncompleteAnswerError
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.providers.catalog.local import find_local
from claw.providers.factory import create_provider
from claw.providers.settings import NamedProviderSettings

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def url(llama_cpp, tmp_path_factory):
    with llama_cpp(tmp_path_factory.mktemp("llama"), 2048) as address:
        yield address


WIRES = ("chat", "responses", "messages")
wires = pytest.mark.parametrize("wire", WIRES)


def opened(url, wire):
    if wire == "messages":
        return create_provider(f"anthropic-custom:{url.removesuffix('/v1')}")
    api = "responses" if wire == "responses" else "chat_completions"
    return create_provider("llamacpp", named={
        "llamacpp": NamedProviderSettings(base_url=url, wire_api=api)})


def run(url, work, wire="chat"):
    """work(provider, model) with the server's own model."""
    async def go():
        provider = opened(url, wire)
        try:
            (model,) = await provider.models()
            return await work(provider, model)
        finally:
            await provider.aclose()
    return asyncio.run(go())


async def in_pieces(provider, model, request, temperature=0.7):
    return [c async for c in provider.stream_chat(request, model,
                                                  temperature)]


HELLO = ChatRequest([ChatMessage.system("Be brief."),
                     ChatMessage.user("hello")], max_tokens=16)
WEATHER = ToolSpec("get_weather", "The weather in a city.",
                   closed_object(city=string("a city")))
CALLS = tuple(ToolCall(f"call_{n}", "get_weather", json.dumps({"city": city}))
              for n, city in enumerate(("Oslo", "Rome")))
RESULTS = ChatRequest([
    ChatMessage.user("hello"),
    encode_tool_calls(AssistantToolCalls("I look.", CALLS, "hm")),
    *(encode_tool_result(ToolResultMessage(c.id, "mild")) for c in CALLS),
], tools=[WEATHER], max_tokens=16)


@wires
def test_a_plain_answer_with_its_usage(wire, url):
    response = run(url, lambda p, m: p.chat(HELLO, m, 0.7), wire)

    assert response.text
    assert response.usage.input_tokens > 5
    assert 0 < response.usage.output_tokens <= 24


@wires
def test_a_streamed_answer_with_its_usage(wire, url):
    chunks = run(url, lambda p, m: in_pieces(p, m, HELLO), wire)

    assert "".join(c.delta for c in chunks) == chunks[-1].response.text
    assert chunks[-1].response.usage.output_tokens > 0
    assert chunks[-1].response.text.encode()


@wires
def test_plain_and_streamed_say_the_same_at_temperature_0(wire, url):
    async def both(provider, model):
        return (await provider.chat(HELLO, model, 0.0),
                (await in_pieces(provider, model, HELLO, 0.0))[-1].response)
    plain, streamed = run(url, both, wire)

    assert (plain.text or "").strip() == (streamed.text or "").strip()
    assert plain.finish_reason == streamed.finish_reason
    assert plain.usage.output_tokens == streamed.usage.output_tokens


@wires
def test_calls_and_results_of_tools_are_taken(wire, url):
    async def both(provider, model):
        return (await provider.chat(RESULTS, model, 0.7),
                (await in_pieces(provider, model, RESULTS))[-1].response)

    assert all(run(url, both, wire))


@wires
def test_a_request_right_behind_a_stream_is_answered(wire, url):
    """llama.cpp hangs up behind each stream; the next request must not go
    into that connection."""
    async def turns(provider, model):
        for _ in range(5):
            await in_pieces(provider, model, HELLO)
            assert (await provider.chat(HELLO, model, 0.7)).text
        return True

    assert run(url, turns, wire)


@wires
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
def test_too_long_a_question_is_refused_with_its_reason(wire, stream, url):
    long = ChatRequest([ChatMessage.user("word " * 3000)])
    with pytest.raises(ContextOverflowError,
                       match=r"\(400\).*context") as caught:
        run(url, lambda p, m: in_pieces(p, m, long) if stream
            else p.chat(long, m, 0.7), wire)

    assert "send less" in caught.value.hint
    assert caught.value.status == 400


@wires
def test_provider_test_passes(wire, url, tmp_path):
    """`claw provider test` as a person runs it."""
    name = f"anthropic-custom:{url.removesuffix('/v1')}" \
        if wire == "messages" else "mine"
    api = "responses" if wire == "responses" else "chat_completions"
    (tmp_path / "config.toml").write_text(
        f'[model_providers.mine]\nbase_url = "{url}"\n'
        f'wire_api = "{api}"\n')
    done = subprocess.run(
        [sys.executable, "-m", "claw", "provider", "test", name, "-m", "any",
         "--json"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path),
             "CLAW_HOME": str(tmp_path), "PYTHONWARNINGS": "error"},
        capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stderr) == (0, "")
    (row,) = json.loads(done.stdout)["providers"]
    checks = {c["id"]: c for c in row["checks"]}
    assert {"reach", "key", "model", "answer", "stream", "tools", "usage"
            } <= checks.keys()
    assert [c for c in checks.values() if not c["ok"]] == []


def test_a_schema_is_kept_even_by_a_model_without_sense(url):
    schema = {"type": "object", "additionalProperties": False,
              "properties": {"yes": {"type": "boolean"}},
              "required": ["yes"]}
    request = ChatRequest([ChatMessage.user("yes?")], max_tokens=60,
                          response_schema=schema)
    try:
        response = run(url, lambda p, m: p.chat(request, m, 0.7))
    except IncompleteAnswerError:
        pytest.skip("the random model ran out of tokens")
    if response.finish_reason == "length":
        pytest.skip("the random model ran out of tokens")
    jsonschema.validate(json.loads(response.text), schema)


def test_the_server_is_found_by_its_port(url):
    port = int(url.split(":")[2].split("/")[0])
    (found,) = find_local([("llamacpp", port)], limit_s=5)

    assert found.name == "llamacpp"
    assert found.models
