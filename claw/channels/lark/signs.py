"""Reactions, and buttons that are of no use: what nobody waits for."""

import json

from claw.channels.lark.api import LarkApi
from claw.channels.lark.events import parse_id
from claw.channels.lark.outgoing import Sender
from claw.core.errors import RequestRefusedError

# The platform's own names of its pictures.
_NAMES = {
    "👀": "GLANCE", "✅": "DONE", "⚠": "CrossMark", "❌": "CrossMark",
    "👍": "THUMBSUP", "👎": "ThumbsDown", "🎉": "PARTY", "🤔": "THINKING",
    "🔥": "Fire", "⏳": "OneSecond", "❤": "HEART", "🙏": "THANKS",
    "👏": "APPLAUSE", "💯": "Hundred", "👌": "OK", "💪": "MUSCLE",
    "😁": "LAUGH", "😢": "CRY", "😂": "LOL", "🌹": "ROSE", "🫡": "SALUTE",
}
_MOST = 1_000


def find_name(emoji: str) -> str | None:
    """The platform's name of an emoji; None where it has none."""
    return _NAMES.get(emoji.replace("\ufe0f", "").strip())


class Signs:
    """The signs of one app; reactions never raise."""

    def __init__(self, api: LarkApi, sender: Sender) -> None:
        self._api = api
        self._sender = sender
        self._made: dict[tuple[str, str], str] = {}

    async def react(self, own_id: str, emoji: str) -> None:
        """A reaction to somebody's message; any other id has nothing to
        react to."""
        number, name = parse_id(self._api.brand.name, own_id), \
            find_name(emoji)
        if number is None or name is None:
            return
        found = await self._api.cosmetic(
            "POST", f"im/v1/messages/{number}/reactions",
            {"reaction_type": {"emoji_type": name}})
        made = (found or {}).get("reaction_id")
        if isinstance(made, str) and made:
            if len(self._made) >= _MOST:
                del self._made[next(iter(self._made))]
            self._made[number, name] = made

    async def remove(self, own_id: str, emoji: str) -> None:
        number, name = parse_id(self._api.brand.name, own_id), \
            find_name(emoji)
        if number is None or name is None:
            return
        made = self._made.pop((number, name), None) \
            or await self._find(number, name)
        if made:
            await self._api.cosmetic(
                "DELETE", f"im/v1/messages/{number}/reactions/{made}")

    async def _find(self, number: str, name: str) -> str | None:
        """Our own reaction, made before a restart."""
        found = await self._api.cosmetic(
            "GET", f"im/v1/messages/{number}/reactions",
            query={"reaction_type": name, "page_size": 50})
        items = (found or {}).get("items")
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) \
                    and isinstance(item.get("operator"), dict) \
                    and item["operator"].get("operator_id") \
                    == self._api.app_id \
                    and isinstance(item.get("reaction_id"), str):
                return str(item["reaction_id"])
        return None

    async def clear_buttons(self, message_id: str) -> None:
        """Raises RequestRefusedError and UnavailableError."""
        known = self._sender.read_card(message_id)
        if known is None:
            raise RequestRefusedError(
                f"no card with buttons has the id {message_id[:60]!a}",
                status=404)
        await self._api.call("PATCH", f"im/v1/messages/{message_id}", {
            "content": json.dumps(known.get("card"), ensure_ascii=False)})
        self._sender.forget_card(message_id)
