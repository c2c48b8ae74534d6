"""LineChannel: the contract of core/channel.py over LINE's Messaging API.

The gateway serves it: a webhook is answered 200 only after what it holds is
committed, and LINE sends again what it heard nothing good of, where its
console says so. What the platform is stands here; the parts that speak to it
load when a channel is made, since the settings of a file cost no HTTP
client.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from claw.channels.connection import works
from claw.channels.line.settings import KEY_S, SETUP, TABLE, LineSettings
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
from claw.core.errors import ConfigError

if TYPE_CHECKING:
    import httpx

    from claw.channels.line.outgoing import Sender

_HEALTH_S = 5.0
_BODY_BYTES = 3 << 20
_TYPING_S = 15.0  # the sign is shown for 20


class LineChannel(PartChannel):
    """One official account. `clock` is monotonic seconds, `now` Unix
    seconds."""

    name = "line"
    Settings = LineSettings
    # Of a push; of a reply LINE knows it for a minute (knows_key).
    capabilities = Capabilities(key_holds_s=KEY_S, buttons=True,
                                private_chat_is_person=True)
    setup = SETUP
    first_setting = "channel_access_token"
    example_recipient = "U4af4980629fbbd9a2f0d4e3b2b9f8f11"
    guidance = """## Writing for LINE

- Plain text only: no Markdown, no tables; short lists with "-" are fine.
- It is read on a phone: be brief, without filler.
- Files can't be sent. A picture at an https address can: write \
[IMAGE:https://...] on a line of its own, outside of code (JPEG or PNG).
- Do not describe your tool calls. Give the result."""

    _sender: "Sender"

    def __init__(self, settings: LineSettings, deps: ChannelDeps, *,
                 transport: "httpx.AsyncBaseTransport | None" = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time) -> None:
        from claw.channels.line.api import Api
        from claw.channels.line.intake import Intake
        from claw.channels.line.outgoing import Sender
        from claw.channels.line.receive import Receiver
        from claw.channels.line.replies import Replies
        from claw.channels.talks import Talks
        self.settings = settings
        self._secret = settings.channel_secret.strip()
        self._path = "/" + settings.listen_path.strip().lstrip("/")
        self._clock = clock
        self._marks = deps.marks
        self._typed: dict[str, float] = {}
        self._api = Api(settings, deps.log, transport=transport, sleep=sleep,
                        clock=clock)
        replies, talks = Replies(deps.marks, now), Talks()
        self._sender = Sender(self._api, deps, replies, talks, now=now)
        self._intake = Intake(settings, deps, self._api, talks, self._sender,
                              clock=clock, now=now)
        self._receiver = Receiver(self._intake, replies, talks, deps)

    async def aclose(self) -> None:
        await self._api.aclose()

    # -- receiving

    async def listen(self, inbox: Inbox) -> None:
        if not self._secret:
            from claw.channels.line.signed import SECRET_HINT
            raise ConfigError(
                f"{TABLE} has no channel_secret: anyone could write to the "
                "agent", hint=SECRET_HINT)
        if not isinstance(inbox, ServesWebhooks):
            raise ConfigError("nothing serves HTTP here",
                              hint="claw listen does")
        self._intake.inbox = inbox
        self._intake.door.open_pairing()
        await inbox.serve_webhook(self)

    @property
    def webhook(self) -> WebhookPlace:
        return WebhookPlace(self._path, body_bytes=_BODY_BYTES)

    def verify(self, call: WebhookCall) -> None:
        from claw.channels.line.signed import check_signature
        check_signature(self._secret, call)

    async def parse(self, call: WebhookCall) -> Delivery:
        return await self._receiver.read(call)

    # -- sending

    def mark_repeated(self, part: Part, note: str) -> Part:
        return self._sender.mark(part, note)

    def knows_key(self, message: SendMessage, part: Part) -> bool:
        return self._sender.knows_key(message, part)

    async def start_typing(self, recipient: str) -> None:
        """LINE shows it in private chats, until a message comes."""
        from claw.channels.line.wire import is_user
        now = self._clock()
        if not is_user(recipient) or now < self._typed.get(
                recipient, -_TYPING_S) + _TYPING_S:
            return
        if len(self._typed) >= 1000:
            self._typed.clear()
        self._typed[recipient] = now
        await self._api.load(recipient)

    # -- health

    async def health_check(self) -> bool:
        return await works(self._api.get("info", timeout_s=_HEALTH_S))

    async def diagnose(self) -> list[Finding]:
        from claw.channels.line.diagnose import diagnose
        return await diagnose(self._api, self._intake.door.allowed,
                              self.settings, self._marks)
