"""The compatible provider against a real llama.cpp server.

Its model is random: what it says means nothing, but how it says it does.
"""

import asyncio
import json

import jsonschema
import pytest

from claw.core.errors import IncompleteAnswerError, RequestRefusedError
from claw.core.provider import ChatMessage, ChatRequest
from claw.providers.factory import create_provider
from claw.providers.local import find_local
from claw.providers.settings import NamedProviderSettings

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def url(llama_cpp, tmp_path_factory):
    with llama_cpp(tmp_path_factory.mktemp("llama")) as address:
        yield address


def run(url, work):
    """work(provider, model) with the server's own model."""
    async def go():
        provider = create_provider("llamacpp", named={
            "llamacpp": NamedProviderSettings(base_url=url)})
        try:
            (model,) = await provider.models()
            return await work(provider, model)
        finally:
            await provider.aclose()
    return asyncio.run(go())


HELLO = ChatRequest([ChatMessage.system("Be brief."),
                     ChatMessage.user("hello")], max_tokens=16)


def test_a_plain_answer_with_its_usage(url):
    response = run(url, lambda p, m: p.chat(HELLO, m, 0.7))

    assert response.text
    assert response.usage.input_tokens > 5
    assert 0 < response.usage.output_tokens <= 24


def test_a_streamed_answer_with_its_usage(url):
    async def collect(provider, model):
        return [c async for c in provider.stream_chat(HELLO, model, 0.7)]
    chunks = run(url, collect)

    assert "".join(c.delta for c in chunks) == chunks[-1].response.text
    assert chunks[-1].response.usage.output_tokens > 0
    assert chunks[-1].response.text.encode()


def test_too_long_a_question_is_refused_with_its_reason(url):
    long = ChatRequest([ChatMessage.user("word " * 3000)])
    with pytest.raises(RequestRefusedError, match=r"\(400\).*context"):
        run(url, lambda p, m: p.chat(long, m, 0.7))


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
