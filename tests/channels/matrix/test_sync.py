"""Receiving: tokens, gaps, invitations, servers that go wrong."""

import asyncio
import time

import pytest

from claw.channels.matrix.api import LOGIN_HINT
from claw.channels.matrix.invites import read_invitation
from claw.core.errors import AuthError, StorageError
from claw.testing.contracts.stage import until
from claw.testing.fake_matrix import ALICE, BOT, ROOM

MALLORY = "@mallory:elsewhere"
V12 = "!aRoomOfVersionTwelve"


def run(work):
    return asyncio.run(work())


def test_a_first_start_answers_nothing_old(account, platform):
    platform.post("long ago")

    assert [m.content for m in account.hears("now")] == ["now"]


def test_what_was_said_while_we_were_away_is_heard(account, platform):
    account.hears("one")
    platform.post("two")
    platform.post("three")
    account.hears("four")

    assert account.inbox.contents == ["one", "two", "three", "four"]


def test_a_gap_is_filled_in_order(account, platform):
    account.hears("first")
    for n in range(230):
        platform.post(f"n{n}")
    account.hears("last")

    assert account.inbox.contents == [
        "first", *[f"n{n}" for n in range(230)], "last"]


def test_a_gap_is_read_down_to_a_thousand_and_said_to_be(account, platform):
    account.hears("first")
    for n in range(1200):
        platform.post(f"n{n}")
    account.hears()

    assert len(account.inbox.messages) >= 1000
    assert account.inbox.contents[-1] == "n1199"
    assert account.logged("gap_too_large")


def test_after_a_gap_nobody_is_thought_to_be_there_still(account, platform):
    """Servers that load members lazily leave out who went in the gap: he
    would get the room's keys."""
    rooms = account.make()._rooms
    rooms["!r"].members = rooms["!r"].readers = {ALICE, MALLORY}
    rooms.learn("!r", {"timeline": {"limited": True}}, [])

    assert (rooms["!r"].members, rooms["!r"].readers) == (None, None)


def test_the_token_moves_after_the_commit(account, platform):
    account.hears("one")
    account.inbox.broken = StorageError("the disk is full")
    with pytest.raises(StorageError):
        account.hears("two")
    account.inbox.broken = None
    account.hears()

    assert account.inbox.contents == ["one", "two"]


def test_a_read_receipt_follows_the_commit(account, platform):
    said = []

    async def work():
        async with account.listening():
            said.append(platform.post("hello"))
            platform.post("not for you", sender=MALLORY)
            await platform.until(lambda: platform.receipts)
            await account.settle()

    run(work)

    assert platform.receipts == {ROOM: said[0]}


def test_a_lost_token_loses_no_message(account, platform):
    """The server was set up anew: it knows the rooms, not the token."""
    account.hears("one")
    account.marks.set(f"since {BOT}", "a token of the old server")
    platform.post("two")
    account.hears()

    assert account.inbox.contents[-1] == "two"
    assert account.logged("sync_token_refused")


@pytest.mark.parametrize(("count", "told"), [(10, False), (70, True)])
def test_a_lost_token_with_more_than_a_sync_gives_is_logged(
        account, platform, count, told):
    account.hears("one")
    account.marks.set(f"since {BOT}", "a token of the old server")
    account.marks.set("synced", str(int(time.time()) // 60 * 60))
    for event in platform.world.room(ROOM).events:
        event[1]["origin_server_ts"] = 0
    for n in range(count):
        platform.post(f"n{n}")
    account.hears()

    assert account.inbox.contents[-1] == f"n{count - 1}"
    assert bool(account.logged("gap_not_read")) is told


@pytest.mark.parametrize("how", ["reset", "half", "status", "html", "429"])
def test_a_server_that_goes_wrong_is_asked_again(account, platform, how):
    async def work():
        async with account.listening():
            platform.fault("sync", how, 2)
            platform.post("hello")
            await platform.until(lambda: account.inbox.messages)

    run(work)

    assert account.inbox.contents == ["hello"]


def test_a_server_that_dies_in_the_middle_of_a_gap_costs_nothing(
        account, platform):
    account.hears("first")
    for n in range(120):
        platform.post(f"n{n}")
    platform.fault("messages", "reset", 1)
    account.hears()

    assert account.inbox.contents == [
        "first", *[f"n{n}" for n in range(120)]]


def test_a_wedged_poll_is_given_up_and_a_restart_survived(
        account, platform, monkeypatch):
    monkeypatch.setattr("claw.channels.matrix.api.SYNC_GRACE_S", 0.2)

    async def work():
        async with account.listening():
            platform.wedged = True
            await until(lambda: account.inbox.failures)
            platform.wedged = False
            platform.restart()
            platform.post("hello")
            await platform.until(lambda: account.inbox.messages)

    run(work)

    assert account.inbox.contents == ["hello"]


@pytest.mark.parametrize(("soft", "hint"), [
    (False, "access_token"), (True, LOGIN_HINT)])
def test_a_token_that_is_over_says_what_to_do(account, platform, soft, hint):
    platform.fault("sync", "status", None, status=401, parameters={
        "errcode": "M_UNKNOWN_TOKEN", "soft_logout": soft})

    with pytest.raises(AuthError) as caught:
        account.hears()

    assert hint in caught.value.hint


@pytest.mark.parametrize("junk", [
    None, 7, "text", [], {}, {"type": 7}, {"type": "m.room.message"},
    {"type": "m.room.message", "sender": ALICE, "content": [],
     "event_id": "$x"},
    {"type": "m.room.message", "sender": ALICE, "event_id": "$x",
     "content": {"msgtype": "m.text", "body": {"a": 1}}},
    {"type": "m.room.message", "sender": ALICE, "event_id": "$x",
     "origin_server_ts": -1e300,
     "content": {"msgtype": "m.image", "body": 7, "info": [], "url": {}}},
    {"type": "m.room.message", "sender": ALICE, "event_id": "$x",
     "content": {"msgtype": "m.text", "body": "x", "m.relates_to": {
         "rel_type": [], "event_id": 7, "m.in_reply_to": "no"}}},
    {"type": "m.room.member", "state_key": 7, "content": {}},
])
def test_one_bad_event_stops_no_other(account, platform, junk):
    heard = account.hears("before", lambda: platform.post_raw(junk), "after")

    assert [m.content for m in heard if m.content in ("before", "after")
            ] == ["before", "after"]


def test_rooms_of_version_12_have_no_server_part(account, platform):
    platform.add_room(V12, ALICE)
    heard = account.hears({"body": "hello", "room_id": V12})
    account.sends("hi", V12)

    assert heard[0].reply_target == V12
    assert platform.answers(V12) == ["hi"]


# -- which rooms

def test_only_the_listed_rooms_are_heard(account, platform):
    platform.add_room("!one:fake", ALICE)
    platform.add_room("!two:fake", ALICE)
    platform.add_alias("#two:fake", "!two:fake")
    heard = account.hears(
        {"body": "a", "room_id": ROOM}, {"body": "b", "room_id": "!one:fake"},
        {"body": "c", "room_id": "!two:fake"},
        room_id="!one:fake", allowed_rooms=("#two:fake",))

    assert sorted(m.content for m in heard) == ["b", "c"]


def test_an_unknown_alias_is_told_and_stops_nothing(account, platform):
    heard = account.hears("hello", room_id=ROOM,
                          allowed_rooms=("#nowhere:fake",))

    assert [m.content for m in heard] == ["hello"]
    assert account.logged("room_unknown")


# -- invitations

def membership(platform, room_id):
    return platform.world.room(room_id).membership(BOT)


@pytest.mark.parametrize(("inviter", "given", "joins"), [
    (ALICE, {}, True),
    (MALLORY, {}, False),
    (MALLORY, {"allowed_rooms": ("!new:fake",)}, True),
    (ALICE, {"allowed_rooms": ("!other:fake",)}, False),
    (MALLORY, {"allowed_users": ()}, False),
])
def test_invitations_are_answered_by_rule(account, platform, inviter, given,
                                          joins):
    async def work():
        async with account.listening(**given):
            platform.invite("!new:fake", inviter)
            await platform.until(
                lambda: membership(platform, "!new:fake") != "invite")

    run(work)

    assert membership(platform, "!new:fake") == ("join" if joins else "leave")


def test_who_invites_is_not_told_by_unsigned_words(account, platform):
    """The inviter's server may put any events into `invite_state`."""
    def member(sender):
        return {"type": "m.room.member", "state_key": BOT, "sender": sender,
                "content": {"membership": "invite"}}

    for senders in ([ALICE, MALLORY], [MALLORY, ALICE]):
        assert read_invitation("!new:fake", {"invite_state": {
            "events": list(map(member, senders))}}, BOT) is None


def test_what_was_said_between_invitation_and_joining_is_heard(
        account, platform):
    async def work():
        async with account.listening():
            platform.invite("!new:fake", direct=True)
            for n in range(60):
                platform.post(f"n{n}", "!new:fake")
            await platform.until(lambda: len(account.inbox.messages) == 60)
            assert account.inbox.contents == [f"n{n}" for n in range(60)]
            await platform.until(lambda: platform.world.account_data)

    run(work)

    assert platform.world.account_data[BOT, "m.direct"] == {
        ALICE: ["!new:fake"]}


def test_what_was_said_before_the_invitation_is_not(account, platform):
    platform.add_room("!new:fake", ALICE, bot=False)
    platform.post("before", "!new:fake")

    async def work():
        async with account.listening():
            platform.invite("!new:fake")
            await platform.until(
                lambda: membership(platform, "!new:fake") == "join")
            platform.post("after", "!new:fake")
            await platform.until(lambda: account.inbox.messages)

    run(work)

    assert account.inbox.contents == ["after"]


def test_an_accepted_invitation_outlasts_a_restart(account, platform):
    async def work():
        platform.fault("join", "status", None, status=502)
        async with account.listening():
            platform.invite("!new:fake")
            await platform.until(lambda: account.logged("join_failed"))
        platform.clear_faults()
        async with account.listening():
            await platform.until(
                lambda: membership(platform, "!new:fake") == "join")

    run(work)


def test_the_owner_pairs_in_a_chat_of_two(account, platform):
    async def work():
        async with account.listening(allowed_users=()):
            platform.invite("!new:fake", direct=True)
            await platform.until(
                lambda: membership(platform, "!new:fake") == "join")
            (code,) = [f["code"] for f in account.logged("pairing")]
            platform.post(f"/bind {code}", "!new:fake")
            await platform.until(lambda: account.remembered)
            platform.post("hello", "!new:fake")
            await platform.until(lambda: account.inbox.messages)

    run(work)

    assert account.remembered == [ALICE]
    assert account.inbox.contents == ["hello"]
    assert "You are paired." in platform.answers("!new:fake")


def test_a_new_name_of_the_bot_hides_no_message(account, platform):
    account.hears("one")
    platform.post("two")
    platform.rename(BOT, "Claw")
    platform.post("three")
    account.hears()

    assert account.inbox.contents == ["one", "two", "three"]


@pytest.mark.parametrize("given", [{}, {"room_id": ROOM}])
def test_an_upgraded_room_is_followed(account, platform, given):
    async def work():
        platform.add_room(V12, ALICE, bot=False)
        platform.public.add(V12)
        async with account.listening(**given):
            platform.world.add(
                platform.world.room(ROOM), "m.room.tombstone", ALICE,
                {"body": "moved", "replacement_room": V12}, "")
            await platform.until(
                lambda: membership(platform, V12) == "join")
        platform.post("here now", V12)
        async with account.listening(**given):  # also after a restart
            await platform.until(lambda: account.inbox.messages)

    run(work)

    assert account.inbox.contents == ["here now"]
