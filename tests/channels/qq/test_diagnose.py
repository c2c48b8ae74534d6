"""`claw channel doctor qq`: each row names the next step."""

import asyncio

import pytest

from claw.core.errors import RateLimitedError


def rows(bot, **given):
    async def go():
        async with bot.open(**given) as channel:
            return {row.id: row for row in await channel.diagnose()}
    return asyncio.run(go())


def test_all_is_well(bot):
    found = rows(bot)

    assert {row.status for row in found.values()} <= {"ok", "skip"}
    assert "1000 new sessions" in found["gateway"].detail
    assert found["bot"].detail == "it is claw"


def test_a_wrong_secret_is_told_and_the_rest_skipped(bot):
    found = rows(bot, app_secret="wrong-secret")

    assert found["token"].status == "fail"
    assert "app_secret" in found["token"].hint
    assert found["gateway"].status == found["bot"].status == "skip"


def test_no_session_left_is_told(bot, platform):
    platform.starts_left = 0

    assert rows(bot)["gateway"].status == "fail"


def test_chats_that_may_not_be_written_to_are_counted(bot, platform):
    platform.rules.own_accord = 0
    with pytest.raises(RateLimitedError):
        bot.sends("a reminder")

    found = rows(bot)["chats"]

    assert found.detail == "in 1 chats the bot may only answer now"
    assert "claw queue list" in found.hint


def test_webhook_mode_names_its_path(bot):
    found = rows(bot, mode="webhook", webhook_path="in/qq/")

    assert "/in/qq" in found["webhook"].detail
    assert "gateway" not in found


@pytest.mark.parametrize(("given", "row"), [
    ({"api_base_url": "nonsense"}, "address"),
    ({"api_base_url": "http://127.0.0.1:1"}, "tcp"),
    ({"app_id": ""}, "token")])
def test_an_address_that_is_none_is_told(bot, given, row):
    found = rows(bot, **given)[row]

    assert found.status == "fail"
    assert found.hint


def test_an_empty_allow_list_is_told(bot):
    assert rows(bot, allowed_users=())["allow_list"].status == "warn"
