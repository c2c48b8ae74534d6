"""Endpoints: the ways to a model, and the keys of each.

An endpoint is one provider with one or more keys. All calls share its state:
which key is taken, which keys a server asked to rest, and who waits.
"""

from collections.abc import Callable, Collection, Sequence

from claw.core.errors import ClawError
from claw.core.provider import ChatRequest, Provider
from claw.core.value import Value, hidden

QUEUE_S = 30.0  # the most that is added for those who wait already
_GAP_S = 5.0
_MARGIN = 1.1  # one that comes a little early is refused again


class Endpoint(Value):
    """One way to a model.

    `providers` makes one provider for each key, when it is first used.
    `host` is what the circuit breaker watches, "" for none. `model` is
    asked in place of the wanted one; `local` says that it runs on this
    machine.
    """

    name: str
    host: str
    providers: Sequence[Callable[[], Provider]] = hidden()
    model: str | None = None
    local: bool = False

    def __post_init__(self) -> None:
        if not self.providers:
            raise ValueError(f"endpoint {self.name!r} has no provider")


class KeyPool:
    """An endpoint in use. Keys are numbered from 0."""

    def __init__(self, endpoint: Endpoint, clock: Callable[[], float]) -> None:
        self.endpoint = endpoint
        self.count = len(endpoint.providers)
        self.clock = clock
        self._made: dict[int, Provider] = {}
        self._current = 0
        self._rest = [0.0] * self.count   # when a key may be used again
        self._slots = [0.0] * self.count  # when the last who waits goes on
        self._gaps = [0.0] * self.count
        self._began = [0.0] * self.count   # when the first began to wait
        self._passed = [0.0] * self.count  # when the last let through began

    def provider(self, key: int = 0) -> Provider:
        """The provider of a key; making it may raise ClawError."""
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self.endpoint.providers[key]()
        return found

    @property
    def made(self) -> list[Provider]:
        return list(self._made.values())

    def first(self) -> int:
        """The key for a new call."""
        found = self.next(())
        return self._current if found is None else found

    def next(self, tried: Collection[int]) -> int | None:
        """The next key that was not tried and need not rest."""
        now = self.clock()
        for step in range(self.count):
            key = (self._current + step) % self.count
            if key not in tried and self._rest[key] <= now:
                return key
        return None

    def limited(self, key: int, asked_s: float | None) -> None:
        """A key is over its limit, for so long: the next one is taken. Two
        calls that meet the same limit move on once."""
        if asked_s:
            self._rest[key] = self.clock() + asked_s
        self.pass_on(key)

    def pass_on(self, key: int) -> None:
        """Begin with the key after this one from now on."""
        if self._current == key:
            self._current = (key + 1) % self.count

    def worked(self, key: int, began: float) -> None:
        """A request that was sent at `began` was let through."""
        self._rest[key] = 0.0
        self._passed[key] = max(began, self._passed[key])

    def soonest(self) -> tuple[int, float | None]:
        """The key that may be used first, and in how many seconds, None
        where no server named a time."""
        key = min((((self._current + step) % self.count)
                   for step in range(self.count)),
                  key=lambda number: self._rest[number])
        left = self._rest[key] - self.clock()
        return key, left if left > 0 else None

    def queue(self, key: int, wait_s: float, asked_s: float | None) -> float:
        """Seconds to wait for one that has to wait for `wait_s`: longer
        where others wait for the same key, since a limit lets one through
        at a time. Call `left` afterwards."""
        now = self.clock()
        wait, passed = wait_s, self._passed[key]
        if asked_s and self._slots[key] > now:
            gap = asked_s
            if passed > self._began[key]:  # from that one to the next
                gap = _MARGIN * (now - passed + asked_s)
            self._gaps[key] = max(self._gaps[key], min(gap, _GAP_S))
            behind = self._slots[key] - now + self._gaps[key]
            wait = min(max(wait_s, behind), max(wait_s, QUEUE_S))
        elif asked_s:
            self._gaps[key] = min(asked_s, _GAP_S)
            self._began[key] = now
        self._slots[key] = max(self._slots[key], now + wait)
        return wait

    def left(self, key: int, wait_s: float, began: float) -> None:
        """One that waited goes on, or gave up."""
        if self._slots[key] <= began + wait_s + 1e-6:
            self._slots[key] = 0.0


def choose_pools(pools: Sequence[KeyPool], request: ChatRequest,
                 model: str) -> list[KeyPool]:
    """The pools for a request: with images in it those that see, where
    any does."""
    images = any(m.role == "user" and "[IMAGE:data:" in m.content
                 for m in request.messages)
    seeing = [pool for pool in pools if sees_images(pool, model)] \
        if images and len(pools) > 1 else []
    return seeing or list(pools)


def sees_images(pool: KeyPool, model: str) -> bool:
    """Whether the model that is asked there for this one takes images."""
    try:
        return pool.provider().capabilities_for(
            pool.endpoint.model or model).vision
    except ClawError:
        return False  # told when it is asked
