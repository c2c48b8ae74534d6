"""/v1/events, where the log can be listened to."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from claw.core.log import Tap
from claw.gateway.endpoint import Endpoint
from claw.gateway.events import Events
from claw.wiring.gateway.parts import GatewayParts


async def build_events(parts: GatewayParts, stack: AsyncExitStack
                       ) -> Sequence[Endpoint]:
    return (Events(parts.log).endpoint,) if isinstance(parts.log, Tap) \
        else ()
