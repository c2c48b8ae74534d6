"""The gateway of a home: in claw listen, and alone."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from typing import TYPE_CHECKING, Any

from claw.agent.background import cancel_all
from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.config.watch import changes, stamp
from claw.core.errors import ClawError, describe
from claw.core.log import Log, Tap
from claw.gateway.app import App
from claw.gateway.endpoint import Endpoint
from claw.gateway.gateway import Gateway
from claw.gateway.keys import KeyStore
from claw.gateway.room import Limits
from claw.gateway.settings import (
    GatewaySettings,
    check_exposure,
    format_address,
)
from claw.runtime.process.health import Health, write_state
from claw.wiring.channels.states import read_parts
from claw.wiring.gateway.keys import open_keys
from claw.wiring.gateway.parts import GatewayParts
from claw.wiring.gateway.tables import TABLES
from claw.wiring.workspace.place_names import gateway_state_path

if TYPE_CHECKING:
    from claw.wiring.listen.service import Runtime

PART = "gateway"
DRAIN_S = 20.0
_TELL_S = 24.0  # how often a gateway alone says that it runs


def build_gateway(places: Places, tree: Callable[[], Tree], log: Log,
                  health: Health, runtime: "Runtime | None" = None, *,
                  snapshot: Callable[[], dict[str, Any]] | None = None,
                  always: bool = False) -> tuple[Gateway, KeyStore]:
    """The gateway, not open yet, and the keys, to be closed after it.
    `always`: whether enabled or not."""
    keys = open_keys(tree())

    def read() -> GatewaySettings | None:
        settings = tree().decode("gateway", GatewaySettings)
        return settings if settings.enabled or always else None

    async def build(app: App, gateway: Gateway, stack: AsyncExitStack
                    ) -> Sequence[Endpoint]:
        keys.give(app.settings.paired_tokens)
        parts = GatewayParts(
            places, tree, app.settings, keys, snapshot or health.snapshot,
            gateway.count_connections, app, log, runtime, health.note_turn)
        return [row for table in TABLES for row in await table(parts, stack)]

    def note(error: ClawError | None) -> None:
        if error is not None:
            health.error(PART, error.message, error.hint)
            return
        health.ok(PART)
        health.part(PART).address = format_address(
            tree().decode("gateway", GatewaySettings))
        if not keys.has_any():
            log("gateway.unpaired",
                hint="claw gateway token add NAME, or claw gateway pair")

    return Gateway(read, build, keys, log, note=note,
                   limits=Limits(grace_s=DRAIN_S)), keys


async def serve_alone(places: Places, log: Log) -> None:
    """Serve until SIGTERM or SIGINT, without channels; a changed
    config.toml is taken over. Raises ConfigError, UnavailableError."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    alone = _Alone(places, Tap(log))
    watch = asyncio.ensure_future(alone.watch())
    ending = asyncio.ensure_future(stop.wait())
    serving = asyncio.ensure_future(alone.serve())
    try:
        await asyncio.wait((ending, serving, watch),
                           return_when=asyncio.FIRST_COMPLETED)
        for task in (serving, watch):
            if task.done():
                task.result()
    finally:
        await cancel_all((ending, watch, serving))
        alone.keys.close()
    log("stopped")


class _Alone:
    """The settings of a gateway without claw listen, and its run."""

    def __init__(self, places: Places, log: Log) -> None:
        self._places = places
        self._log = log
        self._tree = load(places)
        self._health = Health("gateway")
        self._changed = asyncio.Event()
        self._gateway, self.keys = build_gateway(
            places, lambda: self._tree, log, self._health,
            snapshot=self._describe, always=True)

    async def serve(self) -> None:
        while True:
            settings = self._read()
            async with self._gateway.open(settings):
                while True:
                    self._changed.clear()
                    if self._read() != settings:
                        break
                    await self._tell()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_TELL_S):
                            await self._changed.wait()

    async def _tell(self) -> None:
        """Say to `claw status` that we run."""
        try:
            await asyncio.to_thread(write_state, self._health,
                                    gateway_state_path(self._places))
        except ClawError as error:
            self._log("state.error", error=describe(error))

    async def watch(self) -> None:
        file = self._places.config_file
        async with aclosing(changes(file, stamp(file),
                                    log=self._log)) as seen:
            async for _ in seen:
                try:
                    tree = load(self._places)
                    check_exposure(tree.decode("gateway", GatewaySettings))
                except ClawError as error:
                    self._log("config.rejected", error=error.message,
                              hint=error.hint)
                    continue
                self._tree = tree
                self._changed.set()

    def _read(self) -> GatewaySettings:
        return self._tree.decode("gateway", GatewaySettings)

    def _describe(self) -> dict[str, Any]:
        """Our own part, and those of a claw listen that runs."""
        own = self._health.snapshot()
        return {**own, "components": {**(read_parts(self._places) or {}),
                                      **own["components"]}}
