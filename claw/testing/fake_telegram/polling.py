"""getUpdates and its webhook relatives: one poll at a time."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from claw.testing.fake_telegram.errors import (
    CONFLICT_POLL,
    CONFLICT_SET,
    CONFLICT_WEBHOOK,
    ApiError,
    bad,
)
from claw.testing.fake_telegram.model import Json, Updates, World
from claw.testing.fake_telegram.params import Params

_LONGEST_S = 50


class Polling:
    """Who is waiting for updates. `poll` and `wake` belong to the
    server's loop."""

    def __init__(self, updates: Updates, world: World,
                 lock: threading.Condition) -> None:
        self.wedged = False
        self.methods: dict[str, Callable[[Params], Any]] = {
            "setWebhook": self.set_webhook,
            "deleteWebhook": self.delete_webhook,
            "getWebhookInfo": self.webhook_info,
        }
        self._updates = updates
        self._world = world
        self._lock = lock
        self._waiter: asyncio.Future[None] | None = None

    async def poll(self, params: Params) -> list[Json] | None:
        """A batch, empty after the timeout; None: never to be answered."""
        if self._world.webhook.get("url"):
            raise ApiError(409, CONFLICT_WEBHOOK)
        offset = params.integer("offset", 0) or 0
        limit = min(max(params.integer("limit", 100) or 100, 1), 100)
        timeout = min(params.integer("timeout", 0) or 0, _LONGEST_S)
        self._allow(params)
        if self.wedged:
            return None
        self._end(ApiError(409, CONFLICT_POLL))
        deadline = asyncio.get_running_loop().time() + timeout
        while True:
            with self._lock:
                batch = self._updates.take(offset, limit)
                self._lock.notify_all()
            left = deadline - asyncio.get_running_loop().time()
            if batch or left <= 0:
                return batch
            await self._wait(left)
            if self.wedged:
                return None

    def wake(self) -> None:
        """Something changed: let the waiting poll look."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def set_webhook(self, params: Params) -> bool:
        url = params.text("url") or ""
        if not url:
            return self.delete_webhook(params)
        if not url.startswith("https://"):
            raise bad("bad webhook: An HTTPS URL must be provided for "
                      "webhook")
        self._allow(params)
        if params.flag("drop_pending_updates"):
            self._updates.clear()
        self._world.webhook = {
            "url": url, "secret_token": params.text("secret_token")}
        self._end(ApiError(409, CONFLICT_SET))
        return True

    def delete_webhook(self, params: Params) -> bool:
        if params.flag("drop_pending_updates"):
            self._updates.clear()
        self._world.webhook = {}
        return True

    def webhook_info(self, params: Params) -> Json:
        info: Json = {"url": self._world.webhook.get("url", ""),
                      "has_custom_certificate": False,
                      "pending_update_count": len(self._updates)}
        if self._updates.allowed:
            info["allowed_updates"] = self._updates.allowed
        return info

    def _allow(self, params: Params) -> None:
        """Remember the kinds of updates; unset keeps what was set."""
        kinds = params.structure("allowed_updates")
        if kinds is not None:
            with self._lock:
                self._updates.allowed = [str(k) for k in kinds] \
                    if isinstance(kinds, list) else []

    def _end(self, error: ApiError) -> None:
        """The waiting poll gets an error."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)

    async def _wait(self, left_s: float) -> None:
        waiter: asyncio.Future[None] = \
            asyncio.get_running_loop().create_future()
        self._waiter = waiter
        try:
            async with asyncio.timeout(left_s):
                await waiter
        except TimeoutError:
            pass
        finally:
            if self._waiter is waiter:
                self._waiter = None
