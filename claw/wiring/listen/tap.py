"""Settings -> a tap: its channel, the queue, and all that answers may go
to."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial

from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.core.channel import Channel
from claw.core.errors import ClawError, UsageError
from claw.core.log import Log
from claw.providers.settings import ReliabilitySettings
from claw.runtime.process.health import Health
from claw.runtime.process.instance_lock import InstanceLock, runtime_folder
from claw.runtime.process.supervisor import Backoff
from claw.runtime.settings import ChannelsSettings
from claw.runtime.tap.service import FarEnd, Tap, TapParts
from claw.security.estop import EmergencyStop
from claw.storage.queue.model import Queue
from claw.storage.queue.sqlite import SqliteQueue
from claw.wiring.channels.build import open_channel, select_channels
from claw.wiring.channels.names import (
    CONSOLE,
    SECTION,
    list_all,
    list_configured,
)
from claw.wiring.listen.gateway import ListenGateway
from claw.wiring.listen.outgoing_files import tidy_outgoing
from claw.wiring.listen.received_files import tidy_received
from claw.wiring.workspace.place_names import queue_path, state_path


@asynccontextmanager
async def open_tap(places: Places, name: str, log: Log,
                   build_far_end: Callable[[], FarEnd], *, tries: int = 0,
                   env: Mapping[str, str] = os.environ
                   ) -> AsyncIterator[Tap]:
    """The tap of a channel, ready to `run`. Raises ConfigError where it is
    not set up, UsageError for the console."""
    tree = load(places)
    if name == CONSOLE:
        raise UsageError(f"{name} is this terminal: there is nothing to tap",
                         hint="claw channel list names the others")
    select_channels(tree, [name])
    queue = SqliteQueue(queue_path(places))
    health = Health(command=f"tap {name}")
    gateway = ListenGateway(lambda: tree, log, health)
    try:
        yield Tap(TapParts(
            name=name, queue=queue, channels=_open_channels(tree, name, log),
            far_end=build_far_end(), health=health, gateway=gateway,
            log=log, state_file=state_path(places),
            backoff=Backoff.of(tree.decode("reliability",
                                           ReliabilitySettings)),
            instance_lock=InstanceLock(runtime_folder(dict(env)), log,
                                       str(queue_path(places).absolute())),
            estop=EmergencyStop(places.home),
            tidy_files=partial(_tidy_files, tree, queue, log)), tries)
    finally:
        gateway.close()
        await queue.aclose()


async def _tidy_files(tree: Tree, queue: Queue, log: Log) -> None:
    await tidy_outgoing(tree.places, queue)
    await asyncio.to_thread(
        tidy_received, tree.places.workspace, list_all(tree),
        tree.decode(SECTION, ChannelsSettings).files_keep_days, time.time(),
        log)


def _open_channels(tree: Tree, name: str, log: Log) -> dict[str, Channel]:
    """The one that receives, and the others for what is sent meanwhile:
    nobody else has the lease that it takes. One of these that can't be
    opened is told and left out."""
    found = {name: open_channel(tree, name, log).channel}
    for other in list_configured(tree):
        try:
            if other != name:
                found[other] = open_channel(tree, other, log).channel
        except ClawError as error:
            log("channel.unusable", channel=other, error=error.message,
                hint=error.hint)
    return found
