"""What was said while we were away, and what of ours has arrived, where the
server keeps it (draft/chathistory).

A mark for each conversation holds the time of the last line that was taken
in. Lines are asked for from a second before it; the queue knows by their
`msgid` which it has. Source: ircv3.net/specs/extensions/chathistory.
"""

import re
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from claw.channels.irc.line import Line, write_line
from claw.channels.irc.people import name
from claw.channels.irc.session import Session
from claw.core.abilities import Doubt
from claw.core.channel import KeepsMarks
from claw.core.log import Log

PAGE = 100
PAGES = 5  # of a conversation, after an outage
_TALKS = 50  # private conversations
_NEEDS = {"draft/chathistory", "batch", "server-time", "message-tags"}
_PRIVATE = "read:"  # the mark of all private conversations
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_EVERY_S = 30.0  # for lines that were not for us


class History:
    """The marks of one account, and questions about what lies behind."""

    def __init__(self, marks: KeepsMarks, log: Log,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._marks = marks
        self._log = log
        self._clock = clock
        self._noted_at: dict[str, float] = {}

    def note(self, session: Session, line: Line, *, kept: bool) -> None:
        """A line was taken in."""
        if is_kept(session) and "time" in line.tags:
            target = line.param(0)
            key = _mark(target if session.is_channel(target) else "")
            now = self._clock()
            if kept or now - self._noted_at.get(key, 0.0) >= _EVERY_S:
                self._noted_at[key] = now
                self._move(key, line.tags["time"])

    def _move(self, key: str, to: str) -> None:
        if _TIME.fullmatch(to) and to > (self._marks.get(key) or ""):
            self._marks.set(key, to)

    def begin(self, session: Session) -> None:
        """From the first time on nothing is missed; nothing before is
        read."""
        if is_kept(session) and self._marks.get(_PRIVATE) is None:
            self._marks.set(_PRIVATE, _shift("", 1))

    async def catch_up(self, session: Session) -> list[Line]:
        """What was said since the marks, the oldest first; of a channel
        that has none, nothing. Raises UnavailableError."""
        if not is_kept(session):
            return []
        found: list[Line] = []
        for channel in sorted(session.joined):
            key = _mark(channel)
            if since := self._marks.get(key):
                found += await self._read(session, channel, _shift(since, -1))
            else:
                self._marks.set(key, _shift(session.began_at, 1))
        since = _shift(self._marks.get(_PRIVATE) or "", -1)
        for nick in await self._find_talks(session, since):
            found += await self._read(session, nick, since)
        return sorted(found, key=lambda line: line.tags.get("time", ""))

    async def _find_talks(self, session: Session, since: str) -> list[str]:
        lines = await session.ask(
            write_line("CHATHISTORY", "TARGETS", f"timestamp={since}",
                       f"timestamp={_write_time(_soon())}", str(_TALKS)),
            takes=lambda line: line.command == "CHATHISTORY"
            and line.param(0) == "TARGETS")
        return [line.param(1) for line in lines
                if line.param(1) and not session.is_channel(line.param(1))]

    async def _read(self, session: Session, target: str,
                    since: str) -> list[Line]:
        found: list[Line] = []
        for _ in range(PAGES):
            page = await self._ask(session, "AFTER", target,
                                   f"timestamp={since}")
            found += page
            last = max((line.tags.get("time", "") for line in page),
                       default="")
            if len(page) < _page(session) or last <= since:
                return found
            since = last
        self._log("history_cut", target=target, lines=len(found),
                  hint="more was said than is read after an outage")
        return found

    async def _ask(self, session: Session, command: str, target: str,
                   where: str) -> list[Line]:
        return await session.ask(
            write_line("CHATHISTORY", command, target, where,
                       str(_page(session))),
            takes=lambda line: line.command == "PRIVMSG"
            and session.is_history(line))

    async def find_sent(self, session: Session, target: str,
                        doubt: Doubt) -> tuple[str, ...] | None:
        """As FindsSent says. Raises UnavailableError."""
        if not is_kept(session):
            return None
        page = await self._ask(session, "LATEST", target, "*")
        known = {number for _, number in doubt.before}
        places = [n for n, line in enumerate(page)
                  if line.tags.get("msgid") in known]
        later = page[max(places) + 1 if places else 0:]
        if not places and len(page) >= _page(session):
            return None  # what we know of is too far back
        owned = known | {number for _, number in (
            *doubt.owned, *doubt.unsure)}
        return tuple(_find_own(session, later, doubt.part.text, owned))


def _find_own(session: Session, lines: Iterable[Line], text: str,
              owned: set[str]) -> list[str]:
    return [line.tags["msgid"] for line in lines
            if session.is_ours(line) and "msgid" in line.tags
            and line.tags["msgid"] not in owned
            and (line.last == text or (line.last.startswith("(")
                                       and line.last.endswith(f") {text}")))]


def is_kept(session: Session) -> bool:
    """Whether the server keeps what is said."""
    return session.caps >= _NEEDS


def _page(session: Session) -> int:
    most = session.support.get("CHATHISTORY", "")
    return min(PAGE, int(most)) if most.isdecimal() and int(most) else PAGE


def _mark(target: str) -> str:
    return _PRIVATE + name(target)


def _soon() -> datetime:
    return datetime.now(UTC) + timedelta(days=1)


def _write_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + (
        f"{moment.microsecond // 1000:03d}Z")


def _shift(told: str, seconds: float) -> str:
    """A time that a server told, or else now, and so many seconds."""
    try:
        moment = datetime.fromisoformat(told)
    except ValueError:
        moment = datetime.now(UTC)
    return _write_time(moment + timedelta(seconds=seconds))
