"""Faults that a fake platform can be told to show, and how they strike.

    stall        the call is taken and neither done nor answered
    reset        the connection is reset before the call is done
    reset_after  the call is done, then the connection is reset
    half         the call is done, half of the answer comes
    status       refused with an HTTP status (default 500)
    429          refused with "retry after `retry_after` seconds"
    html         refused with a proxy's HTML page (default 502)
    delay        the call is done at once, its answer comes `delay_s` late

Any kind may carry a `delay_s`: the wait before its effect shows.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from claw.testing.http_server import Reply

KINDS = ("stall", "reset", "reset_after", "half", "status", "429", "html",
         "delay")
_STATUS = {"429": 429, "html": 502}


@dataclass
class Fault:
    """One fault; `times` None is for ever, `struck` counts."""

    kind: str
    times: int | None = 1
    delay_s: float = 0.0
    retry_after: int = 1
    status: int = 500
    description: str | None = None
    parameters: dict[str, Any] | None = None
    struck: int = 0


@dataclass
class Faults:
    """Faults waiting to strike, in order, per method; "*" is any."""

    _waiting: dict[str, list[Fault]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, method: str, kind: str, *, times: int | None = 1,
            delay_s: float = 0.0, retry_after: int = 1,
            status: int | None = None, description: str | None = None,
            parameters: dict[str, Any] | None = None) -> Fault:
        if kind not in KINDS:
            raise ValueError(f"unknown kind of fault: {kind!r}; one of "
                             + ", ".join(KINDS))
        fault = Fault(kind, times, delay_s, retry_after,
                      status or _STATUS.get(kind, 500), description,
                      parameters)
        with self._lock:
            self._waiting.setdefault(method, []).append(fault)
        return fault

    def clear(self, method: str | None = None) -> None:
        with self._lock:
            if method is None:
                self._waiting.clear()
            else:
                self._waiting.pop(method, None)

    def take(self, method: str) -> Fault | None:
        """The fault that strikes this call."""
        if not self._waiting:
            return None
        with self._lock:
            for key in (method, "*"):
                for fault in self._waiting.get(key, ()):
                    if fault.times is None or fault.struck < fault.times:
                        fault.struck += 1
                        return fault
        return None


async def strike(fault: Fault, do: Callable[[], Awaitable[Reply]],
                 refuse: Callable[[Fault], Reply]) -> Reply:
    """Answer a call as its fault says."""
    if fault.kind == "stall":
        return Reply(ending="silence")
    if fault.kind == "reset":
        reply = Reply(ending="reset")
    elif fault.kind == "html":
        reply = _page(fault.status)
    elif fault.kind in ("status", "429"):
        reply = refuse(fault)
    else:
        ending = {"reset_after": "reset", "half": "half"}
        reply = replace(await do(), ending=ending.get(fault.kind, "whole"))
    if fault.delay_s:
        await asyncio.sleep(fault.delay_s)
    return reply


def _page(status: int) -> Reply:
    body = (f"<html><head><title>{status} Bad Gateway</title></head><body>"
            f"<center><h1>{status} Bad Gateway</h1></center></body></html>")
    return Reply(status, body.encode(), "text/html")
