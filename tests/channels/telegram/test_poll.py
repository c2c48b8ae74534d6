"""Receiving: commit first, then the offset, whatever goes wrong."""

import asyncio
import contextlib
import time

import pytest

from claw.channels.telegram.api import BotApi
from claw.core.abilities import HearsReceives, PollsOnce
from claw.core.errors import AuthError, StorageError, UnavailableError
from claw.net.lean import httpx


def polls(platform):
    return [call.params for call in platform.list_calls("getUpdates")]


def test_messages_arrive_in_order_with_their_fields(bot):
    first, second = bot.hears("one", {"text": "two", "chat_id": -100,
                                      "username": None, "user_id": 7})

    assert (first.content, first.sender, first.reply_target) == (
        "one", "1001", "1001")
    assert first.sender_name == "alice"
    assert first.id.startswith("telegram_1001_")
    assert first.channel == "telegram"
    assert first.timestamp > 1_500_000_000
    assert first.thread_ts is None
    assert (second.content, second.sender, second.reply_target) == (
        "two", "7", "-100")


def test_what_waited_before_the_start_is_not_dropped(bot):
    bot.hears("while you were away")

    sent = polls(bot.platform)
    assert "offset" not in sent[0]
    assert sent[0]["allowed_updates"] == [
        "message", "edited_message", "callback_query"]
    # The first comes back at once: then what waited is committed.
    assert [call["timeout"] for call in sent[:2]] == [0, 1]


def test_the_offset_confirms_a_batch_after_it_was_put_and_then_goes(bot):
    last = bot.platform.post("a")
    bot.hears(1)
    bot.platform.wait_until(lambda: not bot.platform.pending())

    offsets = [p.get("offset") for p in polls(bot.platform)]
    assert offsets[:2] == [None, last + 1]


def test_news_below_the_last_id_is_heard(platform, bot):
    """After a week of silence Telegram's ids start anywhere."""
    async def go():
        platform.post_update({"update_id": 900, "message": message("old")})
        async with bot.listening():
            await platform.until(lambda: bot.inbox.contents == ["old"])
            await platform.until(lambda: bot.inbox.heard >= 2)
            platform.post_update({"update_id": 30, "message": message("new")})
            await platform.until(
                lambda: bot.inbox.contents == ["old", "new"])
    asyncio.run(go())


def message(text, **fields):
    return {"message_id": len(text) + 50, "date": 1_700_000_000,
            "chat": {"id": 1001, "type": "private"}, "text": text,
            "from": {"id": 5, "is_bot": False, "first_name": "A",
                     "username": "alice"}, **fields}


def test_a_put_that_fails_leaves_everything_for_the_next_start(bot):
    bot.platform.post("first")
    bot.platform.post("second")
    bot.inbox.broken = StorageError("disk full")
    with pytest.raises(StorageError):
        bot.hears(1)
    assert all("offset" not in p for p in polls(bot.platform))

    bot.inbox.broken = None
    bot.hears(2)
    assert bot.inbox.contents == ["first", "second"]


def test_the_same_updates_for_ever_make_no_busy_loop(platform, bot):
    platform.repeat_updates = True
    platform.post("again and again")

    async def go():
        async with bot.listening():
            await platform.until(lambda: len(polls(platform)) >= 4)
    asyncio.run(go())

    assert bot.inbox.contents == ["again and again"]
    assert bot.slept.count(1.0) >= 2


def test_every_completed_poll_is_a_sign_of_life(platform, bot):
    assert isinstance(bot.inbox, HearsReceives)
    bot.hears("x")
    assert bot.inbox.heard >= 1

    platform.fault("getUpdates", "status", times=None, status=500)
    heard = bot.inbox.heard

    async def go():
        async with bot.listening():
            await platform.until(lambda: len(bot.slept) >= 2)
    asyncio.run(go())
    assert bot.inbox.heard == heard


def test_a_second_poller_is_explained_once_and_waited_out(platform, bot):
    platform.fault("getUpdates", "status", times=4, status=409,
                   description="Conflict: terminated by other getUpdates "
                               "request; make sure that only one bot "
                               "instance is running")
    bot.hears("at last")

    assert bot.inbox.contents == ["at last"]
    assert bot.slept[:4] == [2.0, 5.0, 35.0, 35.0]
    told, = bot.logged("conflict")
    assert "another program" in told["error"]
    assert "stop the other" in told["hint"]


def test_a_webhook_in_the_way_is_named_without_its_path(platform, bot):
    platform._world.webhook = {"url": "https://hook.example/secret-path"}

    async def go():
        async with bot.listening():
            await platform.until(lambda: bot.logged("conflict"))
    asyncio.run(go())

    told = bot.logged("conflict")[0]
    assert "https://hook.example/..." in told["error"]
    assert "secret-path" not in repr(bot.logs)
    assert "deleteWebhook" in told["hint"]


@pytest.mark.parametrize("kind", ["reset", "reset_after", "half", "html",
                                  "status"])
def test_a_short_trouble_is_ridden_out_and_loses_nothing(platform, bot,
                                                         kind):
    platform.fault("getUpdates", kind, times=2)
    platform.post("kept")
    bot.hears(1)

    assert bot.inbox.contents == ["kept"]
    assert bot.slept[:2] == [1.0, 2.0]
    assert bot.logged("poll_works_again") == [{}]


def test_after_a_long_trouble_five_seconds_are_the_longest_wait(
        platform, bot):
    platform.fault("getUpdates", "status", times=8, status=502)
    bot.hears("at last")

    assert bot.inbox.contents == ["at last"]
    assert bot.slept[:8] == [1.0, 2.0, *[5.0] * 6]
    assert len(bot.logged("poll_failed")) == 1


def test_an_update_given_again_below_the_offset_costs_no_later_message(
        platform, bot):
    """One redelivery is no list: the same words written again later are a
    new message."""
    def update(number, text):
        return {"update_id": number, "message": {
            "message_id": number, "date": 1_760_000_000 + number,
            "chat": {"id": 1001, "type": "private"},
            "from": {"id": 1001, "is_bot": False, "first_name": "A",
                     "username": "alice"}, "text": text}}

    answers = [[update(50, "ok")], [update(50, "ok")],
               [update(51, "ok")], [update(51, "ok"), update(50, "ok"),
                                    update(52, "ok")], []]

    async def poll(params):
        await asyncio.sleep(0.001)
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def go():
        async with bot.open() as channel:
            channel._api.poll = poll
            listening = asyncio.ensure_future(channel.listen(bot.inbox))
            await platform.until(lambda: len(answers) == 1)
            await asyncio.sleep(0.02)
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
    asyncio.run(go())

    assert [m.id for m in bot.inbox.messages] == [
        "telegram_1001_50", "telegram_1001_51", "telegram_1001_52"]


def test_a_server_that_numbers_its_list_anew_hides_nothing(platform, bot):
    """mockpost: the newest first, numbered from 1, for ever, each time
    with another date."""
    calls = []

    def listed(*written):
        calls.append(None)
        return [{"update_id": place, "message": {
            "message_id": place, "date": 1_760_000_000 + len(calls),
            "chat": {"id": 1001, "type": "private"},
            "from": {"id": 1001, "is_bot": False, "first_name": "A",
                     "username": "alice"}, "text": said}}
            for place, said in enumerate(reversed(written), 1)]

    lists = [("one",), ("one",), ("one", "two"), ("one", "two"),
             ("one", "two", "one"), ("one", "two", "one")]

    async def poll(params):
        return listed(*(lists.pop(0) if len(lists) > 1 else lists[0]))

    async def go():
        async with bot.open() as channel:
            channel._api.poll = poll
            listening = asyncio.ensure_future(channel.listen(bot.inbox))
            await platform.until(lambda: len(calls) >= 9)
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
    asyncio.run(go())

    assert bot.inbox.contents == ["one", "two", "one"]
    assert len({m.id for m in bot.inbox.messages}) == 3
    assert len(bot.logged("server_repeats")) == 1


def test_a_wedged_poll_ends_and_the_next_uses_a_new_connection(
        platform, bot, monkeypatch):
    monkeypatch.setattr("claw.channels.telegram.api.POLL_GRACE_S", -0.8)
    platform.wedge()

    async def go():
        async with bot.listening():
            await platform.until(lambda: bot.slept)
            platform.unwedge()
            platform.post("through")
            await platform.until(lambda: bot.inbox.contents == ["through"])
    asyncio.run(go())


@pytest.mark.parametrize("drips", [
    (), (b"H",), (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                  *[b"1\r\n \r\n"] * 999)])
def test_a_poll_that_hangs_or_drips_is_built_anew_within_a_poll_time(
        bot, monkeypatch, drips):
    """A server that takes the connection and does not answer, half an
    open TCP connection, a proxy that drips bytes to keep it open."""
    monkeypatch.setattr("claw.channels.telegram.api.POLL_GRACE_S", 0.2)
    writers = []

    async def hang(reader, writer):
        writers.append(writer)
        with contextlib.suppress(OSError):
            request = await reader.readuntil(b"\r\n")
            for drip in drips if b"getUpdates" in request else ():
                writer.write(drip)
                await asyncio.sleep(0.1)
        if b"getUpdates" not in request:
            writer.close()

    async def go():
        server = await asyncio.start_server(hang, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with bot.listening(api_base_url=f"http://127.0.0.1:{port}"):
            await bot.platform.until(lambda: len(bot.inbox.failures) > 1)
        server.close()
        for writer in writers:
            writer.close()
        await asyncio.gather(*(w.wait_closed() for w in writers),
                             return_exceptions=True)
    began = time.monotonic()
    asyncio.run(go())

    assert time.monotonic() - began < 30  # the drip lasts 100
    assert "within 1.2 s" in bot.inbox.failures[-1]


def test_connections_for_receiving_are_thrown_away_after_an_error():
    class Network(httpx.AsyncBaseTransport):
        closed = 0

        async def handle_async_request(self, request):
            raise httpx.ReadError("connection lost")

        async def aclose(self):
            self.closed += 1
    network = Network()

    async def go():
        api = BotApi("1:a", "https://api.telegram.test", transport=network,
                     log=lambda *a, **k: None)
        for number in (1, 2):
            with pytest.raises(UnavailableError):
                await api.poll({})
            assert network.closed == number
        await api.aclose()
    asyncio.run(go())


@pytest.mark.parametrize("status", [401, 404])
def test_a_refused_token_says_how_to_set_it(platform, bot, status):
    for method in ("getMe", "getUpdates"):
        platform.fault(method, "status", times=None, status=status)
    with pytest.raises(AuthError, match="refused the token") as caught:
        bot.hears(1)
    assert "claw config set channels_config.telegram.bot_token" in \
        caught.value.hint
    assert platform.token not in str(caught.value)


def test_a_name_that_is_needed_is_asked_for_again(platform, bot):
    platform.fault("getMe", "status", times=2, status=502)
    bot.hears({"text": "@claw_test_bot hello", "chat_id": -100},
              mention_only=True)
    assert bot.inbox.contents == ["hello"]
    assert len(platform.list_calls("getMe")) == 3


@pytest.mark.parametrize("status", [404, 400, 501, 500, 429])
def test_messages_do_not_wait_for_a_server_without_getme(platform, bot,
                                                         status):
    kind = "429" if status == 429 else "status"
    platform.fault("getMe", kind, times=None, status=status, retry_after=60)
    bot.hears("hello")
    assert bot.inbox.contents == ["hello"]
    assert sum(bot.slept) < 1


@pytest.mark.parametrize("update", [
    {"message": "no object"},
    {"message": {"chat": {"id": 1}}},
    {"message": {"message_id": "x", "chat": {}}},
    {"callback_query": {"id": 5}},
    {"edited_message": None},
    {"something_new": {"a": 1}},
])
def test_a_malformed_update_is_passed_over(platform, bot, update):
    number = platform.post_update(update)
    bot.hears("after it")

    assert bot.inbox.contents == ["after it"]
    if "something_new" not in update:
        assert [f["update_id"] for f in bot.logged("update_unreadable")] \
            == [number]


def test_a_field_that_cannot_be_read_costs_only_itself(platform, bot):
    platform.post_update({"message": message("words", voice="no object")})
    bot.hears(1)
    assert bot.inbox.contents == ["words"]


def test_a_half_character_cannot_poison_the_inbox(platform, bot):
    platform.post("broken \ud83d here")
    bot.hears(1)
    assert bot.inbox.contents == ["broken \ufffd here"]


def test_the_offset_outlives_a_restart_of_the_listener(platform, bot):
    """The batch was put; only its confirmation failed."""
    async def go():
        async with bot.open() as channel:
            platform.post("once")
            bot.inbox.put = stop_after(bot.inbox.put)
            with pytest.raises(StorageError):
                await channel.listen(bot.inbox)
            platform.post("twice")
            with pytest.raises(StorageError):
                await channel.listen(bot.inbox)
    asyncio.run(go())
    assert bot.inbox.contents == ["once", "once"]


def stop_after(put):
    async def once(message):
        await put(message)
        raise StorageError("disk full")
    return once


def test_one_poller_per_account_and_no_secret_in_its_name(bot):
    channel = bot.make(poll_timeout_secs=30)

    assert isinstance(channel, PollsOnce)
    assert channel.account == "telegram:1234567"
    assert channel.poll_time_s == 30.0


def test_a_rate_limit_on_receiving_is_obeyed(platform, bot):
    platform.fault("getUpdates", "429", retry_after=17)
    bot.hears("hello")
    assert bot.slept[0] == 17
