"""The [channels_config.matrix] table of config.toml, and how to set it up."""

from typing import Annotated, Literal

import msgspec

from claw.channels.access import AccessSettings

Count = Annotated[int, msgspec.Meta(ge=0)]

SETUP = """\
An account of its own answers in rooms and in private chats.

1. Make an account for the bot on your homeserver (in any client, or by its \
administrator). It should be used by nothing else.
2. Get a token of its own for it. Not one copied out of a client: logging out \
there would end it.

       curl -XPOST https://HOMESERVER/_matrix/client/v3/login -d '{
         "type": "m.login.password", "password": "PASSWORD",
         "identifier": {"type": "m.id.user", "user": "BOT"},
         "initial_device_display_name": "claw"}'

   The answer has `access_token`, `user_id` and `device_id`.
3. Tell claw:

       claw config set channels_config.matrix.homeserver https://HOMESERVER
       claw config set channels_config.matrix.access_token
       claw config set channels_config.matrix.allowed_users \
'["@you:HOMESERVER"]'

4. `claw listen`, then invite the bot to a room or start a chat with it. It \
joins when one of `allowed_users` invites it, or when the room is in \
`allowed_rooms`; other invitations are declined.

With `allowed_users` empty, `claw listen` logs a code: send `/bind CODE` to \
the bot in a private chat, and you are let in.

The keys of encrypted rooms lie in `state/matrix` of the workspace and belong \
to this token's device: keep both together, and never use one token in two \
places.

Synapse lets an account send ten events at once and then one in five seconds; \
reactions and drafts count. On a server of your own lift that for the bot:

       curl -XPOST -H 'Authorization: Bearer ADMIN_TOKEN' -d '{}' \
https://HOMESERVER/_synapse/admin/v1/users/@BOT:HOMESERVER/override_ratelimit

When nothing arrives: `claw channel doctor matrix`. Is the bot a member of \
the room, your id (with its server) in `allowed_users`, the room in \
`allowed_rooms` if that is set? With `mention_only` rooms of more than two \
have to name the bot.
"""


class MatrixSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.matrix].

    homeserver: address of the homeserver's client API
    access_token: the token of the bot's login, for nothing else
    user_id: the bot's own id; asked of the server where it tells
    device_id: the device of the token; asked of the server where it tells
    room_id: a room (`!id` or `#alias`) that is listened to, and written to
        where a recipient names none
    allowed_users: full ids (`@name:server`, in any case); "*" is everybody,
        empty nobody until one is paired; beside "*", those who are named are
        the owners, others are strangers without tools and memories
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    allowed_rooms: rooms (`!id` or `#alias`) that are listened to, beside
        room_id; empty: every room that the bot has joined, unless room_id is
        set
    mention_only: in rooms of more than two react only to mentions of the bot
        and to replies to it
    interrupt_on_new_message: a new message cancels the running answer
    stream_mode: "partial" shows an answer while it grows, as a notice that is
        taken away when the answer stands; "off" when done
    ack_reactions: react with 👀, then ✅ or ⚠️; unset: as in channels_config
    debounce_ms: wait so long for more before answering; unset or 0: as in
        channels_config
    proxy_url: http, https, socks5 or socks5h proxy of this channel
    show_hint_to_strangers: tell people who are not allowed how they can be
    """

    homeserver: str = ""
    access_token: str = ""
    user_id: str = ""
    device_id: str = ""
    room_id: str = ""
    allowed_rooms: tuple[str, ...] = ()
    mention_only: bool = False
    interrupt_on_new_message: bool = False
    stream_mode: Literal["off", "partial"] = "off"
    ack_reactions: bool | None = None
    debounce_ms: Count | None = None
    proxy_url: str | None = None
    show_hint_to_strangers: bool = True

    @property
    def rooms(self) -> tuple[str, ...]:
        """What is listened to; empty for every room."""
        return tuple(filter(None, dict.fromkeys(
            room.strip() for room in (self.room_id, *self.allowed_rooms))))

    @staticmethod
    def spell(entry: str) -> str:
        return entry.lower()
