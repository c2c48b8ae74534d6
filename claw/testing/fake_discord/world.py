"""What the fake Discord holds: servers, channels, messages, nonces."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
EPOCH_MS = 1_420_070_400_000
DM, TEXT, PUBLIC_THREAD = 1, 0, 11


class ApiError(Exception):
    """A refusal: the HTTP status, Discord's own code, its words."""

    def __init__(self, status: int, code: int, message: str,
                 **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"code": code, "message": message, **more}


@dataclass
class Sent:
    """A message of the bot. `silent` rang no phone; `previews`: the
    platform was free to preview its links."""

    id: str
    channel_id: str
    text: str
    silent: bool
    previews: bool
    raw: Json
    deleted: bool = False
    history: list[str] = field(default_factory=list)
    file: bytes | None = None

    @property
    def components(self) -> list[Json]:
        return list(self.raw.get("components") or ())


@dataclass
class Room:
    """A channel."""

    id: str
    type: int
    guild_id: str | None = None
    name: str = ""
    parent_id: str | None = None
    recipient: Json | None = None
    messages: dict[str, Json] = field(default_factory=dict)

    def shown(self) -> Json:
        found: Json = {"id": self.id, "type": self.type, "flags": 0,
                       "last_message_id": next(reversed(self.messages), None)}
        if self.guild_id is None:
            return found | {"recipients": [self.recipient]}
        found |= {"guild_id": self.guild_id, "name": self.name,
                  "parent_id": self.parent_id, "position": 0, "nsfw": False,
                  "permission_overwrites": [], "rate_limit_per_user": 0}
        if self.type == PUBLIC_THREAD:
            found |= {"owner_id": "1", "message_count": 0, "member_count": 1,
                      "thread_metadata": {
                          "archived": False, "locked": False,
                          "auto_archive_duration": 1440,
                          "archive_timestamp": stamp(time.time())}}
        return found


class World:
    """Everything but the connections. `clock` says when a nonce is
    forgotten, after `nonce_s`."""

    def __init__(self, bot: Json, clock: Callable[[], float]) -> None:
        self.bot = bot
        self.clock = clock
        self.cdn = ""
        self.nonce_s = 180.0
        self.shows_nonces = False
        self.rooms: dict[str, Room] = {}
        self.guilds: dict[str, str] = {}
        self.people: dict[str, Json] = {}
        self.sent: dict[str, Sent] = {}
        self.nonces: dict[tuple[str, str], tuple[str, float]] = {}
        self.reactions: dict[str, list[str]] = {}
        self.typing: list[str] = []
        self.files: dict[str, bytes] = {}
        self.commands: list[Json] = []
        self.interactions: dict[str, Json | None] = {}
        self._last = 0

    def draw_id(self) -> str:
        now = (int(time.time() * 1000) - EPOCH_MS) << 22
        self._last = max(self._last + 1, now)
        return str(self._last)

    @property
    def last_id(self) -> int:
        return self._last

    def room(self, chat: str) -> Room:
        try:
            return self.rooms[chat]
        except KeyError:
            raise ApiError(404, 10003, "Unknown Channel") from None

    def message(self, chat: str, number: str) -> Json:
        try:
            return self.room(chat).messages[number]
        except KeyError:
            raise ApiError(404, 10008, "Unknown Message") from None

    def person(self, number: str, name: str) -> Json:
        found = self.people.setdefault(number, {
            "id": number, "discriminator": "0", "avatar": None,
            "global_name": None})
        found["username"] = name
        return dict(found)

    def open_dm(self, number: str) -> Room:
        """The direct messages with a person: the fake gives them his
        number."""
        room = self.rooms.get(number)
        if room is None:
            person = self.people.get(number) or self.person(number, "alice")
            room = self.rooms[number] = Room(number, DM, recipient=person)
        return room

    def add(self, room: Room, author: Json, fields: Json) -> Json:
        """A new message as everybody gets it."""
        message = {
            "id": self.draw_id(), "channel_id": room.id, "author": author,
            "content": "", "timestamp": stamp(time.time()),
            "edited_timestamp": None, "tts": False, "flags": 0, "type": 0,
            "mention_everyone": False, "mentions": [], "mention_roles": [],
            "attachments": [], "embeds": [], "pinned": False,
            "components": [], **fields}
        room.messages[message["id"]] = message
        return message

    def shown_guild(self, guild_id: str) -> Json:
        """A GUILD_CREATE."""
        rooms = [room for room in self.rooms.values()
                 if room.guild_id == guild_id]
        role = {"id": guild_id, "name": "@everyone", "color": 0,
                "hoist": False, "position": 0, "permissions": "2147483647",
                "managed": False, "mentionable": False, "flags": 0}
        return {
            "id": guild_id, "name": self.guilds[guild_id], "icon": None,
            "owner_id": "1", "region": "", "afk_timeout": 60,
            "verification_level": 0, "default_message_notifications": 0,
            "explicit_content_filter": 0, "mfa_level": 0, "nsfw_level": 0,
            "premium_tier": 0, "preferred_locale": "en-US", "features": [],
            "emojis": [], "stickers": [], "joined_at": stamp(time.time()),
            "large": False, "member_count": 2, "presences": [],
            "voice_states": [], "stage_instances": [],
            "guild_scheduled_events": [], "system_channel_flags": 0,
            "roles": [role, {**role, "id": f"{guild_id}7", "name": "claw",
                             "managed": True,
                             "tags": {"bot_id": self.bot["id"]}}],
            "members": [{"user": self.bot, "roles": [], "deaf": False,
                         "joined_at": stamp(time.time()), "mute": False,
                         "flags": 0}],
            "channels": [r.shown() for r in rooms if r.type == TEXT],
            "threads": [r.shown() for r in rooms if r.type != TEXT]}


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
