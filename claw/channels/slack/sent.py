"""Whether a part arrived whose fate is unknown.

Slack has no idempotency key, and its client_msg_id is for its own clients.
But a bot can read its channels: each text carries a key of ours in its
metadata, and the message that has it is the part. A file has none; what is
known of it is the id of its upload, and files.info says where that was
posted. A server that keeps no metadata gives a message of ours without
any: that is the part if it says the same.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from claw.channels.slack.api import SlackApi
from claw.channels.slack.blocks import (
    parse_recipient,
    read_spans,
    to_mrkdwn,
)
from claw.channels.slack.events import order, parse_id
from claw.channels.slack.outgoing import EVENT_TYPE, Sender
from claw.core.abilities import Doubt, Place
from claw.core.channel import Part
from claw.core.errors import RequestRefusedError

PAGES, PAGE = 5, 200  # messages that are looked at


class _TooManyError(Exception):
    """More messages than are looked through."""


class Finder:
    """Finds messages of one bot."""

    def __init__(self, api: SlackApi, sender: Sender) -> None:
        self._api = api
        self._sender = sender

    async def find(self, doubt: Doubt) -> tuple[str, ...] | None:
        """As FindsSent says. Raises UnavailableError, AuthError."""
        recipient, thread = parse_recipient(doubt.message.recipient,
                                            doubt.message.thread_ts)
        channel = await self._sender.find_channel(recipient)
        places = {recipient, channel}
        known = {ts for name, ts in _read((*doubt.before, *doubt.owned))
                 if name in places}
        if doubt.part.kind == "file":
            found = await self._find_file(doubt.part, channel)
            return tuple(ts for ts in found if ts not in known)
        after = max((ts for name, ts in _read(doubt.before)
                     if name in places), key=order, default=None)
        bot = await self._api.me()
        own = {bot.user_id, bot.bot_id} - {""}
        try:
            async for message in self._messages(channel, thread, after):
                ts = message.get("ts")
                if isinstance(ts, str) and ts not in known \
                        and _is_part(message, doubt.part, own):
                    return (ts,)
        except _TooManyError:
            return None
        return ()

    async def _find_file(self, part: Part, channel: str) -> tuple[str, ...]:
        file_id = self._sender.read_upload(str(part.data["key"]))
        if file_id is None:
            return ()  # it was never posted
        ts = await self._sender.look_for_share(file_id, channel)
        return (ts,) if ts else ()

    async def _messages(self, channel: str, thread: str | None,
                        after: str | None) -> Any:
        """What stands there since `after`; where the thread is gone, in
        the channel. Raises _TooManyError after so many pages."""
        method = f"conversations.{'replies' if thread else 'history'}"
        cursor = None
        for _ in range(PAGES):
            try:
                found = await self._api.call(method, {
                    "channel": channel, "ts": thread, "oldest": after,
                    "include_all_metadata": True, "limit": PAGE,
                    "cursor": cursor})
            except RequestRefusedError as error:
                if thread is None or "not_found" not in error.message:
                    raise
                break  # then the part went to the channel
            messages = found.get("messages")
            for message in messages if isinstance(messages, list) else ():
                if isinstance(message, dict):
                    yield message
            cursor = next_cursor(found)
            if cursor is None:
                return
        else:
            raise _TooManyError
        async for message in self._messages(channel, None, after):
            yield message


def next_cursor(found: dict[str, Any]) -> str | None:
    """Where the next page of an answer begins; None where there is none."""
    metadata = found.get("response_metadata")
    cursor = metadata.get("next_cursor") if isinstance(metadata, dict) \
        else None
    return cursor if isinstance(cursor, str) and cursor else None


def _is_part(message: dict[str, Any], part: Part, own: set[str]) -> bool:
    metadata = message.get("metadata")
    if isinstance(metadata, dict) and metadata.get("event_type"):
        payload = metadata.get("event_payload")
        return (metadata["event_type"] == EVENT_TYPE
                and isinstance(payload, dict)
                and payload.get("key") == part.data["key"])
    return (not own.isdisjoint((message.get("user"), message.get("bot_id")))
            and message.get("text") == to_mrkdwn(
                str(part.data["text"]), read_spans(part.data)))


def _read(places: Iterable[Place]) -> Iterator[tuple[str, str]]:
    """(channel, ts) of places; of files that were not seen yet no ts."""
    for recipient, message_id in places:
        if not recipient:
            if own := parse_id(message_id):
                yield own
            continue
        try:
            channel, _ = parse_recipient(recipient)
        except RequestRefusedError:
            continue
        if parse_id(f"slack_{channel}_{message_id}"):
            yield channel, message_id
