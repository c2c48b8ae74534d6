"""What OpenAI's own client is kept for."""

import asyncio
import subprocess
import sys
import types
from contextlib import aclosing

import pytest

from claw.core.errors import (
    AuthError,
    ConfigError,
    MissingPartError,
    UnavailableError,
)
from claw.core.provider import ChatMessage, ChatRequest
from claw.providers.factory import create_provider
from claw.providers.settings import NamedProviderSettings
from claw.testing.fake_openai import FakeOpenAI

HELLO = ChatRequest([ChatMessage.user("hello")])


def ask(server, name="azure", key=None, env=None, **settings):
    provider = create_provider(name, key, env=env or {}, named={
        name: NamedProviderSettings(
            base_url=server.url.removesuffix("/v1"), client="sdk",
            azure_openai_deployment="dep", **settings)})

    async def go():
        async with aclosing(provider):
            return (await provider.chat(HELLO, "gpt-4o", 0.5)).text
    return asyncio.run(go())


def test_the_sdk_is_imported_only_where_it_is_asked_for():
    code = ("import sys\n"
            "from claw.providers.factory import create_provider\n"
            "from claw.providers.settings import NamedProviderSettings\n"
            "create_provider('groq', 'gsk_1')\n"
            "create_provider('openai', 'sk-1')\n"
            "assert not {'openai', 'httpx'} & set(sys.modules)\n"
            "create_provider('openai', 'sk-1', named={\n"
            "    'openai': NamedProviderSettings(client='sdk')})\n"
            "assert 'openai' in sys.modules\n")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("name", ["groq", "anthropic"])
def test_who_has_no_such_client_says_so(name):
    with pytest.raises(ConfigError, match='client = "sdk"'):
        create_provider(name, "gsk_1", named={
            name: NamedProviderSettings(client="sdk")})


@pytest.mark.parametrize("version", [None, "v1", "preview"])
def test_a_token_of_the_environment_signs_in(version):
    with FakeOpenAI(["in"]) as server:
        assert ask(server, env={"AZURE_OPENAI_AD_TOKEN": "entra-token"},
                   azure_openai_api_version=version) == "in"

    headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer entra-token"
    assert "api-key" not in headers


@pytest.mark.parametrize("version", [None, "v1", "preview"])
def test_entra_gives_a_token_for_each_request(monkeypatch, version):
    asked = []

    def provider(credential, scope):
        assert credential == "whoever is signed in"

        def token():
            asked.append(scope)
            return f"token-{len(asked)}"
        return token
    identity = types.ModuleType("azure.identity")
    identity.DefaultAzureCredential = lambda: "whoever is signed in"
    identity.get_bearer_token_provider = provider
    monkeypatch.setitem(sys.modules, "azure", types.ModuleType("azure"))
    monkeypatch.setitem(sys.modules, "azure.identity", identity)

    with FakeOpenAI(["in"]) as server:
        assert ask(server, azure_openai_api_version=version) == "in"

    assert server.requests[0].headers["authorization"] == "Bearer token-1"
    assert asked == ["https://cognitiveservices.azure.com/.default"]


@pytest.mark.parametrize(("name", "words"), [
    ("azure", "AZURE_OPENAI_AD_TOKEN"), ("openai", "OPENAI_API_KEY")])
def test_without_key_and_token_it_says_what_to_set(monkeypatch, name, words):
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with FakeOpenAI() as server, pytest.raises(
            AuthError, match="API key not set") as caught:
        ask(server, name)

    assert words in caught.value.hint


@pytest.mark.parametrize(("proxy", "kind"), [
    ("socks5://127.0.0.1:9", (MissingPartError, UnavailableError)),
    ("http://[::bad", ConfigError),
])
def test_a_proxy_that_cannot_be_used_is_told(monkeypatch, proxy, kind):
    for name in ("https_proxy", "no_proxy", "NO_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("all_proxy", proxy)
    with FakeOpenAI() as server, pytest.raises(kind):
        ask(server, "openai", "sk-secret")


