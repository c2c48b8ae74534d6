"""The platform of the skeleton channel: messages wait until they are
confirmed, what is sent is kept.

    with FakeSkeleton() as platform:
        platform.post("hello")     # alice writes
        platform.sent[0]["text"]   # what she reads
"""

import asyncio
import json
import time
from typing import Any
from urllib.parse import parse_qs

from claw.testing.fake_server import FakeServer
from claw.testing.http_server import Answer, Reply, Request

TOKEN = "canary-of-the-skeleton"
_LOOKS = 20  # of 10 ms each, for news


class FakeSkeleton(FakeServer):
    """`waiting` is what was said and not confirmed."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[dict[str, Any]] = []
        self.sent: list[dict[str, str]] = []
        self._count = 0

    def post(self, text: str, sender: str = "alice") -> None:
        """Somebody writes."""
        self._count += 1
        self.waiting = [*self.waiting, {
            "id": self._count, "from": sender, "text": text,
            "at": int(time.time())}]

    def _handle(self, request: Request) -> Answer:
        return self._slowly(
            lambda: self._answer(request), self._faults.take(request.method),
            lambda fault: Reply(fault.status, b"refused"))

    async def _answer(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return Reply(401, b"{}")
        if request.path == "/me":
            return Reply(200, b'{"name": "skeleton"}')
        if request.method == "POST":
            self.sent = [*self.sent, json.loads(request.body)]
            return Reply(200, b"{}")
        after = int(parse_qs(request.query)["after"][0])
        self.waiting = [m for m in self.waiting if m["id"] > after]
        for _ in range(_LOOKS):
            if self.waiting:
                break
            await asyncio.sleep(0.01)
        return Reply(200, json.dumps(self.waiting).encode())

    def _state(self) -> str:
        return f"{len(self.waiting)} waiting, {len(self.sent)} sent"
