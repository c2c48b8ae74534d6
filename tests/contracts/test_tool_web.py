"""The web tools keep the contract, against a server on this machine."""

import asyncio
import json
import os
import shutil
from contextlib import contextmanager
from unittest import mock

import pytest

from claw.core.turn import TurnContext, current_turn
from claw.core.value import replace
from claw.net.guarded import GuardedClient
from claw.security.egress import check_url, is_public
from claw.testing.contracts.tool import ToolContract
from claw.testing.http_server import HttpServer, Reply
from claw.tools.web import engines, pushover, weather
from claw.tools.web.browser.window import BrowserOpen
from claw.tools.web.settings import (
    BrowserSettings,
    HttpRequestSettings,
    PushoverSettings,
    WebSearchSettings,
)

SLOW = "slow"


class OnTheWeb(ToolContract):
    """`reply` is what the server answers, late where it is asked for
    something slow; `settings` are those of the tool."""

    labels = {"web"}
    reply = "{}"
    kind = "application/json"
    settings = ()

    @contextmanager
    def running(self, deps):
        server = HttpServer(self._handle)
        server.start()
        try:
            with self.point_at(f"http://127.0.0.1:{server.port}"):
                self.arguments = self.sample(server.port)
                self.slow = self.sample(server.port, SLOW)
                yield self.build(replace(deps, http=GuardedClient(
                    check_url, lambda ip: ip == "127.0.0.1" or is_public(ip),
                    resolve=_resolve)))
        finally:
            server.stop()

    def build(self, deps):
        from claw.tools import REGISTRY
        return REGISTRY.build(self.name, deps, *self.settings)

    @contextmanager
    def point_at(self, base):
        """Lead a tool with a server of its own to ours."""
        yield

    def _handle(self, request):
        answer = Reply(200, self.reply.encode(), self.kind)
        if SLOW in request.target or SLOW.encode() in request.body:
            return _late(answer)
        return answer


async def _late(answer):
    await asyncio.sleep(30)
    return answer


async def _resolve(host, port):
    if host not in ("site.test", "127.0.0.1"):
        raise OSError(-2, "Name or service not known")
    return ["127.0.0.1"]


class TestWebFetch(OnTheWeb):
    name = "web_fetch"
    reply = "<title>Tea</title><p>Green tea"
    kind = "text/html"

    def sample(self, port, path=""):
        return {"url": f"http://site.test:{port}/{path}"}


class TestHttpRequest(OnTheWeb):
    name = "http_request"
    settings = (HttpRequestSettings(enabled=True,
                                    allowed_domains=["site.test"]),)

    def sample(self, port, path=""):
        return {"url": f"http://site.test:{port}/{path}", "method": "POST",
                "headers": {"X-Key": "1"}, "body": "x"}


class TestWebSearch(OnTheWeb):
    name = "web_search_tool"
    reply = json.dumps({"type": "search", "web": {"results": [
        {"title": "Tea", "url": "https://tea.example/"}]}})
    settings = (WebSearchSettings(provider="brave", brave_api_key="k"),)

    def sample(self, port, query="tea"):
        return {"query": query}

    def point_at(self, base):
        return mock.patch.object(engines, "BRAVE", base)


def _value(text):
    return [{"value": text}]


class TestWeather(OnTheWeb):
    name = "weather"
    reply = json.dumps({
        "nearest_area": [{"areaName": _value("Bergen")}],
        "current_condition": [{
            "weatherDesc": _value("Rain"), "temp_C": "7", "FeelsLikeC": "4",
            "humidity": "81", "windspeedKmph": "19",
            "winddir16Point": "SW"}]})

    def sample(self, port, location="Bergen"):
        return {"location": location}

    def point_at(self, base):
        return mock.patch.object(weather, "SERVER", base)


class TestPushover(OnTheWeb):
    name = "pushover"
    labels = set()
    reply = '{"status": 1}'
    settings = (PushoverSettings(token="t", user_key="u"),)

    def sample(self, port, message="Tea is ready"):
        return {"message": message}

    def point_at(self, base):
        return mock.patch.object(pushover, "MESSAGES", base)


@pytest.mark.peers
class TestBrowser(OnTheWeb):
    name = "browser"
    reply = "<title>Tea</title>Green"
    kind = "text/html"
    settings = (BrowserSettings(enabled=True, allowed_domains=["127.0.0.1"],
                                allowed_private_hosts=["127.0.0.1"]),)

    def build(self, deps):
        """Each call is a turn, at whose end the browser goes."""
        pytest.importorskip("playwright.async_api", reason="no playwright")
        if shutil.which("chromium") is None:
            pytest.skip("no chromium")
        tool = super().build(deps)
        execute = tool.execute

        async def execute_once(args):
            try:
                return await execute(args)
            finally:
                turn = current_turn.get()
                await tool.end_turn(turn or TurnContext("agent", turn_id=""))
        tool.execute = execute_once
        return tool

    def sample(self, port, path=""):
        return {"action": "open", "url": f"http://127.0.0.1:{port}/{path}"}


class TestBrowserOpen(ToolContract):
    name = "browser_open"
    arguments = {"url": "https://example.com/"}

    @contextmanager
    def running(self, deps):
        folder = deps.workspace.parent / "ws/bin"
        folder.mkdir()
        program = folder / "xdg-open"
        program.write_text("#!/bin/sh\nsleep 0.1\n")
        program.chmod(0o755)
        with mock.patch.dict(os.environ, {
                "DISPLAY": ":0", "PATH": f"{folder}:/usr/bin:/bin"}):
            yield BrowserOpen(deps, BrowserSettings(
                enabled=True, allowed_domains=["example.com"]))
