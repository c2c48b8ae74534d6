"""Who somebody is. A nick is no identity: who has it now need not be who had
it a minute ago.

Where a network has accounts a person is "account:NAME", as the server vouches
for it (the `account` tag, else WHOIS), and who is not logged in "nick:NAME",
which no entry of the allow-list means but one that says so. Where there are
no accounts at all a person is the nick. Names are in lower case of ASCII: what
a server holds equal beyond that is refused rather than mixed up.
Source: ircv3.net/specs/extensions/account-tag, WHOIS replies 311 and 330.
"""

import time
from collections.abc import Callable, Iterable

from claw.channels.access import Person
from claw.channels.irc.line import Line, fold
from claw.channels.irc.session import Session, Whois
from claw.channels.irc.settings import IrcSettings
from claw.core.channel import KeepsMarks
from claw.core.errors import RequestRefusedError, UnavailableError
from claw.core.value import Value

ACCOUNT, NICK = "account:", "nick:"
# How long the answer about a nick holds, while nobody is seen to leave it;
# who is not logged in may be in a moment, but must not keep us asking.
_FRESH_S, _UNKNOWN_S = 30.0, 5.0
_SEEN_S = 10.0  # an answer of many lines asks not for each
_MOST = 1_000


class AwayError(UnavailableError):
    """Nobody is there to be told; nothing has left."""

    maybe_sent = False


class Who(Value):
    """`id` is the stable id and the address of private answers, `entries`
    what in an allow-list names this person."""

    id: str
    nick: str
    entries: tuple[str, ...]
    is_known: bool  # the id is one that others can't take at will

    @property
    def people(self) -> tuple[Person, ...]:
        return tuple(map(Person, self.entries))


class People:
    """The people of one network."""

    def __init__(self, settings: IrcSettings, marks: KeepsMarks,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._marks = marks
        self._clock = clock
        self._vouched = bool(settings.sasl_password or settings.client_cert
                             or settings.nickserv_password) or any(
            str(entry).startswith(ACCOUNT)
            for entry in settings.allowed_users)
        self._mark = f"accounts:{settings.server.lower()}"

    def has_accounts(self, session: Session) -> bool:
        """Whether the network has accounts: a sign of it holds for good, or
        a server that is cut off from services would let anybody in."""
        if self._vouched or self._marks.get(self._mark):
            return True
        if session.has_accounts:
            self._marks.set(self._mark, "yes")
        return session.has_accounts

    async def identify(self, session: Session, line: Line) -> Who:
        """Who has written a line. Raises UnavailableError."""
        nick = name(line.nick)
        if not self.has_accounts(session):
            return Who(nick, line.nick, (nick, NICK + nick), True)
        account = (line.tags.get("account", "")
                   if "account-tag" in session.caps
                   else await self._look_up(session, line))
        if account is None:
            return Who(nick, line.nick, (nick, NICK + nick), True)
        account = name(account)
        if not account or account == "*":
            return Who(NICK + nick, line.nick, (NICK + nick,), False)
        self._remember(account, nick)
        return Who(ACCOUNT + account, line.nick,
                   (ACCOUNT + account, account, NICK + nick), True)

    async def _look_up(self, session: Session, line: Line) -> str | None:
        """The account of who has the nick now, if that is who wrote; None
        where the server has no way to tell."""
        address = line.source.partition("!")[2]
        who = self._recall(session, line.nick, _FRESH_S)
        if who is None or (who.address != address and not self._recall(
                session, line.nick, _UNKNOWN_S)):
            who = await self._ask(session, line.nick)
        if not who.works and not session.shows_accounts:
            return None
        return who.account if who.address == address else ""

    def _recall(self, session: Session, nick: str, seconds: float
                ) -> Whois | None:
        """What was found so lately, of who is still there."""
        at, who = session.known.get(session.fold(nick)) or (0.0, Whois())
        if not who.account:
            seconds = _UNKNOWN_S
        return who if at and self._clock() < at + seconds else None

    async def _ask(self, session: Session, nick: str) -> Whois:
        """Who has a nick; nobody, where it changed hands meanwhile."""
        key = session.fold(nick)
        if len(session.known) >= _MOST:
            session.known.clear()
        session.known[key] = None
        who = await session.whois(nick)
        if key not in session.known:
            return Whois(works=who.works)
        session.known[key] = (self._clock(), who)
        return who

    # -- the other way

    def _remember(self, account: str, nick: str) -> None:
        key = f"nick:{account}"
        if nick != (self._marks.get(key) or account):
            self._marks.set(key, nick)

    async def find(self, session: Session, recipient: str) -> str:
        """The nick or channel behind an address. Raises AwayError where
        nobody is logged in as the account, RequestRefusedError for what is
        no address."""
        target = recipient.removeprefix(NICK)
        if not recipient.startswith(ACCOUNT):
            check_target(target, session)
            return target
        account = name(recipient.removeprefix(ACCOUNT))
        check_target(account, session)
        last = self._marks.get(f"nick:{account}")
        for nick in dict.fromkeys(filter(None, (last, account))):
            who = self._recall(session, nick, _SEEN_S)
            if who is None or name(who.account) != account:
                who = await self._ask(session, nick)
            if name(who.account) == account:
                return nick
        raise AwayError(f"nobody is logged in as {account} now",
                        hint="it is sent when they are back")


    def guess(self, session: Session, recipient: str) -> str:
        """The nick that is likely behind an address, for what does no harm
        in the wrong place. Raises RequestRefusedError."""
        account = name(recipient.removeprefix(ACCOUNT))
        target = (self._marks.get(f"nick:{account}") or account) \
            if recipient.startswith(ACCOUNT) else recipient.removeprefix(NICK)
        check_target(target, session)
        return target


def name(text: str) -> str:
    """The one spelling of a nick or account in ids and marks."""
    return fold(text, "ascii")


def read_entries(entries: Iterable[str | int]) -> list[str]:
    """An allow-list as ids are written."""
    return [name(str(entry).strip()) for entry in entries]


def check_target(target: str, session: Session) -> None:
    """Raises RequestRefusedError for what no message can go to: several at
    once, a mask of servers, words."""
    bare = target.lstrip("@+%&~") if target[:1] in "@+%~" else target
    bad = " ,\0\r\n\a:" + ("" if session.is_channel(bare) else "!@*?$#&")
    if not bare or len(target.encode()) > 200 or any(
            sign in bad or not sign.isprintable() for sign in bare):
        raise RequestRefusedError(
            f"{target[:60]!r} is no nick or channel of IRC",
            hint='write irc:NICK, irc:account:NAME or "irc:#channel"')
