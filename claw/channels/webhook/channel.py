"""WebhookChannel: signed POSTs in, signed POSTs out.

The gateway serves it: a message is answered 200 only after it is committed;
a sender that hears anything else sends it again, and its `id` makes that a
no-op. A webhook without a secret never starts.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import uuid4

from claw.channels.webhook.incoming import check_signature, read_message
from claw.channels.webhook.settings import SEND_URL, SETUP, WebhookSettings
from claw.core.abilities import (
    Delivery,
    Finding,
    ServesWebhooks,
    WebhookCall,
    WebhookPlace,
)
from claw.core.channel import (
    Channel,
    ChannelDeps,
    Inbox,
    Part,
    SendMessage,
)
from claw.core.errors import ConfigError
from claw.core.value import replace

if TYPE_CHECKING:
    import httpx

_SECRET = "channels_config.webhook.secret"
_SHORT_SECRET = 16


class WebhookChannel(Channel):
    """[channels_config.webhook]. `clock` is Unix seconds, signed and
    compared."""

    name = "webhook"
    Settings = WebhookSettings
    setup = SETUP
    first_setting = "secret"

    def __init__(self, settings: WebhookSettings, deps: ChannelDeps, *,
                 transport: "httpx.AsyncBaseTransport | None" = None,
                 clock: Callable[[], float] = time.time) -> None:
        from claw.channels.webhook.outgoing import Courier
        if not (settings.secret or "").strip():
            raise ConfigError(
                "channels_config.webhook has no secret: anyone could write "
                "to the agent",
                hint=f"openssl rand -hex 32 | claw config set {_SECRET}")
        self._secret = settings.secret or ""
        self._url = (settings.send_url or "").strip()
        self._log = deps.log
        self._courier = Courier(settings, transport, clock)
        self._clock = clock
        self._address = settings.host, settings.port
        self._path = "/" + settings.listen_path.strip().lstrip("/")
        self._told_nowhere = False

    # -- out

    def parts(self, message: SendMessage) -> list[Part]:
        """One call, with the key that makes its repetition harmless."""
        return ([Part("text", message.content, {"key": uuid4().hex})]
                if message.content.strip() or message.attachments else [])

    async def send_part(self, message: SendMessage, part: Part) -> None:
        if not self._url:
            if not self._told_nowhere:
                self._told_nowhere = True
                self._log("webhook_answers_go_nowhere",
                          hint=f"claw config set {SEND_URL} https://...")
            return
        key = part.data.get("key") or uuid4().hex
        await self._courier.deliver(
            self._url, replace(message, content=part.text), str(key))

    async def send(self, message: SendMessage) -> None:
        for part in self.parts(message):
            await self.send_part(message, part)

    # -- in

    async def listen(self, inbox: Inbox) -> None:
        if not isinstance(inbox, ServesWebhooks):
            raise ConfigError("nothing serves HTTP here",
                              hint="claw listen does")
        await inbox.serve_webhook(self)

    @property
    def webhook(self) -> WebhookPlace:
        return WebhookPlace(self._path, address=self._address)

    def verify(self, call: WebhookCall) -> None:
        check_signature(self._secret, call, self._clock())

    async def parse(self, call: WebhookCall) -> Delivery:
        message = read_message(call.body, self._clock())
        return Delivery((message,), {"status": "accepted",
                                     "id": message.id})

    # -- health

    async def health_check(self) -> bool:
        return all(f.status != "fail" for f in await self.diagnose())

    async def diagnose(self) -> list[Finding]:
        from claw.channels.probe import probe
        from claw.net.listening import find_port
        secret = Finding("secret", "ok", "set")
        if len(self._secret) < _SHORT_SECRET:
            secret = Finding(
                "secret", "warn", f"shorter than {_SHORT_SECRET} characters",
                f"openssl rand -hex 32 | claw config set {_SECRET}")
        found = [secret, await find_port(
            "channels_config.webhook", *self._address)]
        if self._url:
            return [*found, *(
                replace(one, id="send_url") if one.id == "address" else one
                for one in await probe(self._url))]
        return [*found, Finding(
            "send_url", "warn", "no send_url: answers go nowhere",
            f"claw config set {SEND_URL} https://...")]

    async def aclose(self) -> None:
        await self._courier.aclose()
