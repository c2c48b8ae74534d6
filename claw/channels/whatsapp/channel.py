"""WhatsappChannel: the contract of core/channel.py over Meta's Cloud API.

The gateway serves it: a webhook is answered 200 only after what it holds is
committed, and Meta sends again what it heard nothing good of. What the
platform is stands here; the parts that speak to it load when a channel is
made, since the settings of a file cost no HTTP client.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from claw.channels.connection import works
from claw.channels.sending import PartChannel
from claw.channels.whatsapp.settings import SETUP, TABLE, WhatsappSettings
from claw.core.abilities import (
    Delivery,
    Doubt,
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
)
from claw.core.errors import ConfigError

if TYPE_CHECKING:
    import httpx

    from claw.channels.whatsapp.outgoing import Sender

_HEALTH_S = 5.0
_BODY_BYTES = 3 << 20  # Meta's own bound


class WhatsappChannel(PartChannel):
    """One number. `clock` is monotonic seconds, `now` Unix seconds."""

    name = "whatsapp"
    Settings = WhatsappSettings
    capabilities = Capabilities(list_back=True, identity_change=True,
                                buttons=True, private_chat_is_person=True)
    setup = SETUP
    first_setting = "access_token"
    example_recipient = "+4917012345"
    reactions_replace = True  # a message has one reaction of ours
    guidance = """## Writing for WhatsApp

- **bold**, *italic*, ~~strike~~, `code` and fenced code are shown as such; \
for a heading write a bold line, never #. Tables are shown as they are typed.
- It is read on a phone: be brief, without filler.
- To send a file, write a marker on a line of its own, outside of code: \
[IMAGE:path], [DOCUMENT:path], [VIDEO:path], [AUDIO:path] or [VOICE:path].
- Do not describe your tool calls. Give the result."""

    _sender: "Sender"

    def __init__(self, settings: WhatsappSettings, deps: ChannelDeps, *,
                 transport: "httpx.AsyncBaseTransport | None" = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time) -> None:
        from claw.channels.talks import Talks
        from claw.channels.whatsapp.api import Api
        from claw.channels.whatsapp.intake import Intake
        from claw.channels.whatsapp.outgoing import Sender
        from claw.channels.whatsapp.receive import Receiver
        from claw.channels.whatsapp.sent import Deliveries
        from claw.channels.whatsapp.signs import Signs
        if settings.session_path:
            _refuse_web_mode(settings, deps)
        self.settings = settings
        self._secret = settings.app_secret.strip()
        self._verify_token = settings.verify_token.strip()
        self._path = "/" + settings.listen_path.strip().lstrip("/")
        self._api = Api(settings, deps.log, transport=transport, sleep=sleep,
                        clock=clock)
        talks = Talks()
        self._deliveries = Deliveries(deps.marks, deps.log, self._api.sleep,
                                      now)
        self._sender = Sender(self._api, settings, deps, self._deliveries,
                              talks)
        self._signs = Signs(self._api, talks, clock=clock)
        self._intake = Intake(settings, deps, self._api, talks, clock=clock,
                              now=now)
        self._receiver = Receiver(self._api.number_id, self._intake,
                                  self._deliveries, deps)

    async def aclose(self) -> None:
        await self._api.aclose()

    # -- receiving

    async def listen(self, inbox: Inbox) -> None:
        if not self._secret:
            from claw.channels.whatsapp.signed import SECRET_HINT
            raise ConfigError(
                f"{TABLE} has no app_secret: anyone could write to the "
                "agent", hint=SECRET_HINT)
        if not isinstance(inbox, ServesWebhooks):
            raise ConfigError("nothing serves HTTP here",
                              hint="claw listen does")
        self._intake.inbox = inbox
        self._intake.door.open_pairing()
        await inbox.serve_webhook(self)

    @property
    def webhook(self) -> WebhookPlace:
        return WebhookPlace(self._path, ("GET", "POST"), _BODY_BYTES)

    def verify(self, call: WebhookCall) -> None:
        from claw.channels.whatsapp.signed import (
            check_handshake,
            check_signature,
        )
        if call.method == "GET":
            check_handshake(self._verify_token, call)
        else:
            check_signature(self._secret, call)

    async def parse(self, call: WebhookCall) -> Delivery:
        return await self._receiver.read(call)

    # -- sending

    def mark_repeated(self, part: Part, note: str) -> Part:
        return self._sender.mark(part, note)

    async def catch_up(self) -> None:
        """What people wrote bears no numbers that could be mixed up."""

    async def find_sent(self, doubt: Doubt) -> tuple[str, ...] | None:
        return await self._deliveries.find(doubt)

    # -- typing and reactions

    async def start_typing(self, recipient: str) -> None:
        await self._signs.type(recipient)

    async def add_reaction(self, channel_id: str, message_id: str,
                           emoji: str) -> None:
        await self._signs.react(channel_id, message_id, emoji)

    async def remove_reaction(self, channel_id: str, message_id: str,
                              emoji: str) -> None:
        await self._signs.react(channel_id, message_id, "")

    # -- health

    async def health_check(self) -> bool:
        return await works(self._api.number(timeout_s=_HEALTH_S))

    async def diagnose(self) -> list[Finding]:
        from claw.channels.whatsapp.diagnose import diagnose
        return await diagnose(self._api, self._intake.door.allowed,
                              self.settings, self._deliveries.undelivered)


def _refuse_web_mode(settings: WhatsappSettings, deps: ChannelDeps) -> None:
    """Raises ConfigError where nothing else is set."""
    if not settings.phone_number_id:
        raise ConfigError(
            f"{TABLE}.session_path is for WhatsApp Web, which claw does not "
            "speak", hint="it speaks the Cloud API: claw channel setup "
                          "whatsapp")
    deps.log("web_mode_ignored", hint=f"{TABLE}.session_path is for WhatsApp "
             "Web; claw uses the Cloud API")
