"""A provider put to the test, over a real socket."""

import asyncio
import socket

import pytest

from claw.providers.factory import Providers
from claw.wiring.models.trial import try_provider


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
