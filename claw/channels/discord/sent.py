"""Whether a part arrived whose fate is unknown, past the time for which
Discord knows its nonce: by reading the channel's history.

Ids grow with time everywhere, so the part stands after any message that was
there before it. Among our own messages there it is the one with its nonce;
where history does not show nonces, those with its very words.
Source: docs.discord.com/developers, resources/message#get-channel-messages.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from claw.channels.discord.api import Api
from claw.channels.discord.messages import parse_id, read_chat
from claw.channels.discord.nonces import read_drawn
from claw.channels.discord.outgoing import Sender
from claw.channels.discord.wire import SILENT, is_id, snowflake
from claw.core.abilities import Doubt, Place
from claw.core.channel import Part
from claw.core.errors import UnavailableError

PAGE = 100
PAGES = 5  # of messages that are looked through
_CLOCK_S = 300.0  # our clock may be so far from Discord's


class Finder:
    """Finds messages of one bot."""

    def __init__(self, api: Api, sender: Sender) -> None:
        self._api = api
        self._sender = sender

    async def find(self, doubt: Doubt) -> tuple[str, ...] | None:
        """As FindsSent says. Raises UnavailableError, AuthError."""
        nonce = doubt.part.data.get("nonce")
        if read_chat(doubt.message.recipient) is None:
            return None
        if not any(_read(doubt.before)):
            await self._api.me()  # tells the time, too
        after = _find_start(doubt, nonce, self._api.ahead_s)
        if after is None:
            return None
        chat = await self._sender.find_chat(doubt.message.recipient)
        rows = await self._read_own(chat, after)
        if rows is None:
            return None
        for row in rows:
            if nonce is not None and str(row.get("nonce")) == nonce:
                return (row["id"],)
        owned = {number for _, number in doubt.owned}
        found = [row["id"] for row in rows if row["id"] not in owned
                 and (nonce is None or row.get("nonce") is None)
                 and _is_like(row, doubt.part)]
        if found and any(not number and place == doubt.message.recipient
                         for place, number in doubt.unsure):
            return None  # another one in doubt may have the same words
        return tuple(found)

    async def _read_own(self, chat: str, after: int
                        ) -> list[dict[str, Any]] | None:
        """Our messages after an id; None where there are too many to look
        through."""
        bot_id = await self._api.bot_id()
        own: list[dict[str, Any]] = []
        for _ in range(PAGES):
            page = await self._api.call(
                "GET", f"/channels/{chat}/messages?after={after}"
                       f"&limit={PAGE}")
            if not isinstance(page, list):
                raise UnavailableError("Discord answered a look at a channel "
                                       "without a list of messages")
            rows = [row for row in page if isinstance(row, dict)
                    and is_id(row.get("id"))]
            own += [row for row in rows if isinstance(
                row.get("author"), dict) and row["author"].get("id") == bot_id]
            if len(page) < PAGE or not rows:
                return own
            after = max(int(row["id"]) for row in rows)
        return None


def _find_start(doubt: Doubt, nonce: Any, ahead_s: float) -> int | None:
    """An id that the part stands after; None where nothing tells one. The
    time in a nonce is Discord's, or ours where it had not told its yet."""
    known = max(map(int, _read(doubt.before)), default=None)
    if known is not None:
        return known
    drawn = read_drawn(nonce) if isinstance(nonce, str) else None
    return None if drawn is None else snowflake(
        drawn + min(ahead_s, 0.0) - _CLOCK_S)


def _read(places: Iterable[Place]) -> Iterator[str]:
    """The ids of places."""
    for recipient, number in places:
        found = number if recipient else parse_id(number)
        if found is not None and is_id(found):
            yield found


def _is_like(row: dict[str, Any], part: Part) -> bool:
    """Whether a message of ours says what the part does."""
    names = [file.get("filename") for file in row.get("attachments") or ()
             if isinstance(file, dict)]
    if "path" in part.data:
        return names in ([part.data.get("name")], ["voice-message.ogg"])
    question = (row.get("poll") or {}).get("question") or {}
    if part.kind == "poll":
        return question.get("text") == part.data.get("question")
    silent = bool(int(row.get("flags") or 0) & SILENT)
    is_draft = "nonce" not in part.data
    return not names and not question and silent == is_draft and str(
        row.get("content")).strip() == str(part.data.get("text")).strip()
