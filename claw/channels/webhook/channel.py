"""WebhookChannel: signed POSTs in, signed POSTs out.

A message is answered 200 only after it is committed; a sender that hears
anything else sends it again, and its `id` makes that a no-op. A webhook
without a secret never starts.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import uuid4

from claw.channels.webhook.settings import SEND_URL, WebhookSettings
from claw.core.abilities import Finding
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

    from claw.channels.webhook.server import Limits

_SECRET = "channels_config.webhook.secret"
_SHORT_SECRET = 16


class WebhookChannel(Channel):
    """[channels_config.webhook]. `port` is the bound one, None while
    nothing listens; `clock` is Unix seconds, signed and compared."""

    name = "webhook"
    Settings = WebhookSettings
    first_setting = "secret SECRET"

    def __init__(self, settings: WebhookSettings, deps: ChannelDeps, *,
                 transport: "httpx.AsyncBaseTransport | None" = None,
                 limits: "Limits | None" = None,
                 clock: Callable[[], float] = time.time) -> None:
        from claw.channels.webhook.outgoing import Courier
        from claw.channels.webhook.receiver import Receiver
        if not (settings.secret or "").strip():
            raise ConfigError(
                "channels_config.webhook has no secret: anyone could write "
                "to the agent",
                hint=f"openssl rand -hex 32 | claw config set {_SECRET}")
        self._secret = settings.secret or ""
        self._url = (settings.send_url or "").strip()
        self._log = deps.log
        self._courier = Courier(settings, transport, clock)
        self._receiver = Receiver(settings, deps.log, limits, clock)
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
        await self._receiver.listen(inbox)

    @property
    def port(self) -> int | None:
        return self._receiver.port

    # -- health

    async def health_check(self) -> bool:
        return all(f.status != "fail" for f in await self.diagnose())

    async def diagnose(self) -> list[Finding]:
        from claw.channels.probe import probe
        secret = Finding("secret", "ok", "set")
        if len(self._secret) < _SHORT_SECRET:
            secret = Finding(
                "secret", "warn", f"shorter than {_SHORT_SECRET} characters",
                f"openssl rand -hex 32 | claw config set {_SECRET}")
        found = [secret, await self._receiver.find_port()]
        if self._url:
            return [*found, *await probe(self._url)]
        return [*found, Finding(
            "send_url", "warn", "no send_url: answers go nowhere",
            f"claw config set {SEND_URL} https://...")]

    async def aclose(self) -> None:
        await self._courier.aclose()
