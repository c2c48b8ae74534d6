"""The gateway in claw listen: loaded when it is wanted, by the settings or
by a channel whose platform posts to it."""

import asyncio
from typing import TYPE_CHECKING

from claw.core.abilities import HearsServing, ReceivesWebhook
from claw.core.channel import Inbox
from claw.core.log import Log
from claw.gateway.settings import GatewaySettings

if TYPE_CHECKING:
    from claw.gateway.gateway import Gateway
    from claw.gateway.keys import KeyStore
    from claw.wiring.listen.service import Runtime


class ListenGateway:
    """What the service runs (runtime.inbox.ServesHttp)."""

    def __init__(self, runtime: "Runtime", log: Log) -> None:
        self._runtime = runtime
        self._log = log
        self._loaded: tuple[Gateway, KeyStore] | None = None
        self._changed = asyncio.Event()

    async def run(self, heard: HearsServing) -> None:
        while not self._runtime.tree.decode("gateway",
                                            GatewaySettings).enabled:
            self._changed.clear()
            await self._changed.wait()
        await self._load().run(heard)

    async def receive(self, channel: ReceivesWebhook, inbox: Inbox) -> None:
        await self._load().receive(channel, inbox)

    def renew(self) -> None:
        """The settings may be others."""
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
            runtime = self._runtime
            self._loaded = build_gateway(
                runtime.tree.places, lambda: runtime.tree, self._log,
                runtime.health, runtime)
        return self._loaded[0]
