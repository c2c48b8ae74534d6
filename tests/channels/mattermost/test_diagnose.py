"""`claw channel doctor`: each row names the next step."""

import asyncio

import pytest


def rows(bot, **given):
    async def go():
        async with bot.open(**given) as channel:
            return {f.id: f for f in await channel.diagnose()}
    return asyncio.run(go())


def test_a_healthy_bot(bot, platform):
    found = rows(bot, allowed_users=(platform.alice,))

    assert [f.id for f in found.values()] == [
        "dns", "tcp", "tls", "clock", "token", "websocket", "channels",
        "allow_list"]
    assert {f.status for f in found.values()} <= {"ok", "skip"}
    assert "@claw" in found["token"].detail


def test_no_address(bot):
    found = rows(bot, url="")

    assert found["address"].status == "fail"
    assert "config set" in found["address"].hint
    assert found["websocket"].status == "skip"


def test_a_wrong_token(bot):
    found = rows(bot, bot_token="nobody-s-token")

    assert found["token"].status == "fail"
    assert "bot_token" in found["token"].hint
    assert found["channels"].status == "skip"


def test_a_person_s_token(bot, platform):
    platform.tokens["alices-token"] = platform.alice
    found = rows(bot, bot_token="alices-token")

    assert found["token"].status == "warn"
    assert "@alice" in found["token"].detail


@pytest.mark.parametrize(("transport", "status"), [
    ("auto", "warn"), ("websocket", "fail"), ("polling", "skip")])
def test_a_proxy_that_refuses_websockets(bot, platform, transport, status):
    platform.refuses_sockets = 400
    found = rows(bot, transport=transport)

    assert found["websocket"].status == status
    if status != "skip":
        assert "Upgrade" in found["websocket"].hint


def test_a_channel_that_the_bot_is_not_in(bot, platform):
    found = rows(bot, channel_id=f"{platform.channel},elsewhere")

    assert found["channels"].status == "fail"
    assert "elsewhere" in found["channels"].detail
    assert "/invite" in found["channels"].hint


def test_a_bot_in_no_channel(bot, platform):
    platform.world.members[platform.channel].clear()
    found = rows(bot)

    assert found["channels"].status == "warn"


@pytest.mark.parametrize(("allowed", "words"), [
    ((), "nobody"), (("*", "alice"), "everybody"), (("alice",), "alice")])
def test_who_may_write(bot, allowed, words):
    found = rows(bot, allowed_users=allowed)

    assert found["allow_list"].status == "warn"
    assert words in found["allow_list"].detail


def test_a_server_that_is_not_there(bot, platform):
    platform.down()
    found = rows(bot)

    assert found["tcp"].status == "fail"
    assert found["token"].status == "skip"


def test_something_else_stands_at_the_address(bot, platform):
    platform.fault("*", "html", None, status=200)
    found = rows(bot)

    assert found["token"].status == "fail"
    assert "url" in found["token"].hint
