"""The [channels_config.mattermost] table of config.toml, and how a newcomer
fills it."""

from typing import Annotated, Literal

import msgspec

from claw.channels.access import AccessSettings

Count = Annotated[int, msgspec.Meta(ge=0)]

SETUP = """\
A bot account of your server answers in channels and in direct messages.

1. In the System Console allow bot accounts: *Integrations > Bot Accounts >
   Enable Bot Account Creation*.
2. In a team choose *Product menu > Integrations > Bot Accounts > Add Bot
   Account*. The role *Member* is enough. Copy the token: it is shown once.
   (A personal access token of a user works too, but then the bot *is* that
   user, and does not hear what that user writes.)
3. Add the bot to its team (*Invite People*, by its username) and to each
   channel: `/invite @name`. Direct messages need no invitation.
4. Tell claw:

       claw config set channels_config.mattermost.url https://chat.example.org
       claw config set channels_config.mattermost.bot_token

5. Let people in by their user id. *System Console > Users* shows it under a
   person's name; usernames work too, but people may change them.

       claw config set channels_config.mattermost.allowed_users '["USER_ID"]'

   Or leave the list empty, start `claw listen`, and send the bot ` /bind CODE`
   in a direct message, with the code that claw logs at its start. Mind the
   blank before it: Mattermost keeps what begins with `/` for itself. So it is
   with ` /new`, ` /stop` and the others; `@name /new` in a channel works with
   `mention_only`.
6. `claw channel doctor mattermost` checks the way, the token, the WebSocket
   and the channels.

**In channels** the bot hears everything in the channels that it is in;
`mention_only = true` makes it wait for `@name`, `channel_id` keeps it to some
channels (direct messages always count). It answers in threads; with
`thread_replies = false` only where somebody has opened one.

**Approvals** have no buttons here, since a pressed button calls an address
of ours that the server would have to reach: type the words that the question
names, with a blank before the slash, in the same thread or direct message.
In a channel with `mention_only` they need the mention too:
`@name /approve ID`.

**When nothing arrives:** is the bot a member of the channel? Does a proxy in
between let WebSockets pass (`Upgrade` and `Connection` headers)? Without them
claw polls every 3 seconds and says so in its log (`websocket_refused`);
`transport = "polling"` does so from the start.
"""


class MattermostSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.mattermost].

    url: the address of the server, as in a browser
    bot_token: the token of the bot account
    channel_id: ids of the channels to listen to, with commas between; empty
        or "*" is all that the bot is in; direct messages always count
    allowed_users: user ids or usernames (a name belongs to the first person
        who comes with it); "*" is everybody, empty nobody until one is
        paired; beside "*", those who are named are the owners, others are
        strangers without tools and memories
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    thread_replies: answer a message of a channel in a thread below it;
        direct messages are answered where they stand
    mention_only: in channels react to @mentions of the bot only
    interrupt_on_new_message: a new message cancels the running answer
    ack_reactions: react with 👀, then ✅ or ⚠️; unset: as in
        channels_config
    debounce_ms: wait so long for more before answering; unset or 0: as in
        channels_config
    proxy_url: http, https, socks5 or socks5h proxy of this channel
    transport: "websocket", "polling" (every 3 s), or "auto": polling while
        the WebSocket is refused
    show_hint_to_strangers: tell people who are not allowed how they can be
    """

    url: str = ""
    bot_token: str = ""
    channel_id: str = ""
    thread_replies: bool = True
    mention_only: bool = False
    interrupt_on_new_message: bool = False
    ack_reactions: bool | None = None
    debounce_ms: Count | None = None
    proxy_url: str | None = None
    transport: Literal["auto", "websocket", "polling"] = "auto"
    show_hint_to_strangers: bool = True
