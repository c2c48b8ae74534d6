"""Pairs of memories that can't both hold, found by what they are about.

Claims about the same stand beside each other in a table, so every memory is
read once and no pair is looked for: that finds what recall would bring
together, in the time that reading takes. Of several values the newest is
held against each older one. What consolidation replaces by itself
(consolidation/conflict.py) is held to stricter rules: here a person decides.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import NamedTuple

from claw.agent.memory.conflicts.claims import (
    About,
    Claim,
    read_claims,
    read_said,
)
from claw.agent.memory.conflicts.forms import NO, YES
from claw.agent.memory.conflicts.never import (
    LEAST,
    Done,
    Never,
    is_denied,
    read_done,
    read_nevers,
)
from claw.agent.memory.conflicts.values import exclude
from claw.core.memory import MemoryEntry

_DAYS_A_YEAR = 365.25
# Of a thing that has more values than this, none is the only one.
_VALUES = 6
# Who writes the same word ten thousand times makes no search of hours.
_NEAR = 500


_NAMES = {"is": "two values", "live": "where to live", "work": "where to work",
          "from": "where from", "old": "age", "born": "birth",
          "has": "how many", "like": "liked or not", "do": "done or not",
          "have": "had or not", "be": "is or is not", "says": "yes and no",
          "allergic": "allergic or not", "number": "two numbers"}


class Pair(NamedTuple):
    """Two memories that contradict each other, the newer first, and the
    sentences that do; `why` is what they differ in, or a model's words."""

    newer: MemoryEntry
    older: MemoryEntry
    why: str
    newer_says: str
    older_says: str

    @property
    def ids(self) -> frozenset[str]:
        """By which the pair is known once it is settled."""
        return frozenset((self.newer.id, self.older.id))


def find_pairs(entries: Iterable[MemoryEntry]) -> list[Pair]:
    """The pairs by rule, those with the newest memories first. Superseded
    memories are left out."""
    known: dict[About, list[Claim]] = {}
    nevers: list[Never] = []
    done: list[Done] = []
    for entry in entries:
        if entry.superseded_by is None:
            said = read_said(entry)
            for claim in read_claims(entry, said):
                known.setdefault(claim.about, []).append(claim)
            nevers += read_nevers(entry, said)
            done += read_done(entry, said)
    found: dict[frozenset[str], Pair] = {}
    for pair in chain(*map(_compare, known.values()),
                      _find_denied(nevers, done)):
        found.setdefault(frozenset((pair.newer.key, pair.older.key)), pair)
    return sorted(found.values(), reverse=True, key=lambda pair: (
        pair.newer.updated_at, pair.older.updated_at, pair.newer.key))


def _find_denied(nevers: list[Never], done: list[Done]) -> Iterator[Pair]:
    """What is said never to have been, and is told of. Of each "never" the
    nearest. What holds two thirds of its words holds one of the rarest, so
    only these are looked up, and of each the newest."""
    holders: dict[str, list[Done]] = {}
    wanted = {stem for never in nevers for stem in never.what}
    for one in done:
        for stem in one.stems & wanted:
            holders.setdefault(stem, []).append(one)
    for never in nevers:
        rare = sorted(never.what, key=lambda stem: len(
            holders.get(stem, ())))[:len(never.what) - LEAST + 1]
        near = {id(one): one for stem in rare
                for one in holders.get(stem, ())[:_NEAR]
                if is_denied(one, never)}
        best = max(near.values(), default=None, key=lambda one: (
            len(one.stems & never.what), one.entry.updated_at))
        if best is not None:
            yield _put_in_order(never, best)


def _put_in_order(never: Never, done: Done) -> Pair:
    if (never.entry.updated_at, never.entry.key) > (
            done.entry.updated_at, done.entry.key):
        return Pair(never.entry, done.entry, "never", never.sentence,
                    done.sentence)
    return Pair(done.entry, never.entry, "never", done.sentence,
                never.sentence)


def _compare(claims: list[Claim]) -> list[Pair]:
    if len(claims) < 2:
        return []
    newest, *older = sorted(claims, key=_when, reverse=True)
    found = [Pair(newest.entry, one.entry, _describe(newest),
                  newest.sentence, one.sentence)
             for one in older if one.entry.key != newest.entry.key
             and _contradict(newest, one)]
    values = {claim.value.lower() for claim in claims}
    return found if len(values) <= _VALUES else []


def _when(claim: Claim) -> tuple[str, str]:
    return claim.entry.updated_at, claim.entry.key


def _contradict(one: Claim, other: Claim) -> bool:
    if {one.value, other.value} <= {YES, NO}:
        return one.value != other.value
    if one.about.topic == "old":
        return not _aged(one, other)
    return exclude(one.value, other.value,
                   strict=one.strict or other.strict)


def _aged(one: Claim, other: Claim) -> bool:
    """Whether two ages lie as far apart as their times."""
    years = _read_days(one) / _DAYS_A_YEAR - _read_days(other) / _DAYS_A_YEAR
    return abs(int(one.value) - int(other.value) - years) < 1


def _read_days(claim: Claim) -> float:
    """When a memory was made, in days; 0 for a time that is none."""
    try:
        made = datetime.fromisoformat(
            claim.entry.created_at[:26].removesuffix("Z"))
    except ValueError:
        return 0.0
    return made.toordinal()


def _describe(claim: Claim) -> str:
    """What two claims differ in."""
    return _NAMES.get(claim.about.topic, claim.about.topic)
