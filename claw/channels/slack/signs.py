"""Typing, reactions, buttons that are of no use: what nobody waits for."""

from collections.abc import Callable
from typing import Any

from claw.channels.slack.api import SlackApi
from claw.channels.slack.blocks import parse_recipient
from claw.channels.slack.events import parse_id
from claw.core.errors import RequestRefusedError

_NAMES = {
    "👀": "eyes", "✅": "white_check_mark", "⚠": "warning", "❌": "x",
    "👍": "thumbsup", "👎": "thumbsdown", "⭐": "star", "🎉": "tada",
    "🤔": "thinking_face", "🔥": "fire", "⏳": "hourglass_flowing_sand",
    "❤": "heart", "🙏": "pray", "👏": "clap", "💯": "100", "🚫":
    "no_entry_sign", "🚀": "rocket", "😁": "grin", "😢": "cry",
    "👌": "ok_hand",
}
_SHOWN_S = 30.0  # a status holds two minutes
_STATUS = "is thinking..."
_MOST = 1_000


def find_name(emoji: str) -> str | None:
    """Slack's name of an emoji; None where it is not known."""
    return _NAMES.get(emoji.replace("\ufe0f", "").strip())


class Signs:
    """The signs of one bot; typing and reactions never raise. `note` the
    thread that a chat's next answer stands in: only there is a status
    shown."""

    def __init__(self, api: SlackApi, clock: Callable[[], float]) -> None:
        self._api = api
        self._clock = clock
        self._threads: dict[str, str] = {}
        self._shown: dict[str, float] = {}
        self._refused = False

    def note(self, channel: str, thread_ts: str) -> None:
        self._threads.pop(channel, None)
        self._threads[channel] = thread_ts
        if len(self._threads) > _MOST:
            del self._threads[next(iter(self._threads))]

    async def type(self, recipient: str) -> None:
        found = self._find_thread(recipient)
        if found is None or self._refused \
                or self._clock() < self._shown.get(recipient, 0.0) + _SHOWN_S:
            return
        if len(self._shown) > _MOST:
            self._shown.clear()
        self._shown[recipient] = self._clock()
        error = await self._set_status(*found, _STATUS)
        # A server or a token that can't will not learn it.
        self._refused = isinstance(error, RequestRefusedError)

    async def stop(self, recipient: str) -> None:
        """The answer takes the status away; without one we do."""
        found = self._find_thread(recipient)
        if found is not None and self._shown.pop(recipient, None) is not None:
            await self._set_status(*found, "")

    def _find_thread(self, recipient: str) -> tuple[str, str] | None:
        try:
            channel, thread = parse_recipient(recipient)
        except RequestRefusedError:
            return None
        thread = thread or self._threads.get(channel)
        return (channel, thread) if thread else None

    async def _set_status(self, channel: str, thread: str,
                          status: str) -> Any:
        return await self._api.cosmetic("assistant.threads.setStatus", {
            "channel_id": channel, "thread_ts": thread, "status": status})

    async def react(self, own_id: str, emoji: str, *, remove: bool) -> None:
        """A reaction to a message of ours (`slack_<channel>_<ts>`); any
        other id has nothing to react to."""
        found, name = parse_id(own_id), find_name(emoji)
        if found is None or name is None:
            return
        await self._api.cosmetic(
            f"reactions.{'remove' if remove else 'add'}",
            {"channel": found[0], "timestamp": found[1], "name": name},
            fine=("already_reacted", "no_reaction", "message_not_found"))

    async def clear_buttons(self, channel: str, ts: str) -> None:
        """Raises RequestRefusedError and UnavailableError."""
        message = await self._read(channel, ts)
        blocks = message.get("blocks")
        kept = [block for block in blocks if isinstance(block, dict)
                and block.get("type") != "actions"] \
            if isinstance(blocks, list) else []
        if not isinstance(blocks, list) or len(kept) == len(blocks):
            return
        await self._api.call("chat.update", {
            "channel": channel, "ts": ts, "text": message.get("text") or "",
            "blocks": kept, "metadata": message.get("metadata"),
            "unfurl_links": False, "unfurl_media": False})

    async def _read(self, channel: str, ts: str) -> dict[str, Any]:
        """A message as it stands, be it in a thread."""
        found = await self._api.call("conversations.replies", {
            "channel": channel, "ts": ts, "oldest": ts, "latest": ts,
            "inclusive": True, "include_all_metadata": True, "limit": 10})
        messages = found.get("messages")
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict) \
                    and message.get("ts") == ts:
                return message
        raise RequestRefusedError(
            f"no message of Slack has the id {ts!r}", status=404)


