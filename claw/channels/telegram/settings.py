"""The [channels_config.telegram] table of config.toml."""

from typing import Annotated, Literal

import msgspec

from claw.channels.access import AccessSettings

SETUP = """
A bot of your own answers in its private chat and in groups.

1. Write to [@BotFather](https://t.me/BotFather) on Telegram: `/newbot`. It
   asks for a name and gives a token.
2. Give claw the token. It is kept encrypted, and asked for where it does not
   stand on the line:

   `claw config set channels_config.telegram.bot_token`
3. Start `claw listen`. It prints a code of six digits; send `/bind CODE` to
   the bot in a private chat, and it knows you.
4. Let others in by their id, which the log shows when they write:

   `claw config set channels_config.telegram.allowed_users '[1001, 2002]'`

In a group the bot hears everything only where `/setprivacy` of @BotFather is
off, or it is an administrator; set it before the bot joins. With
`mention_only` it answers when it is spoken to.

Nothing arrives? `claw channel doctor telegram` tells: a webhook that another
program has set, a second poller with the same token, the clock, the list of
those who may write.
"""

Count = Annotated[int, msgspec.Meta(ge=0)]
PollSeconds = Annotated[int, msgspec.Meta(ge=1, le=600)]


class TelegramSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.telegram].

    bot_token: the token that @BotFather gave
    allowed_users: numeric ids or usernames (a name belongs to the first
        person who comes with it); "*" is everybody, empty nobody until one
        is paired; beside "*", those who are named are the owners, others are
        strangers without tools and memories: nobody else may approve
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    stream_mode: "partial" shows an answer while it grows (in a private chat
        as a preview, in a group as a silent message that is taken away), "off"
        when done; people are notified of the answer itself
    draft_update_interval_ms: least time between two updates of what is shown
    interrupt_on_new_message: a new message cancels the running answer
    mention_only: in groups react to @mentions and replies to the bot only
    ack_reactions: react with 👀, then 👍 or 🤔; unset: as in
        channels_config
    proxy_url: http, https, socks5 or socks5h proxy of this channel
    api_base_url: the Bot API server
    poll_timeout_secs: how long a getUpdates call may wait for news, 1 to 600
    debounce_ms: wait so long for more before answering; unset or 0: as in
        channels_config
    show_hint_to_strangers: tell people who are not allowed how they can be
    """

    bot_token: str = ""
    stream_mode: Literal["off", "partial"] = "off"
    draft_update_interval_ms: Count = 1000
    interrupt_on_new_message: bool = False
    mention_only: bool = False
    ack_reactions: bool | None = None
    proxy_url: str | None = None
    api_base_url: str = "https://api.telegram.org"
    poll_timeout_secs: PollSeconds = 30
    debounce_ms: Count | None = None
    show_hint_to_strangers: bool = True
