"""A channel's webhook as a row of the gateway.

Verified before it is parsed, committed before it is answered: a platform
that hears anything but 200 sends it again, and its id makes that a no-op.
"""

import time

from starlette.responses import PlainTextResponse, Response

from claw.core.abilities import (
    Delivery,
    HearsReceives,
    ReceivesWebhook,
    TakesMany,
    WebhookCall,
    WebhookRefused,
)
from claw.core.channel import Inbox
from claw.core.errors import describe
from claw.core.log import Log
from claw.gateway.endpoint import Call, Endpoint, Refused, reply

_COMPLAIN_EVERY_S = 10.0
_AGAIN_S = 5


class WebhookRow:
    """Takes the calls of one channel."""

    def __init__(self, channel: ReceivesWebhook, name: str, inbox: Inbox,
                 log: Log) -> None:
        self._channel = channel
        self._name = name
        self._inbox = inbox
        self._log = log
        self._refused = 0
        self._complained_at = float("-inf")
        place = channel.webhook
        self.endpoint = Endpoint(
            place.path, self.take, methods=place.methods, access="signed",
            window="webhook", body_bytes=place.body_bytes)

    async def take(self, call: Call) -> Response:
        request = call.request
        webhook = WebhookCall(
            request.method, request.url.query,
            tuple((name.decode("latin-1"), value)
                  for name, value in request.headers.raw),
            call.peer, await request.body())
        try:
            self._channel.verify(webhook)
            delivery = await self._channel.parse(webhook)
        except WebhookRefused as refused:
            if refused.status == 401:
                self._complain(call.peer, refused.message)
            raise Refused(refused.status, refused.message,
                          refused.headers) from refused
        await self._keep(delivery)
        if isinstance(self._inbox, HearsReceives):
            self._inbox.received()
        answer = delivery.answer
        return (PlainTextResponse(answer) if isinstance(answer, bytes)
                else reply(answer))

    async def _keep(self, delivery: Delivery) -> None:
        """Returns after the commit. Raises Refused."""
        try:
            if isinstance(self._inbox, TakesMany):
                await self._inbox.put_all(delivery.messages)
            else:
                for message in delivery.messages:
                    await self._inbox.put(message)
        # Whatever kept it from the disk: the sender has to hear of it.
        except Exception as error:
            self._log("webhook_not_accepted", channel=self._name,
                      id=",".join(m.id for m in delivery.messages),
                      error=describe(error))
            raise Refused(503, "the message could not be kept; send it "
                               "again", {"Retry-After": str(_AGAIN_S)}
                          ) from error

    def _complain(self, peer: str, why: str) -> None:
        """A line in the log, at most every ten seconds."""
        self._refused += 1
        now = time.monotonic()
        if now - self._complained_at >= _COMPLAIN_EVERY_S:
            self._log("webhook_signature_refused", channel=self._name,
                      peer=peer, times=self._refused, why=why)
            self._complained_at, self._refused = now, 0
