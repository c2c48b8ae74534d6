"""Every table of the gateway: one line for each file that brings rows."""

from claw.wiring.gateway.events import build_events
from claw.wiring.gateway.openai import build_openai
from claw.wiring.gateway.page import build_page
from claw.wiring.gateway.parts import Table
from claw.wiring.gateway.status import build_status

TABLES: tuple[Table, ...] = (
    build_status,
    build_openai,
    build_events,
    build_page,
)
