"""What every fake platform shares: it runs in a `with` block, can be
waited for, and goes wrong when told to."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from claw.testing.faults import Fault, Faults, strike
from claw.testing.http_server import Answer, HttpServer, Reply, Request

T = TypeVar("T")
S = TypeVar("S", bound="FakeServer")


class FakeServer:
    """A server in a thread of its own. A subclass answers in `_handle`,
    keeps its state under `_changed` and notifies it.

    `latency_s` is spent on each call, half before and half after it is
    done. `host` is the address it listens at.
    """

    host = "127.0.0.1"

    def __init__(self, *, port: int = 0, latency_s: float = 0.0) -> None:
        self.latency_s = latency_s
        self._changed = threading.Condition()
        self._faults = Faults()
        self._server = HttpServer(self._handle, port)
        self._running = False

    def __enter__(self: S) -> S:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    def up(self) -> None:
        """Listen, at the same port as before."""
        if not self._running:
            self._server.start(self.host)
            self._running = True

    def down(self) -> None:
        """Hang up on everyone and refuse connections; what was said
        stays known."""
        if self._running:
            self._running = False
            self._server.stop()

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def url(self) -> str:
        """The base URL that a client is given."""
        return f"http://{self.host}:{self._server.port}"

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._server.connections)

    def kill_connections(self) -> int:
        """Reset every open connection; how many there were."""
        return self._server.kill_connections()

    def fault(self, method: str, kind: str, times: int | None = 1, *,
              delay_s: float = 0.0, retry_after: int = 1,
              status: int | None = None, description: str | None = None,
              parameters: dict[str, Any] | None = None) -> Fault:
        """The next `times` calls of a method ("*": any; None: for ever)
        go wrong. Kinds: see claw.testing.faults."""
        return self._faults.add(
            method, kind, times=times, delay_s=delay_s,
            retry_after=retry_after, status=status, description=description,
            parameters=parameters)

    def clear_faults(self, method: str | None = None) -> None:
        self._faults.clear(method)

    def wait_until(self, predicate: Callable[[], T],
                   timeout_s: float = 20.0) -> T:
        """Block until the predicate is true; what it gave. Raises
        TimeoutError that tells what had arrived. Not for the thread of
        the client's own event loop: there, use `until`."""
        deadline = time.monotonic() + timeout_s
        while not (found := predicate()):
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._late(timeout_s)
            with self._changed:
                # the predicate may look at things elsewhere
                self._changed.wait(min(left, 0.02))
        return found

    async def until(self, predicate: Callable[[], T],
                    timeout_s: float = 20.0) -> T:
        """`wait_until` for a coroutine."""
        deadline = time.monotonic() + timeout_s
        while not (found := predicate()):
            if time.monotonic() > deadline:
                raise self._late(timeout_s)
            await asyncio.sleep(0.005)
        return found

    def _handle(self, request: Request) -> Answer:
        raise NotImplementedError

    def _state(self) -> str:
        """What had arrived, for the error of someone who waited."""
        raise NotImplementedError

    async def _slowly(self, do: Callable[[], Awaitable[Reply]],
                      fault: Fault | None,
                      refuse: Callable[[Fault], Reply]) -> Reply:
        """Do a call with its latency and its fault."""
        half = self.latency_s / 2
        if half:
            await asyncio.sleep(half)
        reply = await do() if fault is None \
            else await strike(fault, do, refuse)
        if half:
            await asyncio.sleep(half)
        return reply

    def _late(self, timeout_s: float) -> TimeoutError:
        return TimeoutError(f"not within {timeout_s} s: {self._state()}")
