"""Where Azure is asked, by what is known of a deployment."""

import asyncio
from contextlib import aclosing

import pytest

from claw.core.provider import ChatMessage, ChatRequest
from claw.core.value import replace
from claw.providers.catalog.vendors import find_vendor
from claw.providers.check import check_provider
from claw.providers.connection import Connection
from claw.providers.factory import create_provider
from claw.providers.openai.azure import AzurePlace, find_place, is_azure
from claw.providers.settings import NamedProviderSettings
from claw.testing.fake_openai import FakeOpenAI

HELLO = ChatRequest([ChatMessage.user("hello")])
ROOT = "https://r.openai.azure.com"


def place(url="", env=None, **settings):
    return find_place(Connection(
        replace(find_vendor("azure"), url=url), "key",
        NamedProviderSettings(**settings), env=env or {}))


@pytest.mark.each(("version", "chat", "models", "responses"), [
    ("2024-10-21", "deployments/a%2Fb/chat/completions?api-version=2024-10-21",
     "models?api-version=2024-10-21", "v1/responses?api-version=preview"),
    ("v1", "v1/chat/completions", "v1/models", "v1/responses"),
    ("preview", "v1/chat/completions?api-version=preview",
     "v1/models?api-version=preview", "v1/responses?api-version=preview"),
    ("latest", "v1/chat/completions?api-version=latest",
     "v1/models?api-version=latest", "v1/responses?api-version=latest"),
])
def test_every_version_has_its_addresses(version, chat, models, responses):
    provider = create_provider("azure", "key", named={
        "azure": NamedProviderSettings(
            base_url=ROOT, azure_openai_deployment="a/b",
            azure_openai_api_version=version)})

    assert provider.chat_url == f"{ROOT}/openai/{chat}"
    assert provider.models_url == f"{ROOT}/openai/{models}"
    assert provider.responses_url == f"{ROOT}/openai/{responses}"


@pytest.mark.each(("url", "expected"), [
    (ROOT, AzurePlace(ROOT, "d", "2024-08-01-preview")),
    (ROOT + "/", AzurePlace(ROOT, "d", "2024-08-01-preview")),
    (ROOT + "/openai/v1/", AzurePlace(ROOT, "d", "v1")),
    (ROOT + "/openai/v1/chat/completions?api-version=preview",
     AzurePlace(ROOT, "d", "preview")),
    (ROOT + "/openai/deployments/d/chat/completions?api-version=2025-01-01",
     AzurePlace(ROOT, "d", "2025-01-01")),
    ("https://gate.example/openai/team",  # what is before a gateway's API
     AzurePlace("https://gate.example/openai/team", "d",
                "2024-08-01-preview")),
])
def test_an_address_may_be_copied_whole(url, expected):
    assert place(url, azure_openai_deployment="d") == expected


def test_a_copied_address_names_its_deployment():
    assert place(f"{ROOT}/openai/deployments/d%20e/chat").deployment == "d e"


def test_settings_go_before_the_environment_and_the_address():
    env = {"AZURE_OPENAI_RESOURCE": "r", "AZURE_OPENAI_DEPLOYMENT": "env",
           "AZURE_OPENAI_API_VERSION": "2024-10-21"}

    assert place(env=env) == AzurePlace(ROOT, "env", "2024-10-21")
    assert place(f"{ROOT}/openai/deployments/x?api-version=2025-01-01",
                 env, azure_openai_deployment="own") == AzurePlace(
                     ROOT, "own", "2024-10-21")


def test_only_azure_is_azure():
    assert is_azure(find_vendor("azure"))
    assert not is_azure(find_vendor("openai"))


@pytest.mark.parametrize("client", ["http", "sdk"])
@pytest.mark.parametrize("version", ["v1", "preview"])
def test_v1_is_asked_for_the_deployment_as_its_model(version, client):
    with FakeOpenAI(["hello from v1"]) as server:
        provider = create_provider(
            "azure", "azure-key", named={"azure": NamedProviderSettings(
                base_url=server.url.removesuffix("/v1"), client=client,
                azure_openai_deployment="dep",
                azure_openai_api_version=version)})

        async def go():
            async with aclosing(provider):
                return await provider.chat(HELLO, "gpt-4o", 0.5)
        assert asyncio.run(go()).text == "hello from v1"

    sent = server.requests[0]
    assert sent.path.partition("?")[0] == "/openai/v1/chat/completions"
    assert ("api-version=preview" in sent.path) == (version == "preview")
    assert sent.body["model"] == "dep"
    # either is a way to send a key there
    assert sent.headers.get("api-key") == "azure-key" if client == "http" \
        else sent.headers["authorization"] == "Bearer azure-key"


def test_a_token_goes_as_one_where_the_settings_say_so():
    with FakeOpenAI(["hello"]) as server:
        provider = create_provider(
            "azure", "a-token", named={"azure": NamedProviderSettings(
                base_url=server.url.removesuffix("/v1"), auth="bearer",
                azure_openai_deployment="dep")})

        async def go():
            async with aclosing(provider):
                await provider.chat(HELLO, "gpt-4o", 0.5)
        asyncio.run(go())

    assert server.requests[0].headers["authorization"] == "Bearer a-token"
    assert "api-key" not in server.requests[0].headers


@pytest.mark.parametrize("client", ["http", "sdk"])
@pytest.mark.parametrize("version", ["v1", "2024-10-21"])
def test_a_deployment_is_not_looked_for_in_the_list_of_models(
        version, client):
    with FakeOpenAI(["OK"], models=("gpt-4o-2024-11-20", "whisper")) as server:
        provider = create_provider(
            "azure", "azure-key", named={"azure": NamedProviderSettings(
                base_url=server.url.removesuffix("/v1"), client=client,
                azure_openai_deployment="dep",
                azure_openai_api_version=version)})

        async def go():
            async with aclosing(provider):
                return await check_provider(provider, "dep")
        rows = asyncio.run(go())

    model = next(row for row in rows if row.id == "model")
    assert (model.status, model.hint) == ("ok", None)
