"""Registration: capabilities, SASL, NickServ, nicks, channels."""

import asyncio
import base64
import socket
from types import SimpleNamespace

import msgspec
import pytest

from claw.channels.irc import IrcSettings
from claw.channels.irc.line import read_line
from claw.channels.irc.register import Registration
from claw.core.channel import SendMessage
from claw.core.errors import (
    AuthError,
    ConfigError,
    RateLimitedError,
    UnavailableError,
)
from claw.testing.contracts.stage import until
from claw.testing.fake_irc import FakeIrc

from .conftest import PASSWORD, Bot


class Start:
    """A registration without a server."""

    def __init__(self, **settings):
        self.sent = []
        self.logs = []
        self.it = Registration(
            IrcSettings(server="s", **settings),
            lambda event, **fields: self.logs.append(event),
            lambda *lines: self.sent.extend(
                line.decode().rstrip() for line in lines))
        self.it.hello()

    def hears(self, *lines):
        del self.sent[:]
        for line in lines:
            self.it.take(read_line(line.encode()))
        return self.sent


def test_capabilities_of_several_lines_are_asked_for_in_one():
    start = Start()

    assert start.sent == ["CAP LS 302", "NICK claw", "USER claw 0 * claw"]
    assert start.hears(":s CAP * LS * :multi-prefix sasl=PLAIN") == []
    assert start.hears(":s CAP * LS :echo-message message-tags") == [
        "CAP REQ :message-tags echo-message"]
    assert start.hears(":s CAP * ACK :message-tags echo-message") == [
        "CAP END"]
    assert start.it.caps == {"message-tags", "echo-message"}


def test_a_refused_request_is_made_one_by_one():
    start = Start(sasl_password="pw")
    start.hears(":s CAP * LS :sasl echo-message message-tags")

    assert start.hears(
        ":s CAP * NAK :message-tags echo-message sasl") == [
        "CAP REQ echo-message", "CAP REQ message-tags", "CAP REQ sasl"]
    assert start.hears(":s CAP * NAK :echo-message",
                       ":s CAP * ACK :message-tags") == []
    assert start.hears(":s CAP * ACK :sasl") == ["AUTHENTICATE PLAIN"]
    assert start.hears("AUTHENTICATE +")[0].startswith("AUTHENTICATE ")
    assert start.hears(":s 903 claw :ok") == ["CAP END"]
    assert start.it.caps == {"message-tags", "sasl"}


@pytest.mark.parametrize(("length", "sizes"), [
    (10, [24]), (293, [400, 1]), (290, [396]), (700, [400, 400, 144])])
def test_a_long_password_goes_in_pieces_of_400(length, sizes):
    start = Start(sasl_password="p" * length, sasl_username="me")
    start.hears(":s CAP * LS :sasl", ":s CAP * ACK :sasl")

    pieces = [line.split()[1] for line in start.hears("AUTHENTICATE :+")]

    assert [len(p) for p in pieces] == sizes
    assert base64.b64decode("".join(pieces).rstrip("+")) == (
        b"me\0me\0" + b"p" * length)


@pytest.mark.parametrize("numeric", ["902", "904", "905", "906", "907"])
def test_a_refused_login_is_told_and_goes_on(numeric):
    start = Start(sasl_password="secret-password")
    start.hears(":s CAP * LS :sasl", ":s CAP * ACK :sasl")

    assert start.hears(f":s {numeric} claw :no secret-password") == [
        "CAP END"]
    assert start.logs == ["login_refused"]
    assert "secret-password" not in start.it.refused


def test_a_server_without_our_mechanism_is_not_asked():
    start = Start(sasl_password="pw")
    start.hears(":s CAP * LS :sasl=EXTERNAL,SCRAM-SHA-256")

    assert start.hears(":s CAP * ACK :sasl") == ["CAP END"]
    assert start.logs == ["login_refused"]


def test_a_certificate_logs_in_by_external():
    start = Start(client_cert="me.pem")
    start.hears(":s CAP * LS :sasl")

    assert start.hears(":s CAP * ACK :sasl") == ["AUTHENTICATE EXTERNAL"]
    assert start.hears("AUTHENTICATE +") == ["AUTHENTICATE +"]


def test_a_nick_in_use_is_another_one_and_never_endless():
    start = Start()
    in_use = ":s 433 * claw :in use"

    assert start.hears(in_use, in_use, in_use) == [
        "NICK claw_", "NICK claw__", "NICK claw3"]
    with pytest.raises(UnavailableError, match="takes no nick"):
        start.hears(*[in_use] * 30)


@pytest.mark.parametrize(("nickname", "refusals", "tried"), [
    # as long as the server takes
    ("exactly-sixteen-", ["433", "433"],
     ["exactly-sixteen_", "exactly-sixtee__"]),
    ("twelve-chars", ["433", "433", "433"],
     ["twelve-char_", "twelve-cha__", "twelve-char3"]),
    ("twelve-chars", ["432", "433"], ["twelve-c_", "twelve-__"]),
    ("claw", ["433", "432"], ["claw_", "claw__"]),
])
def test_a_nick_as_long_as_the_server_takes_has_alternatives(
        nickname, refusals, tried):
    start = Start(nickname=nickname)

    found = start.hears(*(f":s {numeric} * x :no" for numeric in refusals))

    assert found == [f"NICK {nick}" for nick in tried]


def test_a_server_that_cuts_nicks_is_given_another_one():
    start = Start(nickname="twelve-chars")

    assert start.hears(":s 433 * twelve-ch :in use") == ["NICK twelve-c_"]
    start.hears(":s 001 twelve-c_ :Welcome")
    assert start.it.nick == "twelve-c_"


def test_a_nick_that_the_server_has_cut_is_not_asked_for_again(bot):
    bot.server.support.append("NICKLEN=4")

    async def work():
        async with bot.listening(nickname="claw") as channel:
            session = channel._client.current
            session._settings = msgspec.structs.replace(
                session._settings, nickname="clawing")
            session.regain()
            await bot.send("x")
            return session.wanted_nick

    assert asyncio.run(work()) == "claw"
    assert "NICK clawing" not in bot.server.received


@pytest.mark.parametrize(("line", "error"), [
    (":s 464 * :Password incorrect pass-of-server", AuthError),
    (":s 465 * :You are banned", AuthError),
    ("ERROR :Closing link: Trying to reconnect too fast.",
     RateLimitedError),
    ("ERROR :Closing link: killed", UnavailableError),
])
def test_a_server_that_will_not_have_us_says_so(line, error):
    with pytest.raises(error) as raised:
        Start(server_password="pass-of-server").hears(line)

    assert type(raised.value) is error
    assert "pass-of-server" not in raised.value.message


def test_a_username_of_two_words_is_a_setting_to_correct():
    with pytest.raises(ConfigError, match="one word"):
        Start(username="two words")


def test_a_server_without_capabilities_is_fine(plain_bot):
    async def work():
        async with plain_bot.listening(sasl_password="") as channel:
            plain_bot.server.say("hello")
            await plain_bot.hears()
            await plain_bot.send("hi", "alice")
            return channel._client.current.caps

    assert asyncio.run(work()) == set()
    assert plain_bot.said == [("alice", "hi")]


@pytest.mark.parametrize(("password", "refused"), [
    (PASSWORD, False), ("wrong-password", True)])
def test_sasl_is_right_or_wrong(bot, password, refused):
    async def work():
        async with bot.listening(sasl_password=password):
            return await bot.channel.diagnose()

    rows = {row.id: row for row in asyncio.run(work())}

    assert (rows["account"].status == "fail") is refused
    assert bool(bot.logged("login_refused")) is refused
    assert password not in repr(bot.logs) + repr(rows)


@pytest.mark.parametrize(("password", "joined"), [
    ("right", True), ("wrong", True)])
def test_nickserv_is_told_before_channels_are_joined(plain_bot, password,
                                                     joined):
    server = plain_bot.server
    server.nickserv = {"claw": "right"}

    async def work():
        async with plain_bot.listening(
                sasl_password="", nickserv_password=password,
                channels=("#a",)):
            await until(lambda: "claw" in server.room("#a"))

    asyncio.run(work())

    order = [line.split()[0] for line in server.received
             if line.startswith(("PRIVMSG NickServ", "JOIN"))]
    assert order == ["PRIVMSG", "JOIN"]
    assert bool(plain_bot.logged("identify_refused")) is (password == "wrong")


def test_a_false_nickserv_is_told_no_password(plain_bot):
    plain_bot.server.people["NickServ"] = ""

    async def work():
        async with plain_bot.listening(
                sasl_password="", nickname="alice",
                nickserv_password="the-secret"):
            pass

    asyncio.run(work())

    assert plain_bot.logged("identify_refused")
    assert "the-secret" not in "\n".join(plain_bot.server.received)


def test_services_that_rename_us_are_not_fought_at_once(plain_bot):
    async def work():
        async with plain_bot.listening(sasl_password=""):
            plain_bot.server.raw(":claw!c@h NICK :Guest1")
            plain_bot.server.raw(":alice!u@h PRIVMSG Guest1 :hi")
            await plain_bot.hears()

    asyncio.run(work())

    assert [line for line in plain_bot.server.received
            if line.startswith("NICK")] == ["NICK claw"]


@pytest.mark.parametrize("has_mode", [False, True])
def test_a_network_with_a_mode_for_bots_is_told_that_we_are_one(
        bot, has_mode):
    bot.server.support += ["BOT=B"] * has_mode

    async def work():
        async with bot.listening():
            await bot.send("hi")

    asyncio.run(work())

    assert ("MODE claw +B" in bot.server.received) is has_mode


@pytest.mark.parametrize("has_sasl", [False, True])
def test_a_login_where_there_is_none_does_not_vouch_for_people(
        tmp_path, has_sasl):
    with FakeIrc(("message-tags", *["sasl=PLAIN"] * has_sasl)) as server:
        bot = Bot(server, tmp_path)

        async def work():
            bot.make()
            try:
                return {row.id: row for row in await bot.channel.diagnose()}
            finally:
                await bot.channel.aclose()

        row = asyncio.run(work())["people"]

    assert row.status == ("ok" if has_sasl else "warn")
    assert ("shows none" in row.detail) is not has_sasl


def test_a_server_password_is_given_and_a_wrong_one_is_an_error(plain_bot):
    plain_bot.server.server_password = "the-pass"

    async def work(given):
        channel = plain_bot.make(server_password=given, sasl_password="")
        try:
            return await channel.health_check()
        finally:
            await channel.aclose()

    assert asyncio.run(work("the-pass"))
    assert not asyncio.run(work("wrong-pass"))


def test_a_nick_in_use_is_regained_when_it_is_free(bot):
    bot.server.people["claw"] = ""

    async def work():
        async with bot.listening() as channel:
            session = channel._client.current
            first = session.nick
            del bot.server.people["claw"]
            bot.server.raw(":claw!u@h QUIT :gone")
            await until(lambda: session.nick == "claw")
            return first

    assert asyncio.run(work()) == "claw_"


def test_channels_with_keys_are_joined_together_and_refusals_are_told(bot):
    bot.server.keys = {"#b": "key"}
    bot.server.closed_to = {"#c"}

    async def work():
        async with bot.listening(channels=("#a", "#b key", "#c")) as channel:
            return channel._client.current.joined

    assert asyncio.run(work()) == {"#a", "#b"}
    assert "JOIN #b,#a,#c key" in bot.server.received
    assert [f["channel"] for f in bot.logged("not_joined")] == ["#c"]


def test_a_server_that_stalls_is_named_with_what_it_owes(tmp_path):
    with FakeIrc() as server:
        server.frozen = True
        bot = Bot(server, tmp_path)

        async def work():
            rows = await bot.make().diagnose()
            await bot.channel.aclose()
            return rows

        rows = {row.id: row for row in asyncio.run(work())}
        server.frozen = False

    assert rows["login"].status == "fail"
    assert "owes us the welcome" in rows["login"].detail


def test_a_port_that_speaks_no_tls_is_named_before_the_doctor_gives_up(
        monkeypatch, tmp_path):
    monkeypatch.setattr("claw.channels.irc.diagnose._STEP_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        bot = Bot(SimpleNamespace(port=silent.getsockname()[1]), tmp_path)

        async def work():
            rows = await bot.make(use_tls=True).diagnose()
            await bot.channel.aclose()
            return {row.id: row for row in rows}

        rows = asyncio.run(work())

    assert rows["tcp"].status == "fail"
    assert "use_tls false" in rows["tcp"].hint


@pytest.mark.parametrize("wrong", [
    {"server": "irc://irc.example.org"}, {"server": "irc.example.org 6667"},
    {"nickname": "my bot"}, {"channels": ["mine"]}])
def test_what_can_not_be_is_refused_when_it_is_set(wrong):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, IrcSettings)


def test_a_drain_is_not_held_up_by_a_server_that_is_away(tmp_path):
    bot = Bot(SimpleNamespace(port=1), tmp_path)

    async def work():
        channel = bot.make()
        listens = asyncio.ensure_future(channel.listen(bot.inbox))
        await asyncio.sleep(0.05)
        sends = asyncio.ensure_future(channel.send(SendMessage("hi", "#a")))
        await asyncio.sleep(0.05)
        listens.cancel()
        try:
            async with asyncio.timeout(2):
                await sends
        finally:
            await channel.aclose()

    with pytest.raises(UnavailableError, match="no connection"):
        asyncio.run(work())
