"""The rows of `claw channel doctor signal`."""

import asyncio

import pytest

from claw.channels.signal.diagnose import judge_version
from claw.testing.fake_signal import ALICE, ALICE_ACI


def rows(bot, **given):
    async def go():
        async with bot.open(**given) as channel:
            return {row.id: row for row in await channel.diagnose()}
    return asyncio.run(go())


def test_a_daemon_that_works_is_said_to(bot):
    found = rows(bot, allowed_users=(ALICE, ALICE_ACI))

    assert [found[i].status for i in ("tcp", "daemon", "account", "version",
                                      "allow_list")] == ["ok"] * 5
    assert "on-connection" in found["receive_mode"].hint
    assert bot.platform.listeners == 0


@pytest.mark.parametrize(("given", "row", "words"), [
    ({"http_url": "nonsense"}, "address", "no http address"),
    ({"account": "+4999999999"}, "account", "does not exist"),
    ({"allowed_users": ("alice",)}, "allow_list", "neither numbers"),
    ({"allowed_users": ()}, "allow_list", "nobody"),
])
def test_what_is_wrong_is_named_with_the_next_step(bot, given, row, words):
    found = rows(bot, **given)[row]

    assert found.status != "ok"
    assert words in found.detail
    assert found.hint


@pytest.mark.parametrize(("accounts", "status"), [
    ([], "fail"), (["+1234"], "ok"), (["+1234", "+5678"], "fail")])
def test_without_a_name_there_must_be_one_account(bot, accounts, status):
    bot.platform.accounts = accounts

    assert rows(bot, account="")["account"].status == status


@pytest.mark.parametrize(("version", "status"), [
    ("0.13.19", "warn"), ("0.14.4.1", "warn"), ("0.14.5", "ok"),
    ("0.14.10", "ok"), ("1.0.0", "ok"), ("unknown", "warn"),
])
def test_versions_that_no_longer_receive_are_named(version, status):
    assert judge_version(version).status == status


def test_a_daemon_that_is_down_is_found_at_its_port(bot):
    bot.platform.down()
    found = rows(bot)

    assert found["tcp"].status == "fail"
    assert found["daemon"].status == "skip"
    bot.platform.up()


def test_health_asks_in_the_name_of_the_account(bot):
    async def go(**given):
        async with bot.open(**given) as channel:
            return await channel.health_check()

    assert asyncio.run(go())
    assert not asyncio.run(go(account="+4999999999"))
