"""/health, /metrics and /pair for the gateway."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from claw.gateway.endpoint import Endpoint
from claw.gateway.health import build_health
from claw.gateway.metrics import build_metrics
from claw.gateway.pairing import Pairing
from claw.wiring.gateway.parts import GatewayParts


async def build_status(parts: GatewayParts, stack: AsyncExitStack
                       ) -> Sequence[Endpoint]:
    """The rows that every gateway has."""
    return (build_health(parts.snapshot),
            build_metrics(parts.snapshot, parts.app.counts,
                          parts.connections),
            Pairing(parts.keys, parts.settings.pairing_dashboard,
                    parts.log).endpoint)
