"""Answers as lines: split by bytes, confirmed, nothing injected."""

import asyncio
import unicodedata

import pytest

from claw.channels.irc.outgoing import LINE_BYTES, make_parts, split_line
from claw.channels.irc.wire import Bucket
from claw.core.channel import Attachment, Button, SendMessage
from claw.core.errors import (
    ClawError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.runtime.retry_rules import may_have_arrived
from claw.testing.contracts.stage import until
from claw.testing.fake_irc import CAPS, FakeIrc

from .conftest import Bot

NO_ECHO = tuple(cap for cap in CAPS if cap != "echo-message")


def texts(content, **more):
    return [part.text for part in make_parts(
        SendMessage(content, "#a", **more))]


@pytest.mark.parametrize(("content", "lines"), [
    ("one\n\n\ntwo", ["one", "two"]),
    ("# Head\n\n**bold** *it* `co de` ~~no~~",
     ["Head", "bold it `co de` no"]),
    ("[here](https://a.example/x) and https://b.example",
     ["here (https://a.example/x) and https://b.example"]),
    ("```python\nif x:\n    y()\n```\nend", ["if x:", "    y()", "end"]),
    ("- a\n- b", ["• a", "• b"]),
    ("a\r\nQUIT :b\x00\x01ACTION c\x01\u2028JOIN #d",
     ["a", "QUIT :bACTION c", "JOIN #d"]),
    ("see\n[DOCUMENT:notes.txt]", ["see", "(Document notes.txt: IRC can't "
                                   "carry files)"]),
    ("", []), (" \n ", []), ("\u200b", []),
])
def test_an_answer_is_plain_lines(content, lines):
    assert texts(content) == lines


def test_a_question_says_what_can_be_written_in_an_irc_client():
    assert texts("run ls /tmp ?\n/approve ab1 or /deny ab1 "
                 "(/approve ab1 always)",
                 buttons=(Button("Allow", "approve:ab1:yes"),)) == [
        "run ls /tmp ?", "!approve ab1 or !deny ab1 (!approve ab1 always)"]


def test_a_file_and_an_address_are_named():
    assert texts("here", attachments=(Attachment("/x/a\nb.png", "a.png"),)
                 ) == ["here", "(Document a.png: IRC can't carry files)"]
    assert texts("[IMAGE:https://a.example/x.png]") == [
        "Image: https://a.example/x.png"]


def test_only_known_links_can_be_fetched():
    assert texts("a https://ok.example/x b https://evil.example/?s=1 "
                 "[c](http://evil.example/y) www.evil.example/z",
                 links=("https://ok.example/x",)) == [
        "a https://ok.example/x b https[:]//evil[.]example/?s=1 "
        "c (http[:]//evil[.]example/y) www[.]evil[.]example/z"]


@pytest.mark.parametrize("text", [
    "word " * 300, "x" * 2_000, "안녕하세요 " * 300, "👩\u200d👧🇰🇷" * 200,
    "e\u0301" * 1_000, "。".join(["漢字" * 30] * 20)])
def test_a_line_is_cut_by_bytes_and_never_inside_a_sign(text):
    pieces = split_line(text, LINE_BYTES)

    assert len(pieces) > 1
    assert max(len(p.encode()) for p in pieces) <= LINE_BYTES
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    for piece in pieces:
        assert unicodedata.category(piece[0])[0] != "M"
        assert piece[0] != "\u200d"
        assert piece[-1] != "\u200d"


@pytest.mark.parametrize("caps", [CAPS, NO_ECHO], ids=["echo", "ping"])
def test_a_line_is_sent_when_the_server_has_taken_it(tmp_path, caps):
    with FakeIrc(caps) as server:
        bot = Bot(server, tmp_path)

        async def work():
            async with bot.listening(channels=("#a",)) as channel:
                part, = channel.parts(SendMessage("hi", "#a"))
                return await channel.send_part(
                    SendMessage("hi", "#a"), part)

        found = asyncio.run(work())

    assert bot.said == [("#a", "hi")]
    assert found == (server.sent[0].msgid if caps is CAPS else None)
    after = server.received[server.received.index("PRIVMSG #a :hi") + 1:]
    assert any("PING claw-" in line for line in after) is (caps is NO_ECHO)


@pytest.mark.parametrize("caps", [CAPS, NO_ECHO], ids=["echo", "ping"])
def test_a_server_that_froze_leaves_a_doubt_and_is_left(tmp_path, caps):
    """Half-open: the line may have arrived."""
    with FakeIrc(caps) as server:
        bot = Bot(server, tmp_path)
        left = []

        async def work():
            channel = bot.make()
            await channel.start_typing("#a")
            session = await channel._client.get()
            server.frozen = True
            message = SendMessage("hi", "nick:alice")
            with pytest.raises(UnavailableError) as raised:
                await channel.send_part_telling(
                    message, channel.parts(message)[0],
                    lambda: left.append(1))
            server.frozen = False
            await channel.aclose()
            return raised.value, session.is_open

        error, is_open = asyncio.run(work())

    assert left == [1]
    assert may_have_arrived(error)
    assert not is_open


@pytest.mark.parametrize(("target", "final"), [
    ("#muted", True), ("nobody", True), ("nick:nobody", False),
    ("account:nobody", False), ("#closed", False)])
def test_a_refused_line_is_gone_or_waits(bot, target, final):
    bot.server.mute = {"#muted"}
    bot.server.closed_to = {"#closed"}

    async def work():
        async with bot.listening(channels=("#muted", "#closed")):
            with pytest.raises(ClawError) as raised:
                await bot.send("hi", target)
            return raised.value

    error = asyncio.run(work())

    assert isinstance(error, RequestRefusedError) is final
    assert not may_have_arrived(error)
    assert error.hint


@pytest.mark.parametrize("target", [
    "", "a,b", "#a,#b", "a b", "$*", "$$*.example", "*", "a!u@h", ":a",
    "a\r\nQUIT", "#a\0", "account:", "account:a b", "nick:#a b", "x" * 500])
def test_a_recipient_is_one_nick_or_channel(bot, target):
    async def work():
        async with bot.listening():
            with pytest.raises(RequestRefusedError, match="no nick or"):
                await bot.send("hi", target)

    asyncio.run(work())

    assert not any(line.startswith(("PRIVMSG", "QUIT"))
                   for line in bot.server.received[:-1])


def test_a_line_that_a_filter_swallows_is_no_sent_line(bot, monkeypatch):
    monkeypatch.setattr("claw.channels.irc.session.ECHO_S", 0.05)
    bot.server._keep = lambda client, target, text: None

    async def work():
        async with bot.listening(channels=("#a",)):
            with pytest.raises(RequestRefusedError, match="to nobody"):
                await bot.send("bad word", "#a")

    asyncio.run(work())


def test_a_server_that_asks_for_patience_gets_it(bot):
    async def work():
        async with bot.listening(channels=("#a",)) as channel:
            session = channel._client.current
            bot.server.mute = {"#a"}
            real = bot.server._reply
            bot.server._reply = lambda client, numeric, rest: real(
                client, "439" if numeric == "404" else numeric, rest)
            with pytest.raises(RateLimitedError) as raised:
                await bot.send("hi", "#a")
            return raised.value.retry_after_s, session.is_open

    assert asyncio.run(work()) == (30.0, True)


def test_a_message_to_another_channel_joins_it(bot):
    async def work():
        async with bot.listening(channels=("#a",)):
            await bot.send("hi", "#other")

    asyncio.run(work())

    assert bot.said == [("#other", "hi")]


def test_long_addresses_leave_less_room(bot):
    async def work():
        async with bot.listening(channels=("#a",)) as channel:
            session = channel._client.current
            before = session.room("#a")
            bot.server.raw(f":claw!~claw@{'h' * 250} JOIN #a")
            await until(lambda: session.room("#a") != before)
            await bot.send("x" * 280, "#a")

    asyncio.run(work())

    first, second = [text for _, text in bot.said]
    assert first + second == "x" * 280
    assert len(f":claw!~claw@{'h' * 250} PRIVMSG #a :{first}\r\n") <= 512


def test_eight_chats_at_once_mix_up_nothing(bot):
    bot.server.people = {f"p{n}": f"p{n}" for n in range(8)}

    async def work():
        async with bot.listening():
            await asyncio.gather(*(
                bot.send(f"a{n}\nb{n}\nc{n}", f"account:p{n}")
                for n in range(8)))

    asyncio.run(work())

    for n in range(8):
        assert [t for to, t in bot.said if to == f"p{n}"] == [
            f"a{n}", f"b{n}", f"c{n}"]


def test_the_bucket_lets_a_burst_through_and_then_drips():
    now, slept = [0.0], []

    async def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    async def work():
        bucket = Bucket(5, 2.0, clock=lambda: now[0], sleep=sleep)
        for _ in range(8):
            await bucket.take()
        now[0] += 100
        for _ in range(5):
            await bucket.take()

    asyncio.run(work())

    assert slept == [2.0, 2.0, 2.0]


def test_typing_is_shown_where_there_is_room(bot):
    async def work():
        async with bot.listening(flood_secs=0.0) as channel:
            await channel.start_typing("account:alice")
            await channel.stop_typing("nick:al")
            await bot.send("x", "nick:alice")

    asyncio.run(work())

    assert [line for line in bot.server.received if "TAGMSG" in line] == [
        "@+typing=active TAGMSG alice", "@+typing=done TAGMSG al"]


