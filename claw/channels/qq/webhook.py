"""Events that QQ posts: opcode 13 tries the address, 0 brings an event, 1
asks whether we are there; 12 says that an event is committed.

Source: bot.q.qq.com/wiki, API v2: interface-framework/event-emit, opcode.
"""

import re
import time
from collections.abc import Callable
from typing import Any

import msgspec

from claw.channels.client import read_json
from claw.channels.gateway import ACK, DISPATCH, HEARTBEAT, Frame
from claw.channels.qq.events import Events
from claw.channels.qq.signature import Signer
from claw.core.abilities import Delivery, WebhookCall, WebhookRefused
from claw.core.channel import Inbox

CALLBACK_ACK, VALIDATION = 12, 13
# Signed are its time and its token, which must be nothing else that QQ
# signs: no body of an event.
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")
_SECONDS = re.compile(r"[0-9]{1,15}")


class Webhook:
    """The receiving half of a bot that is posted to. `now` is Unix
    seconds."""

    def __init__(self, app_id: str, secret: str, events: Events, *,
                 now: Callable[[], float] = time.time) -> None:
        self._app_id = app_id
        self._signer = Signer(secret)
        self._events = events
        self._now = now
        self.inbox: Inbox | None = None

    def verify(self, call: WebhookCall) -> None:
        given = call.header("x-bot-appid")
        if given is not None and given.decode("latin-1") != self._app_id:
            raise WebhookRefused(401, "this is another bot's address")
        self._signer.check(call, self._now())

    async def parse(self, call: WebhookCall) -> Delivery:
        frame = _read(call.body)
        if frame.op == VALIDATION:
            return Delivery((), self._prove(frame.d))
        if frame.op == HEARTBEAT:
            return Delivery((), {"op": ACK, "d": frame.d})
        done: dict[str, Any] = {"op": CALLBACK_ACK, "d": 0}
        if frame.op != DISPATCH or self.inbox is None:
            return Delivery((), done)
        message = await self._events.read(frame, self.inbox)
        if message is None:
            return Delivery((), done)
        if message.kind == "action":
            # QQ gives it again where we do not answer 200, whatever it
            # shows on the button until then.
            self._events.tell_pressed(frame.d["id"])
        return Delivery((message,), done)

    def _prove(self, data: Any) -> dict[str, str]:
        """The answer that shows that we know the secret."""
        token, seconds = (data.get(key) if isinstance(data, dict) else None
                          for key in ("plain_token", "event_ts"))
        if not isinstance(token, str) or not isinstance(seconds, str) \
                or not _TOKEN.fullmatch(token) \
                or not _SECONDS.fullmatch(seconds):
            raise WebhookRefused(400, "plain_token or event_ts is none")
        return {"plain_token": token, "signature": self._signer.sign(
            (seconds + token).encode())}


def _read(body: bytes) -> Frame:
    try:
        return msgspec.convert(read_json(body.decode("utf-8", "replace")),
                               Frame)
    except ValueError as error:
        raise WebhookRefused(400, "the body is no payload of QQ's") \
            from error
