"""IrcChannel against InspIRCd with atheme's services, and against ngIRCd.

InspIRCd 3 has echo-message and msgid and counts commands; ngIRCd has neither
capabilities that matter nor accounts.
"""

import asyncio
import signal
from contextlib import asynccontextmanager

import pytest

from claw.channels.irc import IrcChannel, IrcSettings
from claw.channels.irc.session import Patience
from claw.core.channel import ChannelDeps, Marks, SendMessage
from claw.core.errors import ClawError, UnavailableError
from claw.testing.contracts.stage import Kept, until

from .irc_servers import Person, inspircd, ngircd, register

pytestmark = pytest.mark.peers

PASSWORD = "a-password-of-the-peer-tests"
LONG = "안녕 👋 " + "word " * 200 + "the end"


@pytest.fixture(scope="module")
def network():
    """InspIRCd with services, where claw and alice have accounts."""
    with inspircd(fakelag="yes") as server:
        register(server.plain, "claw", PASSWORD).close()
        register(server.plain, "alice", PASSWORD).close()
        yield server


@pytest.fixture(scope="module")
def simple():
    with ngircd() as server:
        yield server


class Peer:
    """A channel that listens on a real server."""

    def __init__(self, server, folder, monkeypatch):
        self.server = server
        self.folder = folder
        self.inbox = Kept()
        self.logs = []
        self.channel = None
        monkeypatch.setenv("SSL_CERT_FILE", str(server.cert))

    @asynccontextmanager
    async def listening(self, **settings):
        settings = {"server": "localhost", "port": self.server.tls,
                    "channels": ("#claw",), "allowed_users": ("alice",),
                    "flood_secs": 0.5, **settings}
        patience = settings.pop("patience", Patience())
        self.channel = IrcChannel(
            IrcSettings(**settings),
            ChannelDeps(workspace=self.folder, files=self.folder / "files",
                        log=lambda event, **f: self.logs.append((event, f)),
                        marks=Marks()), patience=patience)
        task = asyncio.create_task(self.channel.listen(self.inbox))
        try:
            await until(lambda: task.done() or self.has_joined())
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})
            await self.channel.aclose()

    def has_joined(self, after=None):
        """Whether a session is in the channel, another one than `after`."""
        session = self.session
        return session not in (None, after) and "#claw" in session.joined

    @property
    def session(self):
        return self.channel._client.current

    async def send(self, text, to="#claw"):
        await self.channel.send(SendMessage(text, to))

    @property
    def contents(self):
        return [m.content for m in self.inbox.messages]


def login(server, nick="alice"):
    person = Person(server.plain, nick)
    person.write(f"PRIVMSG NickServ :IDENTIFY alice {PASSWORD}")
    person.until("You are now identified")
    person.write("JOIN #claw")
    person.until(" 366 ")
    return person


async def read(person, sign):
    return await asyncio.to_thread(person.until, sign)


def test_inspircd_from_the_login_to_the_last_line(network, tmp_path,
                                                  monkeypatch):
    peer = Peer(network, tmp_path, monkeypatch)

    async def work():
        async with peer.listening(sasl_password=PASSWORD):
            alice = await asyncio.to_thread(login, network)
            alice.write("PRIVMSG #claw :claw: hello",
                        "PRIVMSG claw :\x02private\x02 caf\u00e9")
            await until(lambda: len(peer.inbox.messages) == 2)
            public, private = peer.inbox.messages
            await peer.send("one **two**\x01\r\nQUIT :x")
            first = await read(alice, "QUIT :x")
            await peer.send(LONG, private.reply_target)
            await read(alice, "the end")
            rows = await peer.channel.diagnose()
            alice.close()
            return public, private, first, alice.lines, rows

    public, private, first, lines, rows = asyncio.run(work())

    assert (public.content, public.sender) == ("<alice> hello",
                                               "account:alice")
    assert (private.content, private.reply_target) == ("private café",
                                                       "account:alice")
    assert public.id != private.id
    assert "PRIVMSG #claw :QUIT :x" in first
    got = [line.partition(" PRIVMSG alice :")[2] for line in lines
           if " PRIVMSG alice :" in line]
    assert " ".join(got) == LONG
    assert {row.status for row in rows} <= {"ok", "warn"}


def test_inspircd_tells_a_squatter_from_the_owner(network, tmp_path,
                                                  monkeypatch):
    peer = Peer(network, tmp_path, monkeypatch)

    async def work():
        async with peer.listening(sasl_password=PASSWORD):
            squatter = await asyncio.to_thread(Person, network.plain,
                                               "alice")
            squatter.write("PRIVMSG claw :I am alice")
            await read(squatter, "can't tell who you are")
            owner = await asyncio.to_thread(login, network, "al")
            owner.write("PRIVMSG claw :I really am")
            await until(lambda: peer.inbox.messages)
            await peer.send("for you", "account:alice")
            await read(owner, "PRIVMSG al :for you")
            owner.close()
            squatter.close()

    asyncio.run(work())

    assert peer.contents == ["I really am"]


def test_inspircd_refuses_a_wrong_password_and_says_so(
        network, tmp_path, monkeypatch):
    peer = Peer(network, tmp_path, monkeypatch)

    async def work():
        async with peer.listening(sasl_password="wrong-password"):
            return await peer.channel.diagnose()

    rows = {row.id: row for row in asyncio.run(work())}

    assert rows["account"].status == "fail"
    assert "wrong-password" not in repr(rows) + repr(peer.logs)
    assert "login_refused" in [event for event, _ in peer.logs]


def test_nickserv_of_atheme_takes_the_password(network, tmp_path,
                                               monkeypatch):
    peer = Peer(network, tmp_path, monkeypatch)

    async def work():
        async with peer.listening(nickserv_password=PASSWORD):
            return {row.id: row for row in await peer.channel.diagnose()}

    assert asyncio.run(work())["account"].status == "ok"


def test_a_burst_of_lines_is_no_flood(tmp_path, monkeypatch):
    """Of a server that forgives nothing: ten commands, and it hangs up."""
    with inspircd(services=False) as server:
        peer = Peer(server, tmp_path, monkeypatch)

        async def work():
            async with peer.listening(flood_secs=1.2):
                first = peer.session
                reader = await asyncio.to_thread(Person, server.plain, "al")
                reader.write("JOIN #claw")
                await read(reader, " 366 ")
                await peer.send("\n".join(f"line {n}" for n in range(7)))
                await read(reader, "line 6")
                reader.close()
                return first is peer.session

        assert asyncio.run(work())


def test_ngircd_without_accounts_and_with_a_nick_in_use(
        simple, tmp_path, monkeypatch):
    peer = Peer(simple, tmp_path, monkeypatch)

    async def work():
        rival = await asyncio.to_thread(Person, simple.plain, "claw")
        async with peer.listening(use_tls=False, port=simple.plain):
            before = peer.session.nick
            alice = await asyncio.to_thread(Person, simple.plain, "alice")
            alice.write(f"PRIVMSG {before} :hello")
            await until(lambda: peer.inbox.messages)
            await peer.send("answer\nin two lines", "alice")
            await read(alice, "PRIVMSG alice :in two lines")
            with pytest.raises(UnavailableError, match="401"):
                await peer.send("hi", "nobodyhere")
            rival.write("JOIN #claw")
            await read(rival, " 366 ")
            rival.write("QUIT")
            await until(lambda: peer.session.nick == "claw")
            rival.close()
            alice.close()
            return before

    before = asyncio.run(work())

    assert before == "claw_"
    assert peer.inbox.messages[0].sender == "alice"


def test_ngircd_restarted_and_stopped_in_its_tracks(tmp_path, monkeypatch):
    patience = Patience(silence_s=1.5, answer_s=1.5)
    monkeypatch.setattr("claw.channels.irc.client._WAITS_S", (0.0,))

    with ngircd("server-pass") as server:
        peer = Peer(server, tmp_path, monkeypatch)

        async def work():
            async with peer.listening(server_password="server-pass",
                                      patience=patience):
                first = peer.session
                await asyncio.to_thread(server.stop, signal.SIGKILL)
                await asyncio.to_thread(server.start)
                await until(lambda: peer.has_joined(after=first))
                second = peer.session
                server.freeze()
                await until(lambda: peer.session is not second)
                server.thaw()
                await until(lambda: peer.has_joined(after=second))

        asyncio.run(work())


def test_ngircd_with_a_wrong_server_password(tmp_path, monkeypatch):
    with ngircd("server-pass") as server:
        peer = Peer(server, tmp_path, monkeypatch)
        channel = IrcChannel(
            IrcSettings(server="localhost", port=server.tls,
                        server_password="wrong-pass"),
            ChannelDeps(workspace=tmp_path, files=tmp_path))

        async def work():
            with pytest.raises(ClawError) as raised:
                await channel.send(SendMessage("hi", "#a"))
            return raised.value

        error = asyncio.run(work())

    assert "wrong-pass" not in error.message
    assert peer.inbox.messages == []
