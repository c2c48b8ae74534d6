"""Sending: over the listener's connection while it listens, else over one
beside it. The broker gives back to nobody what he sent himself, but only
where both go over one connection (No Local)."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from claw.channels.mqtt.account import Account
from claw.channels.mqtt.link import Link, unsent
from claw.channels.mqtt.listener import Listener
from claw.channels.mqtt.outgoing import make_outgoing
from claw.channels.mqtt.packets import MAX_PACKET
from claw.channels.mqtt.reasons import NO_SUBSCRIBERS
from claw.channels.mqtt.settings import MqttSettings
from claw.channels.mqtt.topics import find_fault
from claw.core.channel import Part, SendMessage
from claw.core.errors import RequestRefusedError, UnavailableError
from claw.core.log import Log

_WAIT_S = 10.0  # for a connection that the listener is making


class Sender:
    """The sending half."""

    def __init__(self, settings: MqttSettings, account: Account,
                 listener: Listener, log: Log) -> None:
        self._settings = settings
        self._account = account
        self._listener = listener
        self._log = log
        self._own: Link | None = None
        self._lock = asyncio.Lock()

    async def send(self, message: SendMessage, part: Part,
                   leaving: Callable[[], None]) -> None:
        """One part. Raises what a refusal means."""
        topic = message.recipient
        if fault := find_fault(topic):
            raise RequestRefusedError(
                f"nothing can be published to {topic[:80]!r}: {fault}",
                hint="claw send mqtt:claw/ask/mina/reply TEXT")
        link = await self._get_link()
        for number, one in enumerate(make_outgoing(
                message, part, form=self._settings.reply_format,
                limit=link.granted.properties.get(MAX_PACKET))):
            try:
                reason = await link.publish(
                    topic, one.payload, qos=min(self._settings.qos, 1),
                    properties=one.properties, leaving=leaving)
            except UnavailableError as error:
                if not number:
                    raise
                late = UnavailableError(
                    f"{error.message}; the beginning has arrived",
                    hint=error.hint, retry_after_s=error.retry_after_s)
                late.__dict__["maybe_sent"] = True
                raise late from error
            if reason == NO_SUBSCRIBERS:
                self._log("nobody_reads", topic=topic[:200])

    async def _get_link(self) -> Link:
        """A connection that works. Raises UnavailableError and what
        connecting raises."""
        if self._listener.running:
            with suppress(TimeoutError):
                async with asyncio.timeout(_WAIT_S):
                    await self._listener.working.wait()
            if (link := self._listener.link) is not None:
                await self.aclose()  # from before it listened
                return link
            raise unsent(UnavailableError(
                f"the broker at {self._account.address.where} is not "
                "connected", hint="claw channel doctor mqtt"))
        async with self._lock:
            if self._own is None or self._own.error is not None:
                await self.aclose()
                link = self._account.make_other()
                await link.open()
                self._own = link
            return self._own

    async def aclose(self) -> None:
        link, self._own = self._own, None
        if link is not None:
            await link.close()
