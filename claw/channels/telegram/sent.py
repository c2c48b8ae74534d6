"""Whether a part arrived whose fate is unknown, and the mark of one that
goes out again.

There is no idempotency key and a bot can't read its chats. But message ids
count up: the part has one after the last id that is known of its chat, and
one that no other message is known to have. `editMessageReplyMarkup` without
a markup tells whose a message is and changes none that has no buttons:
"message is not modified" says that it is ours. Private chats and basic
groups share one counter of ids for a bot; supergroups and channels have one
each. Source: core.telegram.org/bots/api#editmessagereplymarkup.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Literal, TypeAlias

from claw.channels.splitting import utf16_len
from claw.channels.telegram.api import BotApi
from claw.channels.telegram.entities import TEXT_UNITS, cut_units
from claw.channels.telegram.parts import NOTE_UNITS, parse_recipient
from claw.core.abilities import Doubt, Place
from claw.core.channel import Part
from claw.core.errors import RequestRefusedError
from claw.core.value import replace

CAPTION_UNITS = 1024
MOST = 20  # ids that are asked for
FIRST_POLL_S = 4.0
_SUPERGROUPS = -1_000_000_000_000  # and channels: below it
_OTHERS = ("message can't be edited", "message to edit not found",
           "message_id_invalid")

_OWN_ID = re.compile(r"telegram_(-?[0-9]{1,20})_([0-9]{1,20})"
                     r"(?:_album_([0-9]{1,20}))?(?:_edit_[0-9]+)?", re.ASCII)

Answer: TypeAlias = Literal["ours", "not ours", "nothing"]


class Finder:
    """Finds messages of one bot. `caught_up` is set once a poll has come
    back and is committed: messages that waited have ids, too."""

    def __init__(self, api: BotApi, caught_up: asyncio.Event) -> None:
        self._api = api
        self._caught_up = caught_up

    async def find(self, doubt: Doubt) -> tuple[str, ...] | None:
        """As FindsSent says. Raises UnavailableError, AuthError."""
        chat, _ = parse_recipient(doubt.message.recipient,
                                  doubt.message.thread_ts)
        if not isinstance(chat, int) \
                or doubt.part.data.get("keyboard") is not None \
                or not _has_room(doubt.part):
            return None
        last = max((number for place, number in _read(doubt.before)
                    if _counter(place) == _counter(chat)), default=None)
        if last is None or any(
                place == chat and (not number or number > last)
                for place, number in _read(doubt.unsure)):
            return None
        found: list[int] = []
        owned = {number for place, number in _read(doubt.owned)
                 if _counter(place) == _counter(chat)}
        free = (number for number in count(last + 1) if number not in owned)
        for number in islice(free, MOST):
            answer = await self._ask(chat, number)
            if answer == "nothing":
                return None
            if answer == "ours":
                found.append(number)
        return tuple(map(str, found))

    async def _ask(self, chat: int, number: int) -> Answer:
        """Whose a message is."""
        try:
            await self._api.call("editMessageReplyMarkup", {
                "chat_id": chat, "message_id": number})
        except RequestRefusedError as error:
            text = error.message.lower()
            if error.status == 400 and "message is not modified" in text:
                # Of a group that has moved it is another chat's.
                return "nothing" if self._api.has_moved(chat) else "ours"
            if error.status == 400 and any(w in text for w in _OTHERS):
                return "not ours"
        return "nothing"

    async def catch_up(self) -> None:
        """Until a poll has brought what waited, or a moment has passed."""
        try:
            async with asyncio.timeout(FIRST_POLL_S):
                await self._caught_up.wait()
        except TimeoutError:
            pass


def _read(places: Iterable[Place]) -> Iterator[tuple[int, int]]:
    """(chat, message) of places; message 0 where it is not known."""
    for recipient, message_id in places:
        if not recipient:
            own = _OWN_ID.fullmatch(message_id)
            if own is not None:
                for number in filter(None, own.groups()[1:]):
                    yield int(own[1]), int(number)
            continue
        try:
            chat, _ = parse_recipient(recipient)
        except RequestRefusedError:
            continue
        known = message_id.isascii() and message_id.isdigit()
        if isinstance(chat, int):
            yield chat, int(message_id) if known else 0


def _counter(chat: int) -> int:
    """What counts the ids of a chat: 0 is the bot's own counter."""
    return chat if chat < _SUPERGROUPS else 0


def mark(part: Part, note: str) -> Part:
    """The part with a note in front: in its text, in its question, or as its
    caption."""
    if part.kind == "poll":
        return replace(part, text=note + part.text, data={
            **part.data, "question": note + str(part.data["question"])})
    if part.kind != "text":
        caption = (note + str(part.data.get("caption") or "")).strip()
        return replace(part, text=note + part.text, data={
            **part.data, "caption": cut_units(caption, CAPTION_UNITS)})
    if not _has_room(part):  # of an older version
        return replace(part, text=note + part.text,
                       data={**part.data, "note": note.strip()})
    shift = utf16_len(note)
    return replace(part, text=note + part.text, data={
        **part.data, "text": note + str(part.data["text"]), "entities": [
            {**entity, "offset": entity["offset"] + shift}
            for entity in part.data.get("entities") or ()]})


def _has_room(part: Part) -> bool:
    """Whether a note fits in front, so that it is one message."""
    return part.kind != "text" or utf16_len(
        str(part.data["text"])) + NOTE_UNITS <= TEXT_UNITS
