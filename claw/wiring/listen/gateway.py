"""The gateway in claw listen and claw tap: loaded when it is wanted, by the
settings or by a channel whose platform posts to it."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from claw.config.tree import Tree
from claw.core.abilities import HearsServing, ReceivesWebhook
from claw.core.channel import Inbox
from claw.core.log import Log
from claw.gateway.settings import GatewaySettings
from claw.runtime.process.health import Health

if TYPE_CHECKING:
    from claw.gateway.gateway import Gateway
    from claw.gateway.keys import KeyStore
    from claw.wiring.listen.service import Runtime


class ListenGateway:
    """What the service runs (runtime.inbox.ServesHttp); `tree` gives the
    settings in force, a tap has no `runtime`."""

    def __init__(self, tree: Callable[[], Tree], log: Log, health: Health,
                 runtime: "Runtime | None" = None) -> None:
        self._tree = tree
        self._log = log
        self._health = health
        self._runtime = runtime
        self._loaded: tuple[Gateway, KeyStore] | None = None
        self._changed = asyncio.Event()

    async def run(self, heard: HearsServing) -> None:
        while not self._tree().decode("gateway", GatewaySettings).enabled:
            self._changed.clear()
            await self._changed.wait()
        await self._load().run(heard)

    async def receive(self, channel: ReceivesWebhook, inbox: Inbox) -> None:
        await self._load().receive(channel, inbox)

    def renew(self) -> None:
        """The settings may be others. One that is off is no part."""
        if not self._tree().decode("gateway", GatewaySettings).enabled:
            self._health.parts.pop("gateway", None)
        self._changed.set()
        if self._loaded is not None:
            self._loaded[0].renew()

    def close(self) -> None:
        if self._loaded is not None:
            self._loaded[1].close()

    def _load(self) -> "Gateway":
        if self._loaded is None:
            # starlette and uvicorn: 120 ms of CPU
            from claw.wiring.gateway.serve import build_gateway
            self._loaded = build_gateway(
                self._tree().places, self._tree, self._log, self._health,
                self._runtime)
        return self._loaded[0]
