"""What claw channel doctor tells."""

import asyncio

import pytest

from claw.testing.fake_discord.rest import OPERATIONS


def find(bot, **given):
    async def go():
        async with bot.open(**given) as channel:
            return {f.id: f for f in await channel.diagnose()}
    return asyncio.run(go())


def test_a_bot_that_is_well_has_no_failure(bot, platform):
    platform.add_guild("900")

    found = find(bot)

    assert {f.status for f in found.values()} <= {"ok", "skip"}
    assert found["token"].detail == "it is claw (700000000000000001)"
    assert "oauth2/authorize?client_id=700000000000000001" in (
        found["servers"].hint)


def test_a_wrong_token_is_named_and_what_follows_is_skipped(bot, platform):
    found = find(bot, bot_token="NzAw.wrong.token")

    assert found["token"].status == "fail"
    assert "bot_token" in found["token"].hint
    assert found["intents"].status == "skip"


@pytest.fixture
def no_flags(monkeypatch):
    monkeypatch.setitem(OPERATIONS, "get_my_application",
                        lambda world, call: {"id": "7", "flags": 0})


def test_the_intent_that_is_off_is_named(bot, platform, monkeypatch,
                                         no_flags):
    monkeypatch.setattr("claw.channels.discord.diagnose._HOST", "127.0.0.1")

    found = find(bot)

    assert found["intents"].status == "fail"
    assert "Message Content Intent" in found["intents"].hint


def test_a_compatible_server_without_flags_is_no_failure(bot, no_flags):
    found = find(bot)

    assert found["intents"].status == "warn"
    assert "4014" not in found["intents"].detail


def test_no_server_and_no_start_are_named_with_the_next_step(bot, platform):
    platform.behaviour.starts_left = 0

    found = find(bot)

    assert found["servers"].status == "warn"
    assert "invite" in found["servers"].hint
    assert found["gateway"].status == "fail"


@pytest.mark.parametrize(("allowed", "everyone", "status"), [
    ((), False, "warn"), (("*", "1"), False, "warn"),
    (("*",), True, "warn"), (("alice",), False, "warn"),
    (("1001",), False, "ok")])
def test_the_allow_list_is_judged(bot, allowed, everyone, status):
    found = find(bot, allowed_users=allowed, allow_everyone=everyone)

    assert found["allow_list"].status == status


@pytest.mark.parametrize("url", ["", "discord.com", "ftp://x", "http://"])
def test_an_address_that_is_none_is_named(bot, url):
    found = find(bot, api_base_url=url)

    assert found["address"].status == "fail"


def test_a_server_that_is_away_is_named(bot, platform):
    platform.down()

    found = find(bot)

    assert found["tcp"].status == "fail"
    assert found["token"].status == "skip"
    platform.up()
