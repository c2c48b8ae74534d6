"""A fake IRC server on 127.0.0.1: registration with capabilities and SASL,
channels, accounts, echo-message, chathistory; and what goes wrong on real
ones (a kill, a netsplit, a host that no longer answers, a flood).

    with FakeIrc() as server:
        server.say("hello", nick="alice", to="claw")
        server.sent  # what the bot said

People are names on the server's side: `people` maps nicks to accounts ("" is
not logged in). What is said is kept while the server is down.
Source: modern.ircdocs.horse, ircv3.net/specs, read 2026-11.
"""

import asyncio
import base64
import itertools
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from claw.channels.irc.line import Line, read_line
from claw.testing.loop_thread import LoopThread

T = TypeVar("T")
NAME = "irc.fake.example"
CAPS = ("message-tags", "server-time", "echo-message", "account-tag",
        "batch", "draft/chathistory", "cap-notify", "sasl=PLAIN")


@dataclass(frozen=True, slots=True)
class Said:
    """A message on the server, of anybody."""

    nick: str
    target: str
    text: str
    msgid: str
    time: str
    account: str = ""


@dataclass(eq=False)
class _Client:
    """A connection of a bot."""

    writer: asyncio.StreamWriter
    nick: str = ""
    user: str = ""
    account: str = ""
    password: str = ""
    negotiates: bool = False
    registered: bool = False
    sasl: str | None = None
    caps: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        return f"{self.nick}!{self.user}@bot.example"


class FakeIrc:
    """Use as a context, or `up` and `down`. The attributes may be changed
    before `up`; `frozen` at any time: nothing is read or answered then."""

    def __init__(self, caps: Iterable[str] = CAPS, *,
                 certificate: ssl.SSLContext | None = None) -> None:
        self.host = "127.0.0.1"
        self.port = 0
        self.caps = list(caps)
        self.certificate = certificate
        self.people: dict[str, str] = {"alice": "alice"}
        self.accounts = {"claw": "a-password-of-the-fake"}
        self.nickserv: dict[str, str] = {}
        self.server_password = ""
        self.keys: dict[str, str] = {}  # of channels
        self.closed_to: set[str] = set()  # channels that nobody may join
        self.mute: set[str] = set()  # channels that take nothing
        self.support = ["CASEMAPPING=rfc1459", "CHANTYPES=#&", "NICKLEN=30",
                        "LINELEN=512", "CHATHISTORY=100"]
        self.most_lines: int | None = None  # then the bot is killed
        self.fault = ""
        self.frozen = False
        self.silent = False  # all is done, and nothing answered
        self.ghosts = True  # a nick goes to the latest connection of a bot
        self.everything: list[Said] = []
        self.received: list[str] = []  # lines of all clients
        self.problems: list[str] = []
        self._later: list[Callable[[], object]] = []
        self._was_there = False
        self._clients: list[_Client] = []
        self._rooms: dict[str, set[str]] = {}
        self._numbers = itertools.count(1)
        self._loop = LoopThread("fake-irc")
        self._server: asyncio.Server | None = None

    # -- life

    def __enter__(self) -> "FakeIrc":
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def up(self) -> None:
        """Listen, on the port of before."""
        self._loop.start()
        self._loop.run(self._listen())

    def down(self) -> None:
        """As a server that is stopped."""
        if self._loop.running:
            self._loop.run(self._stop())
            self._loop.stop()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(
            self._serve, self.host, self.port, ssl=self.certificate,
            limit=64 * 1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for client in list(self._clients):
            self._drop(client)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0.01)

    def _do(self, work: Callable[[], T]) -> T:
        return self._loop.call(work) if self._loop.running else work()

    def _each(self, work: Callable[[_Client], None]) -> None:
        def on_all() -> None:
            for client in list(self._clients):
                work(client)
        self._do(on_all)

    # -- what a test does and sees

    def say(self, text: str, *, nick: str = "alice", to: str = "claw",
            tags: str = "", command: str = "PRIVMSG") -> Said:
        """Somebody writes, though the bot may not be there."""
        return self._do(lambda: self._tell(
            nick, self.people.get(nick, ""), to, text, tags, command))

    def say_once_there(self, text: str, *, nick: str,
                       to: str = "claw") -> None:
        """As `say`, where a bot was in a channel already; else then."""
        def work() -> None:
            if self._was_there:
                self._tell(nick, self.people[nick], to, text, "", "PRIVMSG")
            else:
                self._later.append(lambda: self._tell(
                    nick, self.people[nick], to, text, "", "PRIVMSG"))
        self._do(work)

    def raw(self, line: str | bytes) -> None:
        """A line to all bots."""
        data = line if isinstance(line, bytes) else line.encode()
        self._each(lambda client: client.writer.write(data + b"\r\n"))

    def drop(self) -> None:
        """Every connection ends without a word."""
        self._each(self._drop)

    def kill_connections(self) -> int:
        """As a network that is cut; how many there were."""
        count = len(self._clients)
        self.drop()
        return count

    def kill(self, why: str = "Killed (oper (no reason))") -> None:
        self._each(lambda client: self._end(client, why))

    def kick(self, channel: str, nick: str = "claw") -> None:
        def work() -> None:
            self._rooms.get(channel, set()).discard(nick)
            for client in self._clients:
                self._send(client, f":op!o@h KICK {channel} {nick} :out")
        self._do(work)

    @property
    def sent(self) -> list[Said]:
        """What bots said, in order."""
        return [s for s in self.everything if s.nick not in self.people]

    @property
    def connections(self) -> int:
        return len(self._clients)

    @property
    def nicks(self) -> list[str]:
        return [client.nick for client in self._clients]

    def room(self, channel: str) -> set[str]:
        return set(self._rooms.get(channel, ()))

    # -- one connection

    async def _serve(self, reader: asyncio.StreamReader,
                     writer: asyncio.StreamWriter) -> None:
        client = _Client(writer)
        self._clients.append(client)
        if self.fault == "refuse":
            self._end(client, "Trying to reconnect too fast.")
        if self.fault == "reset":
            writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self._drop(client)
        if self.fault == "garbage":
            writer.write(b"\xff\xfe\0 HTTP/1.1 400 Bad Request\r\n\r\n")
            self._drop(client)
        try:
            while not writer.is_closing():
                raw = await reader.readuntil(b"\n")
                while self.frozen:  # noqa: ASYNC110, set by another thread
                    await asyncio.sleep(0.02)
                line = read_line(raw.rstrip(b"\r\n"))
                self.received.append(raw.decode("utf-8", "replace").strip())
                if len(raw.split(b" ", 1)[-1]) > 1024:
                    self.problems.append("a line of more than 1024 bytes")
                if line is not None:
                    self._take(client, line)
                with suppress(OSError):
                    await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError,
                OSError):
            pass
        finally:
            self._drop(client)

    def _drop(self, client: _Client) -> None:
        if client in self._clients:
            self._clients.remove(client)
        for members in self._rooms.values():
            members.discard(client.nick)
        with suppress(OSError, RuntimeError):
            client.writer.close()

    def _end(self, client: _Client, why: str) -> None:
        self._send(client, f"ERROR :Closing link: ({client.nick}) [{why}]")
        self._drop(client)

    def _send(self, client: _Client, line: str) -> None:
        if self.silent:
            return
        with suppress(OSError, RuntimeError):
            client.writer.write(line.encode("utf-8", "surrogatepass")
                                + b"\r\n")

    def _reply(self, client: _Client, numeric: str, rest: str) -> None:
        self._send(client, f":{NAME} {numeric} {client.nick or '*'} {rest}")

    def _take(self, client: _Client, line: Line) -> None:
        handler = getattr(self, f"_on_{line.command.lower()}", None)
        if handler is None:
            self._reply(client, "421", f"{line.command} :Unknown command")
        elif not client.registered and line.command not in (
                "CAP", "PASS", "NICK", "USER", "AUTHENTICATE", "PING",
                "PONG", "QUIT"):
            self._reply(client, "451", ":You have not registered")
        else:
            handler(client, line)

    # -- registration

    def _on_cap(self, client: _Client, line: Line) -> None:
        command = line.param(0).upper()
        if not self.caps:
            self._reply(client, "421", "CAP :Unknown command")
        elif command == "LS":
            client.negotiates = True
            half = len(self.caps) // 2
            self._reply(client, "CAP", "LS * :" + " ".join(self.caps[:half]))
            self._reply(client, "CAP", "LS :" + " ".join(self.caps[half:]))
        elif command == "REQ":
            names = {cap.partition("=")[0] for cap in self.caps}
            wanted = line.last.split()
            fine = names.issuperset(wanted)
            if fine:
                client.caps.update(wanted)
            self._reply(client, "CAP", f"{'ACK' if fine else 'NAK'} :"
                        + line.last)
        elif command == "END":
            client.negotiates = False
            self._welcome(client)

    def _on_authenticate(self, client: _Client, line: Line) -> None:
        if client.sasl is None:
            client.sasl = ""
            self._send(client, "AUTHENTICATE :+")  # as InspIRCd writes it
            return
        client.sasl += "" if line.last == "+" else line.last
        if len(line.last) == 400:
            return
        name, _, password = base64.b64decode(
            client.sasl).decode().rpartition("\0")
        client.sasl = None
        name = name.rpartition("\0")[2]
        if self.accounts.get(name) == password:
            client.account = name
            self._reply(client, "900", f"{client.nick}!u@h {name} :You are "
                        f"now logged in as {name}")
            self._reply(client, "903", ":SASL authentication successful")
        else:
            self._reply(client, "904", ":SASL authentication failed")

    def _on_pass(self, client: _Client, line: Line) -> None:
        client.password = line.last

    def _on_nick(self, client: _Client, line: Line) -> None:
        wanted = line.last
        rivals = [c for c in self._clients
                  if c is not client and c.nick == wanted]
        if self.ghosts:
            for rival in rivals:
                self._drop(rival)
            rivals = []
        taken = {*self.people, *(c.nick for c in rivals)}
        if not wanted or " " in wanted or len(wanted) > 30:
            self._reply(client, "432", f"{wanted} :Erroneous nickname")
        elif wanted in taken:
            self._reply(client, "433", f"{wanted} :Nickname is in use")
        else:
            if client.registered:
                self._send(client, f":{client.source} NICK :{wanted}")
                for members in self._rooms.values():
                    if client.nick in members:
                        members.discard(client.nick)
                        members.add(wanted)
            client.nick = wanted
            self._welcome(client)

    def _on_user(self, client: _Client, line: Line) -> None:
        client.user = "~" + line.param(0)[:10]
        self._welcome(client)

    def _welcome(self, client: _Client) -> None:
        if client.registered or client.negotiates or not client.nick \
                or not client.user:
            return
        if self.server_password and client.password != self.server_password:
            self._reply(client, "464", ":Password incorrect")
            self._end(client, "Bad password")
            return
        client.registered = True
        self._reply(client, "001", f":Welcome {client.source}")
        self._reply(client, "005", " ".join(self.support)
                    + " :are supported by this server")
        self._reply(client, "422", ":MOTD File is missing")

    # -- afterwards

    def _on_ping(self, client: _Client, line: Line) -> None:
        self._send(client, f":{NAME} PONG {NAME} :{line.last}")

    def _on_pong(self, client: _Client, line: Line) -> None:
        pass

    def _on_quit(self, client: _Client, line: Line) -> None:
        self._end(client, "Quit")

    def _on_join(self, client: _Client, line: Line) -> None:
        names, keys = line.param(0).split(","), line.param(1).split(",")
        for channel, key in itertools.zip_longest(names, keys):
            self._join(client, channel, key or "")

    def _join(self, client: _Client, channel: str, key: str) -> None:
        if channel in self.closed_to:
            self._reply(client, "473", f"{channel} :Cannot join (+i)")
        elif self.keys.get(channel, "") not in ("", key):
            self._reply(client, "475", f"{channel} :Cannot join (+k)")
        else:
            self._rooms.setdefault(channel, set()).add(client.nick)
            head = f"@time={_now()} " if "server-time" in client.caps else ""
            self._send(client, f"{head}:{client.source} JOIN {channel}")
            self._reply(client, "366", f"{channel} :End of /NAMES list.")
            self._was_there = True
            for say in self._later:
                say()
            self._later.clear()

    def _on_whois(self, client: _Client, line: Line) -> None:
        nick = line.last
        if nick in self.people:
            self._reply(client, "311", f"{nick} u {nick}.example * :{nick}")
            if account := self.people[nick]:
                self._reply(client, "330", f"{nick} {account} :is logged in "
                            "as")
            self._reply(client, "318", f"{nick} :End of /WHOIS list.")
        else:
            self._reply(client, "401", f"{nick} :No such nick")

    def _on_tagmsg(self, client: _Client, line: Line) -> None:
        pass

    def _on_notice(self, client: _Client, line: Line) -> None:
        pass

    def _on_privmsg(self, client: _Client, line: Line) -> None:
        target, text = line.param(0), line.last
        if self.most_lines is not None:
            self.most_lines -= 1
            if self.most_lines < 0:
                self._end(client, "Excess Flood")
                return
        if target.lower() == "nickserv" and self.nickserv:
            self._identify(client, text)
        elif target.startswith(("#", "&")):
            if client.nick not in self.room(target) or target in self.mute:
                self._reply(client, "404", f"{target} :Cannot send to "
                            "channel")
            else:
                self._keep(client, target, text)
        elif target in self.people:
            self._keep(client, target, text)
        else:
            self._reply(client, "401", f"{target} :No such nick/channel")

    def _identify(self, client: _Client, text: str) -> None:
        good = self.nickserv.get(client.nick) == text.split()[-1]
        client.account = client.nick if good else ""
        self._send(client, f":NickServ!s@services.example NOTICE "
                   f"{client.nick} :" + ("You are now identified for "
                                         if good else "Invalid password for ")
                   + client.nick)

    def _keep(self, client: _Client, target: str, text: str) -> None:
        said = self._add(client.nick, target, text, client.account)
        if "echo-message" in client.caps:
            self._send(client, self._write(client, said, client.source))

    def _tell(self, nick: str, account: str, target: str, text: str,
              tags: str, command: str) -> Said:
        said = self._add(nick, target, text, account)
        for client in self._clients:
            if client.registered and (target == client.nick
                                      or client.nick in self.room(target)):
                self._send(client, self._write(
                    client, said, f"{nick}!u@{nick}.example", tags, command))
        return said

    def _add(self, nick: str, target: str, text: str, account: str) -> Said:
        said = Said(nick, target, text, f"m{next(self._numbers)}x", _now(),
                    account)
        self.everything.append(said)
        return said

    def _write(self, client: _Client, said: Said, source: str,
               tags: str = "", command: str = "PRIVMSG",
               batch: str = "") -> str:
        found = [tags] if tags and "message-tags" in client.caps else []
        if batch:
            found.append(f"batch={batch}")
        if "server-time" in client.caps:
            found.append(f"time={said.time}")
        if "message-tags" in client.caps:
            found.append(f"msgid={said.msgid}")
        if said.account and "account-tag" in client.caps:
            found.append(f"account={said.account}")
        head = f"@{';'.join(found)} " if found else ""
        text = said.text.translate({0: None, 10: " ", 13: " "})
        return f"{head}:{source} {command} {said.target} :{text}"

    # -- chathistory

    def _on_chathistory(self, client: _Client, line: Line) -> None:
        if "draft/chathistory" not in client.caps:
            self._reply(client, "421", "CHATHISTORY :Unknown command")
            return
        command, target = line.param(0), line.param(1)
        batch = f"b{next(self._numbers)}"
        if command == "TARGETS":
            talks = self._find_talks(client,
                                     target.removeprefix("timestamp="))
            self._send(client, f":{NAME} BATCH +{batch} "
                               "draft/chathistory-targets")
            for nick in talks:
                self._send(client, f"@batch={batch} :{NAME} CHATHISTORY "
                                   f"TARGETS {nick} {_now()}")
        else:
            found = [s for s in self.everything if self._is_in(
                client, s, target)]
            if command == "AFTER":
                since = line.param(2).removeprefix("timestamp=")
                found = [s for s in found if s.time > since]
                found = found[:int(line.last)]
            else:
                found = found[-int(line.last):]
            self._send(client, f":{NAME} BATCH +{batch} chathistory {target}")
            for said in found:
                self._send(client, self._write(
                    client, said, f"{said.nick}!u@{said.nick}.example",
                    batch=batch))
        self._send(client, f":{NAME} BATCH -{batch}")

    def _find_talks(self, client: _Client, since: str) -> list[str]:
        return list(dict.fromkeys(
            s.nick for s in self.everything
            if s.target == client.nick and s.time > since))

    def _is_in(self, client: _Client, said: Said, target: str) -> bool:
        if target.startswith("#"):
            return said.target == target
        return {said.nick, said.target} == {client.nick, target}


def _now() -> str:
    time.sleep(0.001)  # no two lines of one millisecond
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:23] + "Z"
