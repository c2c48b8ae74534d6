"""What was said while nobody listened, and polling."""

import asyncio
import time

import pytest


def run(work):
    return asyncio.run(work)


def test_the_first_start_replays_nothing_old(bot, platform):
    platform.tells = False
    for channel in ("D1001", "C1"):
        platform.say("of old", channel, ts=f"{time.time() - 5:.6f}")
    platform.tells = True

    async def work():
        async with bot.listening():
            platform.say("new")
            await bot.hears(1)

    run(work())

    assert bot.inbox.contents == ["new"]


def test_what_was_said_while_away_is_read_at_the_next_start(bot, platform):
    """Envelopes of then are gone: Slack does not keep them for ever."""
    async def work():
        async with bot.listening():
            platform.say("one")
            root = platform.say("thread", "C1")
            await bot.hears(2)
        platform.tells = False
        platform.say("two")
        platform.say("in the thread", "C1", thread_ts=root)
        platform.say("three")
        platform.tells = True
        async with bot.listening():
            await bot.hears(5)
            platform.say("four")
            await bot.hears(6)

    run(work())

    found = bot.inbox.messages
    assert [m.content for m in found if m.reply_target == "D1001"] == [
        "one", "two", "three", "four"]
    assert [m.content for m in found if m.reply_target == "C1"] == [
        "thread", "in the thread"]
    assert len({m.id for m in found}) == 6


def test_a_cut_connection_misses_nothing(bot, platform):
    async def work():
        async with bot.listening():
            platform.say("one")
            await bot.hears(1)
            platform.tells = False
            platform.say("two")
            platform.tells = True
            platform.sockets.kill_connections()
            await bot.hears(2)

    run(work())

    assert bot.inbox.contents == ["one", "two"]


def test_what_is_said_now_does_not_overtake_what_was_missed(bot, platform):
    async def work():
        async with bot.listening():
            platform.say("zero")
            await bot.hears(1)
        platform.tells = False
        platform.say("one")
        platform.tells = True
        platform.fault("conversations.list", "delay", None, delay_s=0.5)
        async with bot.listening():
            platform.say("two")
            await bot.hears(3)

    run(work())

    assert bot.inbox.contents == ["zero", "one", "two"]


def test_who_waits_for_what_was_missed_is_not_overtaken(bot, platform):
    """By what comes in just when all is read."""
    put = bot.inbox.put

    async def put_slowly(message):
        await asyncio.sleep(0.01)
        await put(message)

    async def work():
        async with bot.listening():
            platform.say("zero")
            await bot.hears(1)
        platform.tells = False
        for n in range(10):
            platform.say(f"missed {n}")
        platform.tells = True
        bot.inbox.put = put_slowly
        async with bot.listening():
            for n in range(60):
                platform.say(f"live {n}")
                await asyncio.sleep(0.003)
            await bot.hears(71)

    run(work())

    assert bot.inbox.contents == [
        "zero", *(f"missed {n}" for n in range(10)),
        *(f"live {n}" for n in range(60))]


def test_history_is_read_in_pages_and_in_order(bot, platform):
    platform.say("first")

    async def work():
        async with bot.listening():
            await bot.hears(1)
        platform.tells = False
        for n in range(450):
            platform.say(f"m{n}")
        async with bot.listening():
            await bot.hears(451)

    run(work())

    assert bot.inbox.contents == ["first", *(f"m{n}" for n in range(450))]


def test_what_is_beyond_the_bound_is_told(bot, platform):
    async def work():
        async with bot.listening():
            platform.say("first")
            await bot.hears(1)
        platform.tells = False
        for n in range(1_100):
            platform.say(f"m{n}")
        async with bot.listening():
            await bot.hears(1_001)

    run(work())

    assert bot.inbox.contents[-1] == "m1099"
    assert bot.logged("history_cut")


def test_a_history_that_may_not_be_read_is_told_once(bot, platform):
    platform.fault("conversations.history", "status", None, status=400,
                   description="missing_scope")

    async def work():
        for n in range(2):
            async with bot.listening():
                platform.say(f"m{n}")
                await bot.hears(n + 1)

    run(work())

    assert bot.inbox.contents == ["m0", "m1"]
    assert all("scope" in row["hint"] for row in bot.logged(
        "history_refused"))


@pytest.mark.parametrize("method", ["conversations.list", "auth.test",
                                    "users.info"])
def test_a_server_that_lacks_a_method_is_no_reason_to_be_deaf(
        bot, platform, method):
    platform.lacks = (method,)

    async def work():
        async with bot.listening():
            platform.say("hello")
            await bot.hears(1)

    run(work())

    assert bot.inbox.contents == ["hello"]


def test_one_channel_alone_is_listened_to(bot, platform):
    async def work():
        async with bot.listening(channel_id="C1"):
            platform.say("private")
            platform.say("public", "C1")
            await bot.hears(1)

    run(work())

    assert bot.inbox.contents == ["public"]
    assert platform.list_calls("conversations.list") == []


def test_a_limit_in_the_middle_begins_nothing_anew(bot, platform):
    """More channels than Slack lets us read in a minute."""
    for n in range(30):
        platform.world.channel(f"C{n:02}")

    async def work():
        async with bot.listening() as channel:
            await channel.catch_up()
        platform.calls.clear()
        platform.tells = False
        platform.say("missed", "C29")
        platform.fault("conversations.history", "delay", 20)
        platform.fault("conversations.history", "429", 1, retry_after=30)
        async with bot.listening() as channel:
            await bot.hears(1)
            await channel.catch_up()

    run(work())

    assert bot.inbox.contents == ["missed"]
    assert len(platform.list_calls("conversations.history")) < 40
    assert [s for s in bot.slept if 25 < s <= 30]


# polling

def poll(bot, platform, work, **given):
    platform.tells = False

    async def polling():
        async with bot.listening(app_token="", **given):
            await bot.until(lambda: platform.list_calls(
                "conversations.history"))
            await work()
    asyncio.run(polling())


def test_polling_reads_channels_and_threads_each_message_once(bot, platform):
    async def work():
        root = platform.say("one")
        platform.say("two", "C1")
        await bot.hears(2)
        platform.say("reply", thread_ts=root)
        await bot.hears(3)
        await asyncio.sleep(0.1)

    poll(bot, platform, work)

    assert bot.inbox.contents == ["one", "two", "reply"]
    assert bot.logged("polling")
    assert 3.0 in bot.slept


def test_polling_goes_on_where_it_stopped(bot, platform):
    async def first():
        platform.say("one")
        await bot.hears(1)

    async def second():
        await bot.hears(2)

    poll(bot, platform, first)
    platform.say("two")
    poll(bot, platform, second)

    assert bot.inbox.contents == ["one", "two"]


def test_polling_waits_longer_each_time_it_is_limited(bot, platform):
    async def work():
        platform.fault("conversations.history", "429", 3, retry_after=2)
        platform.say("one")
        await bot.hears(1)

    poll(bot, platform, work)

    waits = [s for s in bot.slept if s > 1.9 and s != 3.0]
    assert [int(w) for w in waits[:3]] == [2, 4, 8]


