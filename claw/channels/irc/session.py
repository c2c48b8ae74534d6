"""One registered connection: what the server says, and questions to it.

A question is a line with a PING behind it: what comes before its PONG is the
answer, and the PONG says that the server has taken the line. Where nothing
comes for a minute a PING asks whether anybody is there.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, TypeVar

from claw.channels.irc.line import Line, fold, strip_formats, write_line
from claw.channels.irc.register import (
    ACCOUNT_CAPS,
    Registration,
    judge_end,
)
from claw.channels.irc.settings import IrcSettings
from claw.channels.irc.wire import Bucket, Wire
from claw.core.errors import ClawError, UnavailableError
from claw.core.failpoint import reach
from claw.core.log import Log
from claw.core.value import Value

T = TypeVar("T")
ECHO_S = 5.0
REJOIN_S = 15.0
REGAIN_S = 60.0
# What registering and a PING cost of the room for lines: servers count them.
_START_LINES, _PING_LINES = 4, 0.25
_JOINS = 10  # channels of one line
_HOST_BYTES = 63
_USER_BYTES = 11
_NOT_JOINED = ("403", "405", "437", "471", "473", "474", "475", "476", "477",
               "480", "489")
# Of an answer to WHOIS, and why there is none now.
_WHOIS = ("263", "311", "318", "330", "401", "402")
_MOVES = ("JOIN", "KICK", "NICK", "PART", "QUIT")
# Who somebody is, his server, and that he is a service or an operator.
_SERVICE = ("310", "311", "312", "313")
_KNOWN = re.compile("identified|logged in|accepted|recogni[sz]ed", re.I)
_UNKNOWN = re.compile("incorrect|invalid|wrong|denied|not registered"
                      "|isn't registered|not a registered", re.I)


class Patience(Value):
    """How long a server may be silent before it is asked whether it is
    there, and take for an answer, for registering us, for what it supports
    and for NickServ."""

    silence_s: float = 60.0
    answer_s: float = 20.0
    register_s: float = 30.0
    motd_s: float = 3.0
    identify_s: float = 5.0


class Whois(Value):
    """Who a nick is: `account` "" where he is not logged in, `address`
    user@host. Not `works`: the server knows nothing of such questions."""

    account: str = ""
    address: str = ""
    works: bool = True


class _Question:
    """What is asked right now."""

    def __init__(self, token: str, takes: Callable[[Line], bool],
                 ends: Callable[[Line], bool]) -> None:
        self.token = token
        self.takes = takes
        self.ends = ends
        self.found: list[Line] = []
        self.answer: asyncio.Future[list[Line]] = \
            asyncio.get_running_loop().create_future()

    def hear(self, line: Line) -> None:
        if self.takes(line):
            self.found.append(line)
        if not self.answer.done() and (self.ends(line) or (
                line.command == "PONG" and line.last == self.token)):
            self.answer.set_result(self.found)


class Session:
    """A connection from its first line to its end.

    `hears` gets what people write, `heard` is called for every line.
    """

    def __init__(self, wire: Wire, settings: IrcSettings, log: Log, *,
                 hears: Callable[["Session", Line], None],
                 heard: Callable[[], None],
                 patience: Patience) -> None:
        self._wire = wire
        self._settings = settings
        self._log = log
        self._hears = hears
        self._heard = heard
        self._patience = patience
        self._start = Registration(settings, log, wire.post)
        self._bucket = Bucket(settings.flood_lines, settings.flood_secs)
        self._turn = asyncio.Lock()
        self._question: _Question | None = None
        self._tokens = count(1)
        self._reader: asyncio.Task[None] | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._batches: set[str] = set()
        self._identified: asyncio.Future[bool] = self._make_future()
        self._told: asyncio.Future[bool] = self._make_future()
        self._address = ""  # ours, user@host as others see it
        self._kicks = 0
        self.support: dict[str, str] = {}
        self.joined: set[str] = set()
        # Whom a WHOIS found and when, by nick; None while it is asked.
        # Who comes, goes or is called otherwise is forgotten.
        self.known: dict[str, tuple[float, Whois] | None] = {}
        self.refused: dict[str, float] = {}  # who may not, until when
        self.is_identified = False
        self._trusts_nickserv = False
        self.began_at = ""  # the server's time when we came
        self.closed: asyncio.Future[ClawError] = \
            asyncio.get_running_loop().create_future()

    @staticmethod
    def _make_future() -> "asyncio.Future[bool]":
        return asyncio.get_running_loop().create_future()

    # -- what is known

    @property
    def nick(self) -> str:
        return self._start.nick

    @property
    def wanted_nick(self) -> str:
        """The nick of the settings, as far as the server takes it."""
        most = self.support.get("NICKLEN", "")
        return self._settings.nickname[:int(most) if most.isdecimal()
                                       and 0 < len(most) < 6 else None]

    @property
    def caps(self) -> set[str]:
        return self._start.caps

    @property
    def login_refused(self) -> str:
        return self._start.refused

    @property
    def account(self) -> str:
        """Ours; "" where we are not logged in."""
        return self._start.account

    @property
    def has_accounts(self) -> bool:
        """Whether this server shows that its network has accounts."""
        return self.shows_accounts or "sasl" in self._start.offered

    @property
    def shows_accounts(self) -> bool:
        """Whether this server can say who is logged in."""
        return not ACCOUNT_CAPS.isdisjoint(self._start.offered)

    @property
    def is_open(self) -> bool:
        return not self.closed.done()

    def fold(self, name: str) -> str:
        return fold(name, self.support.get("CASEMAPPING", "rfc1459"))

    def is_channel(self, target: str) -> bool:
        return target.startswith(tuple(self.support.get("CHANTYPES", "#&")
                                       or "#"))

    def room(self, target: str) -> int:
        """The bytes of text that a PRIVMSG to the target can have, as it
        reaches others: with our address in front."""
        length = self.support.get("LINELEN", "")
        most = int(length) if length.isdecimal() and len(length) < 6 else 512
        address = len(self._address.encode()) or (
            _USER_BYTES + 1 + _HOST_BYTES)
        head = f":{self.nick}! PRIVMSG {target} :\r\n"
        return max(64, most - len(head.encode()) - address)

    # -- the beginning

    async def open(self) -> None:
        """Register and identify. Raises AuthError, ConfigError,
        UnavailableError."""
        try:
            async with asyncio.timeout(self._patience.register_s):
                self._start.hello()
                while not self._start.welcomed:
                    line = await self._wire.read()
                    self._heard()
                    if line is not None:
                        self._start.take(line)
        except TimeoutError as error:
            raise UnavailableError(
                f"{self._settings.server} owes us {self._start.step} for "
                f"{self._patience.register_s:g} s",
                hint="claw channel doctor irc") from error
        self._bucket.count(_START_LINES)
        self._reader = asyncio.create_task(self._read())
        await self._wait_for(self._told, self._patience.motd_s)
        self._check()
        if len(mode := self.support.get("BOT", "")) == 1:
            self._wire.post(write_line("MODE", self.nick, f"+{mode}"))
        if self._settings.nickserv_password:
            self._trusts_nickserv = not await self._is_nickserv_false()
            if not self._start.logged_in:
                await self._identify()

    async def _is_nickserv_false(self) -> bool:
        """Whether NickServ is somebody like us: while services are away,
        and where there are none, anybody may have that nick."""
        lines = {line.command: line for line in await self.ask(
            write_line("WHOIS", "NickServ"),
            takes=lambda line: line.command in _SERVICE)}
        return ("311" in lines and not {"310", "313"} & set(lines)
                and not ("312" in lines and "service"
                         in lines["312"].param(2).lower()))

    async def _identify(self) -> None:
        """Tell NickServ the password, and wait until it is taken: what is
        joined before shows our address, or is closed to us."""
        if not self._trusts_nickserv:
            self._log("identify_refused", hint="who has the nick NickServ "
                      "is no service of this network: the password is not "
                      "sent")
            return
        words = ["IDENTIFY", self._settings.nickserv_password]
        if self.nick != self._settings.nickname:
            words.insert(1, self._settings.nickname)
        self._identified = self._make_future()
        errors = await self.ask(
            write_line("PRIVMSG", "NickServ", " ".join(words)),
            takes=lambda line: line.command == "401")
        if not errors:
            known = await self._wait_for(self._identified,
                                         self._patience.identify_s)
            self.is_identified = known is True
        if not self.is_identified:
            self._log("identify_refused", hint="is NickServ there, and is "
                      "channels_config.irc.nickserv_password right?")

    def regain(self) -> None:
        """Ask for our own nick now, and from time to time; for a listener,
        as it throws out whoever has it."""
        wanted, password = (self.wanted_nick,
                            self._settings.nickserv_password)
        if self.fold(self.nick) == self.fold(wanted):
            return
        if password and self._trusts_nickserv \
                and "regain" not in self._timers:
            self._wire.post(write_line("PRIVMSG", "NickServ",
                                       f"GHOST {wanted} {password}"))
        self._wire.post(write_line("NICK", wanted))
        self._later("regain", REGAIN_S, self.regain)

    async def join(self, *channels: str) -> None:
        """Join "#name" or "#name key"; `joined` tells what came of it.
        Raises UnavailableError."""
        entries = [entry for entry in channels if entry.split()]
        for at in range(0, len(entries), _JOINS):
            await self._join(entries[at:at + _JOINS])

    async def _join(self, entries: Sequence[str]) -> None:
        waited = {self.fold(entry.split()[0]) for entry in entries}

        def is_last(line: Line) -> bool:
            if line.command in _NOT_JOINED:
                waited.discard(self.fold(line.param(1)))
            elif line.command == "JOIN" and self.is_ours(line):
                waited.discard(self.fold(line.param(0)))
            return not waited

        await self.ask(write_join(*entries), ends=is_last)

    # -- questions

    async def ask(self, *lines: bytes,
                  takes: Callable[[Line], bool] = lambda line: False,
                  ends: Callable[[Line], bool] | None = None,
                  leaving: Callable[[], None] = lambda: None) -> list[Line]:
        """Send lines; the lines of the answer that `takes` wants. With
        `ends`, which knows the last of them, the PING comes later, if at
        all. Raises UnavailableError; where no answer comes the connection
        is given up, and whether the lines arrived is unknown."""
        async with self._turn:
            if lines:
                await self._bucket.take()
                self._bucket.count(0 if ends else _PING_LINES)
            self._check()
            ping = f"claw-{next(self._tokens)}"
            fence = write_line("PING", ping)
            asked = self._question = _Question(
                ping, takes, ends or (lambda line: False))
            try:
                leaving()
                reach("net.request")
                await self._wire.write(*lines, b"" if ends else fence)
                if ends and await self._wait_for(
                        asked.answer, ECHO_S) is None:
                    await self._wire.write(fence)
                patience_s = self._patience.answer_s
                if await self._wait_for(asked.answer, patience_s) is None:
                    self.fail(UnavailableError(
                        f"{self._settings.server} has not answered for "
                        f"{patience_s:g} s", hint="try again"))
                self._check(asked)
                reach("net.response")
                return asked.found
            finally:
                self._question = None

    async def _wait_for(self, news: "asyncio.Future[T]",
                        seconds: float) -> T | None:
        """What comes within so many seconds; None at the end, too."""
        both: set[asyncio.Future[Any]] = {news, self.closed}
        await asyncio.wait(both, timeout=seconds,
                           return_when=asyncio.FIRST_COMPLETED)
        return news.result() if news.done() else None

    def _check(self, asked: _Question | None = None) -> None:
        if self.closed.done() and not (asked and asked.answer.done()):
            error = self.closed.result()
            raise UnavailableError(error.message,
                                   hint=error.hint) from error

    async def whois(self, nick: str) -> Whois:
        """Who has a nick; an address of "" where nobody has it."""
        key = self.fold(nick)
        lines = await self.ask(
            write_line("WHOIS", nick),
            takes=lambda line: line.command in _WHOIS)
        known = {line.command: line for line in lines
                 if self.fold(line.param(1)) == key}
        who, account = known.get("311"), known.get("330")
        return Whois(account.param(2) if account else "",
                     f"{who.param(2)}@{who.param(3)}" if who else "",
                     bool(lines))

    def post(self, line: bytes) -> None:
        """A line that nobody waits for, where there is room for it."""
        self._bucket.count()
        self._wire.post(line)

    @property
    def has_room(self) -> bool:
        """Whether a line of no importance may go."""
        return self._bucket.wait_s == 0 and self.is_open

    # -- what comes

    async def _read(self) -> None:
        try:
            while self.is_open:
                try:
                    async with asyncio.timeout(self._patience.silence_s):
                        line = await self._wire.read()
                except TimeoutError:
                    self._wire.post(write_line("PING", "claw-alive"))
                    async with asyncio.timeout(self._patience.answer_s):
                        line = await self._wire.read()
                self._heard()
                if line is not None:
                    self._take(line)
        except TimeoutError:
            self.fail(UnavailableError(
                f"{self._settings.server} is silent", hint="try again"))
        except ClawError as error:
            self.fail(error)

    def _take(self, line: Line) -> None:
        if line.command in _MOVES:
            nick = self.fold(line.param(1) if line.command == "KICK"
                             else line.nick)
            self.known.pop(nick, None)
            self.refused.pop(nick, None)
        if line.command == "PING":
            self._wire.post(write_line("PONG", line.last))
        elif handle := _HANDLERS.get(line.command):
            handle(self, line)
        elif line.command in _NOT_JOINED:
            self._note_refusal(line)
        elif error := judge_end(line, self._settings):
            self.fail(error)
        if self._question is not None:
            self._question.hear(line)

    def is_ours(self, line: Line) -> bool:
        return self.fold(line.nick) == self.fold(self.nick)

    def is_history(self, line: Line) -> bool:
        """Whether it is an answer about what was said before."""
        return line.tags.get("batch") in self._batches

    def _learn(self, line: Line) -> None:
        """Our address, as others see it."""
        _, sign, address = line.source.partition("!")
        if sign:
            self._address = address

    def _take_support(self, line: Line) -> None:
        for token in line.params[1:-1]:
            name, _, value = token.partition("=")
            if name.startswith("-"):
                self.support.pop(name[1:], None)
            else:
                self.support[name] = value

    def _take_message(self, line: Line) -> None:
        if self.is_history(line):
            return
        if self.is_ours(line):
            self._learn(line)
        else:
            self._hears(self, line)

    def _take_notice(self, line: Line) -> None:
        """NickServ's answer; nothing else that is a notice is read."""
        if self.fold(line.nick) == "nickserv":
            text = strip_formats(line.last)
            if _KNOWN.search(text):
                self._end_identify(True)
            elif _UNKNOWN.search(text):
                self._end_identify(False)

    def _take_mode(self, line: Line) -> None:
        if self.fold(line.param(0)) == self.fold(self.nick) \
                and re.match(r"\+\w*r", line.param(1)):
            self._end_identify(True)

    def _end_identify(self, known: bool) -> None:
        if not self._identified.done():
            self._identified.set_result(known)

    def _take_motd(self, line: Line) -> None:
        """Its end: what the server supports has been said."""
        if not self._told.done():
            self._told.set_result(True)

    def _take_login(self, line: Line) -> None:
        self._start.account = line.param(2)
        self._end_identify(True)

    def _take_nick(self, line: Line) -> None:
        if self.is_ours(line):
            self._start.nick = line.last
            self._later("regain", REGAIN_S, self.regain)
        else:
            self._take_leaver(line)

    def _take_leaver(self, line: Line) -> None:
        """Somebody has given up a nick: perhaps it was ours."""
        wanted = self.fold(self.wanted_nick)
        if self.fold(line.nick) == wanted != self.fold(self.nick):
            self._wire.post(write_line("NICK", self.wanted_nick))

    def _take_join(self, line: Line) -> None:
        if self.is_ours(line):
            self._learn(line)
            self.began_at = self.began_at or line.tags.get("time", "")
            self.joined.add(self.fold(line.param(0)))

    def _take_part(self, line: Line) -> None:
        if self.is_ours(line):
            self.joined.discard(self.fold(line.param(0)))

    def _take_kick(self, line: Line) -> None:
        if self.fold(line.param(1)) == self.fold(self.nick):
            self.joined.discard(self.fold(line.param(0)))
            self._log("kicked", channel=line.param(0), by=line.nick,
                      why=strip_formats(line.last)[:200])
            self._kicks += 1
            self._rejoin(line.param(0),
                         REJOIN_S * 4 ** min(self._kicks - 1, 3))

    def _note_refusal(self, line: Line) -> None:
        if self.find_entry(line.param(1)) \
                and self.fold(line.param(1)) not in self.joined:
            self._log("not_joined", channel=line.param(1),
                      error=strip_formats(line.last)[:200],
                      hint="is the key right, and may the bot in? See "
                           "channels_config.irc.channels")
            self._rejoin(line.param(1), 4 * REJOIN_S)

    def find_entry(self, channel: str) -> str | None:
        """A channel of the settings, with its key."""
        return next((entry for entry in self._settings.channels
                     if entry.split() and self.fold(entry.split()[0])
                     == self.fold(channel)), None)

    def _rejoin(self, channel: str, seconds: float) -> None:
        entry = self.find_entry(channel)
        if entry is not None:
            self._later(f"join {self.fold(channel)}", seconds,
                        lambda: self._wire.post(write_join(entry)))

    def _take_batch(self, line: Line) -> None:
        sign, name = line.param(0)[:1], line.param(0)[1:]
        if sign == "+" and line.param(1) == "chathistory":
            self._batches.add(name)
        elif sign == "-":
            self._batches.discard(name)

    def _take_cap(self, line: Line) -> None:
        if line.param(1).upper() == "DEL":
            self.caps.difference_update(line.last.split())
        elif line.param(1).upper() == "NEW":
            self._start.offered.update(
                (name.partition("=")[0], "") for name in line.last.split())

    def _take_host(self, line: Line) -> None:
        """396: our address is another one now."""
        user = self._address.partition("@")[0]
        host = line.param(1).rpartition("@")[2]
        self._address = f"{user or 'x' * _USER_BYTES}@{host}"

    # -- the end

    def _later(self, name: str, seconds: float,
               work: Callable[[], Any]) -> None:
        if old := self._timers.get(name):
            old.cancel()
        self._timers[name] = asyncio.get_running_loop().call_later(
            seconds, work)

    def fail(self, error: ClawError) -> None:
        """It is over."""
        if not self.closed.done():
            self.closed.set_result(error)
        self._end(b"")

    async def aclose(self) -> None:
        """Say goodbye; takes a moment at most."""
        if not self.closed.done():
            self.closed.set_result(UnavailableError("claw hung up"))
        self._end(write_line("QUIT", "bye"))
        await self._wire.wait_closed()

    def _end(self, farewell: bytes) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._wire.close(farewell)
        if self._reader is not None \
                and self._reader is not asyncio.current_task():
            self._reader.cancel()


def write_join(*entries: str) -> bytes:
    """A JOIN of each "#name" or "#name key"; those with keys come first."""
    words = sorted((entry.split()[:2] for entry in entries),
                   key=len, reverse=True)
    keys = ",".join(word[1] for word in words if len(word) > 1)
    names = ",".join(word[0] for word in words)
    return write_line("JOIN", names, *([keys] if keys else ()))


_HANDLERS: dict[str, Callable[[Session, Line], None]] = {
    "005": Session._take_support,
    "376": Session._take_motd,
    "396": Session._take_host,
    "422": Session._take_motd,
    "900": Session._take_login,
    "BATCH": Session._take_batch,
    "CAP": Session._take_cap,
    "JOIN": Session._take_join,
    "KICK": Session._take_kick,
    "MODE": Session._take_mode,
    "NICK": Session._take_nick,
    "NOTICE": Session._take_notice,
    "PART": Session._take_part,
    "PRIVMSG": Session._take_message,
    "QUIT": Session._take_leaver,
}
