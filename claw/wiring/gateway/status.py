"""/health, /metrics, /pair, /openapi.json, and the doctor's nonce."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from starlette.responses import Response

from claw.gateway.endpoint import Call, Endpoint, Refused, reply
from claw.gateway.health import build_health
from claw.gateway.metrics import build_metrics
from claw.gateway.openapi import build_openapi
from claw.gateway.pairing import Pairing
from claw.wiring.gateway.keys import NONCE_PATH
from claw.wiring.gateway.parts import GatewayParts


async def build_status(parts: GatewayParts, stack: AsyncExitStack
                       ) -> Sequence[Endpoint]:
    """The rows that every gateway has."""
    async def answer_nonce(call: Call) -> Response:
        answer = parts.keys.use_nonce(call.request.path_params["id"])
        if answer is None:
            raise Refused(404, "nothing is at this path")
        return reply({"answer": answer})

    return (Endpoint(NONCE_PATH + "{id}", answer_nonce, access="open"),
            build_health(parts.snapshot),
            build_metrics(parts.snapshot, parts.app.counts,
                          parts.connections),
            Pairing(parts.keys, parts.settings.pairing_dashboard,
                    parts.log).endpoint,
            build_openapi(lambda: parts.app.endpoints,
                          parts.settings.path_prefix or ""))
