"""OpenAI and Azure against a real HTTP server: over our wire, and through
OpenAI's own client (`client = "sdk"`)."""

import asyncio
import json
from contextlib import aclosing

import pytest

from claw.core.errors import (
    AuthError,
    ConfigError,
    IncompleteAnswerError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import ChatMessage, ChatRequest
from claw.core.tool import ToolSpec
from claw.providers.factory import create_provider
from claw.providers.settings import NamedProviderSettings, ProviderSettings
from claw.testing.fake_openai import (
    FakeOpenAI,
    Reply,
    cut_off,
    endless,
    failure,
    malformed,
    stalled,
)

HELLO = ChatRequest([ChatMessage.user("hello")], max_tokens=9)
TOOLS = ChatRequest([ChatMessage.user("hello")],
                    tools=[ToolSpec("now", "the time", {"type": "object"})])


NAMED = {}  # [model_providers.<name>] that every test has


@pytest.fixture(autouse=True, params=["http", "sdk"])
def client(request, monkeypatch):
    monkeypatch.setitem(NAMED, "client", request.param)
    return request.param


def ask(server, request=HELLO, *, streamed=False, model="gpt-4o", **settings):
    provider = create_provider(
        "openai", "sk-secret", settings=ProviderSettings(**settings),
        named={"openai": NamedProviderSettings(base_url=server.url, **NAMED)})

    async def go():
        try:
            if not streamed:
                return await provider.chat(request, model, 0.5)
            chunks = [c async for c in provider.stream_chat(request, model,
                                                            0.5)]
            return chunks[-1].response
        finally:
            await provider.aclose()
    return asyncio.run(go())


@pytest.mark.parametrize("streamed", [False, True])
def test_text_usage_and_calls(streamed):
    reply = Reply("I look.", tool_calls=(("now", '{"a": 1}'),))
    with FakeOpenAI([reply]) as server:
        response = ask(server, TOOLS, streamed=streamed)

    assert response.text == "I look."
    assert json.loads(response.tool_calls[0].arguments) == {"a": 1}
    assert response.usage.output_tokens == 7
    body = server.requests[0].body
    assert body["tools"][0]["function"]["name"] == "now"
    assert body["tool_choice"] == "auto"
    assert server.requests[0].headers["authorization"] == "Bearer sk-secret"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("reply", "kind", "words"), [
    (failure(401, "bad sk-secret"), AuthError, r"\(401\): bad \[REDACTED\]"),
    (failure(429, "slow", retry_after="3"), RateLimitedError, "slow"),
    (failure(404, "no model"), RequestRefusedError, "no model"),
    (failure(500, "oh"), UnavailableError, r"\(500\): oh"),
    (cut_off(after_chunks=2), IncompleteAnswerError, "broke off"),
    (malformed(), IncompleteAnswerError, "broke off|no answer"),
    (stalled(after_chunks=2), UnavailableError, "within 0.5 s"),
    (Reply(""), IncompleteAnswerError, "empty answer"),
])
def test_errors_are_those_of_the_table_and_nothing_is_retried(
        streamed, reply, kind, words):
    with FakeOpenAI([reply]) as server, pytest.raises(
            kind, match=words) as caught:
        ask(server, streamed=streamed, provider_timeout_secs=0.5)

    assert type(caught.value) is kind
    assert "sk-secret" not in str(caught.value)
    assert len(server.requests) == (2 if reply.text == "" else 1)


def test_a_stream_without_its_end_is_an_error():
    with FakeOpenAI([endless()]) as server, pytest.raises(
            IncompleteAnswerError, match="ended before"):
        ask(server, streamed=True)


def test_a_server_that_is_down_is_unavailable():
    with FakeOpenAI() as server:
        pass
    with pytest.raises(UnavailableError, match="connection refused"):
        ask(server)


def test_the_body_has_the_new_name_of_max_tokens():
    with FakeOpenAI(["fine"]) as server:
        ask(server)

    assert server.requests[0].body == {
        "model": "gpt-4o", "temperature": 0.5, "max_completion_tokens": 9,
        "stream": False, "messages": [{"role": "user", "content": "hello"}]}


def test_a_missing_key_names_its_variable():
    with pytest.raises(AuthError, match="OpenAI API key not set") as caught:
        create_provider("openai", named={
            "openai": NamedProviderSettings(**NAMED)})

    assert "OPENAI_API_KEY" in caught.value.hint


def test_openai_base_url_of_the_environment_counts():
    with FakeOpenAI() as server:
        provider = create_provider("openai", "sk-1", env={
            "OPENAI_BASE_URL": server.url}, named={
                "openai": NamedProviderSettings(**NAMED)})

        async def go():
            text = await provider.simple_chat("hello", "m", 0.5)
            await provider.aclose()
            return text
        assert asyncio.run(go()) == "hello"


def test_azure_has_its_own_address_and_header():
    with FakeOpenAI(["hello from azure"]) as server:
        provider = create_provider(
            "azure", "azure-key", named={"azure": NamedProviderSettings(
                base_url=server.url.removesuffix("/v1"),
                azure_openai_deployment="dep",
                azure_openai_api_version="2024-10-21", **NAMED)})

        async def go():
            text = await provider.simple_chat("hello", "dep", 0.5)
            await provider.aclose()
            return text
        assert asyncio.run(go()) == "hello from azure"

    sent = server.requests[0]
    assert sent.path == ("/openai/deployments/dep/chat/completions"
                         "?api-version=2024-10-21")
    assert sent.headers["api-key"] == "azure-key"


@pytest.mark.parametrize("env", [{}, {"AZURE_OPENAI_RESOURCE": "r"}])
def test_azure_says_what_is_missing(env):
    with pytest.raises(ConfigError, match="azure: no"):
        create_provider("azure", "azure-key", env=env, named={
            "azure": NamedProviderSettings(**NAMED)})


@pytest.mark.parametrize("address", [
    "nonsense", "http://[::x", "http://127.0.0.1:999999"])
def test_a_base_url_that_is_none_is_told(address):
    with pytest.raises(ConfigError, match="is no address"):
        create_provider("openai", "sk-secret",
                        env={"OPENAI_BASE_URL": address}, named={
                            "openai": NamedProviderSettings(**NAMED)})


def test_models_come_in_order():
    models = Reply(body='{"data": [{"id": "b"}, {"id": "a"}]}')
    with FakeOpenAI([models]) as server:
        provider = create_provider("openai", "sk-secret", named={
            "openai": NamedProviderSettings(base_url=server.url, **NAMED)})

        async def go():
            async with aclosing(provider):
                return await provider.models()
        found = asyncio.run(go())

    assert found == sorted(found)


def test_who_pays_is_said_where_the_environment_does(monkeypatch):
    payers = {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-1"}
    for name, value in payers.items():
        monkeypatch.setenv(name, value)  # the SDK looks there itself
    with FakeOpenAI(["fine"]) as server:
        provider = create_provider("openai", "sk-secret", env=payers, named={
            "openai": NamedProviderSettings(base_url=server.url, **NAMED)})

        async def go():
            async with aclosing(provider):
                await provider.chat(HELLO, "gpt-4o", 0.5)
        asyncio.run(go())

    headers = server.requests[0].headers
    assert headers["openai-organization"] == "org-1"
    assert headers["openai-project"] == "proj-1"


@pytest.mark.parametrize("vendor", ["openai", "azure"])
def test_a_redirect_to_another_host_gets_no_key(vendor):
    with FakeOpenAI() as thief:
        moved = Reply(status=307, body="", headers=(
            ("Location", thief.url.replace("127.0.0.1", "localhost")
             + "/chat/completions"),))
        with FakeOpenAI([moved]) as server:
            provider = create_provider(vendor, "sk-secret", named={
                vendor: NamedProviderSettings(
                    base_url=server.url, azure_openai_deployment="d",
                    **NAMED)})

            async def go():
                async with aclosing(provider):
                    await provider.chat(HELLO, "gpt-4o", 0.5)
            with pytest.raises(RequestRefusedError, match="307"):
                asyncio.run(go())

    assert thief.requests == []
