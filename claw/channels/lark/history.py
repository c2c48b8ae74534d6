"""What was said while nobody listened: read from the history after every
connection, from where the marks of the channel stand.

    since       when the first start was, in ms: nothing older is read
    at:oc_1     the time of the last message of a chat that was read,
                whether the chat is a group (g) or private (p), and its id
    threads     [["omt_1", "oc_1", 1700000009000], ...]: a thread's replies
                are no part of its chat's history

Bounds: 5,000 messages of a chat, 200 chats, the last 1,000 replies of the 50
threads of the last day that we had a part in. A private chat in which nobody
has written before is not known here: its messages come when the platform
sends them again.
Source: im/v1/messages (list), im/v1/chats (list).
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from claw.channels.connection import Connection
from claw.channels.lark.api import LarkApi
from claw.channels.lark.events import Incoming, read_ms, read_row
from claw.core.channel import KeepsMarks
from claw.core.errors import RequestRefusedError, UnavailableError
from claw.core.log import Log

PAGE, PAGES = 50, 100
MOST_CHATS, MOST_THREADS, THREAD_ROWS = 200, 50, 1_000
_MOST_LIVE = 1_000  # places, while we catch up
_SKEW_MS = 60_000  # our clock may be so far from the platform's
_OVERLAP_MS = 10_000  # one may become visible after a later one
_DAY_MS = 24 * 3600 * 1000
_SINCE, _AT, _THREADS = "since", "at:", "threads"

Take = Callable[[Incoming], Awaitable[None]]


async def list_messages(api: LarkApi, kind: str, place: str, since_s: float,
                        *, newest_first: bool = False
                        ) -> AsyncIterator[list[dict[str, Any]]]:
    """The messages of a chat or a thread, page by page; a thread's cannot
    be asked for from a time on."""
    query = {"container_id_type": kind, "container_id": place,
             "start_time": str(max(0, int(since_s))), "page_size": PAGE,
             "sort_type": f"ByCreateTime{'Desc' if newest_first else 'Asc'}",
             "card_msg_content_type": "user_card_content"}
    if kind == "thread":
        del query["start_time"]
    while True:
        found = await api.call("GET", "im/v1/messages", query=query)
        items = found.get("items")
        if not isinstance(items, list):
            if found.get("has_more") is not True and items is None:
                return
            raise UnavailableError(f"{api.brand.title} answered a look at a "
                                   "chat without a list of messages")
        yield [row for row in items if isinstance(row, dict)]
        token = found.get("page_token")
        if found.get("has_more") is not True or not isinstance(token, str) \
                or not token or token == query.get("page_token"):
            return
        query["page_token"] = token


class History:
    """How far one listener has read. `now` is Unix seconds."""

    def __init__(self, api: LarkApi, marks: KeepsMarks, link: Connection,
                 log: Log, now: Callable[[], float]) -> None:
        self._api = api
        self._marks = marks
        self._link = link
        self._log = log
        self._now = now
        self._is_reading = False
        self._live: dict[str, tuple[Incoming, bool]] = {}

    def begin(self) -> bool:
        """Whether there is something to catch up with: the first start
        reads nothing."""
        if self._since() is not None:
            self._is_reading = True
            return True
        self._marks.set(_SINCE, str(int(self._now() * 1000)))
        return False

    async def catch_up(self, take: Take) -> None:
        """Hand over what is new, chat by chat and in order. Raises
        UnavailableError, and what `take` raises; it is done again then."""
        began = int(self._now() * 1000)
        for chat, is_group in (await self._list_chats()).items():
            await self._read_chat(chat, is_group, take)
        for thread, chat, last in self._read_threads():
            if last > began - _DAY_MS:
                await self._read_thread(thread, chat, last, take)
        self._marks.set(_SINCE, str(max(self._since() or 0,
                                        began - _SKEW_MS)))
        self._is_reading = False
        live, self._live = self._live, {}
        for incoming, is_ours in live.values():
            self.note(incoming, is_ours=is_ours)

    def note_live(self, incoming: Incoming, *, is_ours: bool) -> None:
        """As `note`, of one that just came. What was missed before it is
        not read yet while we catch up: a mark beyond that would lose it."""
        if not self._is_reading:
            self.note(incoming, is_ours=is_ours)
        elif len(self._live) < _MOST_LIVE or incoming.chat in self._live:
            self._live[incoming.thread or incoming.chat] = incoming, is_ours

    def note(self, incoming: Incoming, *, is_ours: bool) -> None:
        """It is committed, or (not `is_ours`) nothing for us."""
        if incoming.thread and incoming.root:
            self._note_thread(incoming, is_ours)
            return
        key, kind = _AT + incoming.chat, "g" if incoming.is_group else "p"
        at = self._bound(incoming.created_ms)
        if self._marks.get(key) is None:
            chats = self._chats()
            for old in chats[:len(chats) - MOST_CHATS + 1]:
                self._marks.set(_AT + old, None)
        if at >= self._at(incoming.chat):
            self._marks.set(key, f"{at} {kind} {incoming.message_id}")
        if incoming.thread and is_ours:
            self._note_thread(incoming, is_ours)

    def _bound(self, moment: int) -> int:
        """No time to come: what is written until then would be missed."""
        return min(moment, int(self._now() * 1000) + _OVERLAP_MS)

    async def _list_chats(self) -> dict[str, bool]:
        """Chats that are known, and groups that we are in: whether each is
        a group."""
        found = {chat: self._is_group(chat) for chat in self._chats()}
        token = ""
        try:
            while len(found) < MOST_CHATS:
                page = await self._api.call("GET", "im/v1/chats", query={
                    "page_size": 100, **(
                        {"page_token": token} if token else {})})
                items = page.get("items")
                for item in items if isinstance(items, list) else ():
                    chat = item.get("chat_id") if isinstance(item, dict) \
                        else None
                    if isinstance(chat, str) and len(found) < MOST_CHATS:
                        found.setdefault(chat, True)
                given = page.get("page_token")
                if page.get("has_more") is not True or given in ("", token) \
                        or not isinstance(given, str):
                    break
                token = given
        except RequestRefusedError as error:
            self._log("chats_not_listed", error=error.message,
                      hint=error.hint)
        return found

    async def _read_chat(self, chat: str, is_group: bool, take: Take
                         ) -> None:
        first = self._since() or 0
        at = self._at(chat)
        since = max(at - _OVERLAP_MS, min(at, first)) if at else first
        last = (self._marks.get(_AT + chat) or "").rpartition(" ")[2]
        pages = 0
        try:
            async for rows in list_messages(self._api, "chat", chat,
                                            since / 1000):
                self._link.heard()
                pages += 1
                for row in rows:
                    if row.get("message_id") != last:
                        await self._take_row(row, since, is_group, take)
                if pages >= PAGES:
                    self._log("messages_left_out", chat=chat, hint="more "
                              f"than {PAGE * PAGES} were written while claw "
                              "was away; the newest are not read")
                    return
        except RequestRefusedError as error:  # no scope, not ours any more
            self._log("chat_not_read", chat=chat, error=error.message,
                      hint=error.hint)

    async def _read_thread(self, thread: str, chat: str, last: int,
                           take: Take) -> None:
        """Back to what is known, then forward."""
        since, found = last - _OVERLAP_MS, list[dict[str, Any]]()
        try:
            async for rows in list_messages(self._api, "thread", thread, 0,
                                            newest_first=True):
                self._link.heard()
                found += rows
                if len(found) >= THREAD_ROWS or any(
                        read_ms(row.get("create_time")) < since
                        for row in rows):
                    break
        except RequestRefusedError as error:
            self._log("chat_not_read", chat=chat, error=error.message,
                      hint=error.hint)
        for row in reversed(found):
            await self._take_row(row, since, self._is_group(chat), take)

    async def _take_row(self, row: dict[str, Any], since: int,
                        is_group: bool, take: Take) -> None:
        if read_ms(row.get("create_time")) < since:
            return  # times are asked for in whole seconds
        try:
            incoming = read_row(row, is_group=is_group)
        except ValueError as error:
            self._log("event_unreadable", error=str(error)[:300])
            return
        if incoming is not None:
            await take(incoming)

    # -- marks

    def _since(self) -> int | None:
        given = self._marks.get(_SINCE)
        return None if given is None else read_ms(given)

    def _chats(self) -> list[str]:
        keys = self._marks.keys()
        return [key.removeprefix(_AT) for key in keys
                if key.startswith(_AT)]

    def _at(self, chat: str) -> int:
        return read_ms((self._marks.get(_AT + chat) or "").partition(" ")[0])

    def _is_group(self, chat: str) -> bool:
        return " p" not in (self._marks.get(_AT + chat) or "")

    def _note_thread(self, incoming: Incoming, is_ours: bool) -> None:
        known = self._read_threads()
        old = next((one for one in known if one[0] == incoming.thread), None)
        if old is None and not is_ours:
            return
        last = max(self._bound(incoming.created_ms), old[2] if old else 0)
        kept = [one for one in known if one is not old]
        self._marks.set(_THREADS, json.dumps([
            *kept, (incoming.thread, incoming.chat, last)][-MOST_THREADS:]))

    def _read_threads(self) -> list[tuple[str, str, int]]:
        with suppress(ValueError, TypeError):
            return [(str(thread), str(chat), int(last)) for thread, chat, last
                    in json.loads(self._marks.get(_THREADS) or "[]")]
        return []
