"""The rows of `claw channel doctor telegram`."""

import asyncio
import socket
import time
from email.utils import formatdate

import pytest

from claw.channels.telegram import TelegramChannel
from claw.core.abilities import Diagnoses
from claw.net.lean import httpx

NAMES = ["dns", "tcp", "tls", "token", "webhook", "poller", "pending",
         "clock", "allow_list"]


def rows(bot, **settings):
    async def go():
        async with bot.open(**settings) as channel:
            assert isinstance(channel, Diagnoses)
            return await channel.diagnose()
    found = asyncio.run(go())
    assert [row.id for row in found] == NAMES
    assert all(row.hint for row in found if row.status in ("warn", "fail"))
    assert bot.platform.token not in repr(found)
    assert bot.platform.list_calls("getUpdates") == []
    return {row.id: row for row in found}


def test_a_healthy_bot_has_no_failures(bot):
    found = rows(bot, allowed_users=("5",))
    assert {name: row.status for name, row in found.items()} == {
        **dict.fromkeys(NAMES, "ok"), "tls": "skip", "clock": found[
            "clock"].status}
    assert "@claw_test_bot" in found["token"].detail


def test_a_refused_token_is_told_with_the_command(platform, bot):
    found = rows(bot, bot_token="1:wrong")
    assert found["token"].status == "fail"
    assert found["token"].hint == (
        "set it with: claw config set channels_config.telegram.bot_token")
    assert found["webhook"].status == "skip"


def test_no_token_is_told(bot):
    assert "no token" in rows(bot, bot_token="")["token"].detail


def test_a_webhook_is_named_by_its_host(platform, bot):
    platform._world.webhook = {"url": "https://hook.example/secret/path"}
    found = rows(bot)
    assert found["webhook"].status == "fail"
    assert "https://hook.example" in found["webhook"].detail
    assert "secret" not in found["webhook"].detail
    assert found["webhook"].hint.startswith(f'curl "{platform.url}/bot$(')
    assert found["poller"].status == "skip"


def test_waiting_updates_are_counted(platform, bot):
    platform.post("a")
    platform.post("b")
    found = rows(bot)
    assert found["pending"].status == "warn"
    assert found["pending"].detail.startswith("2 updates wait")
    assert platform.pending() == 2


def test_a_rival_that_the_listener_met_is_told(platform, bot):
    platform.fault("getUpdates", "status", times=None, status=409,
                   description="Conflict: terminated by other getUpdates")

    async def go():
        async with bot.listening() as channel:
            await platform.until(lambda: bot.logged("conflict"))
            return {row.id: row for row in await channel.diagnose()}
    found = asyncio.run(go())
    assert found["poller"].status == "fail"
    assert "another program" in found["poller"].detail
    assert "pgrep" in found["poller"].hint


@pytest.mark.parametrize(("ahead_s", "status"), [(0, "ok"), (-3600, "warn"),
                                                  (3600, "warn")])
def test_a_clock_that_is_off_is_told(bot, ahead_s, status):
    def answer(request):
        there = formatdate(time.time() - ahead_s, usegmt=True)
        result = {"id": 1, "username": "b"} \
            if request.url.path.endswith("/getMe") else {"url": ""}
        return httpx.Response(200, headers={"Date": there}, json={
            "ok": True, "result": result})

    async def go():
        channel = TelegramChannel(bot.settings(), bot.deps,
                                  transport=httpx.MockTransport(answer))
        try:
            return {row.id: row for row in await channel.diagnose()}
        finally:
            await channel.aclose()
    row = asyncio.run(go())["clock"]
    assert row.status == status
    assert ("timedatectl" in (row.hint or "")) is (status == "warn")


def test_a_closed_port_ends_at_tcp(bot):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found = rows(bot, api_base_url=f"http://127.0.0.1:{port}")
    assert found["dns"].status == "ok"
    assert found["tcp"].status == "fail"
    assert found["tcp"].detail.endswith(
        f"127.0.0.1:{port}: connection refused")
    assert found["token"].status == "skip"


def test_an_unknown_name_ends_at_dns(bot):
    found = rows(bot, api_base_url="https://no-such-host.invalid")
    assert found["dns"].status == "fail"
    assert found["tcp"].status == found["tls"].status == "skip"


def test_a_server_without_tls_ends_at_tls(platform, bot, monkeypatch):
    monkeypatch.setattr("claw.channels.telegram.diagnose._STEP_S", 0.2)
    found = rows(bot, api_base_url=platform.url.replace("http", "https"))
    assert found["tcp"].status == "ok"
    assert found["tls"].status == "fail"


@pytest.mark.parametrize("base", ["nonsense", "", "http://[", "http://x:y"])
def test_what_is_no_address_is_told(bot, base):
    assert rows(bot, api_base_url=base)["dns"].status == "fail"


def test_the_way_through_a_proxy_is_not_probed_directly(bot):
    found = rows(bot, proxy_url="http://127.0.0.1:9")
    assert [found[n].status for n in ("dns", "tcp", "tls")] == ["skip"] * 3
    assert found["token"].status == "fail"
    assert "proxy" in found["token"].hint


@pytest.mark.parametrize(("names", "status", "words"), [
    ((), "warn", "nobody"), (("*", 5), "warn", "only the owners"),
    (("5", "alice"), "warn", "alice"), (("5", 6), "ok", "ids only")])
def test_the_allow_list_is_judged(bot, names, status, words):
    row = rows(bot, allowed_users=names)["allow_list"]
    assert row.status == status
    assert words in row.detail


@pytest.mark.parametrize(("fault", "healthy"), [(None, True), ("stall", None),
                                                ("status", False)])
def test_health_is_a_getme(platform, bot, fault, healthy, monkeypatch):
    monkeypatch.setattr("claw.channels.telegram.channel._HEALTH_S", 0.2)
    if fault:
        platform.fault("getMe", fault)

    async def go():
        async with bot.open() as channel:
            return await channel.health_check()
    assert asyncio.run(go()) is bool(healthy)
    assert len(platform.list_calls("getMe")) == 1
