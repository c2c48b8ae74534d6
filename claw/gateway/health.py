"""GET /health: whether claw works, by what its parts last did.

    {"status": "ok"}                                  for anyone
    {"status", "uptime_seconds", "parts": {NAME: {"status",
     "last_receive_age_s", "last_send_age_s", "last_turn_age_s", ...}}}
                            with a key, or from this machine itself

200 while every part is well, 503 where one is not. A channel is well by
the age of its last completed receive, not by a task that lives.
"""

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

from starlette.responses import Response

from claw.gateway.endpoint import Call, Endpoint, reply

# What claw.runtime.process.health.Health.snapshot gives: {"uptime_seconds",
# "components": {NAME: {"status", "last_receive": RFC 3339 or null, ...}}}.
Snapshot: TypeAlias = Callable[[], Mapping[str, Any]]
_TIMES = ("last_receive", "last_send", "last_turn", "last_ok")


def build_health(snapshot: Snapshot,
                 now: Callable[[], float] = time.time) -> Endpoint:
    """The row."""
    async def answer(call: Call) -> Response:
        found = describe_health(snapshot(), now())
        status = 200 if found["status"] == "ok" else 503
        if call.key is None and not call.is_local:
            found = {"status": found["status"]}
        return reply(found, status)
    return Endpoint("/health", answer, methods=("GET", "HEAD"),
                    access="open")


def describe_health(snapshot: Mapping[str, Any], now: float
                    ) -> dict[str, Any]:
    """The snapshot with ages. `status` is that of the worst part."""
    parts = {name: _describe_part(part, now)
             for name, part in snapshot["components"].items()}
    states = {part["status"] for part in parts.values()}
    status = next((one for one in ("error", "starting") if one in states),
                  "ok")
    return {"status": status, "uptime_seconds": snapshot["uptime_seconds"],
            "parts": parts}


def _describe_part(part: Mapping[str, Any], now: float) -> dict[str, Any]:
    found = {"status": part["status"]}
    for name in _TIMES:
        if part.get(name) is not None:
            found[f"{name}_age_s"] = max(
                0, round(now - read_time(part[name]), 1))
    for name in ("last_error", "rejected"):
        if part.get(name):
            found[name] = part[name]
    if part.get("restart_count"):
        found["restarts"] = part["restart_count"]
    return found


def read_time(text: str) -> float:
    """RFC 3339 as Unix seconds."""
    return datetime.fromisoformat(text).timestamp()
