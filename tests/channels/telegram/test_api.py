"""The client: refusals in words, no token anywhere, rate limits, proxies."""

import asyncio
import contextlib
import json
import logging
import os
from pathlib import Path

import pytest

from claw.channels.connection import ConflictError
from claw.channels.gate import RateGate
from claw.channels.telegram.api import BotApi
from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    MissingPartError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.net.lean import httpx

TOKEN = "123456:AAE-secret_part"


def calls(method="getMe", params=None, *, token=TOKEN, transport=None,
          base="https://api.telegram.test", **settings):
    async def go():
        api = BotApi(token, base, log=lambda *a, **k: None,
                     transport=transport, **settings)
        try:
            return await api.call(method, params)
        finally:
            await api.aclose()
    return asyncio.run(go())


def answering(status=200, **given):
    return httpx.MockTransport(
        lambda request: httpx.Response(status, **given))


def refusal(code, description, **parameters):
    return {"ok": False, "error_code": code, "description": description,
            **({"parameters": parameters} if parameters else {})}


@pytest.mark.parametrize(("answer", "kind", "words"), [
    ({"status": 401, "json": refusal(401, "Unauthorized")}, AuthError,
     "refused the token"),
    ({"status": 404, "json": refusal(404, "Not Found")}, AuthError,
     "refused the token"),
    ({"status": 400, "json": refusal(400, "Bad Request: chat not found")},
     RequestRefusedError, r"refused getMe \(400\): Bad Request: chat"),
    ({"status": 500, "json": refusal(500, "Internal")}, UnavailableError,
     "Internal"),
    ({"status": 502, "html": "<title>502 Bad Gateway</title>"},
     UnavailableError, "502 Bad Gateway"),
    ({"status": 200, "html": "<title>Log in to WiFi</title>"},
     UnavailableError, "Log in to WiFi"),
    ({"status": 200, "json": [1]}, UnavailableError, "without the Bot API"),
    ({"status": 200, "json": refusal(429, "Too Many", retry_after=9)},
     RateLimitedError, "Too Many"),
    ({"status": 200, "content": b"\xff\xfe" * 9}, UnavailableError, "JSON"),
    ({"status": 200, "content": b"[" * 100_000}, UnavailableError, "JSON"),
    ({"status": 409, "json": refusal(409, "Conflict: terminated by other")},
     ConflictError, "another program"),
])
def test_every_answer_has_its_error(answer, kind, words):
    with pytest.raises(kind, match=words):
        calls(transport=answering(**answer))


def test_an_error_that_echoes_the_token_is_cleaned():
    for text in (f"bad token {TOKEN}", f"/bot{TOKEN}/getMe not here",
                 TOKEN.partition(":")[2]):
        with pytest.raises(ClawError) as caught:
            calls(transport=answering(400, json=refusal(400, text)))
        assert "secret_part" not in f"{caught.value!s}{caught.value.hint}"


@pytest.mark.parametrize("base", [
    "http://127.0.0.1:9", "https://no-such-host.invalid", "nonsense",
    "http://[", "http://127.0.0.1:99999999", ""])
def test_no_error_on_the_way_holds_the_token(base):
    with pytest.raises((UnavailableError, ConfigError)) as caught:
        calls(base=base)

    error: BaseException | None = caught.value
    while error is not None:
        assert "secret_part" not in repr(error) + str(error)
        error = error.__cause__ or error.__context__
    assert "api_base_url" in caught.value.hint


def test_the_log_of_the_http_library_holds_no_token(platform, caplog):
    with caplog.at_level(logging.DEBUG):
        calls(base=platform.url, token=platform.token,
              transport=httpx.AsyncHTTPTransport())

    assert "/bot[REDACTED]/getMe" in caplog.text
    assert platform.token.partition(":")[2] not in caplog.text


@pytest.mark.parametrize("token", ["", "  ", "12 34", "../../x", "1:a\nb",
                                   "봇:토큰", "1:a/../b", "1:\ud800"])
def test_what_is_no_token_never_reaches_the_wire(token):
    asked = []

    def handle(request):
        asked.append(request)
        return httpx.Response(200, json={"ok": True, "result": 1})
    with pytest.raises(AuthError) as caught:
        calls(token=token, transport=httpx.MockTransport(handle))
    assert asked == []
    assert "bot_token" in caught.value.hint


def test_blanks_around_a_token_do_no_harm(platform):
    assert calls(base=platform.url + "/", token=f" {platform.token}\n")[
        "username"] == "claw_test_bot"


def test_a_proxy_of_the_channel_is_used(platform):
    """The fake takes absolute addresses as a proxy does."""
    seen = []

    class Proxy(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport = transport

        def data_received(self, data):
            seen.append(data.split(b"\r\n")[0])
            self.transport.write(
                b"HTTP/1.1 200 OK\r\ncontent-length: 24\r\n\r\n"
                b'{"ok":true,"result":123}')

    async def go():
        server = await asyncio.get_running_loop().create_server(
            Proxy, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        api = BotApi(TOKEN, "http://api.telegram.test",
                     log=lambda *a, **k: None,
                     proxy_url=f"http://127.0.0.1:{port}")
        async with server, contextlib.aclosing(api):
            return await api.call("getMe")
    assert asyncio.run(go()) == 123
    assert seen == [b"POST http://api.telegram.test/bot"
                    + TOKEN.encode() + b"/getMe HTTP/1.1"]


@pytest.mark.parametrize(("proxy", "kind"), [
    ("socks5://127.0.0.1:9", (MissingPartError, UnavailableError)),
    ("socks5h://127.0.0.1:9", (MissingPartError, UnavailableError)),
    ("nonsense", ConfigError),
    ("http://127.0.0.1:9", UnavailableError),
])
def test_a_proxy_that_does_not_work_is_told(proxy, kind):
    with pytest.raises(kind) as caught:
        calls(base="http://api.telegram.test", proxy_url=proxy)
    assert "proxy" in f"{caught.value.message} {caught.value.hint}" or \
        "socks" in caught.value.hint


def test_the_skew_of_the_clocks_is_noted():
    async def go():
        api = BotApi(TOKEN, "https://t.test", log=lambda *a, **k: None,
                     now=lambda: 1_700_000_090.0,
                     transport=answering(
                         headers={"Date": "Tue, 14 Nov 2023 22:13:20 GMT"},
                         json={"ok": True, "result": {}}))
        await api.call("getWebhookInfo")
        await api.aclose()
        return api.clock_skew_s
    assert asyncio.run(go()) == 90.0


def test_a_limit_that_never_ends_is_not_waited_for_for_ever():
    waits = []

    async def sleep(seconds):
        waits.append(seconds)
    with pytest.raises(RateLimitedError) as caught:
        calls("sendMessage", {"chat_id": 1, "text": "x"}, sleep=sleep,
              clock=lambda: sum(waits),
              transport=answering(429, json=refusal(
                  429, "Too Many Requests: retry after 1", retry_after=1)))
    assert waits == [1.0, 1.0]
    assert caught.value.retry_after_s == 1


# -- the gate

def test_a_closed_chat_opens_when_its_time_is_over():
    now = 0.0
    gate = RateGate(lambda: now)
    gate.close("a", 10)
    assert (gate.wait_s("a"), gate.wait_s("b"), gate.wait_s(None)) == (
        10, 0, 0)

    now = 10.0
    assert gate.wait_s("a") == 0
    gate.close("b", 5)  # the first is over: only this chat
    assert (gate.wait_s("a"), gate.wait_s("b")) == (0, 5)


def test_a_second_chat_closes_the_bot():
    gate = RateGate(lambda: 0.0)
    gate.close("a", 10)
    gate.close("a", 3)  # no earlier end
    gate.close("b", 20)
    assert (gate.wait_s("a"), gate.wait_s("c"), gate.wait_s(None)) == (
        20, 20, 20)


@pytest.mark.parametrize("given", [None, -5])
def test_a_limit_without_a_time_has_one(given):
    gate = RateGate(lambda: 0.0)
    assert gate.close(None, given) == (5.0 if given is None else 0.0)


def test_the_extract_of_the_bot_api_says_what_the_bot_api_says():
    place = os.environ.get("CLAW_BOT_API_SPEC")
    if not place:
        pytest.skip("CLAW_BOT_API_SPEC names no copy of the Bot API")
    with open(place, encoding="utf-8") as file:
        whole = json.load(file)
    extract = json.loads((Path(__file__).parent / "bot_api.json").read_text())

    assert extract["version"] == whole["version"]
    for part in ("methods", "types"):
        for name, told in extract[part].items():
            fields = [{key: field[key] for key in (
                "name", "types", "required")}
                for field in whole[part][name].get("fields", [])]
            assert told.get("fields", []) == fields
            assert told.get("subtypes") == whole[part][name].get("subtypes")


def test_a_result_without_ok_is_a_result():
    assert calls(transport=answering(json={"result": {"id": 7}})) == {
        "id": 7}


def test_a_proxys_retry_after_is_honoured():
    transport = answering(429, text="slow down", headers={"retry-after": "9"})
    with pytest.raises(RateLimitedError) as caught:
        calls(transport=transport)
    assert caught.value.retry_after_s == 9
