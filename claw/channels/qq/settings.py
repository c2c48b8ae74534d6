"""The [channels_config.qq] table of config.toml."""

from typing import Annotated, Literal

import msgspec

from claw.channels.access import AccessSettings

Count = Annotated[int, msgspec.Meta(ge=0)]


class QqSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.qq].

    app_id: the AppID of the bot
    app_secret: its AppSecret
    mode: "websocket" connects to QQ's gateway, "webhook" lets QQ post to
        claw's own gateway
    webhook_path: the path that QQ posts to
    sandbox: speak to QQ's sandbox, where a bot that is not published works
    allowed_users: openids that may write; a person has another one in each
        group; "*" is everybody, empty nobody until one is paired; beside
        "*", those who are named are the owners, others are strangers
        without tools and memories
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    mention_only: where QQ lets the bot hear all of a group, react to
        mentions only
    markdown: send Markdown where QQ lets the bot; plain text elsewhere
    interrupt_on_new_message: a new message cancels the running answer
    debounce_ms: wait so long for more before answering; unset or 0: as in
        channels_config
    api_base_url: the API's address; unset: QQ's, or that of its sandbox
    token_url: where the access token is fetched
    proxy_url: http, https, socks5 or socks5h proxy of this channel
    """

    app_id: str | int = ""
    app_secret: str = ""
    mode: Literal["websocket", "webhook"] = "websocket"
    webhook_path: str = "/qq"
    sandbox: bool = False
    mention_only: bool = False
    markdown: bool = True
    interrupt_on_new_message: bool = False
    debounce_ms: Count | None = None
    api_base_url: str = ""
    token_url: str = "https://bots.qq.com/app/getAppAccessToken"
    proxy_url: str | None = None

    @property
    def base_url(self) -> str:
        """Where the API is."""
        if self.api_base_url.strip():
            return self.api_base_url.strip().rstrip("/")
        return ("https://sandbox.api.sgroup.qq.com" if self.sandbox
                else "https://api.sgroup.qq.com")


SETUP = """\
An official bot answers in private chats, and in groups when it is mentioned.

1. Open https://q.qq.com, sign in as a developer, and create a bot. Under \
*Development settings* copy its AppID and its AppSecret (shown once):

       claw config set channels_config.qq.app_id APPID
       claw config set channels_config.qq.app_secret

2. Until the bot is published it talks to the people and groups of its \
sandbox only: name yours under *Sandbox configuration*, and tell claw:

       claw config set channels_config.qq.sandbox true

3. Choose how events arrive. The WebSocket (the default) needs no address of \
your own. Where QQ does not offer it to your bot (its pages call it the older \
way), use webhooks: they need a public HTTPS address on port 80, 443, 8080 or \
8443 that leads to claw's gateway. Set `mode = "webhook"`, start `claw \
listen`, and only then enter `https://YOUR.HOST/qq` under *Callback \
configuration*, since QQ tries it at once; tick there the events of private \
chats, groups and buttons.
4. Start `claw listen` and add the bot in QQ. With nobody allowed it logs a \
pairing code: send `/bind CODE` to the bot in private. Or name people:

       claw config set channels_config.qq.allowed_users \
'["E4F4AEA33253A2797FB897C50B81D7ED"]'

   QQ shows no account numbers. A person has one openid with your bot in \
private and another in each group; `claw listen` logs that of a stranger who \
mentions the bot.

What QQ allows:

- A message can be answered five times: within 60 minutes in private, \
within 5 in a group. claw keeps to that. What comes later (a reminder, a \
long task, `claw send qq:user:OPENID "text"`) is a message of the bot's own \
accord, and QQ takes few of those or none. Then it is held, `claw queue \
list` says so, and it goes out when somebody writes in that chat, within \
three days.
- Links are refused unless their site is entered under *Development \
settings*, *Message URLs*. claw sends a link as it is; where QQ refuses it, \
the text goes out with `example[.]org/page` in its place. Read `[.]` as a dot.
- Markdown and buttons need a permission of QQ's. Without it claw sends plain \
text, and a question says what to type.
- Voice messages must be mp3, wav or silk; other recordings go as files. \
Files have at most 10 MiB.
- QQ keeps no history for bots: what is written while claw is off comes only \
as long as QQ keeps the session (minutes), or in webhook mode as long as it \
repeats a call.

Nothing arrives? `claw channel doctor qq` looks at the way, the secret, the \
gateway and the allow-list.
"""
