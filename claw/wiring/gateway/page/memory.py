"""Memory for the page: search with reasons, conflicts, undo."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from claw.agent.memory.conflicts.pairs import find_pairs
from claw.agent.memory.conflicts.settled import read_settled
from claw.config.tree import Tree
from claw.core.errors import DeniedError, NotFoundError, UsageError
from claw.core.memory import (
    ExplainsRecall,
    Filters,
    KeepsForGood,
    KeepsVersions,
    Memory,
    MemoryEntry,
    RecallsFiltered,
)
from claw.gateway.endpoint import Refused, objects_with
from claw.wiring.memory import open_backend
from claw.wiring.memory.conflicts import (
    find_forgotten,
    let_stand,
    pair_json,
    read_newest,
)
from claw.wiring.workspace.trust import require_trust

_RESULTS = 20
_VERSIONS = 50
_PAIRS = 50
_ROWS = 20_000  # in which conflicts are looked for, as the command does
# Schemas of what is taken here.
KEY = {"type": "string", "minLength": 1}
_SHOWN = objects_with({"id": {"type": "string"}, "key": KEY})
PAIR = objects_with({"keep": _SHOWN, "other": _SHOWN})


def find_memories(tree: Tree, asked: Mapping[str, str]) -> dict[str, Any]:
    """What `claw memory recall --explain` finds for `q`, best first;
    without words the newest."""
    query = asked.get("q", "").strip()
    with _open(tree) as memory:
        if query and isinstance(memory, ExplainsRecall):
            found = [{**entry.to_json(), "why": why.parts} for entry, why in
                     memory.explain(query, _RESULTS, Filters())]
        else:
            entries = memory.recall_filtered(query, _RESULTS, Filters()) \
                if isinstance(memory, RecallsFiltered) \
                else memory.recall(query, _RESULTS)
            found = [{**entry.to_json(), "why": {}} for entry in entries]
        return {"results": found,
                "can_undo": isinstance(memory, KeepsVersions)}


def find_history(tree: Tree, asked: Mapping[str, str]) -> dict[str, Any]:
    """The states of the memory `key`, the latest first."""
    with _open(tree) as memory:
        return {"versions": [
            {"content": version.entry.content, "from": version.valid_from,
             "until": version.valid_until, "ended_by": version.ended_by}
            for version in _require_versions(memory).history(
                _read_text(asked, "key"))[:_VERSIONS]]}


def forget(tree: Tree, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Forget the memory `key`; undo brings it back where the memory keeps
    what was. Raises NotFoundError, DeniedError."""
    key = _read_text(asked, "key")
    with _open(tree, writes=True) as memory:
        if isinstance(memory, KeepsForGood):
            raise DeniedError(f"{key} stays: {memory.why_kept(key)}")
        if not memory.forget(key):
            raise NotFoundError(f"there is no memory {key!r}")
    return {"key": key}


def undo(tree: Tree, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Take back the last change of the memory `key`. Raises
    NotFoundError."""
    key = _read_text(asked, "key")
    with _open(tree, writes=True) as memory:
        entry = _require_versions(memory).undo(key)
    if entry is None:
        raise NotFoundError(f"there is nothing to take back for {key!r}")
    return {"memory": entry.to_json()}


def find_conflicts(tree: Tree, _: Mapping[str, str]) -> dict[str, Any]:
    """The pairs by rule that are not settled, those with the newest
    first."""
    with _open(tree) as memory:
        found = find_pairs(read_newest(memory, _ROWS, Filters()))
    settled = read_settled(tree.places.workspace)
    left = [pair for pair in found if pair.ids not in settled]
    return {"conflicts": [pair_json(pair) for pair in left[:_PAIRS]],
            "total": len(left)}


def settle(tree: Tree, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Decide about two memories, each as {"id", "key"}: `keep` the one and
    hide the `other` (undo brings it back), or with `both` let both stand.
    Raises Refused (409) where one of them was changed meanwhile."""
    both = asked.get("both") is True
    with _open(tree, writes=True) as memory:
        kept, other = (_find(memory, asked.get(name))
                       for name in ("keep", "other"))
        if both:
            let_stand(tree.places.workspace, frozenset((kept.id, other.id)),
                      find_forgotten(memory, tree.places.workspace))
        elif not _require_versions(memory).supersede(other.key, kept.key):
            raise UsageError(
                f"{other.key!r} can't be superseded by the other")
    return {"hidden": None if both else other.key}


@contextmanager
def _open(tree: Tree, *, writes: bool = False) -> Iterator[Memory]:
    if writes:
        require_trust(tree.places)
    with open_backend(tree, readonly=not writes, makes=False) as memory:
        yield memory


def _find(memory: Memory, wanted: Any) -> MemoryEntry:
    """A memory that still is what the page has shown."""
    if not isinstance(wanted, Mapping):
        raise UsageError("keep and other: {\"id\": ..., \"key\": ...}")
    entry = memory.get(_read_text(wanted, "key"))
    if entry is None or entry.id != wanted.get("id") \
            or entry.superseded_by is not None:
        raise Refused(409, "it was changed meanwhile; nothing was done",
                      hint="look again")
    return entry


def _require_versions(memory: Memory) -> KeepsVersions:
    if isinstance(memory, KeepsVersions):
        return memory
    raise UsageError(f'the memory backend "{memory.name}" does not keep '
                     "what memories were",
                     hint="claw config set memory.backend sqlite")


def _read_text(asked: Mapping[str, Any], name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str) or not value:
        raise UsageError(f"{name} is missing")
    return value
