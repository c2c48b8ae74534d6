"""A connection that ends, or lives on without anybody at the other side."""

import asyncio
import ssl
import subprocess

import pytest

from claw.channels.irc.wire import Wire
from claw.core.errors import StorageError, UnavailableError
from claw.net.errors import class_names
from claw.testing.contracts.stage import Kept, until
from claw.testing.fake_irc import CAPS, FakeIrc

from .conftest import Bot

NO_HISTORY = tuple(cap for cap in CAPS if "history" not in cap)


def contents(bot):
    return [m.content for m in bot.inbox.messages]


@pytest.mark.parametrize("ending", ["drop", "kill", "restart", "freeze"])
def test_after_the_end_of_a_connection_there_is_another(bot, ending):
    """And what was said meanwhile is read, where the server keeps it."""
    server = bot.server

    async def work():
        async with bot.listening(channels=("#a",)) as channel:
            server.say("before", to="#a")
            await until(lambda: contents(bot) == ["<alice> before"])
            first = channel._client.current
            if ending == "restart":
                await asyncio.to_thread(server.down)
                server.say("meanwhile", to="#a")
                server.say("in private")
                await asyncio.to_thread(server.up)
            elif ending == "freeze":
                server.frozen = True
                await until(lambda: not first.is_open)
                server.frozen = False
            else:
                getattr(server, ending)()
                server.say("meanwhile", to="#a")
                server.say("in private")
            await until(lambda: channel._client.current not in (None, first))
            await until(lambda: "claw" in server.room("#a"))
            if ending != "freeze":
                await until(lambda: {"in private", "<alice> meanwhile"}
                            <= {*contents(bot)})
            server.say("after", to="#a")
            await until(lambda: "<alice> after" in contents(bot))
            await bot.send("here I am", "#a")

    asyncio.run(work())

    assert ("#a", "here I am") in bot.said
    assert contents(bot)[-1] == "<alice> after"
    assert len({m.id for m in bot.inbox.messages}) == (
        2 if ending == "freeze" else 4)


def test_what_was_said_while_claw_was_away_comes_in_order_and_once(bot):
    server = bot.server

    async def life(*waits):
        async with bot.listening(channels=("#a",)):
            await until(lambda: {*waits} <= {*contents(bot)})

    server.say("before the first start")
    asyncio.run(life())
    for n in range(230):  # three pages
        server.say(f"number {n}", to="#a")
    server.say("p1")
    server.say("p2", nick="alice")
    asyncio.run(life("p2", "<alice> number 229"))
    asyncio.run(life())
    server.say("p3")
    asyncio.run(life("p3"))

    seen = list(dict.fromkeys(m.id for m in bot.inbox.messages))
    texts = {m.id: m.content for m in bot.inbox.messages}
    assert [texts[i] for i in seen] == [
        *(f"<alice> number {n}" for n in range(230)), "p1", "p2", "p3"]


def test_what_came_under_another_nick_of_ours_is_read_later(bot):
    server = bot.server

    async def life(*waits):
        async with bot.listening():
            await until(lambda: {*waits} <= {*contents(bot)})
            await bot.send("hello yourself")

    asyncio.run(life())
    server.say("while you were away")
    server.people["claw"] = ""  # so that we are claw_ now
    real = server._is_in
    server._is_in = lambda client, said, target: real(
        client, said, target) or said.target == "claw"
    server._find_talks = lambda client, since: ["alice"]
    asyncio.run(life("while you were away"))

    assert contents(bot) == ["while you were away"]


@pytest.mark.parametrize("caps", [CAPS, NO_HISTORY],
                         ids=["history", "no history"])
def test_what_comes_while_we_join_is_not_lost_and_comes_after_what_was_missed(
        tmp_path, caps):
    with FakeIrc(caps) as server:
        bot = Bot(server, tmp_path)

        async def life():
            async with bot.listening(channels=("#a",)):
                await asyncio.sleep(0.1)

        asyncio.run(life())
        if caps is CAPS:
            server.say("missed")
        real = server._on_join

        def join(client, line):
            server._tell("alice", "alice", "claw", "live", "", "PRIVMSG")
            real(client, line)

        server._on_join = join
        asyncio.run(life())

    assert list(dict.fromkeys(contents(bot))) == (
        ["missed", "live"] if caps is CAPS else ["live"])


def test_more_than_is_read_after_an_outage_is_told(bot):
    server = bot.server

    async def life():
        async with bot.listening(channels=("#a",)):
            await asyncio.sleep(0.1)

    asyncio.run(life())
    server.support = [s for s in server.support if "HISTORY" not in s] + [
        "CHATHISTORY=10"]
    for n in range(70):
        server.say(f"number {n}", to="#a")
    asyncio.run(life())

    assert bot.logged("history_cut")


def test_the_rest_of_a_line_that_is_too_long_is_no_line():
    async def work():
        reader = asyncio.StreamReader()
        wire = Wire(reader, None, "it")
        reader.feed_data(b"a" * 40_000)
        reading = asyncio.create_task(wire.read())
        await asyncio.sleep(0.01)
        reader.feed_data(b":al!u@h PRIVMSG claw :mine\r\nPING :x\r\n")
        return await reading

    assert asyncio.run(work()).command == "PING"


def test_without_history_nothing_is_asked_for(tmp_path):
    with FakeIrc(NO_HISTORY) as server:
        bot = Bot(server, tmp_path)

        async def work():
            async with bot.listening(channels=("#a",)):
                server.say("hi")
                await bot.hears()

        asyncio.run(work())

    assert not any("CHATHISTORY" in line for line in server.received)


def test_a_message_that_could_not_be_kept_is_offered_again(tmp_path):
    """Nobody else has it: IRC keeps nothing."""
    with FakeIrc(NO_HISTORY) as server:
        bot = Bot(server, tmp_path)
        bot.inbox = Kept(refuses=2)

        async def work():
            async with bot.listening():
                server.say("one")
                server.say("two")
                await until(lambda: len(bot.inbox.messages) == 2)

        asyncio.run(work())

    assert contents(bot) == ["one", "two"]
    assert len({m.id for m in bot.inbox.offered}) == 2
    assert StorageError.__name__ in repr(bot.logged("ended"))


def test_a_kicked_bot_comes_back_later(bot, monkeypatch):
    monkeypatch.setattr("claw.channels.irc.session.REJOIN_S", 0.2)

    async def work():
        async with bot.listening(channels=("#a key",)):
            bot.server.kick("#a")
            await until(lambda: "claw" not in bot.server.room("#a"))
            await asyncio.sleep(0.05)
            away = bot.server.room("#a")
            await until(lambda: "claw" in bot.server.room("#a"))
            return away

    assert asyncio.run(work()) == set()
    assert bot.logged("kicked")[0]["channel"] == "#a"
    assert bot.server.received.count("JOIN #a key") == 2


def test_a_server_that_throws_us_out_is_not_asked_every_second(bot):
    waits = []

    async def rest(seconds):
        waits.append(seconds)

    async def work():
        channel = bot.make()
        channel._client.link._sleep = rest
        task = asyncio.create_task(channel.listen(bot.inbox))
        seen = {None}
        for _ in range(6):
            await until(lambda: channel._client.current not in seen
                        and channel._client._held is None)
            seen.add(channel._client.current)
            bot.server.kill("Excess Flood")
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(work())

    assert [w for w in waits if w > 1] == [5.0, 15.0, 30.0, 60.0]


def test_too_fast_reconnects_wait_a_minute(bot):
    bot.server.fault = "refuse"
    waits = []

    async def rest(seconds):
        waits.append(seconds)
        await asyncio.sleep(0.01)

    async def work():
        channel = bot.make()
        channel._client.link._sleep = rest
        task = asyncio.create_task(channel.listen(bot.inbox))
        await until(lambda: waits)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(work())

    assert waits[0] == 60.0


def test_a_send_without_a_server_has_not_left(bot):
    bot.server.down()
    left = []

    async def work():
        channel = bot.make()
        from claw.core.channel import SendMessage
        message = SendMessage("hi", "#a")
        with pytest.raises(UnavailableError) as raised:
            await channel.send_part_telling(
                message, channel.parts(message)[0], lambda: left.append(1))
        return raised.value

    error = asyncio.run(work())

    assert left == []
    assert "ConnectionRefusedError" in class_names(error)
    assert error.hint == "is it running, and is the port right?"


@pytest.fixture
def certificate(tmp_path):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
         "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem",
         "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True, capture_output=True)
    return tmp_path / "cert.pem"


@pytest.mark.parametrize(("trusts", "verify", "tls", "status"), [
    (True, True, True, "ok"), (False, True, True, "fail"),
    (False, False, True, "warn"), (False, True, False, None)])
def test_tls_is_asked_for_and_checked(tmp_path, certificate, monkeypatch,
                                      trusts, verify, tls, status):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, tmp_path / "key.pem")
    if trusts:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    async def work():
        channel = bot.make(use_tls=tls, verify_tls=verify)
        try:
            return await channel.diagnose(), await channel.health_check()
        finally:
            await channel.aclose()

    with FakeIrc(certificate=context) as server:
        bot = Bot(server, tmp_path)
        rows, healthy = asyncio.run(work())

    found = {row.id: row for row in rows}
    assert healthy is (status in ("ok", "warn"))
    if status is not None:
        assert found["tls"].status == status
    if not trusts and verify and tls:
        assert "SSL_CERT_FILE" in found["tls"].hint
