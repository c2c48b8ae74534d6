"""LarkChannel and FeishuChannel: the contract of core/channel.py over the
long connection, the gateway's webhook and the Open API.

What the platform is stands here; the parts that speak to it load when a
channel is made, since the settings of a file cost no HTTP client.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ClassVar

from claw.channels.connection import works
from claw.channels.lark.settings import (
    FEISHU,
    LARK,
    Brand,
    LarkSettings,
    write_setup,
)
from claw.channels.sending import PartChannel
from claw.core.abilities import (
    Delivery,
    Doubt,
    Finding,
    ServesWebhooks,
    WebhookPlace,
    WebhookRefused,
)
from claw.core.channel import (
    Capabilities,
    ChannelDeps,
    Inbox,
    Part,
)
from claw.core.errors import ClawError, ConfigError
from claw.core.value import replace

if TYPE_CHECKING:
    import httpx

    from claw.core.abilities import WebhookCall

_HEALTH_S = 5.0
_CATCH_UP_S = 4.0


class LarkChannel(PartChannel):
    """One app. Nothing is asked of the network before the first call."""

    name = "lark"
    brand: ClassVar[Brand] = LARK
    Settings = LarkSettings
    # The platform's hour, less what a request may take.
    capabilities = Capabilities(edit=True, list_back=True,
                                key_holds_s=3300.0)
    setup = write_setup(LARK)
    first_setting = "app_id cli_..."
    example_recipient = "oc_..."
    guidance = """## Writing here

- **bold**, *italic*, ~~struck~~, `code`, fenced code, lists and \
[links](https://...) are shown as such; for a heading write a bold line.
- Be brief, without filler. Tables are shown as they are typed.
- To send a file, write a marker on a line of its own, outside of code: \
[IMAGE:path], [DOCUMENT:path], [VIDEO:path], [AUDIO:path] or [VOICE:path].
- Do not describe your tool calls. Give the result."""

    def __init__(self, settings: LarkSettings, deps: ChannelDeps, *,
                 transport: "httpx.AsyncBaseTransport | None" = None,
                 sleep: Callable[[float], Awaitable[Any]] | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 now: Callable[[], float] = time.time,
                 ping_s: float = 20.0, silence_s: float = 300.0) -> None:
        from claw.channels.lark.api import LarkApi
        from claw.channels.lark.intake import Intake
        from claw.channels.lark.outgoing import Sender
        from claw.channels.lark.receive import Receiver
        from claw.channels.lark.sent import Finder
        from claw.channels.lark.signs import Signs
        brand = self.brand
        if settings.use_feishu:
            brand = replace(brand, title=FEISHU.title,
                            base_url=FEISHU.base_url)
        self.settings = settings
        self._api = LarkApi(settings, brand, log=deps.log,
                            transport=transport, sleep=sleep, clock=clock)
        self._sender = Sender(self._api, deps, now)
        self._finder = Finder(self._api, self._sender)
        self._signs = Signs(self._api, self._sender)
        self._intake = Intake(settings, deps, self._api, clock=clock,
                              now=now)
        self._receiver = Receiver(self._api, self._intake, self._sender,
                                  deps, now=now, ping_s=ping_s,
                                  silence_s=silence_s)
        if settings.receive_mode == "webhook":
            self._become_webhook()

    def _become_webhook(self) -> None:
        """From now on it is ReceivesWebhook, which a channel with a
        connection of its own is not."""
        from claw.channels.lark.webhook import Seal
        found = self.settings
        self._seal = Seal(found.encrypt_key, found.verification_token,
                          self.brand.table)
        self.webhook = WebhookPlace(
            self.brand.find_path(found),
            address=None if found.port is None else (found.host, found.port))
        self.verify, self.parse = self._seal.verify, self._parse

    async def aclose(self) -> None:
        await self._api.aclose()

    # -- receiving

    async def listen(self, inbox: Inbox) -> None:
        if self.settings.receive_mode == "websocket":
            await self._receiver.run(inbox)
            return
        if not isinstance(inbox, ServesWebhooks):
            raise ConfigError("nothing serves HTTP here",
                              hint="claw listen does")
        await self._receiver.begin(inbox)
        await self._receiver.connected()
        try:
            await inbox.serve_webhook(self)
        finally:
            await self._receiver.stop()

    async def _parse(self, call: "WebhookCall") -> Delivery:
        from claw.channels.lark.webhook import is_challenge, read_challenge
        event = self._seal.open(call.body)
        if is_challenge(event):
            return Delivery((), read_challenge(event))
        try:  # committed here: how far it has read is noted after that
            said = await self._receiver.take(event)
        except ClawError as error:
            raise WebhookRefused(503, "it could not be kept; send it again"
                                 ) from error
        return Delivery((), {} if said is None else said)

    async def catch_up(self) -> None:
        await self._receiver.caught_up(_CATCH_UP_S)

    # -- sending

    def mark_repeated(self, part: Part, note: str) -> Part:
        from claw.channels.lark.outgoing import mark
        return mark(part, note)

    async def find_sent(self, doubt: Doubt) -> tuple[str, ...] | None:
        return await self._finder.find(doubt)

    # -- reactions and buttons

    async def add_reaction(self, channel_id: str, message_id: str,
                           emoji: str) -> None:
        await self._signs.react(message_id, emoji)

    async def remove_reaction(self, channel_id: str, message_id: str,
                              emoji: str) -> None:
        await self._signs.remove(message_id, emoji)

    async def clear_buttons(self, recipient: str, message_id: str) -> None:
        await self._signs.clear_buttons(message_id)

    # -- health

    async def health_check(self) -> bool:
        return await works(self._api.me(timeout_s=_HEALTH_S, fresh=True)) \
            and (self.settings.receive_mode != "websocket"
                 or await works(self._api.open_endpoint(timeout_s=_HEALTH_S)))

    async def diagnose(self) -> list[Finding]:
        from claw.channels.lark.diagnose import diagnose
        return await diagnose(self._api, self._intake, self.settings)


class FeishuChannel(LarkChannel):
    """The same in the other region."""

    name = "feishu"
    brand = FEISHU
    setup = write_setup(FEISHU)
