"""The [channels_config.slack] table of config.toml, and how to begin."""

from typing import Annotated

import msgspec

from claw.channels.access import AccessSettings

Count = Annotated[int, msgspec.Meta(ge=0)]

# What the bot token has to be allowed, and what for.
SCOPES = {
    "chat:write": "to answer",
    "app_mentions:read": "to hear @mentions",
    "channels:history": "to read public channels that it is in",
    "groups:history": "to read private channels that it is in",
    "im:history": "to read private messages to it",
    "mpim:history": "to read group messages that it is in",
    "channels:read": "to list channels, for catching up",
    "groups:read": "to list private channels, for catching up",
    "im:read": "to list private messages, for catching up",
    "mpim:read": "to list group messages, for catching up",
    "users:read": "to know people's names",
    "files:read": "to fetch files that people send",
    "files:write": "to send files",
    "reactions:write": "to react with eyes and a check mark",
    "im:write": "to write to a person first (claw send slack:U...)",
}

SETUP = f"""\
An app of your own answers in channels and in direct messages.

1. Open api.slack.com/apps, choose *Create New App*, *From scratch*, and \
pick the workspace.
2. *Socket Mode*: switch it on. Slack makes an app-level token with the \
scope `connections:write`; it begins with `xapp-`.
3. *OAuth & Permissions*, *Bot Token Scopes*: add {', '.join(
    f'`{scope}`' for scope in SCOPES)}. `assistant:write` shows "is \
thinking..." too.
4. *Event Subscriptions*: switch it on; under *Subscribe to bot events* add \
`message.im`, `message.channels`, `message.groups`, `message.mpim`, \
`app_mention` and `user_change`.
5. *Interactivity & Shortcuts*: switch it on, for buttons. *App Home*: allow \
messages from the Messages tab.
6. *Slash Commands* (optional): add `/new`, `/stop` and `/model`. Slack keeps \
every other text that begins with `/` to itself: type a blank before it.
7. *Install App*, then copy the *Bot User OAuth Token*; it begins with \
`xoxb-`.

```sh
claw config set channels_config.slack.bot_token < bot_token.txt
claw config set channels_config.slack.app_token < app_token.txt
claw config set channels_config.slack.allowed_users '["U0123456789"]'
claw channel doctor slack
claw listen
```

Your own id is in your Slack profile, under *More*, *Copy member ID*. With \
nobody allowed `claw listen` logs a code instead: send the bot \
` /bind CODE` in a private message, with the blank in front.

- In a channel invite the bot first: `/invite @name`.
- Answers go into a thread under what was asked, and each thread is a \
conversation of its own. For one long conversation, in private messages for \
instance, set `thread_replies` to false.
- What was said while nobody listened is read from the history at the next \
start: up to 1,000 messages a channel, and the replies in the 50 threads of \
the last day that it took part in.
- Several hosts may listen at once (Slack allows ten connections), each \
message goes to one of them.
- Without `app_token` the bot asks for news every three seconds. Slack \
allows that at a useful rate only to apps of your own workspace: it is a \
way out, no way in.

Nothing arrives? `claw channel doctor slack` names the step that fails. A \
scope that was added later needs the app to be installed again.
"""


class SlackSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.slack].

    bot_token: the Bot User OAuth Token (xoxb-...)
    app_token: the app-level token (xapp-...) of Socket Mode; without one
        the bot polls
    channel_id: the only channel to listen to (C..., G... or D...); "*" or
        empty is all that the bot is in
    allowed_users: ids of people (U...); "*" is everybody, empty nobody until
        one is paired; beside "*", those who are named are the owners, others
        are strangers without tools and memories: nobody else may approve
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    interrupt_on_new_message: a new message cancels the running answer
    thread_replies: answer in a thread under the message; off: only where
        it stands in one
    mention_only: in channels and group messages react to @mentions only
    ack_reactions: react with 👀, then ✅ or ⚠️; unset: as in channels_config
    debounce_ms: wait so long for more before answering; unset or 0: as in
        channels_config
    api_base_url: the Web API
    proxy_url: http, https, socks5 or socks5h proxy of this channel
    show_hint_to_strangers: tell people who are not allowed how they can be
    """

    bot_token: str = ""
    app_token: str = ""
    channel_id: str = ""
    interrupt_on_new_message: bool = False
    thread_replies: bool = True
    mention_only: bool = False
    ack_reactions: bool | None = None
    debounce_ms: Count | None = None
    api_base_url: str = "https://slack.com/api"
    proxy_url: str | None = None
    show_hint_to_strangers: bool = True
