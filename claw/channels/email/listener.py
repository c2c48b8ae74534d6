"""Reads a folder: what is new by UID, read or not; commit, then \\Seen.

How far it has read is a mark: the UIDVALIDITY, the last UID, and when that
mail came. The first start takes what came unread in the last hour and
nothing older. Where the server has numbered its mails anew, those since the
last one are looked through again; the queue knows the ones it had by their
Message-ID. A mail that came a week before the last one was only moved here
and is left alone.
"""

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from claw.channels.connection import Connection, put_all
from claw.channels.email.intake import Intake
from claw.channels.email.logins import Logins
from claw.channels.email.mailbox import Head, Mailbox, Selected
from claw.channels.email.settings import LONGEST_IDLE_S, EmailSettings
from claw.core.channel import ChannelDeps, ChannelMessage, Inbox
from claw.core.errors import AuthError, UnavailableError
from claw.core.value import Value

CHECK_S = 300.0  # one that fell silent is noticed after so long
FIRST_LOOK_S = 3600.0
_MOVED_S = 7 * 86_400.0
_AT_ONCE = 20
_TRIES = 3  # of one mail, then it is told without its contents


class Position(Value):
    """How far a folder has been read; `at` is when the newest of it came, by
    the server's clock."""

    validity: int
    uid: int
    at: float


class Listener:
    """The receiving half; `link` tells how that goes."""

    def __init__(self, settings: EmailSettings, deps: ChannelDeps,
                 logins: Logins, intake: Intake, *,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 now: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._deps = deps
        self._logins = logins
        self._intake = intake
        self._now = now
        self._failed: tuple[int, int] = (0, 0)  # a UID, and how often
        self._told_no_marks = False
        self.link = Connection(deps.log, sleep)
        self.wait_s = min(float(settings.idle_timeout_secs), CHECK_S,
                          LONGEST_IDLE_S - 30.0)
        self._key = (f"read:{settings.username.strip()}@"
                     f"{settings.imap_host.strip()}/{settings.imap_folder}")

    async def run(self, inbox: Inbox) -> None:
        """Receive until cancelled. Raises AuthError, NotFoundError and
        what `put` raises; a server that can't be reached is asked again."""
        self.link.begin(inbox)
        self._intake.door.open_pairing()
        while True:
            try:
                await self._stay(inbox)
            except UnavailableError as error:
                await self.link.wait_out(error)

    async def _stay(self, inbox: Inbox) -> None:
        """One connection, as long as it lasts."""
        box = await open_mailbox(self._settings, self._logins)
        try:
            position = await self._begin(
                box, await box.select(self._settings.imap_folder), inbox)
            looked_again = False
            while True:
                box.pop_news()
                uids = [u for u in await box.search(
                    "UID", f"{position.uid + 1}:*") if u > position.uid]
                self.link.recover()
                if uids:
                    position = await self._take(box, uids, position, inbox)
                elif box.pop_news() and not looked_again:
                    looked_again = True  # a server may always tell
                else:
                    looked_again = False
                    await box.wait(self.wait_s)
        finally:
            box.close()

    async def _begin(self, box: Mailbox, folder: Selected, inbox: Inbox
                     ) -> Position:
        """Where to go on in a folder that was just opened."""
        known = self._read_mark()
        if known is not None and known.validity == folder.validity and (
                not folder.next_uid or known.uid < folder.next_uid):
            return known
        newest = await box.search("UID", "*")
        last = folder.next_uid - 1 if folder.next_uid else max(
            newest, default=0)
        heads = await box.read_heads(newest)
        at = max((head.arrived_at for head in heads.values()), default=0.0)
        # By a clock that is wrong all mails of all times would be new.
        since = (max(self._now(), at) - FIRST_LOOK_S if known is None
                 else min(self._now(), known.at))
        day = datetime.fromtimestamp(since, UTC).date() - timedelta(days=1)
        criteria: list[str | date] = ["SINCE", day]
        if known is None:
            criteria.append("UNSEEN")
        else:
            self._deps.log("mail.renumbered",
                           folder=self._settings.imap_folder)
        # The mark is set when all of them are taken: none is lost.
        uids = [u for u in await box.search(*criteria) if u <= last]
        start = Position(folder.validity, last, at)
        await self._take(box, uids, start, inbox, since=since)
        self._write_mark(start)
        return start

    # -- mails

    async def _take(self, box: Mailbox, uids: Sequence[int],
                    position: Position, inbox: Inbox, *,
                    since: float | None = None) -> Position:
        """Put these; with `since` those that came after it, and no mark is
        set."""
        for at in range(0, len(uids), _AT_ONCE):
            chunk = uids[at:at + _AT_ONCE]
            heads = await box.read_heads(chunk)
            self.link.heard()
            ready: list[tuple[int, Head, ChannelMessage]] = []
            try:
                for uid in chunk:
                    head = heads.get(uid)  # None: it is gone
                    if head is None or not self._is_new(uid, head, position,
                                                        since):
                        continue
                    message = await self._read(box, uid, head)
                    if message is not None:
                        ready.append((uid, head, message))
            except UnavailableError:  # what was read before is not lost
                await put_all(inbox, [message for _, _, message in ready])
                raise
            await put_all(inbox, [message for _, _, message in ready])
            await self._mark_seen(box, [uid for uid, _, _ in ready])
            if since is None:
                position = Position(position.validity, chunk[-1], max(
                    [position.at, *(head.arrived_at for _, head, _
                                    in ready)]))
                self._write_mark(position)
        return position

    def _is_new(self, uid: int, head: Head, position: Position,
                since: float | None) -> bool:
        if since is not None:
            return head.arrived_at >= since
        if head.arrived_at >= min(position.at, self._now()) - _MOVED_S:
            return True
        self._deps.log("mail.moved", uid=uid, hint="it is old and was put "
                       "here: it is not answered")
        return False

    async def _read(self, box: Mailbox, uid: int, head: Head
                    ) -> ChannelMessage | None:
        """What is to be put of a mail."""
        tries = self._failed[1] + 1 if self._failed[0] == uid else 1
        self._failed = (uid, tries)
        message = None
        if tries > _TRIES:  # it breaks the connection, or us, each time
            self._deps.log("mail.unreadable", uid=uid, skipped=tries
                           > 2 * _TRIES)
        if tries <= 2 * _TRIES:
            given = await self._intake.screen(box, uid, head)
            if given is not None:
                message = (await self._intake.read(box, given)
                           if tries <= _TRIES else
                           self._intake.describe_unread(
                               given, "it failed each time"))
        self._failed = (0, 0)
        self.link.heard()
        return message

    async def _mark_seen(self, box: Mailbox, uids: list[int]) -> None:
        if uids and not await box.mark_seen(uids) \
                and not self._told_no_marks:
            self._told_no_marks = True
            self._deps.log("mail.no_seen", hint="the folder takes no marks; "
                           "mails stay unread there")

    # -- the mark

    def _read_mark(self) -> Position | None:
        try:
            kept = json.loads(self._deps.marks.get(self._key) or "null")
            return Position(int(kept["validity"]), int(kept["uid"]),
                            float(kept["at"]))
        except (ValueError, TypeError, KeyError):
            return None

    def _write_mark(self, position: Position) -> None:
        self._deps.marks.set(self._key, json.dumps({
            "validity": position.validity, "uid": position.uid,
            "at": position.at}))


async def open_mailbox(settings: EmailSettings, logins: Logins) -> Mailbox:
    """A connection that is logged in; a token that is refused is asked for
    anew once. Raises AuthError, UnavailableError, ConfigError."""
    for attempt in (1, 2):
        token = await logins.token()
        box = Mailbox(settings)
        try:
            await box.open(logins.password, token)
        except AuthError:
            box.close()
            if token is None or attempt == 2:
                raise
            logins.refuse(token)
        except BaseException:
            box.close()
            raise
        else:
            return box
    raise AssertionError("unreachable")
