"""Leases: the right to work on something alone, with a fencing number.

A lease ends with its time, with the process that holds it, or with the
boot of the machine. Each change of hands makes the fence grow, and every
write that carries a lease looks at the fence in its own transaction: a
process that slept through a take-over can't write any more.
"""

import sqlite3
from typing import NamedTuple

from claw.core.errors import LeaseLostError, StorageError
from claw.storage.queue import codec
from claw.storage.queue.codec import pack
from claw.storage.queue.model import Holder, Lease
from claw.storage.queue.owner import Owner, alive, same_boot

FREE = ""


class _Row(NamedTuple):
    owner: str
    fence: int
    ttl: float
    until: float


class Watch:
    """What this process saw of leases of other machines: their clocks say
    nothing here, so such a lease has lapsed when it was not renewed while
    we watched it for as long as it lasts."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[_Row, float]] = {}

    def fresh(self, name: str, row: _Row, uptime: float) -> bool:
        last = self._seen.get(name)
        if last is None or last[0] != row:
            self._seen[name] = row, uptime
            return True
        return uptime - last[1] < row.ttl


class Place(NamedTuple):
    """From where leases are looked at: this process, its clock, what it
    has seen."""

    here: Owner
    uptime: float
    watch: Watch


def take(connection: sqlite3.Connection, name: str, ttl_s: float,
         place: Place) -> Lease | None:
    row = _row(connection, name)
    mine = owner_text(place.here)
    if row is not None and row.owner != mine and _is_held(name, row, place):
        return None
    fence = 1 if row is None else row.fence + (row.owner != mine)
    connection.execute(
        "INSERT INTO leases (name, owner, fence, ttl, until)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET"
        " owner = excluded.owner, fence = excluded.fence,"
        " ttl = excluded.ttl, until = excluded.until",
        (pack(name), mine, fence, ttl_s, place.uptime + ttl_s))
    return Lease(name, mine, fence)


def check(connection: sqlite3.Connection, lease: Lease) -> None:
    """Raise LeaseLostError where someone else has it. An own one that has
    lapsed is good as long as nobody took it."""
    row = _row(connection, lease.name)
    if row is None or (row.owner, row.fence) != (lease.owner, lease.fence):
        raise LeaseLostError(
            f"{lease.name}: {_who(row)}; this one must stop working on it")


def renew(connection: sqlite3.Connection, lease: Lease, ttl_s: float,
          uptime: float) -> None:
    check(connection, lease)
    connection.execute(
        "UPDATE leases SET ttl = ?, until = ? WHERE name = ?",
        (ttl_s, uptime + ttl_s, pack(lease.name)))


def give_back(connection: sqlite3.Connection, lease: Lease) -> None:
    connection.execute(
        "UPDATE leases SET owner = ? WHERE name = ? AND owner = ?"
        " AND fence = ?",
        (FREE, pack(lease.name), lease.owner, lease.fence))


def holder(connection: sqlite3.Connection, name: str,
           here: Owner) -> Holder | None:
    row = _row(connection, name)
    owner = None if row is None else _owner(row.owner)
    return (None if owner is None
            else Holder(name, owner.pid, owner.host, alive(owner, here)))


def is_held(connection: sqlite3.Connection, name: str,
            place: Place) -> bool:
    """Whether a living holder has it."""
    row = _row(connection, name)
    return row is not None and _is_held(name, row, place)


def owner_text(owner: Owner) -> str:
    return codec.encode(codec.fields(owner), "the owner of a lease")


def _is_held(name: str, row: _Row, place: Place) -> bool:
    if row.owner == FREE:
        return False
    owner = _owner(row.owner)
    if owner is not None:
        if alive(owner, place.here) is False:
            return False
        if same_boot(owner, place.here):
            # Where boots have no id it may be of a boot before.
            return place.uptime < row.until and not (
                owner.boot == "" and row.until - row.ttl > place.uptime + 1)
    return place.watch.fresh(name, row, place.uptime)


def _row(connection: sqlite3.Connection, name: str) -> _Row | None:
    found = connection.execute(
        "SELECT owner, fence, ttl, until FROM leases WHERE name = ?",
        (pack(name),)).fetchone()
    return None if found is None else _Row(*found)


def _owner(text: str) -> Owner | None:
    """None: nobody, or someone this version does not understand."""
    try:
        return codec.decode_known(Owner, codec.decode(text, "owner"), "owner")
    except StorageError:
        return None


def _who(row: _Row | None) -> str:
    owner = None if row is None else _owner(row.owner)
    return ("the lease is gone" if owner is None
            else f"process {owner.pid} on {owner.host} has taken over")
