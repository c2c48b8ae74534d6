"""The [channels_config.discord] table of config.toml."""

from typing import Annotated, Literal

import msgspec

from claw.channels.access import AccessSettings

Count = Annotated[int, msgspec.Meta(ge=0)]


class DiscordSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.discord].

    bot_token: the token of the application's bot
    guild_id: listen in this server and in direct messages only; unset:
        wherever the bot is
    allowed_users: user ids (or usernames: a name belongs to the first person
        who comes with it); "*" is everybody, empty nobody until one is
        paired; beside "*", those who are named are the owners, others are
        strangers without tools and memories: nobody else may approve
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    listen_to_bots: hear other bots and webhooks too
    interrupt_on_new_message: a new message cancels the running answer
    mention_only: in servers react to @mentions and replies to the bot only
    ack_reactions: react with 👀, then ✅ or ⚠️; unset: as in channels_config
    debounce_ms: wait so long for more before answering; unset or 0: as in
        channels_config
    stream_mode: "partial" shows an answer while it grows, in a silent
        message that is taken away, "off" when done
    api_base_url: the REST API's address
    proxy_url: http, https, socks5 or socks5h proxy of this channel
    """

    bot_token: str = ""
    guild_id: str | int | None = None
    listen_to_bots: bool = False
    interrupt_on_new_message: bool = False
    mention_only: bool = False
    ack_reactions: bool | None = None
    debounce_ms: Count | None = None
    stream_mode: Literal["off", "partial"] = "off"
    api_base_url: str = "https://discord.com/api/v10"
    proxy_url: str | None = None


SETUP = """\
A bot of your own answers in servers and in direct messages.

1. Open https://discord.com/developers/applications, press *New \
Application* and give it the name that people are to see.
2. Under *Bot* press *Reset Token* and copy the token. It is shown once.
3. On the same page, under *Privileged Gateway Intents*, switch on \
*Message Content Intent*. Without it Discord closes the connection (4014).
4. Give claw the token:

       claw config set channels_config.discord.bot_token

5. Invite the bot: `claw channel doctor discord` prints the link, with the \
permissions that claw needs. Open it and choose your server. For direct \
messages one server that you share with the bot is enough.
6. Let people in, by their user id (in Discord: Settings, Advanced, \
Developer Mode; then a click with the right button on a name, *Copy User \
ID*):

       claw config set channels_config.discord.allowed_users \
'["123456789012345678"]'

   With nobody allowed, `claw listen` logs a pairing code: send \
`/bind CODE` to the bot in a direct message.
7. Start: `claw listen`.

Of use:

- `mention_only = true`: in servers only @mentions of the bot and replies \
to it are for claw.
- `guild_id = "..."`: one server only, and direct messages.
- `claw send discord:CHANNEL_ID "text"` writes to a channel, \
`claw send discord:user:USER_ID "text"` to a person.
- `/new`, `/stop` and `/model` are offered as slash commands.

Nothing arrives? `claw channel doctor discord` looks at the way, the token, \
the intent and the allow-list. The bot needs to see the channel (a private \
one must name it), and what stands in *threads* needs *Send Messages in \
Threads*. An answer of more than 2,000 characters comes in several messages; \
files may have 10 MiB.
"""
