"""The gateway: sessions, resume, close codes, what was missed."""

import asyncio
import time

import pytest

from claw.channels.qq import frames
from claw.core.errors import AuthError, ConfigError, StorageError


def ops(platform):
    return [frame["op"] for frame in platform.frames if frame["op"] != 1]


def test_identify_says_who_and_what_it_wants(bot, platform):
    bot.hears()

    (frame,) = [f for f in platform.frames if f["op"] == 2]
    assert frame["d"]["token"] == f"QQBot {platform.token}"
    assert frame["d"]["intents"] == 1 << 25 | 1 << 30 | 1 << 26 | 1 << 12
    assert frame["d"]["shard"] == [0, 1]


def test_a_restart_resumes_and_gets_what_came_meanwhile(bot, platform):
    bot.hears("one")
    platform.say("while nobody listened")

    found = bot.hears("two")

    assert [m.content for m in found] == ["one", "while nobody listened",
                                          "two"]
    assert ops(platform) == [2, 6]


def test_what_could_not_be_kept_comes_again(bot, platform):
    async def fails():
        async with bot.listening():
            platform.say("one")
            await bot.gets(1)
            bot.inbox.broken = StorageError("the disk is full")
            platform.say("two")
            await platform.until(bot.listener.done)

    with pytest.raises(StorageError):
        asyncio.run(fails())
    bot.inbox.broken = None

    assert [m.content for m in bot.hears()] == ["one", "two"]


def test_the_first_start_replays_nothing(bot, platform):
    platform.say("before anybody listened")

    assert bot.hears() == []


def test_a_session_that_is_gone_is_told(bot, platform):
    bot.hears("one")
    platform.forget_sessions()

    found = bot.hears("two")

    assert [m.content for m in found] == ["one", "two"]
    (line,) = bot.logged("messages_may_be_missing")
    assert line["since"].startswith("20")
    assert ops(platform) == [2, 6, 2]


@pytest.mark.parametrize(("code", "then"), [
    (1006, [2, 6]), (4008, [2, 6]), (4009, [2, 6]),
    (4006, [2, 2]), (4007, [2, 2]), (4900, [2, 2]), (4913, [2, 2])])
def test_a_close_code_says_whether_to_resume(bot, platform, code, then):
    async def go():
        async with bot.listening():
            platform.say("one")
            await bot.gets(1)
            if code == 1006:
                platform.cut()
            else:
                platform.close(code)
            await platform.until(lambda: len(ops(platform)) == 2)
            await platform.until(lambda: bot.session_id)
            platform.say("two")
            await bot.gets(2)
    asyncio.run(go())

    assert ops(platform) == then
    assert bot.inbox.contents == ["one", "two"]


@pytest.mark.parametrize(("code", "error", "hint"), [
    (4001, ConfigError, "report"), (4010, ConfigError, "report"),
    (4012, ConfigError, "update"), (4914, AuthError, "sandbox"),
    (4915, AuthError, "lift")])
def test_a_final_code_says_what_to_do(bot, platform, code, error, hint):
    async def go():
        async with bot.listening():
            platform.close(code)
            await platform.until(bot.listener.done)

    with pytest.raises(error) as raised:
        asyncio.run(go())

    assert hint in raised.value.hint


def test_reconnect_and_an_invalid_session_are_obeyed(bot, platform):
    async def go():
        async with bot.listening():
            platform.tell(7)
            await platform.until(lambda: len(ops(platform)) == 2)
            platform.tell(9, False)
            await platform.until(lambda: len(ops(platform)) == 3)
            await platform.until(lambda: bot.session_id)
            platform.say("still here")
            await bot.gets(1)
    asyncio.run(go())

    assert ops(platform) == [2, 6, 2]


def test_refused_intents_are_left_out(bot, platform):
    platform.behaviour.refused_intents = 1 << 12 | 1 << 26

    (found,) = bot.hears("hello")

    assert found.content == "hello"
    asked = [f["d"]["intents"] for f in platform.frames if f["op"] == 2]
    assert asked == list(frames.INTENTS[:3])
    assert len(bot.logged("intents_refused")) == 2


def test_a_bot_without_any_intent_says_what_to_do(bot, platform):
    platform.behaviour.refused_intents = 1 << 25

    async def go():
        async with bot.open() as channel:
            await channel.listen(bot.inbox)

    with pytest.raises(AuthError, match="4014") as raised:
        asyncio.run(go())

    assert "webhook" in raised.value.hint


def test_a_token_that_the_gateway_refuses_is_renewed(bot, platform):
    async def go():
        async with bot.listening():
            platform.end_token()
            platform.forget_sessions()
            platform.close(4004)
            await platform.until(lambda: len(platform.sessions) == 1)
            await platform.until(lambda: bot.session_id == platform.sessions[
                0].id)
    asyncio.run(go())

    assert len(platform.list_calls("token")) == 2


def test_a_secret_that_is_wrong_ends_it_with_the_next_step(bot, platform):
    async def go():
        async with bot.open(app_secret="wrong-secret") as channel:
            await channel.listen(bot.inbox)

    with pytest.raises(AuthError) as raised:
        asyncio.run(go())

    assert "config set channels_config.qq.app_secret" in raised.value.hint


@pytest.mark.parametrize("given", [
    {"app_id": ""}, {"app_secret": ""}, {"app_id": "1 2"}])
def test_settings_that_are_missing_are_named(bot, platform, given):
    async def go():
        async with bot.open(**given) as channel:
            await channel.listen(bot.inbox)

    with pytest.raises(AuthError, match="qq"):
        asyncio.run(go())

    assert not platform.calls


def test_heartbeats_tell_what_is_committed(bot, platform):
    platform.behaviour.heartbeat_s = 0.05

    async def go():
        async with bot.listening():
            platform.say("one")
            await bot.gets(1)
            await platform.until(lambda: platform.sessions[0].heartbeats[-1:]
                                 == [2])
    asyncio.run(go())


def test_a_half_open_connection_is_noticed_and_resumed(bot, platform):
    platform.behaviour.heartbeat_s = 0.1
    platform.behaviour.acknowledges = False

    async def go():
        async with bot.listening():
            await platform.until(lambda: ops(platform)[:2] == [2, 6])
            platform.behaviour.acknowledges = True
            platform.say("hello")
            await bot.gets(1)
    asyncio.run(go())

    assert bot.logged("poll_failed")[0]["error"].endswith("within 0.1 s")


def test_a_restart_of_the_platform_is_waited_out(bot, platform):
    async def go():
        async with bot.listening():
            await asyncio.to_thread(platform.down)
            await asyncio.sleep(0.1)
            platform.up()
            platform.say("hello")
            await bot.gets(1)
    asyncio.run(go())

    assert bot.inbox.contents == ["hello"]


def test_no_session_left_today_is_waited_for(bot, platform):
    platform.starts_left = 0

    async def go():
        async with bot.open() as channel:
            task = asyncio.create_task(channel.listen(bot.inbox))
            await platform.until(lambda: bot.inbox.rests)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    asyncio.run(go())

    assert bot.inbox.rests[0] > 200
    assert platform.frames == []


@pytest.mark.parametrize("url", [
    "ws://evil.example/", "http://x", 7, None])
def test_the_token_goes_nowhere_unencrypted(bot, platform, url, monkeypatch):
    monkeypatch.setattr(type(platform), "gateway_url", url)

    async def go():
        async with bot.open() as channel:
            task = asyncio.create_task(channel.listen(bot.inbox))
            await platform.until(lambda: bot.logged("poll_failed"))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    asyncio.run(go())

    assert "without an address" in bot.logged("poll_failed")[0]["error"]


def test_marks_of_another_bot_are_not_resumed(bot, platform):
    bot.deps.marks.set("session", '{"account": "9", "session_id": "x", '
                       '"sequence": 4}')

    bot.hears("hello")

    assert ops(platform) == [2]


def test_sessions_are_not_begun_too_often(bot, platform):
    async def go():
        async with bot.listening():
            for count in (2, 3, 4):
                platform.forget_sessions()
                platform.close(4006)
                await platform.until(lambda n=count: len(ops(platform)) >= n)
                await platform.until(lambda: bot.session_id)
    begun = time.monotonic()
    asyncio.run(go())

    assert time.monotonic() - begun < 10
    waits = [rest for rest in bot.inbox.rests if rest > 4]
    assert waits == sorted(waits)
    assert len(waits) == 3
