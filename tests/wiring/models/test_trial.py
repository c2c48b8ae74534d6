"""A provider put to the test, over a real socket."""

import asyncio
import socket

import pytest

from claw.providers.factory import Providers
from claw.providers.settings import NamedProviderSettings
from claw.testing.fake_openai import FakeOpenAI
from claw.wiring.models.trial import try_key, try_provider


@pytest.mark.parametrize("model", [None, "m"])
def test_a_silent_server_is_asked_no_question(model):
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        name = f"custom:http://127.0.0.1:{silent.getsockname()[1]}"
        asyncio.run(try_provider(
            Providers(env={}), name, model,
            lambda _name, _model, row: heard.append(row), look_s=0.05))

    (row,) = heard
    assert (row.id, row.detail) == ("reach", "no answer within 0.05 s")
    assert "--timeout 120" in row.hint


def test_a_key_of_deployments_is_tried_with_one_and_offers_no_models():
    with FakeOpenAI(["OK"], models=("gpt-4o-2024-11-20", "whisper")) as server:
        tried = asyncio.run(try_key(Providers(env={}, named={
            "azure": NamedProviderSettings(
                base_url=server.url.removesuffix("/v1"),
                azure_openai_deployment="dep",
                azure_openai_api_version="v1")}), "azure", "key"))

    assert (tried.models, tried.failure) == ((), None)
    assert [chat.body["model"] for chat in server.chats] == ["dep"]
