"""What the doctor says."""

import asyncio

import pytest

from claw.testing.fake_whatsapp.webhooks import build_status


def rows(number, **given):
    async def go():
        async with number.open(**given) as channel:
            return {f.id: f for f in await channel.diagnose()}
    return asyncio.run(go())


def test_a_number_that_works(number, platform):
    found = rows(number)

    assert {f.status for f in found.values()} <= {"ok", "skip"}
    assert "+1 555 078 3881" in found["number"].detail
    assert found["callback"].detail == "Meta posts to https://host/whatsapp"


@pytest.mark.parametrize(("given", "row", "status", "hint"), [
    ({"access_token": "EAAwrong"}, "number", "fail", "access_token"),
    ({"access_token": ""}, "number", "fail", "access_token"),
    ({"phone_number_id": "abc"}, "number", "fail", "phone_number_id"),
    ({"app_secret": ""}, "app_secret", "fail", "app_secret"),
    ({"verify_token": ""}, "verify_token", "fail", "verify_token"),
    ({"listen_path": "/other"}, "callback", "warn", "/other"),
    ({"allowed_users": ()}, "allow_list", "warn", "allowed_users"),
    ({"api_base_url": "graph"}, "address", "fail", "api_base_url"),
    ({"api_base_url": "http://127.0.0.1:9"}, "tcp", "fail", "running"),
])
def test_each_fault_has_its_row_and_its_next_step(number, given, row, status,
                                                  hint):
    found = rows(number, **given)

    assert found[row].status == status
    assert hint in found[row].hint


def test_a_message_that_did_not_arrive_shows_until_one_does(number):
    sent = {"id": "wamid.x", "to": "4917"}
    number.takes(build_status("failed", sent, 1, [
        {"code": 131026, "title": "Undeliverable"}]))
    failed = rows(number)["delivery"]
    number.takes(build_status("delivered", sent, 2))

    assert failed.status == "warn"
    assert failed.detail.endswith(": Undeliverable (error 131026)")
    assert rows(number)["delivery"].status == "ok"


def test_allowed_numbers_are_the_allowed_users(claw):
    claw("config", "set", "channels_config.whatsapp.allowed_numbers",
         '["+4917012345"]')

    shown = claw("config", "get", "channels_config.whatsapp.allowed_users")

    assert "+4917012345" in shown.out
