"""Who may hold how many connections. Pure but for who is in the room.

A connection is unfinished while its request is not whole, and between two
requests. A new one takes the place of the oldest unfinished of its own
network, or of the network that has most: who is slow holds nobody else up.
One whose request is being answered is never pushed out.
"""

from collections import Counter
from ipaddress import IPv6Address, IPv6Network
from typing import Protocol

from claw.core.value import Value
from claw.gateway.guard import is_loopback


class Limits(Value):
    """What one server and one connection may take.

    `head_s` is for the head of a request, from its first byte or, of the
    first one, from the connection on; `body_s` for its body, `idle_s` for
    the silence between two. `linger_s` is how long the rest of a body is
    read away after its answer, `stalled_s` how long a peer may leave an
    answer unread, `grace_s` the time of what is under way when the server
    closes.
    """

    head_bytes: int = 16 * 1024
    head_fields: int = 100
    connections: int = 2048
    connections_of_one: int = 256  # but for this machine's: a proxy's
    unfinished: int = 64
    unfinished_of_one: int = 32  # of one address, or IPv6 network
    head_s: float = 5.0
    body_s: float = 20.0
    idle_s: float = 30.0
    linger_s: float = 1.0
    stalled_s: float = 30.0
    grace_s: float = 0.5


class Guest(Protocol):
    """A connection, as the room sees it."""

    network: str

    def turn_away(self) -> None:
        """End it for want of room."""


class Room:
    """The connections of one server, by what they are doing."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._waiting: dict[Guest, None] = {}  # the oldest first
        self._held: Counter[str] = Counter()  # of them, by network
        self._answered: Counter[str] = Counter()  # of the busy ones
        self.busy: set[Guest] = set()

    @property
    def waiting(self) -> list[Guest]:
        return list(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting) + len(self.busy)

    def admit(self, guest: Guest) -> bool:
        """Take a new one in, where there is a place or can be made one."""
        network = guest.network
        if len(self) >= self._limits.connections and not self._waiting:
            return False
        if self._answered[network] >= self._limits.connections_of_one \
                and not is_loopback(network):
            return False
        self._waiting[guest] = None
        self._held[network] += 1
        if self._held[network] > self._limits.unfinished_of_one:
            self._push_out(network)
        elif len(self._waiting) > self._limits.unfinished \
                or len(self) > self._limits.connections:
            self._push_out(max(self._held, key=self._held.__getitem__))
        return True

    def begin_answer(self, guest: Guest) -> None:
        """Its request is whole."""
        if self._drop(guest):
            self.busy.add(guest)
            self._answered[guest.network] += 1

    def end_answer(self, guest: Guest) -> None:
        """It is answered, and may ask again."""
        if guest in self.busy:
            self._drop_busy(guest)
            self.admit(guest)

    def leave(self, guest: Guest) -> None:
        self._drop(guest)
        self._drop_busy(guest)

    def _push_out(self, network: str) -> None:
        oldest = next(guest for guest in self._waiting
                      if guest.network == network)
        self._drop(oldest)
        oldest.turn_away()

    def _drop(self, guest: Guest) -> bool:
        if guest not in self._waiting:
            return False
        del self._waiting[guest]
        _count_down(self._held, guest.network)
        return True

    def _drop_busy(self, guest: Guest) -> None:
        if guest in self.busy:
            self.busy.discard(guest)
            _count_down(self._answered, guest.network)


def _count_down(counter: Counter[str], name: str) -> None:
    counter[name] -= 1
    if not counter[name]:
        del counter[name]


def find_network(address: str) -> str:
    """Whose an address is: itself, or the /64 of an IPv6 one; all of IPv4
    is one /64 where it is written as IPv6, and is unwrapped."""
    if ":" not in address:
        return address
    bare = IPv6Address(address.partition("%")[0])
    return str(bare.ipv4_mapped or IPv6Network((bare, 64), strict=False))
