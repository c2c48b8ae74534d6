"""The gateway: heartbeats, resume, what ends a session, what was missed."""

import asyncio
import json
import time

import pytest

from claw.channels import gateway
from claw.channels.discord import frames
from claw.channels.discord.history import MOST_MESSAGES
from claw.channels.discord.listener import IDENTIFY_S, LONGEST_IDENTIFY_S
from claw.core.errors import (
    AuthError,
    ConfigError,
    StorageError,
    UnavailableError,
)


def ops(platform):
    return [frame["op"] for frame in platform.frames if frame["op"] != 1]


def place(bot):
    return json.loads(bot.deps.marks.get("session"))


def test_identify_says_who_and_what_it_wants(bot, platform):
    bot.hears()

    (frame,) = [f for f in platform.frames if f["op"] == 2]
    assert frame["d"]["token"] == platform.token
    assert frame["d"]["intents"] == 37377
    assert set(frame["d"]["properties"]) == {"os", "browser", "device"}


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_message_may_come_in_pieces_of_one_stream(bot, platform, size):
    platform.behaviour.cut_bytes = size

    found = bot.hears("first", "안녕 " * 300, "third")

    assert [m.content for m in found] == ["first", "안녕 " * 300, "third"]


def test_a_server_that_does_not_compress_is_understood():
    assert frames.Inflater().feed('{"op": 1}') == '{"op": 1}'


@pytest.mark.parametrize("data", [b"no zlib\0\0\xff\xff", b"\0\0\xff\xff"])
def test_what_is_no_stream_is_an_error(data):
    with pytest.raises(UnavailableError):
        frames.Inflater().feed(data)


@pytest.mark.parametrize("text", [
    "", "[]", "{}", "null", '{"op": "1"}', '{"op": 0, "s": "x"}',
    '{"op": 0, "s": 99999999999999999999}', "[" * 100_000])
def test_what_is_no_frame_is_an_error(text):
    with pytest.raises(UnavailableError):
        gateway.read_frame("Discord", text)


@pytest.mark.parametrize(("said", "seconds"), [
    (1000, 1.0), (10 ** 400, 600.0), (-1, 0.05), (float("inf"), 600.0),
])
def test_an_odd_interval_of_heartbeats_is_bounded(said, seconds):
    hello = {"heartbeat_interval": said}

    assert gateway.read_interval("Discord", hello) == seconds


@pytest.mark.parametrize("said", [None, "x", True, float("nan")])
def test_no_interval_of_heartbeats_is_an_error(said):
    with pytest.raises(UnavailableError):
        gateway.read_interval("Discord", {"heartbeat_interval": said})


def test_a_fault_that_nobody_foresaw_ends_the_events(bot, platform,
                                                     monkeypatch):
    def fail(title, text):
        raise OverflowError("unforeseen")
    monkeypatch.setattr(gateway, "read_frame", fail)

    with pytest.raises(OverflowError, match="unforeseen"):
        bot.hears()


def test_heartbeats_tell_what_is_committed_and_nothing_more(bot, platform):
    platform.behaviour.heartbeat_s = 0.05

    async def go():
        async with bot.listening():
            platform.post("one")
            await bot.gets(1)
            kept = len(platform.sessions[0].events)
            held = asyncio.Event()
            put = bot.inbox.put

            async def slow(message):
                await held.wait()
                await put(message)
            bot.inbox.put = slow
            platform.post("two")
            beats = platform.sessions[0].heartbeats
            count = len(beats)
            await platform.until(lambda: len(beats) > count + 2)
            assert set(beats[count + 1:]) == {kept}
            held.set()
            await bot.gets(2)
            await platform.until(lambda: beats[-1] == kept + 1)
    asyncio.run(go())

    assert ops(platform) == [2]


def test_the_first_heartbeat_comes_after_a_random_part(bot, platform):
    platform.behaviour.heartbeat_s = 0.2
    times = []

    async def go():
        for _ in range(3):
            async with bot.listening():
                began = asyncio.get_running_loop().time()
                frames = len(platform.frames)
                await platform.until(lambda n=frames: any(
                    f["op"] == 1 for f in platform.frames[n:]))
                times.append(asyncio.get_running_loop().time() - began)
    asyncio.run(go())

    assert max(times) < 0.4
    assert len({round(t, 3) for t in times}) > 1


def test_a_half_open_connection_is_left_and_the_session_resumed(
        bot, platform):
    """Heartbeats are no longer acknowledged, and the connection stands."""
    platform.behaviour.heartbeat_s = 0.05

    async def go():
        async with bot.listening():
            platform.behaviour.acknowledges = False
            await platform.until(lambda: 6 in ops(platform))
            platform.behaviour.acknowledges = True
            platform.post("still here")
            await bot.gets(1)
    asyncio.run(go())

    assert platform.closes[0] == 4000
    assert "no heartbeat" in bot.logged("poll_failed")[0]["error"]


def test_the_server_may_ask_for_a_heartbeat(bot, platform):
    async def go():
        async with bot.listening():
            platform.say(1)
            await platform.until(lambda: any(
                f["op"] == 1 for f in platform.frames))
    asyncio.run(go())


@pytest.mark.parametrize("end", [
    lambda p: p.cut(), lambda p: p.say(7), lambda p: p.say(9, True),
    *(lambda p, c=code: p.close(c) for code in (1001, 4000, 4001, 4002,
                                                4005, 4008))])
def test_after_most_ends_the_session_is_resumed(bot, platform, end):
    async def go():
        async with bot.listening():
            platform.post("one")
            await bot.gets(1)
            end(platform)
            platform.post("two")
            await bot.gets(2)
            await platform.until(lambda: bot.logged("resumed"))
    asyncio.run(go())

    assert ops(platform) == [2, 6]
    assert bot.inbox.contents == ["one", "two"]
    assert len(bot.inbox.offered) == 2


@pytest.mark.parametrize("end", [
    lambda p: p.say(9, False), lambda p: p.close(4003),
    lambda p: p.close(4007), lambda p: p.close(4009)])
def test_after_some_ends_a_new_session_reads_what_was_missed(
        bot, platform, end):
    async def go():
        async with bot.listening():
            platform.post("one")
            await bot.gets(1)
            platform.behaviour.resumes = False
            end(platform)
            platform.post("two")
            await bot.gets(2)
    asyncio.run(go())

    assert ops(platform) == [2, 2]
    assert bot.inbox.contents == ["one", "two"]


@pytest.mark.parametrize(("code", "kind", "hint"), [
    (4004, AuthError, "bot_token"),
    (4010, ConfigError, "report"), (4011, ConfigError, "servers"),
    (4012, ConfigError, "update"), (4013, ConfigError, "report"),
    (4014, ConfigError, "Message Content Intent"),
])
def test_final_close_codes_say_what_to_do(bot, platform, code, kind, hint):
    async def go():
        async with bot.listening():
            platform.close(code)
            await platform.until(lambda: bot.listener.done())

    with pytest.raises(kind) as caught:
        asyncio.run(go())

    assert str(code) in caught.value.message
    assert hint in caught.value.hint
    assert bot.session_id == ""


def test_a_wrong_token_is_told_without_it(bot, platform):
    wrong = "NzAw.wrong.canary-of-the-fake-discord"

    async def go():
        async with bot.listening(bot_token=wrong):
            pass

    with pytest.raises(AuthError) as caught:
        asyncio.run(go())

    assert "canary" not in f"{caught.value} {caught.value.hint}"


def test_an_intent_that_is_off_is_named(bot, platform):
    platform.behaviour.refused_intents = 1 << 15

    async def go():
        async with bot.listening():
            pass

    with pytest.raises(ConfigError, match="4014"):
        asyncio.run(go())


def test_a_restart_resumes_and_what_was_said_meanwhile_comes(bot, platform):
    bot.hears("one")

    platform.post("while nobody listened")
    found = bot.hears("two")

    assert ops(platform) == [2, 6]
    assert [m.content for m in found] == ["one", "while nobody listened",
                                          "two"]
    assert platform.closes[0] == 4000


def test_what_could_not_be_kept_is_resumed_from_there(bot, platform):
    async def fails():
        async with bot.listening():
            platform.post("one")
            await bot.gets(1)
            bot.inbox.broken = StorageError("the disk is full")
            platform.post("two")
            await platform.until(lambda: bot.listener.done())
    with pytest.raises(StorageError):
        asyncio.run(fails())
    bot.inbox.broken = None

    found = bot.hears("three")

    assert [m.content for m in found] == ["one", "two", "three"]
    assert ops(platform) == [2, 6]


def test_the_first_start_reads_nothing_old(bot, platform, monkeypatch):
    platform.add_channel("50")
    platform.post("old")
    platform.post("old too", "50")
    time.sleep(0.005)  # ids tell milliseconds
    monkeypatch.setattr("claw.channels.discord.session._SLACK_S", 0.0)

    assert [m.content for m in bot.hears("new")] == ["new"]


def test_a_lost_session_misses_nothing_in_servers_threads_and_chats(
        bot, platform):
    platform.add_channel("50")
    platform.add_channel("51", parent_id="50")
    bot.hears("one", {"text": "two", "chat": "50"})
    platform.forget_sessions()

    for chat in ("50", "51", "1001"):
        for number in range(3):
            platform.post(f"{chat} {number}", chat)
    found = bot.hears("end")

    assert sorted(m.content for m in found) == sorted([
        "one", "two", "end",
        *(f"{c} {n}" for c in ("50", "51", "1001") for n in range(3))])
    for chat in ("50", "51", "1001"):
        mine = [m.content for m in found if m.content.startswith(chat)]
        assert mine == sorted(mine)
    assert {m.thread_ts for m in found if m.reply_target == "51"} == {"51"}
    assert place(bot)["gap"] == []


@pytest.mark.parametrize("newest", ["1001", "1002", "1003"])
def test_what_was_missed_in_one_chat_hides_none_of_another(
        bot, platform, monkeypatch, newest):
    """The newest message of the chat that is read first was taken for the
    place up to which all were read."""
    monkeypatch.setattr("claw.channels.discord.session._SLACK_S", 0.0)
    monkeypatch.setattr("claw.channels.discord.listener._AT_ONCE", 1)
    owners = ("1001", "1002", "1003")
    bot.hears(allowed_users=owners)
    platform.forget_sessions()
    for chat in sorted(owners, key=lambda chat: chat == newest):
        time.sleep(0.005)
        platform.post(f"missed {chat}", chat)
    put, count = bot.inbox.put, len(bot.inbox.messages)

    async def keep_one(message):
        if len(bot.inbox.messages) > count:
            raise StorageError("killed")
        await put(message)

    async def killed():
        async with bot.listening(allowed_users=owners):
            await platform.until(lambda: bot.listener.done())
    bot.inbox.put = keep_one
    with pytest.raises(StorageError):
        asyncio.run(killed())
    bot.inbox.put = put

    found = bot.hears(allowed_users=owners)

    assert {m.content for m in found} == {
        f"missed {chat}" for chat in owners}


def test_the_first_word_of_an_owner_is_not_missed(bot, platform):
    """His direct messages were never seen before."""
    bot.hears()
    platform.forget_sessions()
    platform.post("hello", "1002", "1002")

    found = bot.hears(allowed_users=("1001", "1002"))

    assert [m.content for m in found] == ["hello"]


@pytest.mark.parametrize("ahead_s", [30 * 86_400.0, -3600.0])
def test_a_wrong_clock_hides_nothing_and_brings_nothing_old(
        bot, platform, monkeypatch, ahead_s):
    monkeypatch.setattr("claw.channels.discord.session._SLACK_S", 0.0)
    bot.ahead_s = ahead_s
    platform.post("older than the first start")
    time.sleep(1.1)  # dates are of whole seconds
    bot.hears()
    platform.forget_sessions()
    platform.post("missed")

    bot.hears()

    assert [text for text in bot.inbox.contents
            if not text.startswith("the last")] == ["missed"]


def test_a_kill_while_the_missed_is_read_loses_nothing(bot, platform):
    """The new session is known, its servers are not looked through."""
    platform.add_channel("50")
    bot.hears({"text": "before", "chat": "50"})
    platform.forget_sessions()
    platform.post("missed", "50")

    put = bot.inbox.put

    async def refuse(message):
        if message.reply_target == "50":
            raise StorageError("killed")
        await put(message)

    async def killed():
        async with bot.listening():
            await platform.until(lambda: bot.listener.done())
    bot.inbox.put = refuse
    with pytest.raises(StorageError):
        asyncio.run(killed())
    bot.inbox.put = put
    assert place(bot)["gap"] == ["900"]

    found = bot.hears("after")

    assert [m.content for m in found] == ["before", "missed", "after"]
    assert ops(platform) == [2, 6, 2, 6]


def test_many_missed_messages_are_read_page_by_page_and_bounded(
        bot, platform):
    bot.hears()
    platform.forget_sessions()
    for number in range(MOST_MESSAGES + 30):
        platform.post(f"m{number}")

    found = bot.hears()

    assert [m.content for m in found] == [
        f"m{n}" for n in range(30, MOST_MESSAGES + 30)]
    assert bot.logged("missed_cut")


def test_a_channel_that_may_not_be_read_stops_nothing(bot, platform):
    platform.add_channel("50")
    bot.hears()
    platform.forget_sessions()
    platform.post("hidden", "50")
    platform.fault("list_messages", "status", 2, status=403)

    assert [m.content for m in bot.hears("open")] == ["open"]
    assert bot.logged("missed_unread")


def test_a_history_that_is_out_of_order_is_asked_again(bot, platform):
    bot.hears("one")
    platform.forget_sessions()
    platform.post("missed")
    platform.fault("list_messages", "status", 3, status=500)

    found = bot.hears("end")

    assert [m.content for m in found] == ["one", "missed", "end"]
    assert len(bot.logged("missed_unread")) == 3


def test_identifies_are_spaced_and_short_sessions_space_them_more(
        bot, platform):
    platform.behaviour.resumes = False

    async def go():
        async with bot.listening():
            for count in range(2, 9):
                platform.close(4009)
                await platform.until(
                    lambda n=count: ops(platform).count(2) == n)
                await platform.until(lambda: bot.session_id)
    asyncio.run(go())

    rests = [s for s in bot.inbox.rests if s > IDENTIFY_S]
    assert rests
    assert max(rests) > 60
    assert max(rests) <= LONGEST_IDENTIFY_S + 1


def test_who_is_sent_away_again_and_again_comes_less_often(bot, platform):
    class Unkind(list):
        def append(self, frame):
            super().append(frame)
            if frame["op"] in (2, 6):
                platform._sockets.call_soon(lambda: asyncio.ensure_future(
                    platform._gateway.say({"op": 7, "d": None})))

    async def go():
        async with bot.listening():
            platform.behaviour.resumes = True
            platform._gateway.frames = Unkind(platform.frames)
            # Every session is left before it says anything.
            platform._gateway._note = lambda *_: None
            platform.say(7)
            await platform.until(lambda: len(bot.inbox.rests) > 8)
    asyncio.run(go())

    assert max(bot.inbox.rests) > 60
    assert ops(platform).count(2) == 1


def test_without_a_start_left_it_waits_and_says_so(bot, platform):
    platform.behaviour.starts_left = 0

    async def go():
        async with bot.open() as channel:
            task = asyncio.create_task(channel.listen(bot.inbox))
            await platform.until(lambda: bot.slept)
            platform.behaviour.starts_left = 5
            await platform.until(lambda: platform.sessions)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    asyncio.run(go())

    assert bot.slept[0] == 300.0


def test_a_server_that_is_restarted_is_found_again(bot, platform):
    async def go():
        async with bot.listening():
            platform.post("one")
            await bot.gets(1)
            platform.down()
            platform.post("two")
            await asyncio.sleep(0.1)
            platform.up()
            await bot.gets(2)
    asyncio.run(go())

    assert bot.inbox.contents == ["one", "two"]
    assert ops(platform) == [2, 6]


def test_a_dead_address_to_resume_at_is_given_up(bot, platform):
    bot.hears("one")
    kept = place(bot) | {"url": "ws://127.0.0.1:9"}
    bot.deps.marks.set("session", json.dumps(kept))

    found = bot.hears("two")

    assert [m.content for m in found] == ["one", "two"]
    assert ops(platform) == [2, 6]


@pytest.mark.parametrize("url", [
    "ws://example.org", "http://127.0.0.1", "wss://", "x", 7, None])
def test_the_token_goes_nowhere_unencrypted(bot, platform, url, monkeypatch):
    monkeypatch.setattr(platform._sockets.__class__, "url", url)

    async def go():
        async with bot.open() as channel:
            task = asyncio.create_task(channel.listen(bot.inbox))
            await platform.until(lambda: bot.logged("poll_failed"))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    asyncio.run(go())

    assert "without an address" in bot.logged("poll_failed")[0]["error"]


@pytest.mark.parametrize("kept", [
    "", "{", "[]", "7", '{"account": "other", "session_id": "s"}',
    '{"session_id": 7}'])
def test_a_mark_of_another_form_or_bot_is_a_first_start(bot, platform, kept):
    bot.deps.marks.set("session", kept)

    assert [m.content for m in bot.hears("one")] == ["one"]
    assert ops(platform) == [2]
