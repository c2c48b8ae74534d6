"""The [channels_config.lark] and [channels_config.feishu] tables of
config.toml, and how to begin."""

from typing import Annotated, Literal

import msgspec

from claw.channels.access import AccessSettings
from claw.core.value import Value

Count = Annotated[int, msgspec.Meta(ge=0)]


class Brand(Value):
    """One of the two regions: its channel's name, what people call it, and
    where it is."""

    name: str
    title: str
    base_url: str

    @property
    def table(self) -> str:
        return f"channels_config.{self.name}"

    def find_path(self, settings: "LarkSettings") -> str:
        """Where the gateway serves the webhook."""
        return "/" + (settings.listen_path or self.name).strip().lstrip("/")


LARK = Brand("lark", "Lark", "https://open.larksuite.com")
FEISHU = Brand("feishu", "Feishu", "https://open.feishu.cn")

# What the app has to be allowed, and what for.
SCOPES = {
    "im:message:send_as_bot": "to answer",
    "im:message.p2p_msg:readonly": "to read private messages to it",
    "im:message.group_at_msg:readonly": "to hear @mentions in groups",
    "im:message:readonly": "to read history, for catching up",
    "im:message.group_msg": "to read all messages of groups",
    "im:resource": "to fetch and send files",
    "im:message.reactions:write_only": "to react",
    "im:chat:readonly": "to list its groups, for catching up",
    "contact:user.base:readonly": "to know people's names",
}


def write_setup(brand: Brand) -> str:
    """How to begin in a region."""
    return f"""\
A self-built app with a bot answers in private chats and in groups. It \
connects to {brand.title} by itself: no public address is needed.

1. Open {brand.base_url.removeprefix('https://')}/app, *Create Custom App*, \
then *Features*, *Bot*: switch it on.
2. *Permissions & Scopes*: add {', '.join(f'`{s}`' for s in SCOPES)}.
3. Set app id and secret (*Credentials & Basic Info*), and start claw once: \
the next page asks for a connection that stands.
4. *Events & Callbacks*: choose *Receive events through persistent \
connection* for events and for callbacks. Add the event \
`im.message.receive_v1` and the callback `card.action.trigger`.
5. *Version Management*: create a version and publish it.

```sh
claw config set {brand.table}.app_id cli_...
claw config set {brand.table}.app_secret < app_secret.txt
claw channel doctor {brand.name}
claw listen
```

With nobody allowed `claw listen` logs a code: send the bot `/bind CODE` in \
a private chat. Or add people's open ids (`ou_...`) to `allowed_users`; they \
are another one for each app.

- In a group add the bot first (*Settings*, *Bots*). With the scope \
`im:message.group_msg` it hears all that is said there: set `mention_only` \
to hear what is said to it alone.
- What was said while nobody listened is read from the history at the next \
start: up to 5,000 messages in each of 200 chats, and the 50 threads of the \
last day that it took part in. Who wrote for the first time is heard when \
{brand.title} sends it again (for seven hours).
- Several hosts may listen at once (fifty connections), each message goes to \
one of them.
- To be posted to instead set `receive_mode = "webhook"`, and `encrypt_key` \
(better) or `verification_token` as that page shows them. The gateway serves \
it at `listen_path`.

Nothing arrives? `claw channel doctor {brand.name}` names the step that \
fails. A scope or event counts once a version with it is published.
"""


class LarkSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.lark] and [channels_config.feishu].

    app_id: the app's id (cli_...)
    app_secret: the app's secret
    allowed_users: open ids of people (ou_...); "*" is everybody, empty
        nobody until one is paired; beside "*", those who are named are the
        owners, others are strangers without tools and memories
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    receive_mode: "websocket" (a connection that claw opens) or "webhook"
        (the platform posts to the gateway)
    encrypt_key: of a webhook: what its bodies are signed and encrypted with
    verification_token: of a webhook: what its bodies hold
    listen_path: where the gateway serves the webhook; unset: /lark, or
        /feishu
    host: address of a port of its own for the webhook
    port: a port of its own for the webhook, beside the gateway's; unset:
        none
    use_feishu: the app is at Feishu, where this is no table of its own
    mention_only: in groups react to @mentions only
    interrupt_on_new_message: a new message cancels the running answer
    ack_reactions: react when a message comes and when it is answered;
        unset: as in channels_config
    debounce_ms: wait so long for more before answering; unset or 0: as in
        channels_config
    api_base_url: another address of the platform; unset: the region's
    proxy_url: http, https, socks5 or socks5h proxy of this channel
    show_hint_to_strangers: tell people who are not allowed how they can be
    """

    app_id: str = ""
    app_secret: str = ""
    receive_mode: Literal["websocket", "webhook"] = "websocket"
    encrypt_key: str = ""
    verification_token: str = ""
    listen_path: str | None = None
    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=1, le=65_535)] | None = None
    use_feishu: bool = False
    mention_only: bool = False
    interrupt_on_new_message: bool = False
    ack_reactions: bool | None = None
    debounce_ms: Count | None = None
    api_base_url: str | None = None
    proxy_url: str | None = None
    show_hint_to_strangers: bool = True
