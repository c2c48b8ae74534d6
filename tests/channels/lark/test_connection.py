"""The long connection: acknowledging, reconnecting, and what comes twice."""

import asyncio

import pytest

from claw.channels.lark.frames import Frame, encode
from claw.core.errors import AuthError, StorageError, UnavailableError


def run(work):
    asyncio.run(work)


def test_a_message_is_acknowledged_once_it_is_committed(app, platform):
    app.inbox.broken = StorageError("the disk is full")

    async def work():
        async with app.listening():
            platform.say("hello")
            await app.until(lambda: app.logged("listen"))
            assert platform.pending()
            app.inbox.broken = None
            platform.resend()
            await app.hears(1)

    run(work())

    assert app.inbox.contents == ["hello"]


def test_an_event_in_many_frames_is_one_message(app, platform):
    platform.part_bytes = 40

    async def work():
        async with app.listening():
            platform.say("안녕 " + "word " * 200)
            await app.hears(1)

    run(work())

    assert app.inbox.contents == [("안녕 " + "word " * 200).strip()]


def test_one_bad_event_neither_stops_nor_loses_the_others(app, platform):
    async def work():
        async with app.listening():
            for payload in (b"\xff", b"[" * 50_000, None, [], {"header": 1},
                            {"header": {"event_type": "x"}, "event": {}},
                            {"header": {"event_type":
                                        "im.message.receive_v1"},
                             "event": {"message": {"message_id": 7}}},
                            {"header": {"event_type": "card.action.trigger"},
                             "event": {"action": {"value": {"claw": "x"}}}}):
                platform.send_payload(payload)
            platform.send_frame("text")
            platform.send_frame(b"\x08")
            platform.send_frame(encode(Frame(payload=b"no json", headers=(
                ("type", "pong"),))))
            platform.say("hello")
            await app.hears(1)

    run(work())

    assert app.inbox.contents == ["hello"]


def test_what_comes_twice_is_put_once(app, platform):
    async def work():
        async with app.listening():
            platform.say("hello")
            await app.hears(1)
            again = platform.events[0]
            platform.send_payload(again.payload)
            await app.until(lambda: not platform.pending())

    run(work())

    assert app.inbox.contents == ["hello"]


def test_a_server_that_restarts_is_come_back_to(app, platform):
    async def work():
        async with app.listening():
            platform.say("before")
            await app.hears(1)
            await asyncio.to_thread(platform.down)
            await asyncio.sleep(0.05)
            await asyncio.to_thread(platform.up)
            await app.until(lambda: platform.sockets.connections)
            platform.say("after")
            await app.hears(2)

    run(work())

    assert app.inbox.contents == ["before", "after"]


def test_it_pings_as_often_as_the_server_says(app, platform):
    platform.config["PingInterval"] = 10

    async def work():
        async with app.listening() as channel:
            await app.until(lambda: platform.pings)
            platform.config["PingInterval"] = 30
            platform.send_frame(encode(Frame(headers=(("type", "pong"),),
                                payload=b'{"PingInterval": 30}')))
            platform.say("hello")
            await app.hears(1)
            return channel

    run(work())

    assert platform.pings == 1


def test_silence_ends_a_connection(app, platform):
    app.silence_s = 0.1

    async def work():
        async with app.listening():
            await app.until(lambda: len(platform.list_calls("endpoint")) > 2)

    run(work())

    assert "said nothing" in app.logged("connection_lost")[0]["error"]


def test_a_line_that_is_dead_is_noticed_by_a_ping(app, platform):
    app.ping_s = 0.05

    async def work():
        async with app.listening():
            for connection in list(platform.sockets.connections):
                platform.sockets.call_soon(connection.transport.pause_reading)
            await app.until(lambda: app.logged("connection_lost"))

    run(work())

    assert "answered no ping" in app.logged("connection_lost")[0]["error"]


def test_it_comes_back_after_a_random_while_that_the_server_names(
        app, platform):
    platform.config["ReconnectNonce"] = 30

    async def work():
        async with app.listening():
            platform.kill_connections()
            await app.until(lambda: len(platform.list_calls("endpoint")) > 1)

    run(work())

    assert any(0 < slept <= 30 for slept in app.slept)


@pytest.mark.each(("code", "kind", "word"), [
    (10014, AuthError, "secret"),
    (1000040344, AuthError, "app"),
    (1000040350, UnavailableError, "fifty"),
    (1000040343, UnavailableError, "refused"),
    (1, UnavailableError, "refused"),
])
def test_what_the_endpoint_refuses(app, platform, code, kind, word):
    platform.endpoint_code = code, "no app secret"

    async def work():
        channel = app.make()
        try:
            with pytest.raises(kind) as caught:
                await channel._api.open_endpoint()
            return caught.value
        finally:
            await channel.aclose()

    error = asyncio.run(work())
    assert type(error) is kind
    assert word in error.message
    platform.endpoint_code = None


def test_a_wrong_secret_ends_listening_and_says_how_to_set_it(app, platform):
    async def work():
        channel = app.make(app_secret="wrong-secret-0000")
        try:
            with pytest.raises(AuthError) as caught:
                await channel.listen(app.inbox)
            return caught.value
        finally:
            await channel.aclose()

    error = asyncio.run(work())
    assert "claw config set channels_config.lark.app_secret" in error.hint
    assert "wrong-secret" not in repr(error) + error.message


def test_a_server_that_allows_no_more_tries_ends_listening(app, platform):
    platform.config["ReconnectCount"] = 2

    async def work():
        async with app.listening():
            platform.fault("endpoint", "status", None, status=500)
            platform.kill_connections()
            await app.until(lambda: app.logged("listen"))
            platform.clear_faults()

    run(work())

    assert len(platform.list_calls("endpoint")) >= 4


def test_a_token_that_is_over_is_asked_for_anew(app, platform):
    async def work():
        channel = app.make()
        try:
            await channel._api.me()
            platform.end_tokens()
            await channel._api.me(fresh=True)
        finally:
            await channel.aclose()

    run(work())

    assert platform.tokens == 2


def test_two_listeners_get_each_message_once(app, platform, tmp_path):
    async def work():
        async with app.listening(), app.listening():
            await app.until(lambda: len(platform.sockets.connections) == 2)
            for n in range(10):
                platform.say(f"m{n}")
            await app.hears(10)

    run(work())

    assert sorted(app.inbox.contents) == sorted(f"m{n}" for n in range(10))


def test_a_server_that_hangs_up_at_once_is_not_hammered(app, platform):
    async def work():
        async with app.listening():
            for times in (2, 3, 4):
                await app.until(lambda: platform.sockets.connections)
                platform.kill_connections()
                await app.until(lambda t=times: len(
                    platform.list_calls("endpoint")) >= t)

    run(work())

    assert app.slept
    assert min(app.slept) >= 1.0


def test_a_token_that_the_platform_repeats_is_not_shown(app, platform):
    platform.fault("me", "status", status=400, description="bad t-fake-0001")

    async def work():
        channel = app.make()
        try:
            with pytest.raises(UnavailableError) as caught:
                await channel._api.me()
            return caught.value
        finally:
            await channel.aclose()

    error = asyncio.run(work())
    assert "t-fake" not in error.message
