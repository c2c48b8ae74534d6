"""From a PRIVMSG to what is put in the inbox: whether it is for us, and who
may.

Never answered: notices, services, other bots, ourselves. CTCP questions are,
slowly.
"""

import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime

from claw.channels.access import Door, Hints, read_code
from claw.channels.answers import is_answer, is_lone
from claw.channels.irc.line import (
    Line,
    read_ctcp,
    strip_formats,
    write_ctcp,
)
from claw.channels.irc.outgoing import make_parts
from claw.channels.irc.people import People, Who, name, read_entries
from claw.channels.irc.session import Session
from claw.channels.irc.settings import IrcSettings
from claw.core.abilities import TakesReplies
from claw.core.channel import (
    STRANGER,
    ChannelDeps,
    ChannelMessage,
    Inbox,
    SendMessage,
)
from claw.core.errors import ClawError
from claw.version import __version__

CTCP_S = 10.0
HINT_S = 10.0  # between hints to all strangers together
REFUSED_S = 120.0  # who logs in meanwhile is heard when he names us
_MOST_REFUSED = 1_000
_TABLE = "channels_config.irc"
_SERVICES = frozenset({
    "nickserv", "chanserv", "memoserv", "operserv", "hostserv", "botserv",
    "saslserv", "infoserv", "global", "gameserv", "helpserv", "groupserv",
    "statserv", "alis"})
_BOT_TAGS = ("bot", "draft/bot", "inspircd.org/bot")
# IRC clients keep what begins with "/" to themselves.
_BANG = re.compile(r"!(?=[a-z]+\b)")
_NAME_SIGNS = r"\w\[\]\\`^{}|-"
_LOG_IN = ("I can't tell who you are: anybody can take a nick. Log in to your "
           "account (see /msg NickServ HELP IDENTIFY) and write again.")


class Intake:
    """Makes ChannelMessages of allowed people's lines."""

    def __init__(self, settings: IrcSettings, deps: ChannelDeps,
                 people: People, *,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time) -> None:
        self.door = Door(read_entries(settings.allowed_users), deps,
                         table=_TABLE, tells=settings.show_hint_to_strangers,
                         clock=clock, bind="!bind")
        self._settings = settings
        self._people = people
        self._clock = clock
        self._now = now
        self._told = Hints(clock)
        self._unknown = Hints(clock)
        self._ctcp_at = self._hint_at = float("-inf")

    async def read(self, session: Session, line: Line, own_id: str,
                   inbox: Inbox, send: "Send") -> ChannelMessage | None:
        """A message for us, by somebody who may; None for another.
        Others are answered by `inbox` where it sends, else by `send`.
        Raises UnavailableError."""
        if _is_machine(session, line):
            return None
        target = line.param(0)
        private = not session.is_channel(target.lstrip("@+%~"))
        ctcp = read_ctcp(line.param(1))
        if ctcp is not None and ctcp[0] != "ACTION":
            if private:
                self._answer_ctcp(session, line.nick, *ctcp)
            return None
        text = strip_formats(ctcp[1] if ctcp else line.param(1)).strip()
        text, named = read_mention(text, session.nick, session.fold)
        if self._settings.mention_only and not named and not private:
            return None
        if _BANG.match(text):
            text = "/" + text[1:]
        if not text:
            return None
        chat = not private and not named and text[0] != "/"
        if chat and self._is_refused(session, line.nick):
            return None
        who = await self._people.identify(session, line)
        if not any(map(self.door.allows, who.people)):
            if private:
                await self._answer_stranger(who, text, own_id, inbox, send)
            self._note_refused(session, line.nick)
            return None
        if private and read_code(text) is not None:
            if self._told.is_due(who.id):
                await _reply("You are already allowed.", who, own_id, inbox,
                             send)
            return None
        stranger = all(map(self.door.allowed.is_stranger, who.people))
        return ChannelMessage(
            own_id, who.id, who.id if private else target,
            _show(line.nick, text, private=private, acts=ctcp is not None),
            "irc", self._read_time(line),
            labels=(STRANGER,) if stranger else (), sender_name=line.nick)

    def _is_refused(self, session: Session, nick: str) -> bool:
        """Whether somebody may not write, as he was asked about lately:
        what others say among themselves must not cost a WHOIS each."""
        return self._clock() < session.refused.get(session.fold(nick), 0.0)

    def _note_refused(self, session: Session, nick: str) -> None:
        key = session.fold(nick)
        known = session.known.get(key)
        if known and known[1].address:  # not where the server can't tell
            if len(session.refused) >= _MOST_REFUSED:
                session.refused.clear()
            session.refused[key] = self._clock() + REFUSED_S

    def _read_time(self, line: Line) -> int:
        try:
            told = datetime.fromisoformat(line.tags["time"])
        except (KeyError, ValueError):
            return int(self._now())
        return int(told.replace(tzinfo=told.tzinfo or UTC).timestamp())

    async def _answer_stranger(self, who: Who, text: str, own_id: str,
                               inbox: Inbox, send: "Send") -> None:
        """Pairing is for whom the network vouches for: a nick that is let
        in is whoever takes it next."""
        if read_code(text) is None:
            if self._clock() - self._hint_at < HINT_S:
                return  # nicks are free: hints must not crowd out answers
            self._hint_at = self._clock()
        if who.is_known:
            answer = await self.door.answer(who.id, who.people[0], text)
        elif self._unknown.is_due(who.id):
            answer = _LOG_IN if self._settings.show_hint_to_strangers else None
        else:
            answer = None
        if answer is not None:
            await _reply(answer, who, own_id, inbox, send)

    def _answer_ctcp(self, session: Session, nick: str, command: str,
                     argument: str) -> None:
        answers = {"VERSION": f"claw {__version__}",
                   "PING": argument[:64],
                   "CLIENTINFO": "ACTION CLIENTINFO PING VERSION"}
        if command not in answers or not session.has_room \
                or self._clock() - self._ctcp_at < CTCP_S:
            return
        self._ctcp_at = self._clock()
        session.post(write_ctcp(nick, command, answers[command]))


# Sends a message right away.
Send = Callable[[SendMessage], Awaitable[None]]


async def _reply(text: str, who: Who, own_id: str, inbox: Inbox,
                 send: Send) -> None:
    message = SendMessage(text, who.id)
    if not isinstance(inbox, TakesReplies):
        with suppress(ClawError):  # who is gone needs no hint
            await send(message)
        return
    for number, part in enumerate(make_parts(message)):
        await inbox.reply(f"{own_id}:{number}", message, part)


def _is_machine(session: Session, line: Line) -> bool:
    """Servers, services, bots, ourselves under another nick: two of these
    would talk for ever."""
    source, account = line.source, name(line.tags.get("account", ""))
    return (("." in source and "!" not in source) or not source
            or session.is_ours(line)
            or (account != "" and account == name(session.account))
            or line.nick.lower() in _SERVICES
            or any(tag in line.tags for tag in _BOT_TAGS))


def _show(nick: str, text: str, *, private: bool, acts: bool) -> str:
    """What is said, in a channel by whom; a command stays one, and so does
    an answer to a question."""
    if acts:
        return f"* {nick} {text}"
    return text if private or text.startswith("/") or is_answer(text) \
        or is_lone(text) else f"<{nick}> {text}"


def read_mention(text: str, nick: str, fold: Callable[[str], str]
                 ) -> tuple[str, bool]:
    """A text without our name in front of it, and whether it names us."""
    told, own = fold(text), re.escape(fold(nick))
    head = re.match(rf"@?{own}(?:[:,]\s*|\s+(?=[/!]))", told) \
        or re.match(rf"@{own}(?![{_NAME_SIGNS}])[:,]?\s*", told) \
        or re.fullmatch(own, told)
    if head:
        return text[head.end():].strip(), True
    return text, re.search(
        rf"(?<![{_NAME_SIGNS}]){own}(?![{_NAME_SIGNS}])", told) is not None
