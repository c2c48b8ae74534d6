"""What an Ollama server is asked beside chats."""

import asyncio

import pytest

from claw.net.errors import Peer
from claw.net.http import HttpClient
from claw.net.lean import httpx
from claw.providers.ollama.server import OllamaServer


def context(need, loaded):
    """The context to ask for, where the Modelfile sets 16,384."""
    pages = {"/api/show": (200, {"parameters": "num_ctx 16384"}),
             "/api/ps": loaded}

    async def go():
        http = HttpClient(Peer("Ollama"), transport=httpx.MockTransport(
            lambda request: httpx.Response(
                pages[request.url.path][0], json=pages[request.url.path][1])))
        try:
            return await OllamaServer(http, "http://localhost:11434", {},
                                      {}).context("m", need)
        finally:
            await http.aclose()
    return asyncio.run(go())


@pytest.mark.parametrize(("loaded", "expected"), [
    ((404, {}), None),  # too old to tell: as good as none
    ((200, {"models": []}), None),
    ((200, {"models": [{"name": "m:latest", "context_length": 32768}]}),
     32768),
    ((200, {"models": [{"name": "m:latest", "context_length": 4096}]}),
     16384),
])
def test_a_context_that_the_server_gives_anyway_is_not_asked_for(loaded,
                                                                 expected):
    assert context(9000, loaded) == expected
