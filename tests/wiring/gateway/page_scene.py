"""A gateway with the page, over a real socket, and a browser's calls."""

from contextlib import AsyncExitStack, asynccontextmanager

import httpx

from claw.config.places import locate
from claw.config.tree import load
from claw.core.log import silent
from claw.gateway.app import App
from claw.gateway.room import Limits
from claw.gateway.server import Server
from claw.gateway.settings import GatewaySettings
from claw.wiring.gateway.keys import open_keys
from claw.wiring.gateway.page import build_page
from claw.wiring.gateway.parts import GatewayParts
from claw.wiring.gateway.status import build_status

PAGE = {"X-Claw-Page": "1"}


@asynccontextmanager
async def serving(home, log=silent, **settings):
    """A browser of nobody's yet; its `keys` are those of the gateway."""
    places = locate(str(home), env={"HOME": str(home)})
    known = GatewaySettings(**settings)
    tree = load(places)
    keys = open_keys(tree)
    app = App(known, keys, log)
    parts = GatewayParts(places, lambda: tree, known, keys, dict,
                         lambda: 0, app, log)
    async with AsyncExitStack() as stack:
        for build in (build_status, build_page):
            app.mount(await build(parts, stack))
        server = Server(app, Limits(grace_s=0.2))
        port = await server.start("127.0.0.1", 0)
        browser = await stack.enter_async_context(httpx.AsyncClient(
            base_url=f"http://localhost:{port}", timeout=20))
        browser.keys = keys
        try:
            yield browser
        finally:
            app.closing.set()
            await server.close()
            keys.close()


@asynccontextmanager
async def signed_in(home, **settings):
    """The owner's browser; each call has the page's header."""
    async with serving(home, **settings) as browser:
        token = browser.keys.add("test", "owner")
        browser.headers.update(PAGE)
        answer = await browser.post("/page/login", json={"token": token})
        assert answer.status_code == 200, answer.text
        yield browser


def write_config(home, text):
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(text)
