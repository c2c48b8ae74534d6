"""The SDK's provider against a real HTTP server."""

import asyncio
import json
import subprocess
import sys
from contextlib import aclosing

import pytest

from claw.core.errors import (
    AuthError,
    ConfigError,
    IncompleteAnswerError,
    MissingPartError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import ChatMessage, ChatRequest
from claw.core.tool import ToolSpec
from claw.providers.factory import create_provider
from claw.providers.openai.sdk import temperature_for
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


def ask(server, request=HELLO, *, streamed=False, model="gpt-4o", **settings):
    provider = create_provider(
        "openai", "sk-secret", settings=ProviderSettings(**settings),
        named={"openai": NamedProviderSettings(base_url=server.url)})

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


@pytest.mark.parametrize(("model", "sent"), [
    ("gpt-5", 1.0), ("gpt-5-mini", 1.0), ("gpt-5-nano", 1.0),
    ("gpt-5-2025-08-07", 1.0), ("gpt-5.1-chat-latest", 1.0), ("o1", 1.0),
    ("o3-mini-2025-01-31", 1.0), ("o4-mini", 1.0),
    ("gpt-4o", 0.5), ("gpt-5.1", 0.5), ("gpt-4.1-mini", 0.5),
    ("o1x", 0.5),
])
def test_models_with_a_fixed_temperature(model, sent):
    assert temperature_for(model, 0.5) == sent


def test_the_body_has_the_new_name_of_max_tokens():
    with FakeOpenAI(["fine"]) as server:
        ask(server)

    assert server.requests[0].body == {
        "model": "gpt-4o", "temperature": 0.5, "max_completion_tokens": 9,
        "stream": False, "messages": [{"role": "user", "content": "hello"}]}


def test_a_missing_key_names_its_variable():
    with pytest.raises(AuthError, match="OpenAI API key not set") as caught:
        create_provider("openai")

    assert "OPENAI_API_KEY" in caught.value.hint


def test_openai_base_url_of_the_environment_counts():
    with FakeOpenAI() as server:
        provider = create_provider("openai", "sk-1", env={
            "OPENAI_BASE_URL": server.url})

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
                azure_openai_api_version="2024-10-21")})

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
        create_provider("azure", "azure-key", env=env)


def test_the_sdk_is_imported_only_for_its_own_provider():
    code = ("import sys\n"
            "from claw.providers.factory import create_provider\n"
            "create_provider('groq', 'gsk_1')\n"
            "assert 'openai' not in sys.modules\n"
            "create_provider('openai', 'sk-1')\n"
            "assert 'openai' in sys.modules\n")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(("proxy", "kind"), [
    ("socks5://127.0.0.1:9", (MissingPartError, UnavailableError)),
    ("http://[::bad", ConfigError),
])
def test_a_proxy_that_cannot_be_used_is_told(monkeypatch, proxy, kind):
    for name in ("https_proxy", "no_proxy", "NO_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("all_proxy", proxy)
    with FakeOpenAI() as server, pytest.raises(kind):
        ask(server)


@pytest.mark.parametrize("address", [
    "nonsense", "http://[::x", "http://127.0.0.1:999999"])
def test_a_base_url_that_is_none_is_told(address):
    with pytest.raises(ConfigError, match="is no address"):
        create_provider("openai", "sk-secret",
                        env={"OPENAI_BASE_URL": address})


@pytest.mark.parametrize("vendor", ["openai", "azure"])
def test_a_redirect_to_another_host_gets_no_key(vendor):
    with FakeOpenAI() as thief:
        moved = Reply(status=307, body="", headers=(
            ("Location", thief.url.replace("127.0.0.1", "localhost")
             + "/chat/completions"),))
        with FakeOpenAI([moved]) as server:
            provider = create_provider(vendor, "sk-secret", named={
                vendor: NamedProviderSettings(
                    base_url=server.url, azure_openai_deployment="d")})

            async def go():
                async with aclosing(provider):
                    await provider.chat(HELLO, "gpt-4o", 0.5)
            with pytest.raises(RequestRefusedError, match="307"):
                asyncio.run(go())

    assert thief.requests == []
