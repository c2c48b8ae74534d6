"""Whether a part arrived whose fate is unknown, past the hour for which the
platform knows its key: by reading the chat's history.

The text of each card has a name of ours (`element_id`), and the message that
has it is the part. Where a history shows cards in another form, it is one of
ours with the same words; a file's is that with the key that its upload gave.
A person's private chat has no address until he has written: there is no way
to ask then.
"""

import re
from collections.abc import AsyncIterator
from typing import Any

from claw.channels.lark.answers import RefusedCallError
from claw.channels.lark.api import LarkApi
from claw.channels.lark.cards import element_id, read_drawn
from claw.channels.lark.content import parse_json, read_card
from claw.channels.lark.history import list_messages
from claw.channels.lark.outgoing import Sender, read_recipient
from claw.core.abilities import Doubt
from claw.core.errors import RequestRefusedError

PAGES = 20  # of fifty messages
_CLOCK_S = 300.0
_ENTITY = re.compile(r"&#(\d{1,7});")
_WORDS = re.compile(r"\w", re.UNICODE)


class Finder:
    """Finds messages of one app."""

    def __init__(self, api: LarkApi, sender: Sender) -> None:
        self._api = api
        self._sender = sender

    async def find(self, doubt: Doubt) -> tuple[str, ...] | None:
        """As FindsSent says. Raises UnavailableError, AuthError."""
        key = doubt.part.data.get("key")
        drawn = read_drawn(key)
        try:
            chat, kind = read_recipient(doubt.message.recipient)
        except RequestRefusedError:
            return None
        if drawn is None or kind != "chat_id":
            return None
        known = {number for _, number in (*doubt.before, *doubt.owned)}
        alike: list[str] = []
        try:
            async for row in self._own(doubt, chat, drawn - _CLOCK_S):
                number = str(row.get("message_id"))
                if number in known or row.get("deleted") is True:
                    continue
                same = self._is_part(row, doubt)
                if same:
                    return (number,)
                if same is None:
                    alike.append(number)
        except (_TooManyError, RefusedCallError):
            return None
        if alike and any(not number and place == doubt.message.recipient
                         for place, number in doubt.unsure):
            return None  # another one in doubt may have the same words
        return tuple(alike)

    async def _own(self, doubt: Doubt, chat: str, since_s: float
                   ) -> AsyncIterator[dict[str, Any]]:
        """Our messages there. Raises _TooManyError."""
        place = ("chat", chat)
        if doubt.message.thread_ts:
            found = await self._api.call(
                "GET", f"im/v1/messages/{doubt.message.thread_ts}")
            items = found.get("items")
            first = items[0] if isinstance(items, list) and items else None
            thread = first.get("thread_id") if isinstance(first, dict) \
                else None
            if isinstance(thread, str) and thread:
                place = ("thread", thread)
        pages = 0
        async for rows in list_messages(self._api, *place, since_s):
            pages += 1
            for row in rows:
                sender = row.get("sender")
                if isinstance(sender, dict) \
                        and sender.get("id") == self._api.app_id:
                    yield row
            if pages >= PAGES:
                raise _TooManyError

    def _is_part(self, row: dict[str, Any], doubt: Doubt) -> bool | None:
        """Whether a message of ours is the part; None: it may be."""
        body = row.get("body")
        content = str(body.get("content")) if isinstance(body, dict) else ""
        data = doubt.part.data
        if "path" in data:
            brought = self._sender.read_upload(data.get("key"))
            if brought is not None and brought in content:
                return True
        if element_id(data.get("key")) in content:
            return True
        if "element_id" in content or row.get("msg_type") != "interactive" \
                or "text" not in data:
            return False
        return None if _squeeze(read_card(parse_json(content))) == _squeeze(
            str(data["text"])) else False


class _TooManyError(Exception):
    """More messages than are looked through."""


def _squeeze(text: str) -> str:
    """The letters of a text, whatever stands around them."""
    shown = _ENTITY.sub(lambda found: chr(min(int(found[1]), 0x10FFFF)),
                        text)
    return "".join(_WORDS.findall(re.sub(r"\]\([^)]*\)", "", shown)))
