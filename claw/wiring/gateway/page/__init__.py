"""The page of the gateway: what it reads and what it changes."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from claw.gateway.endpoint import Endpoint
from claw.gateway.page.files import list_files
from claw.gateway.page.rows import build_action, build_question
from claw.gateway.page.session import Sessions
from claw.wiring.gateway.page.health import ask_doctor, find_waiting
from claw.wiring.gateway.page.spending import find_spending
from claw.wiring.gateway.parts import GatewayParts
from claw.wiring.status import read_status
from claw.wiring.workspace.secrets import build_redactor


async def build_page(parts: GatewayParts, stack: AsyncExitStack
                     ) -> Sequence[Endpoint]:
    """The files, signing in, and what the page asks."""
    sessions = Sessions(parts.keys, parts.settings)
    parts.app.identify.append(sessions.identify)

    def clean(value: Any) -> Any:
        return build_redactor(parts.tree(), quick=True).record(value)

    return (
        *list_files(), *sessions.endpoints,
        build_question("status", lambda _: read_status(
            parts.places).to_json(), clean),
        build_question("queue", lambda _: find_waiting(
            parts.places, parts.tree), clean),
        build_action("doctor", lambda _: ask_doctor(parts.tree()), clean),
        build_question("spending", lambda asked: find_spending(
            parts.tree(), asked), clean))
