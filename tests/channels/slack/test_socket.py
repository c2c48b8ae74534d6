"""Socket Mode: acknowledging, reconnecting, and what comes twice."""

import asyncio
import json

import pytest

from claw.core.errors import AuthError, StorageError


def run(work):
    asyncio.run(work)


def test_a_mention_that_comes_twice_is_one_message(bot, platform):
    async def work():
        async with bot.listening():
            platform.say("<@U0BOT> hello", "C1", twice=True)
            platform.say("next", "C1")
            await bot.hears(2)

    run(work())

    assert bot.inbox.contents == ["hello", "next"]
    assert len(platform.envelopes) == 3
    assert platform.pending() == []


def test_a_late_reply_in_a_thread_is_not_taken_for_an_old_one(bot, platform):
    """Its ts sorts below one that was seen, as a text and as a number."""
    async def work():
        async with bot.listening():
            platform.say("second", ts="1700000010.000000")
            await bot.hears(1)
            platform.say("first", ts="1700000009.500000",
                         thread_ts="1700000000.000000")
            await bot.hears(2)

    run(work())

    assert bot.inbox.contents == ["second", "first"]


def test_nothing_is_acknowledged_that_was_not_committed(bot, platform):
    bot.inbox.broken = StorageError("the disk is full")

    async def work():
        async with bot.listening():
            platform.say("hello")
            await bot.until(lambda: bot.logged("listen"))
            assert platform.pending()
            bot.inbox.broken = None
            platform.resend()
            await bot.hears(1)

    run(work())

    assert bot.inbox.contents == ["hello"]


def test_a_warning_opens_the_next_connection_before_the_old_one_ends(
        bot, platform):
    async def work():
        async with bot.listening():
            old = set(platform.sockets.connections)
            platform.disconnect("warning")
            platform.disconnect("refresh_requested")
            await bot.until(lambda: len(platform.sockets.connections) == 2)
            assert old <= platform.sockets.connections
            for n in range(4):  # each connection gets two
                platform.say(f"m{n}")
            await bot.hears(4)
            platform.close_sockets(old)
            platform.say("on the new one")
            await bot.hears(5)

    run(work())

    assert sorted(bot.inbox.contents) == ["m0", "m1", "m2", "m3",
                                          "on the new one"]
    assert len(platform.list_calls("apps.connections.open")) == 2
    assert bot.inbox.failures == []


def test_a_connection_that_is_cut_is_opened_again(bot, platform):
    async def work():
        async with bot.listening():
            for n in range(3):
                platform.sockets.kill_connections()
                platform.say(f"m{n}")
                await bot.hears(n + 1)

    run(work())

    assert bot.inbox.contents == ["m0", "m1", "m2"]


def test_a_connection_that_says_nothing_is_given_up(bot, platform):
    """Half open: no end, no frame, no pong."""
    bot.ping_s = 0.1

    async def work():
        async with bot.listening():
            (old,) = platform.sockets.connections
            old.transport.pause_reading()
            await bot.until(lambda: len(platform.sockets.connections) == 2)
            platform.retry_s = 0.1
            platform.say("hello")
            await bot.hears(1)
            old.transport.abort()

    run(work())

    assert bot.inbox.contents == ["hello"]
    assert "ping" in bot.inbox.failures[0]


def test_pongs_are_receives(bot, platform):
    bot.ping_s = 0.02

    async def work():
        async with bot.listening():
            before = bot.inbox.heard
            await bot.until(lambda: bot.inbox.heard > before + 2)

    run(work())


def test_a_server_that_restarts_is_found_again(bot, platform):
    async def work():
        async with bot.listening():
            platform.say("before")
            await bot.hears(1)
            platform.down()
            await asyncio.sleep(0.05)
            platform.up()
            platform.say("after")
            await bot.hears(2)

    run(work())

    assert bot.inbox.contents == ["before", "after"]


@pytest.mark.parametrize("frame", [
    b"\xff\xfe", "", "nonsense", "[]", "7", '"x"', "null", "{}",
    json.dumps({"type": "events_api", "payload": None}),
    "[" * 20_000, json.dumps({"type": ["x"]}),
    '{"type":"hello","x":"\\ud83d"}',
])
def test_any_frame_is_survived(bot, platform, frame):
    async def work():
        async with bot.listening():
            platform.send_frame(frame)
            platform.say("hello")
            await bot.hears(1)

    run(work())

    assert bot.inbox.contents == ["hello"]


@pytest.mark.parametrize(("kind", "payload"), [
    ("events_api", None), ("events_api", []), ("events_api", {"event": 7}),
    ("events_api", {"event": {"type": "message", "channel": 1, "user": "U1",
                              "ts": []}}),
    ("events_api", {"event": {"type": "message", "channel": "D1001",
                              "user": "U1001", "ts": "1.1", "text": None,
                              "files": "x", "attachments": [1, {"text": {}}],
                              "blocks": {"a": [[]]}}}),
    ("events_api", {"event": {"type": "user_change", "user": []}}),
    ("events_api", {"event": {"type": "assistant_thread_started",
                              "assistant_thread": []}}),
    ("interactive", {"type": "block_actions", "actions": 7, "user": []}),
    ("interactive", {"type": "block_actions", "actions": [{"value": "x"}]}),
    ("interactive", None), ("slash_commands", {"command": 7}),
    ("slash_commands", None), ("unheard of", {"x": 1}),
])
def test_an_envelope_that_cannot_be_read_is_acknowledged(
        bot, platform, kind, payload):
    async def work():
        async with bot.listening():
            platform.send_envelope(kind, payload)
            platform.say("hello")
            await bot.until(lambda: not platform.pending())

    run(work())

    assert "hello" in bot.inbox.contents


def test_a_switched_off_socket_mode_is_no_reason_to_try_on(bot, platform):
    async def work():
        channel = bot.make()
        task = asyncio.create_task(channel.listen(bot.inbox))
        await bot.until(lambda: platform.sockets.connections)
        platform.disconnect("link_disabled")
        with pytest.raises(AuthError, match="Socket Mode is off"):
            await asyncio.wait_for(task, 5)
        await channel.aclose()

    run(work())


def test_too_many_connections_are_waited_out(bot, platform):
    async def work():
        async with bot.listening():
            platform.disconnect("too_many_websockets")
            platform.say("hello")
            await bot.hears(1)

    run(work())

    assert "ten" in bot.inbox.failures[0]


def test_a_refused_app_token_names_its_key(bot, platform):
    async def work():
        channel = bot.make(app_token="xapp-wrong")
        with pytest.raises(AuthError) as found:
            await channel.listen(bot.inbox)
        await channel.aclose()
        return found.value

    error = asyncio.run(work())

    assert "app_token" in error.hint


def test_two_hosts_share_the_messages(bot, platform):
    async def work():
        async with bot.listening(), bot.listening():
            await bot.until(lambda: len(platform.sockets.connections) == 2)
            for n in range(6):
                platform.say(f"m{n}")
            await bot.hears(6)
            return {e.attempts for e in platform.envelopes}

    attempts = asyncio.run(work())

    # What both have, one of them by catching up, is one row of the queue.
    assert {*bot.inbox.contents} == {f"m{n}" for n in range(6)}
    assert len({m.id for m in bot.inbox.messages}) == 6
    assert attempts == {1}


# what people press and type

def test_a_pressed_button_is_an_action(bot, platform):
    async def work():
        async with bot.listening():
            ts = platform.say("hello")
            platform.press(ts, "approve:7")
            return await bot.hears(2)

    _, action = asyncio.run(work())

    assert (action.kind, action.content) == ("action", "approve:7")
    assert (action.sender, action.reply_target) == ("U1001", "D1001")
    assert action.sender_name == "alice"


def test_the_button_of_somebody_else_does_nothing_and_tells_him(
        bot, platform):
    async def work():
        async with bot.listening():
            platform.press(platform.say("hello"), "approve:7", user="U666")
            platform.say("done")
            await bot.hears(2)

    run(work())

    assert bot.inbox.contents == ["hello", "done"]
    (call,) = platform.list_calls("chat.postEphemeral")
    assert call.params["user"] == "U666"


@pytest.mark.parametrize(("command", "text", "expected"), [
    ("/new", "", "/new"), ("/model", "gpt-5", "/model gpt-5"),
    ("/claw", "stop", "/stop"), ("/claw", "what is &lt;it&gt;?",
                                 "what is <it>?"),
])
def test_a_slash_command_is_a_text(bot, platform, command, text, expected):
    async def work():
        async with bot.listening():
            platform.command(command, text)
            return await bot.hears(1)

    (found,) = asyncio.run(work())

    assert found.content == expected
    assert (found.sender, found.kind) == ("U1001", "message")
