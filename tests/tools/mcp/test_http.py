"""Addresses are guarded, answers bounded, headers sent to the server alone."""

import asyncio
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from claw.core.errors import AuthError, DeniedError, UnavailableError
from claw.tools.mcp.http import Guarded


@contextmanager
def answering(status=200, headers=(), body=b"{}"):
    """A server that says this to everything; gives url and requests."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers.get("content-length", 0)))
            seen.append({name.lower(): value for name, value
                         in self.headers.items()})
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                pass  # it has read enough

        do_GET = do_DELETE = do_POST

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Inner(httpx2.AsyncBaseTransport):
    def __init__(self):
        self.asked = []

    async def handle_async_request(self, request):
        self.asked.append(request)
        return httpx2.Response(200, content=b"ok")


def send(url, addresses, *, inside):
    inner = Inner()

    async def resolve(host, port):
        return addresses

    async def go():
        transport = Guarded(inner, resolve, inside=inside)
        async with httpx2.AsyncClient(transport=transport) as client:
            await client.get(url)
    asyncio.run(go())
    return inner.asked


def test_the_connection_goes_to_the_address_that_was_checked():
    (request,) = send("https://mcp.example.org/x", ["93.184.216.34"],
                      inside=False)

    assert request.url == "https://93.184.216.34/x"
    assert request.headers["host"] == "mcp.example.org"
    assert request.extensions["sni_hostname"] == "mcp.example.org"


@pytest.mark.each("addresses", [
    ["127.0.0.1"], ["10.0.0.1"], ["169.254.169.254"], ["::1"],
    ["fd00::1"], ["93.184.216.34", "192.168.0.1"]])
def test_a_public_name_does_not_lead_inside(addresses):
    with pytest.raises(DeniedError, match="no public address"):
        send("https://mcp.example.org/x", addresses, inside=False)

    assert send("https://mcp.example.org/x", addresses, inside=True)


@pytest.mark.parametrize(("answer", "said"), [
    ({"status": 500}, "error response"),
    ({"status": 307, "headers": [("location", "http://127.0.0.2:1/x")]},
     "not followed"),
    ({"body": b"<html>", "headers": [("content-type", "text/html")]},
     "content type"),
    ({"body": b"[" * 100_000,
      "headers": [("content-type", "application/json")]}, "says"),
    ({"body": b"x" * (5 << 20),
      "headers": [("content-type", "application/json")]}, "4 MiB"),
    ({"body": b"x", "headers": [("content-type", "application/json"),
                                ("content-encoding", "gzip")]}, "packed"),
])
def test_an_answer_that_is_none_fails_the_call(desk, answer, said):
    with answering(**answer) as (url, seen), \
            pytest.raises(UnavailableError, match=said):
        asyncio.run(desk.at(url, tool_timeout_secs=20).look())

    assert seen


def test_a_refused_token_is_told_as_such(desk):
    with answering(status=401) as (url, _), \
            pytest.raises(AuthError, match="HTTP 401"):
        asyncio.run(desk.at(url).look())


def test_the_owners_headers_are_sent(desk):
    with answering(status=500) as (url, seen), \
            pytest.raises(UnavailableError):
        asyncio.run(desk.at(url, headers={
            "Authorization": "Bearer tea"}).look())

    assert seen[0]["authorization"] == "Bearer tea"
    assert seen[0]["user-agent"].startswith("claw/")


def test_proxies_of_the_environment_play_no_part(desk, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with answering(status=500) as (url, seen), \
            pytest.raises(UnavailableError):
        asyncio.run(desk.at(url).look())

    assert seen


def test_a_name_of_this_machine_in_the_owners_url_may_lead_to_it(desk):
    with answering(status=500) as (url, seen), \
            pytest.raises(UnavailableError):
        asyncio.run(desk.at(url.replace("127.0.0.1", "localhost")).look())

    assert seen
