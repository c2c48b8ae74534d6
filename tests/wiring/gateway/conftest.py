"""A gateway on a real socket, in a thread of its own."""

import asyncio
import threading
from contextlib import AsyncExitStack, ExitStack, contextmanager

import pytest

from claw.gateway.app import App
from claw.gateway.server import Server
from claw.gateway.settings import GatewaySettings
from claw.wiring.gateway.keys import open_keys
from claw.wiring.gateway.openai import build_openai
from claw.wiring.gateway.parts import GatewayParts


class Served:
    """Its address, keys by name, what it logged, and the settings that can
    be changed under it."""

    def __init__(self, tree):
        self.tree = tree
        self.keys = {}
        self.events = []
        self.port = 0
        self.clients = ExitStack()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def log(self, event, **fields):
        self.events.append((event, fields))

    def closing(self, client):
        """The client, closed before the server is."""
        return self.clients.enter_context(client)

    def find(self, name):
        return [fields for event, fields in self.events if event == name]


@contextmanager
def serve(tree, settings=None):
    """The API of these settings, with a key for everybody."""
    served = Served(tree)
    settings = settings or GatewaySettings()
    keys = open_keys(tree)
    for name, sees in (("laptop", "owner"), ("mina", "mina"),
                       ("joe", "joe"), ("nobody", None)):
        keys.revoke(name)
        served.keys[name] = keys.add(name, sees)
    ready, loop = threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run():
        async with AsyncExitStack() as stack:
            app = App(settings, keys, served.log)
            server = Server(app)
            app.mount(await build_openai(GatewayParts(
                tree.places, lambda: served.tree, settings, keys, dict,
                lambda: 0, app, served.log,
                note_turn=lambda: served.log("noted")), stack))
            served.port = await server.start("127.0.0.1", 0)
            served.server = server
            ready.set()
            await stop.wait()
            app.closing.set()
            await server.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    try:
        assert ready.wait(10)
        with served.clients:
            yield served
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
        keys.close()


@pytest.fixture
def api(ask_server):
    """api(server, more) serves a home whose provider that is."""
    @contextmanager
    def make(server, more=""):
        with serve(ask_server(
                server, f'[model_aliases]\nfast = "quick-model"\n{more}')
                ) as served:
            yield served
    return make
