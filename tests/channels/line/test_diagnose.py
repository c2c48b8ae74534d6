"""What `claw channel doctor line` finds."""

import asyncio

import pytest

from claw.testing.fake_line import USER


def rows(account, *, listens=True, **given):
    async def go():
        if not listens:
            async with account.open(**given) as channel:
                return await channel.diagnose()
        async with account.listening(**given) as channel:
            return await channel.diagnose()
    return {row.id: row for row in asyncio.run(go())}


def test_all_is_well(account, platform):
    platform.quota, platform.pushed = 200, 37
    found = rows(account)

    assert {row.status for row in found.values()} <= {"ok", "skip"}
    assert "@216ru" in found["account"].detail
    assert "37 of 200" in found["quota"].detail


@pytest.mark.parametrize(("sent", "status", "words"), [
    (None, "ok", "no limit"), (0, "ok", "0 of 200"), (190, "warn", "190 of"),
    (200, "warn", "used up"), (201, "warn", "used up")])
def test_what_is_left_of_the_month(account, platform, sent, status, words):
    platform.quota = None if sent is None else 200
    platform.pushed = sent or 0
    row = rows(account)["quota"]

    assert row.status == status
    assert words in row.detail


def test_nobody_listens(account, platform):
    found = rows(account, listens=False)
    assert found["callback"].status == "warn"
    assert "redelivery" in found["callback"].hint

    platform.callback = "http://127.0.0.1:9/elsewhere"
    found = rows(account, listens=False)
    assert "listens at /line" in found["callback"].detail
    assert found["reach"].status == "warn"


def test_a_wrong_token(account, platform):
    found = rows(account, channel_access_token="wrong")

    assert found["account"].status == "fail"
    assert "channel_access_token" in found["account"].hint
    assert found["quota"].status == "skip"


@pytest.mark.parametrize(("given", "row"), [
    ({"channel_secret": ""}, "channel_secret"),
    ({"api_base_url": "nonsense"}, "address"),
    ({"api_base_url": "http://127.0.0.1:9"}, "tcp"),
    ({"allowed_users": ("mina.line",)}, "allow_list"),
])
def test_what_is_wrong_is_named(account, given, row):
    assert rows(account, listens=False, **given)[row].status == "fail"


def test_who_has_blocked_it_is_counted(account, platform):
    account.takes(platform.build("unfollow"))

    assert USER in rows(account)["blocked"].detail
