"""The other side of a webhook channel: who posts to it, what it posts to.

    with FakeReceiver() as receiver:
        ...                            # a channel sends to receiver.url
        receiver.received[0].json()    # what arrived

    body = b'{"sender": "mina", "content": "hello", "id": "42"}'
    httpx.post(url, content=body, headers=sign(secret, body))
"""

import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from typing import Any

from claw.testing.fake_server import FakeServer
from claw.testing.faults import Fault
from claw.testing.http_server import Answer, Reply, Request


def sign(secret: str, body: bytes, at: float | None = None
         ) -> dict[str, str]:
    """The headers of a signed body; `at` is Unix seconds, None for now."""
    seconds = int(time.time() if at is None else at)
    mac = hmac.new(secret.encode(), b"v1:%d:%b" % (seconds, body),
                   hashlib.sha256)
    return {"X-Webhook-Timestamp": str(seconds),
            "X-Webhook-Signature": f"v1={mac.hexdigest()}"}


@dataclass(frozen=True, slots=True)
class Delivery:
    """A request that was taken; header names are in lower case, `at` is
    monotonic seconds."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = field(repr=False)
    at: float = 0.0

    def json(self) -> Any:
        return json.loads(self.body)

    def is_signed(self, secret: str) -> bool:
        """Whether the signature is that of its time and body."""
        ours = sign(secret, self.body,
                    int(self.headers.get("x-webhook-timestamp") or 0))
        return self.headers.get("x-webhook-signature") \
            == ours["X-Webhook-Signature"]


class FakeReceiver(FakeServer):
    """The receiver, running inside a `with` block.

    It answers `status` with `body` to everything; with a `secret`, 401 to
    what is not signed with it. `received` holds what was taken, `attempts`
    also what a fault kept from being taken. Faults are keyed by HTTP
    method: fault("POST", "429", retry_after=2).
    """

    def __init__(self, *, status: int = 200, body: bytes = b"{}",
                 port: int = 0, latency_s: float = 0.0,
                 secret: str | None = None) -> None:
        super().__init__(port=port, latency_s=latency_s)
        self.secret = secret
        self.status = status
        self.body = body
        self.received: list[Delivery] = []
        self.attempts: list[Delivery] = []

    @property
    def problems(self) -> list[str]:
        """Faults of the fake itself."""
        return list(self._server.errors)

    def _handle(self, request: Request) -> Answer:
        delivery = Delivery(request.method, request.target, request.headers,
                            request.body, time.monotonic())
        with self._changed:
            self.attempts.append(delivery)
            self._changed.notify_all()
        fault = self._faults.take(request.method)
        if fault is None and not self.latency_s:
            return self._take(delivery)

        async def do() -> Reply:
            return self._take(delivery)
        return self._slowly(do, fault, _refusal)

    def _take(self, delivery: Delivery) -> Reply:
        if self.secret is not None and not delivery.is_signed(self.secret):
            return Reply(401, b"the signature is not right", "text/plain")
        with self._changed:
            self.received.append(delivery)
            self._changed.notify_all()
        return Reply(self.status, self.body)

    def _state(self) -> str:
        last = [f"{d.method} {d.path}" for d in self.attempts[-5:]]
        return (f"{len(self.attempts)} requests, {len(self.received)} "
                f"taken; the last {last}")


def _refusal(fault: Fault) -> Reply:
    headers = (("Retry-After", str(fault.retry_after)),) \
        if fault.kind == "429" else ()
    text = fault.description or f"refused with {fault.status}"
    return Reply(fault.status, text.encode(), "text/plain", headers)
