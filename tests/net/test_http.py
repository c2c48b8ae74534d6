"""The HTTP policy, against real sockets on this machine."""

import asyncio
import socket
import subprocess
import sys
import threading

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
from claw.net.addresses import is_loopback, redirect
from claw.net.errors import Peer
from claw.net.http import HttpClient, to_bytes
from claw.net.lean import httpx
from claw.testing.fake_openai import (
    FakeOpenAI,
    Reply,
    cut_off,
    failure,
    html_page,
    slow,
    stalled,
)

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def post(url, *, headers=None, **settings):
    async def go():
        client = HttpClient(Peer("Acme", secrets=("key-in-use",)), **settings)
        try:
            return await client.request(
                "POST", url + "/chat/completions", json=BODY,
                headers=headers)
        finally:
            await client.aclose()
    return asyncio.run(go())


def test_an_answer_comes_whole():
    with FakeOpenAI() as server:
        answer = post(server.url, headers={"Authorization": "Bearer k"})

    sent = server.requests[0]
    assert answer.json()["choices"][0]["message"]["content"] == "hi"
    assert sent.headers["authorization"] == "Bearer k"
    assert sent.headers["user-agent"].startswith("claw/")
    assert sent.raw == (b'{"model":"m","messages":[{"role":"user",'
                        b'"content":"hi"}]}')


@pytest.mark.parametrize(("reply", "kind", "words"), [
    (failure(401, "bad key key-in-use"), AuthError, "bad key [REDACTED]"),
    (failure(429, "slow", retry_after="3"), RateLimitedError, "(429): slow"),
    (failure(400, "no"), RequestRefusedError, "Acme API error (400): no"),
    (failure(500, "oh"), UnavailableError, "Acme API error (500): oh"),
    (html_page(502), UnavailableError, "'502 Bad Gateway'"),
    (cut_off(), IncompleteAnswerError, "broke off"),
])
def test_refusals_and_breaks_are_translated(reply, kind, words):
    with FakeOpenAI([reply]) as server, pytest.raises(kind) as caught:
        post(server.url)

    assert type(caught.value) is kind
    assert words in caught.value.message
    assert "key-in-use" not in str(caught.value) + str(caught.value.hint)


@pytest.mark.parametrize("reply", [stalled(), slow("late", 30)])
def test_silence_ends_at_the_time_limit(reply):
    with FakeOpenAI([reply]) as server, pytest.raises(
            UnavailableError, match=r"within 0\.2 s"):
        post(server.url, timeout_s=0.2)


def test_a_closed_port_is_connection_refused():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(UnavailableError, match="connection refused"):
        post(f"http://127.0.0.1:{port}/v1")


def test_an_unknown_name_is_a_dns_failure(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UnavailableError, match=r"no-such-host\.invalid.*DNS"):
        post("http://no-such-host.invalid/v1")


def test_plain_http_on_a_tls_address_is_told():
    with FakeOpenAI() as server, pytest.raises(
            UnavailableError, match="TLS"):
        post(server.url.replace("http:", "https:"))


@pytest.mark.parametrize("url", ["", "foo", "ftp://x/", "http://", "http://[",
                                 "http://a b/", "http://x:99999999/",
                                 "http://127.0.0.1:99999999/"])
def test_nonsense_addresses_are_one_sentence(url):
    with pytest.raises(UnavailableError):
        post(url)


def test_an_answer_that_never_ends_is_refused():
    with FakeOpenAI([Reply("x" * 3_000_000)]) as server, pytest.raises(
            UnavailableError, match="more than 1 MiB"):
        post(server.url, max_bytes=1024 * 1024)


def test_the_proxy_of_the_environment_serves_other_hosts_only(monkeypatch):
    with FakeOpenAI() as proxy, FakeOpenAI() as server:
        at = proxy.url.removesuffix("/v1")
        monkeypatch.setenv("http_proxy", at)
        monkeypatch.setenv("HTTP_PROXY", at)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        post(server.url)
        post("http://acme.test/v1")

    assert len(server.requests) == 1
    assert [r.path for r in proxy.requests] == [
        "http://acme.test/v1/chat/completions"]


@pytest.mark.parametrize(("proxy", "kind"), [
    ("socks5://127.0.0.1:9", (MissingPartError, UnavailableError)),
    ("gopher://127.0.0.1:9", ConfigError),
    ("http://127.0.0.1:99999999", UnavailableError),
])
def test_a_proxy_that_cannot_be_used_is_told(monkeypatch, proxy, kind):
    for name in ("http_proxy", "no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("all_proxy", proxy)
    with pytest.raises(kind):
        post("http://acme.test/v1")


def test_a_header_that_cannot_be_sent_is_a_setting_to_mend():
    with pytest.raises(ConfigError, match="header"):
        post("http://127.0.0.1:9/v1", headers={"X-Name": "클로"})


def test_a_redirect_to_another_host_gets_no_key():
    with FakeOpenAI() as thief:
        moved = Reply(status=307, body="", headers=(
            ("Location", thief.url.replace("127.0.0.1", "localhost")
             + "/chat/completions"),))
        with FakeOpenAI([moved]) as server, pytest.raises(
                RequestRefusedError, match="307") as caught:
            post(server.url, headers={"Authorization": "Bearer k"})

    assert thief.requests == []
    assert "base URL" in caught.value.hint


def test_a_redirect_on_the_same_host_is_followed():
    moved = Reply(status=308, body="",
                  headers=(("Location", "/v2/chat/completions"),))
    with FakeOpenAI([moved, "moved"]) as server:
        answer = post(server.url)

    assert answer.json()["choices"][0]["message"]["content"] == "moved"
    assert [r.path for r in server.requests] == [
        "/v1/chat/completions", "/v2/chat/completions"]


@pytest.mark.parametrize(("method", "url", "status", "location", "target"), [
    ("GET", "http://a/x", 301, "/y", "http://a/y"),
    ("POST", "http://a/x", 301, "/y", None),
    ("POST", "http://a/x", 307, "/y", "http://a/y"),
    ("POST", "http://a/x", 307, "https://a/y", "https://a/y"),
    ("POST", "https://a/x", 307, "http://a/y", None),
    ("POST", "http://a/x", 307, "http://b/y", None),
    ("POST", "http://a:1/x", 307, "http://a:2/y", None),
    ("GET", "http://a/x", 200, "/y", None),
    ("GET", "http://a/x", 301, None, None),
])
def test_where_a_redirect_may_go(method, url, status, location, target):
    assert redirect(method, url, status, location) == target


@pytest.mark.parametrize(("url", "near"), [
    ("http://localhost:1/", True), ("http://127.0.0.1/", True),
    ("http://[::1]:1/", True), ("http://127.9.9.9/", True),
    ("http://localhost.example/", False), ("http://10.0.0.1/", False),
    ("nonsense", False), ("http://[", False),
])
def test_which_addresses_are_this_machine(url, near):
    assert is_loopback(url) is near


@pytest.mark.parametrize(("value", "sent"), [
    ({"a": "é한"}, '{"a":"é한"}'),
    ({"a": "\ud83d\udc4b"}, '{"a":"👋"}'),
    ({"a": "x\ud83dy"}, '{"a":"x\ufffdy"}'),
    ({"a": "\0"}, '{"a":"\\u0000"}'),
])
def test_any_text_can_be_sent(value, sent):
    assert to_bytes(value) == sent.encode()


def test_a_server_that_speaks_no_http_is_one_sentence():
    listener = socket.create_server(("127.0.0.1", 0))

    def babble():
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"220 smtp.example ESMTP\r\n")
            connection.recv(4096)
    thread = threading.Thread(target=babble)
    thread.start()
    try:
        with pytest.raises(UnavailableError):
            post(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
    finally:
        thread.join()
        listener.close()


LEAN = """
import sys
from claw.net.lean import httpx
assert not {"click", "rich", "pygments", "httpx._main"} & set(sys.modules)
assert httpx.AsyncClient
import httpx as again
assert again is httpx
import httpx._main
assert callable(httpx._main.main) and callable(httpx.main)
print("ok")
"""


def test_the_command_line_half_of_httpx_stays_out_and_can_still_be_had():
    done = subprocess.run([sys.executable, "-c", LEAN], text=True,
                          capture_output=True, timeout=60, check=False)

    assert done.stdout.strip() == "ok", done.stderr


def test_certificates_load_for_https_only():
    code = ("import asyncio, ssl\n"
            "from claw.net.errors import Peer\n"
            "from claw.net.http import HttpClient\n"
            "client = HttpClient(Peer('x'))\n"
            "loaded = []\n"
            "ssl.create_default_context = lambda *a, **k: loaded.append(1)"
            " or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)\n"
            "client._client_for('http://127.0.0.1/', False)\n"
            "client._client_for('http://example.test/', False)\n"
            "assert not loaded\n"
            "client._client_for('https://example.test/', True)\n"
            "client._client_for('https://example.test/', True)\n"
            "assert loaded == [1]\n"
            "asyncio.run(client.aclose())\n")
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


def test_a_transport_can_be_handed_in():
    def handle(request):
        return httpx.Response(200, json={"path": request.url.path})
    answer = post("https://acme.test/v1",
                  transport=httpx.MockTransport(handle))

    assert answer.json() == {"path": "/v1/chat/completions"}


@pytest.mark.parametrize("status", [302, 400, 429, 500])
def test_an_answer_of_any_status_can_be_had_unjudged(status):
    reply = Reply(status=status, body='{"description": "so it is"}',
                  headers=(("X-Kept", "yes"),))
    with FakeOpenAI([reply]) as server:
        async def go():
            client = HttpClient(Peer("Acme"))
            try:
                return await client.request(
                    "POST", server.url + "/chat/completions", json=BODY,
                    check=False)
            finally:
                await client.aclose()
        answer = asyncio.run(go())

    assert answer.status == status
    assert answer.json() == {"description": "so it is"}
    assert answer.headers["x-kept"] == "yes"


def test_a_request_can_have_a_shorter_limit_than_its_client():
    async def go(url):
        client = HttpClient(Peer("Acme"), timeout_s=30)
        try:
            await client.request("POST", url + "/chat/completions",
                                 json=BODY, timeout_s=0.2)
        finally:
            await client.aclose()
    with FakeOpenAI([stalled()]) as server, pytest.raises(
            UnavailableError, match=r"within 0\.2 s"):
        asyncio.run(go(server.url))


def test_a_proxy_of_its_own_serves_every_host(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with FakeOpenAI() as proxy, FakeOpenAI() as server:
        own = proxy.url.removesuffix("/v1")
        post(server.url, proxy_url=own)
        post("http://acme.test/v1", proxy_url=own)

    assert server.requests == []
    assert [r.path for r in proxy.requests] == [
        server.url + "/chat/completions",
        "http://acme.test/v1/chat/completions"]


@pytest.mark.parametrize(("proxy", "kind", "words"), [
    ("socks5://127.0.0.1:9", (MissingPartError, UnavailableError),
     "SOCKS|could not reach"),
    ("gopher://me:secret-word@127.0.0.1:9", ConfigError,
     "the proxy_url of Acme"),
    ("http://me:secret-word@127.0.0.1:9", UnavailableError, "refused"),
])
def test_a_proxy_of_its_own_that_cannot_be_used_is_told(proxy, kind, words):
    with pytest.raises(kind, match=words) as caught:
        post("http://acme.test/v1", proxy_url=proxy)

    said = str(caught.value) + str(caught.value.hint)
    assert "secret-word" not in said
    assert "HTTPS_PROXY" not in said
