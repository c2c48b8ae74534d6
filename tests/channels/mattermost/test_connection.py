"""Connections that end, and what takes their place."""

import asyncio
import json

import pytest

from claw.core.errors import AuthError


def connected(platform, count=1):
    return platform.until(lambda: platform.hub.greeted >= count
                          and platform.hub.caught_up)


def test_a_cut_connection_is_taken_up_where_it_ended(bot, platform):
    async def go():
        async with bot.listening():
            await connected(platform)
            platform.post("one")
            await bot.settle(1)
            asked = len(platform.list_calls("GET users/me/channels"))
            platform.kill_connections()
            platform.post("two")
            await bot.settle(2)
            platform.post("three")
            await bot.settle(3)
            return len(platform.list_calls("GET users/me/channels")) - asked
    asked = asyncio.run(go())

    assert bot.inbox.contents == ["one", "two", "three"]
    assert platform.hub.resumed == 1
    assert asked == 0  # no need to ask for what was missed
    assert bot.inbox.failures


def test_after_a_restart_of_the_server_what_was_missed_is_asked_for(
        bot, platform):
    async def go():
        async with bot.listening():
            await connected(platform)
            platform.down()
            platform.post("while it was away")
            await asyncio.sleep(0.05)
            platform.up()
            await connected(platform)
            await bot.settle(1)
            platform.post("after")
            await bot.settle(2)
    asyncio.run(go())

    assert bot.inbox.contents == ["while it was away", "after"]
    assert platform.hub.resumed == 0


def test_more_than_the_server_keeps_is_asked_for(bot, platform):
    async def go():
        async with bot.listening():
            await connected(platform)
            platform.refuses_sockets = 503
            platform.fault("GET users/me/channels", "status", None,
                           status=503)
            platform.kill_connections()
            for n in range(200):
                platform.post(f"m{n}")
            await asyncio.sleep(0.05)
            platform.refuses_sockets = None
            platform.clear_faults()
            await bot.settle(200)
    asyncio.run(go())

    assert bot.inbox.contents == [f"m{n}" for n in range(200)]


@pytest.mark.parametrize("lost", [1, 3])
def test_a_gap_in_the_numbers_is_filled(bot, platform, lost):
    async def go():
        async with bot.listening():
            await connected(platform)
            platform.hub.mute = lost
            for n in range(lost + 1):
                platform.post(f"m{n}")
            await bot.settle(lost + 1)
    asyncio.run(go())

    assert sorted(bot.inbox.contents) == [f"m{n}" for n in range(lost + 1)]


def test_a_half_open_connection_is_given_up(bot, platform):
    """The other side is gone without a word: no answer to pings."""
    async def go():
        async with bot.listening(ping_s=0.1):
            await connected(platform)
            (socket,) = platform._sockets.connections
            platform._sockets.call_soon(socket.transport.pause_reading)
            await asyncio.sleep(0.02)
            platform._sockets.call_soon(
                lambda: platform.hub.links.clear())
            platform.post("hello?")
            await bot.settle(1)
    asyncio.run(go())

    assert bot.inbox.contents == ["hello?"]
    assert any("ping" in why for why in bot.inbox.failures)


def test_a_server_that_greets_nobody_is_given_up_and_polled(
        bot, platform, monkeypatch):
    monkeypatch.setattr("claw.channels.mattermost.live.GREETING_S", 0.05)
    platform.hub.deaf = True
    platform.hub.strips_headers = True
    bot.began()
    platform.post("hello")

    async def go():
        async with bot.listening():
            await platform.until(lambda: bot.inbox.messages)
    asyncio.run(go())

    assert bot.logged("websocket_refused")


def test_a_proxy_that_takes_the_header_away_is_got_past(bot, platform):
    platform.hub.strips_headers = True

    async def go():
        async with bot.listening():
            await connected(platform)
            platform.post("hello")
            await bot.settle(1)
    asyncio.run(go())

    assert bot.inbox.contents == ["hello"]
    assert not bot.logged("websocket_refused")


@pytest.mark.parametrize("status", [400, 403, 404, 426, 502])
def test_where_the_websocket_is_refused_posts_are_polled(bot, platform,
                                                         status):
    platform.refuses_sockets = status
    bot.began()

    async def go():
        async with bot.listening():
            platform.post("one")
            await platform.until(lambda: bot.inbox.messages)
            platform.refuses_sockets = None
            await connected(platform)
            platform.post("two")
            await bot.settle(2)
    asyncio.run(go())

    assert bot.inbox.contents == ["one", "two"]
    assert len(bot.logged("websocket_refused")) == 1
    assert bot.inbox.failures == []
    assert 3.0 in bot.slept


def test_told_to_poll_it_opens_no_websocket(bot, platform):
    async def go():
        async with bot.listening(transport="polling"):
            await platform.until(lambda: bot.marks.get("at"))
            post = platform.post("one")
            await platform.until(lambda: bot.inbox.messages)
            platform.edit(post, "once")
            await platform.until(lambda: len(bot.inbox.messages) == 2)
            await asyncio.sleep(0.05)
    asyncio.run(go())

    assert bot.inbox.contents == ["one", "[Edited] once"]
    assert platform.hub.greeted == 0


def test_told_to_use_the_websocket_it_never_polls(bot, platform):
    platform.refuses_sockets = 502

    async def go():
        async with bot.listening(transport="websocket"):
            await platform.until(lambda: bot.inbox.failures)
    asyncio.run(go())

    assert platform.list_calls("GET users/me/channels") == []


def test_a_wrong_token_ends_it(bot, platform):
    async def go():
        async with bot.listening(bot_token="wrong-token-of-nobody"):
            await platform.until(lambda: bot.listener.done())
    with pytest.raises(AuthError) as caught:
        asyncio.run(go())

    assert "wrong-token" not in str(caught.value)
    assert "bot_token" in caught.value.hint


def test_a_token_that_is_taken_back_ends_it(bot, platform):
    async def go():
        async with bot.listening():
            await connected(platform)
            platform.tokens.clear()
            platform.kill_connections()
            await platform.until(lambda: bot.listener.done(), 10)
    with pytest.raises(AuthError):
        asyncio.run(go())


def test_a_slow_down_while_reading_is_obeyed(bot, platform):
    bot.began()
    platform.post("hello")
    platform.fault("GET users/me/channels", "429", retry_after=60)

    async def go():
        async with bot.listening():
            await bot.settle(1)
    asyncio.run(go())

    assert any(55 < s <= 60 for s in bot.slept)
    assert bot.inbox.contents == ["hello"]


ODD = ["", "{", "[]", "7", "null", '"x"', "[" * 100_000, '{"event": 7}',
       '{"event": "posted", "seq": "1"}', '{"seq_reply": 99}',
       '{"event": "posted", "seq": 5000000000000}', '{"status": "FAIL"}']


@pytest.mark.parametrize("frame", ODD, ids=range(len(ODD)))
def test_an_odd_frame_stops_nothing(bot, platform, frame):
    async def go():
        async with bot.listening():
            await connected(platform)

            def push():
                for link in platform.hub.links.values():
                    link.waiting.put_nowait(frame)
            platform._sockets.call_soon(push)
            platform.post("hello")
            await bot.settle(1)
    asyncio.run(go())

    assert bot.inbox.contents == ["hello"]


@pytest.mark.parametrize("data", [
    {}, {"post": None}, {"post": "{"}, {"post": "[" * 50_000},
    {"post": json.dumps({"id": 4})}, {"post": {"id": "x"}},
])
def test_an_odd_post_stops_nothing(bot, platform, data):
    async def go():
        async with bot.listening():
            await connected(platform)
            platform.event("posted", data)
            platform.event("typing", {})
            platform.event("reaction_added", {"reaction": "x"})
            platform.post("hello")
            await bot.settle(1)
    asyncio.run(go())

    assert bot.inbox.contents == ["hello"]


def test_health_is_what_was_heard(bot, platform):
    async def go():
        async with bot.listening(ping_s=0.05):
            await connected(platform)
            before = bot.inbox.heard
            await asyncio.sleep(0.2)
            return bot.inbox.heard - before

    assert asyncio.run(go()) >= 2


def test_a_server_that_numbers_nothing_is_understood(bot, platform,
                                                     monkeypatch):
    """Neither hello nor pong: only events."""
    from claw.testing.fake_mattermost.hub import Link
    monkeypatch.setattr(Link, "greet", lambda self: setattr(self, "next", 7))
    platform.hub.deaf = True
    bot.began()
    platform.post("before")

    async def go():
        async with bot.listening():
            await platform.until(lambda: platform.hub.greeted)
            for n in range(3):
                platform.post(f"m{n}")
            await platform.until(lambda: len(bot.inbox.messages) == 4)
    asyncio.run(go())

    assert bot.inbox.contents == ["before", "m0", "m1", "m2"]
    assert not bot.logged("websocket_refused")


def test_an_event_that_never_gets_through_is_asked_for(bot, platform):
    """A frame of more bytes than we take ends each connection."""
    async def go():
        async with bot.listening(transport="websocket"):
            await connected(platform)

            def block():
                for link in platform.hub.links.values():
                    link.push("huge", {"x": "y" * 17_000_000})
            platform._sockets.call_soon(block)
            platform.post("behind it")
            await platform.until(lambda: bot.inbox.messages, 20)
    asyncio.run(go())

    assert bot.inbox.contents == ["behind it"]


def test_a_server_without_a_list_of_channels_is_read_by_the_settings(
        bot, platform):
    platform.fault("GET users/me/channels", "status", None, status=404)

    async def go():
        async with bot.listening(channel_id=platform.channel):
            await platform.until(lambda: bot.marks.get("at"))
            platform.post("live", channel=platform.channel)
            await bot.settle(1)
        platform.post("away", channel=platform.channel)
        async with bot.listening(channel_id=platform.channel):
            await bot.settle(2)
    asyncio.run(go())

    assert bot.inbox.contents == ["live", "away"]


def test_a_post_of_a_time_to_come_hides_nothing(bot, platform):
    async def life(count, *posts):
        async with bot.listening():
            await platform.until(lambda: platform.hub.caught_up)
            for post in posts:
                platform.post(**post)
            await bot.settle(count)

    asyncio.run(life(1, {"message": "imported",
                         "create_at": 4_000_000_000_000}))
    platform.post("today")
    asyncio.run(life(2))

    assert bot.inbox.contents == ["imported", "today"]
