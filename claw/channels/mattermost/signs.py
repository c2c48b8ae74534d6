"""Typing and reactions: what nobody waits for.

Source: api/v4/source/reactions.yaml; emoji names are those of the server's
system emoji.
"""

import re

from claw.channels.mattermost.api import Api
from claw.channels.mattermost.posts import parse_id, parse_recipient
from claw.core.errors import ClawError

_NAMES = {
    "👀": "eyes", "✅": "white_check_mark", "⚠": "warning", "❌": "x",
    "👍": "+1", "👎": "-1", "⭐": "star", "🎉": "tada", "🤔": "thinking",
    "🔥": "fire", "❤": "heart", "🙏": "pray", "👏": "clap", "😂": "joy",
    "👌": "ok_hand", "🚀": "rocket", "⏳": "hourglass_flowing_sand",
    "🚫": "no_entry_sign", "👋": "wave", "💯": "100", "🎤": "microphone",
    "😢": "cry", "😁": "grin", "🤯": "exploding_head", "⚡": "zap",
}


def find_name(emoji: str) -> str | None:
    """The name of an emoji, or the name that this is; None for others."""
    bare = emoji.replace("\ufe0f", "").strip()
    if re.fullmatch(r":?[a-z0-9_+-]{1,64}:?", bare, re.ASCII):
        return bare.strip(":")
    return _NAMES.get(bare)


class Signs:
    """The signs of one bot; none of them raises."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def type(self, recipient: str) -> None:
        try:
            place = parse_recipient(recipient)
            channel = await self._api.find_channel(place)
        except ClawError:
            return  # no chat: nobody to show a sign to
        body = {"channel_id": channel}
        if place.root:
            body["parent_id"] = place.root
        await self._api.cosmetic("POST", "users/me/typing", body)

    async def react(self, own_id: str, emoji: str) -> None:
        post, name = parse_id(own_id), find_name(emoji)
        if post is None or name is None:
            return
        try:
            me = await self._api.me()
        except ClawError:
            return
        await self._api.cosmetic("POST", "reactions", {
            "user_id": me.id, "post_id": post, "emoji_name": name})

    async def remove(self, own_id: str, emoji: str) -> None:
        post, name = parse_id(own_id), find_name(emoji)
        if post is not None and name is not None:
            await self._api.cosmetic(
                "DELETE", f"users/me/posts/{post}/reactions/{name}")
