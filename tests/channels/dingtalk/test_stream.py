"""Stream mode: what is acknowledged when, and connections that end."""

import asyncio
import json
import socket
from contextlib import suppress

import pytest

from claw.core.errors import AuthError, StorageError
from claw.testing.fake_dingtalk import ALICE, GROUP


class Once(set):
    """Tickets of which the first is forgotten."""

    forgets = True

    def add(self, ticket):
        if not self.forgets:
            super().add(ticket)
        self.forgets = False


def run(work):
    return asyncio.run(work())


def test_an_acknowledgement_has_the_platforms_form(bot, platform):
    async def work():
        async with bot.listening():
            frame = platform.say("hi")
            await bot.hears()
            return frame

    frame = run(work)

    (ack,) = platform.acks
    assert ack == {"code": 200, "message": "OK", "headers": {
        "contentType": "application/json", "messageId": frame.number},
        "data": '{"response": null}'}


def test_a_ping_is_answered_with_what_it_holds(bot, platform):
    async def work():
        async with bot.listening():
            platform.ask_system("ping", {"opaque": "0123-4567"})
            await bot.until(lambda: platform.acks)

    run(work)

    assert json.loads(platform.acks[0]["data"]) == {"opaque": "0123-4567"}


def test_events_and_other_topics_are_acknowledged(bot, platform):
    async def work():
        async with bot.listening():
            platform.push({"a": 1}, "*", kind="EVENT")
            platform.push({"a": 1}, "/v1.0/card/instances/callback")
            await bot.until(lambda: len(platform.acks) == 2)

    run(work)

    assert bot.inbox.messages == []


def test_only_messages_are_subscribed(bot, platform):
    async def work():
        async with bot.listening():
            pass

    run(work)

    assert platform.list_calls("open")[0]["subscriptions"] == [
        {"type": "CALLBACK", "topic": "/v1.0/im/bot/messages/get"}]


def test_after_a_disconnect_the_old_connection_still_serves(bot, platform):
    async def work():
        async with bot.listening():
            (old,) = platform.sockets.connections
            platform.ask_system("disconnect", {"reason": "upgrade"})
            await bot.until(lambda: len(platform.sockets.connections) == 2)
            number = platform.build("over the old one")
            platform.send_frame(json.dumps({
                "type": "CALLBACK", "headers": {
                    "topic": "/v1.0/im/bot/messages/get",
                    "messageId": "sys-old"},
                "data": json.dumps(number)}), old)
            platform.say("over either")
            return {m.content for m in await bot.hears(2)}

    assert run(work) == {"over the old one", "over either"}


def test_a_disconnect_in_the_middle_of_a_commit_loses_nothing(
        bot, platform):
    platform.retry_s = 0.3
    held = asyncio.Event()
    real = bot.inbox.put

    async def slowly(message):
        await held.wait()
        await real(message)

    async def work():
        bot.inbox.put = slowly
        async with bot.listening():
            platform.say("hello")
            await asyncio.sleep(0.1)
            platform.ask_system("disconnect")
            await bot.until(lambda: len(platform.sockets.connections) == 2)
            platform.close_sockets()
            held.set()
            return await bot.hears()

    messages = run(work)

    assert {m.content for m in messages} == {"hello"}
    assert len({m.id for m in messages}) == 1


def test_what_was_not_kept_comes_again_over_another_connection(
        bot, platform):
    async def work():
        async with bot.listening():
            bot.inbox.broken = StorageError("the disk is full")
            platform.say("hello")
            await bot.until(lambda: bot.logged("listen"))
            bot.inbox.broken = None
            return await bot.hears()

    (message,) = run(work)

    assert message.content == "hello"
    assert platform.frames[0].attempts > 1


def test_a_repetition_while_a_file_is_fetched_fetches_it_once(
        bot, platform):
    platform.retry_s, platform.slow_s = 0.1, 0.4

    async def work():
        async with bot.listening():
            platform.say("", msgtype="picture", content={
                "downloadCode": platform.add_file(b"slow")})
            await bot.until(lambda: len(platform.acks) > 1)
            return await bot.hears()

    assert len(run(work)) == 1
    assert len(platform.list_calls("download")) == 1


def test_a_slow_file_holds_up_its_own_chat_alone(bot, platform):
    platform.slow_s = 0.5

    async def work():
        async with bot.listening(allowed_users=(ALICE, "user1002")):
            platform.say("", msgtype="picture", content={
                "downloadCode": platform.add_file(b"slow")})
            platform.say("behind it")
            platform.say("elsewhere", "user1002")
            platform.say("in the group", group=GROUP)
            return [m.content.partition(":")[0]
                    for m in await bot.hears(4)]

    found = run(work)

    assert set(found[:2]) == {"elsewhere", "in the group"}
    assert found[2:] == ["[IMAGE", "behind it"]


def test_after_a_restart_of_the_server_it_listens_again(bot, platform):
    async def work():
        async with bot.listening():
            await asyncio.to_thread(platform.down)
            await bot.until(lambda: bot.inbox.failures)
            await asyncio.to_thread(platform.up)
            await bot.until(lambda: platform.sockets.connections)
            platform.say("back")
            return await bot.hears()

    (message,) = run(work)

    assert message.content == "back"
    assert bot.logged("poll_works_again")


def test_a_ticket_that_is_refused_is_no_wrong_secret(bot, platform):
    platform._tickets = Once()

    async def work():
        channel = bot.make()
        task = asyncio.create_task(channel.listen(bot.inbox))
        await platform.until(lambda: platform.sockets.connections)
        assert not task.done()
        task.cancel()
        await asyncio.wait({task})
        await channel.aclose()

    run(work)

    assert any("401" in why for why in bot.inbox.failures)


def test_a_half_open_connection_is_noticed(bot, platform):
    bot.ping_s = 0.1

    async def work():
        async with bot.listening():
            (connection,) = platform.sockets.connections
            platform.sockets.call_soon(connection.transport.pause_reading)
            await bot.until(lambda: any(
                "ping" in why for why in bot.inbox.failures))
            platform.sockets.call_soon(connection.transport.abort)
            await bot.until(lambda: connection
                            not in platform.sockets.connections
                            and platform.sockets.connections)
            platform.say("hello")
            return await bot.hears()

    assert [m.content for m in run(work)] == ["hello"]


def test_frames_of_another_form_stop_nothing(bot, platform):
    async def work():
        async with bot.listening():
            for frame in ("", "[]", "x", b"\xff\xfe", "[" * 50_000, "7", "{}",
                          '{"type": "SYSTEM"}', '{"headers": 7}',
                          '{"type": "CALLBACK", "headers": {"topic": {}}}'):
                platform.send_frame(frame)
            platform.say("fine")
            found = await bot.hears()
            platform._problems.clear()  # acks of what has no number
            return found

    assert [m.content for m in run(work)] == ["fine"]


def test_an_endpoint_elsewhere_is_not_connected_to(bot, platform):
    heard = socket.create_server(("127.0.0.1", 0))
    heard.settimeout(0.2)
    port = heard.getsockname()[1]

    async def work():
        channel = bot.make(api_base_url="https://api.dingtalk.com",
                           oapi_base_url="https://oapi.dingtalk.com")
        found = []
        for endpoint in (f"ws://127.0.0.1:{port}/connect",
                         "wss://dingtalk.com.evil.example/connect",
                         "ws://wss-open.dingtalk.com/connect",
                         "wss://x:y@wss-open.dingtalk.com/connect", ""):
            async def ask(*_, endpoint=endpoint):
                return {"endpoint": endpoint, "ticket": "t"}
            channel._api._ask = ask
            with suppress(Exception):
                found.append(await channel._api.open_stream())
        await channel.aclose()
        return found

    assert run(work) == []
    heard.close()


def test_what_nobody_listened_for_is_lost_and_nothing_old_comes(
        bot, platform):
    """The bound of catching up: DingTalk keeps nothing for robots."""
    async def work():
        assert platform.say("while away") is None
        async with bot.listening():
            platform.say("now")
            return await bot.hears()

    assert [m.content for m in run(work)] == ["now"]


def test_a_wrong_secret_is_told_without_it(bot, platform):
    secret = "another-secret-than-the-fakes"

    async def work():
        channel = bot.make(client_secret=secret)
        try:
            with pytest.raises(AuthError) as caught:
                await channel.listen(bot.inbox)
        finally:
            await channel.aclose()
        return caught.value

    error = run(work)

    assert secret not in f"{error}{error.hint}{bot.logs}"
