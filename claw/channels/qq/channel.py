"""QqChannel: the contract of core/channel.py over QQ's official bot API.

What the platform is stands here; the parts that speak to it load when a
channel is made, since the settings of a file cost no HTTP client.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from claw.channels.connection import works
from claw.channels.qq.settings import SETUP, QqSettings
from claw.channels.sending import PartChannel
from claw.core.abilities import (
    Delivery,
    Finding,
    ServesWebhooks,
    WebhookCall,
    WebhookPlace,
)
from claw.core.channel import (
    Capabilities,
    ChannelDeps,
    Inbox,
    Part,
    SendMessage,
)
from claw.core.errors import ConfigError, UnavailableError

if TYPE_CHECKING:
    import httpx

    from claw.channels.qq.outgoing import Sender

_HEALTH_S = 5.0
_SILENT_S = 45.0  # a heartbeat is answered every 41


class QqChannel(PartChannel):
    """One bot. Parts, closing and diagnosis included. With mode "websocket"
    it receives alone for its account, with "webhook" the gateway serves it:
    what only one of them has is given to the instance. `now` is Unix
    seconds."""

    name = "qq"
    Settings = QqSettings
    # Of an answer in a group; in private QQ knows it for an hour.
    capabilities = Capabilities(key_holds_s=240.0, proactive=False,
                                several_connections=False, buttons=True)
    setup = SETUP
    first_setting = "app_secret"
    example_recipient = "user:E4F4AEA33253A2797FB897C50B81D7ED"
    guidance = """## Writing for QQ

- Often only plain text is shown: write short sentences and short lists, no \
tables.
- A message may be answered five times at most: one answer of at most 4,000 \
characters is best.
- Links may be shown as example[.]org. Prefer naming a site to linking it.
- To send a file, write a marker on a line of its own, outside of code: \
[IMAGE:target], [DOCUMENT:target], [VIDEO:target], [AUDIO:target] or \
[VOICE:target]; the target is a path.
- What is said later than an hour (in a group: five minutes) after the last \
message may arrive only when somebody writes again.
- Do not describe your tool calls. Give the result."""

    _sender: "Sender"

    def __init__(self, settings: QqSettings, deps: ChannelDeps, *,
                 transport: "httpx.AsyncBaseTransport | None" = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time) -> None:
        from claw.channels.qq.api import Api
        from claw.channels.qq.chats import Chats
        from claw.channels.qq.events import Events
        from claw.channels.qq.intake import Intake
        from claw.channels.qq.listener import Listener
        from claw.channels.qq.outgoing import Sender
        from claw.channels.qq.session import Session
        from claw.channels.qq.webhook import Webhook
        self.settings = settings
        self._log = deps.log
        self._api = Api(settings, deps.log, transport=transport,
                        sleep=sleep, clock=clock, now=now)
        now = self._api.server_time
        self._chats = Chats(deps.marks, now)
        self._sender = Sender(self._api, deps, self._chats,
                              markdown=settings.markdown, now=now)
        self._intake = Intake(settings, deps, self._api, self._sender,
                              clock=clock, now=now)
        self._events = Events(self._api, self._intake, self._chats, deps.log)
        if settings.mode == "webhook":
            self._webhook = Webhook(
                self._api.app_id, settings.app_secret.strip(), self._events,
                now=now)
            self.webhook = WebhookPlace(
                "/" + settings.webhook_path.strip().strip("/"))
            self.verify, self.parse = self._verify, self._parse
        else:
            self._listener = Listener(
                self._api, self._events,
                Session(deps.marks, self._api.app_id), log=deps.log,
                clock=clock, now=now, pace=self._note_pace)
            self.poll_time_s = _SILENT_S
            self.account = f"qq:{self._api.app_id}"

    async def aclose(self) -> None:
        await self._events.end()
        await self._api.aclose()

    # -- receiving and sending

    async def listen(self, inbox: Inbox) -> None:
        self._intake.door.open_pairing()
        try:
            if self.settings.mode == "webhook":
                await self._serve(inbox)
            else:
                await self._listener.run(inbox)
        finally:
            await self._events.end()

    def _note_pace(self, heartbeat_s: float) -> None:
        """The longest silence of a connection that is well."""
        self.poll_time_s = max(_SILENT_S, heartbeat_s)

    async def _serve(self, inbox: Inbox) -> None:
        self._api.check_settings()
        if not isinstance(inbox, ServesWebhooks):
            raise ConfigError("nothing serves HTTP here",
                              hint="claw listen does")
        self._webhook.inbox = inbox
        try:
            self._events.bot_id = (await self._api.me())["id"]
        except UnavailableError as error:  # mentions stay in guilds' texts
            self._log("bot_unknown", error=error.message)
        await inbox.serve_webhook(self)

    def _verify(self, call: WebhookCall) -> None:
        self._webhook.verify(call)

    async def _parse(self, call: WebhookCall) -> Delivery:
        return await self._webhook.parse(call)

    def knows_key(self, message: SendMessage, part: Part) -> bool:
        return self._sender.knows_key(message, part)

    def mark_repeated(self, part: Part, note: str) -> Part:
        from claw.channels.qq.parts import mark
        return mark(part, note)

    async def start_typing(self, recipient: str) -> None:
        await self._sender.type(recipient)

    # -- health

    async def health_check(self) -> bool:
        return await works(self._api.me(timeout_s=_HEALTH_S))

    async def diagnose(self) -> list[Finding]:
        from claw.channels.qq.diagnose import diagnose
        return await diagnose(self._api, self.settings, self._chats,
                              self._intake.door.allowed)
