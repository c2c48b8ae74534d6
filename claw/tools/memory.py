"""memory_store, memory_recall, memory_forget, memory_purge: the agent's own
memory.

Each works in the session of the running turn; outside a turn, or in one
without a session, memories are the owner's.
"""

import asyncio
import shlex
from datetime import datetime

from claw.core.errors import UnavailableError, UsageError
from claw.core.labels import describe_origin, join_origin, split_origin
from claw.core.memory import (
    CORE,
    NO_SOURCE,
    ForgetsMany,
    KeepsVersions,
    Memory,
    MemoryEntry,
    Source,
    recall_all,
    store_with,
)
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    integer,
    optional,
    string,
)
from claw.core.turn import current_turn
from claw.tools.offer.checked import CheckedTool


class _MemoryTool(CheckedTool):
    labels_itself = True

    def __init__(self, deps: ToolDeps) -> None:
        self._policy = deps.policy
        self._deps = deps

    @property
    def _memory(self) -> Memory:
        memory: Memory | None = self._deps.memory
        if memory is None:
            raise UnavailableError("no memory is open in this turn")
        return memory

    @staticmethod
    def _session() -> str | None:
        turn = current_turn.get()
        return turn.session_id if turn else None

    @staticmethod
    def _source() -> Source:
        """Who is speaking in this turn, in which message, and what foreign
        text the turn has read; nobody is named for the owner."""
        turn = current_turn.get()
        return Source(turn.sender, turn.message, join_origin(
            turn.labels)) if turn else NO_SOURCE

    def _sessions(self) -> list[str | None]:
        """The sessions that the turn may see, its own first; [None]: all."""
        turn = current_turn.get()
        return [self._session(), *(turn.sessions if turn else ())]

    def _is_anothers(self, entry: MemoryEntry | None) -> bool:
        return (entry is not None and self._session() is not None
                and entry.session_id not in (None, *self._sessions()))


class MemoryStore(_MemoryTool):
    """Keeps a fact under a key."""

    name = "memory_store"
    description = ("Store a fact, preference or note in long-term memory; "
                   "an existing key is overwritten.")

    def parameters_schema(self) -> Schema:
        return closed_object(
            key=string("Unique key, e.g. favourite_colour", minLength=1),
            content=string("What to remember", minLength=1),
            category=string("core (lasting), daily, conversation, or a word "
                            "of your own", default=CORE, minLength=1))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        await asyncio.to_thread(self._store, args)
        return ToolResult(output=f"Stored memory: {args['key']}")

    def _store(self, args: Arguments) -> None:
        """Keys are one namespace: another session's memory under this one
        must not be lost to it. What the person stored in another chat stays
        that chat's."""
        known = self._memory.get(args["key"])
        if self._is_anothers(known):
            raise UsageError("this key is taken; choose another one")
        session = self._session()
        if known is not None and known.session_id in self._sessions():
            session = known.session_id or session
        store_with(self._memory, args["key"], args["content"],
                   args["category"], session, self._source())


class MemoryRecall(_MemoryTool):
    """Searches memory."""

    name = "memory_recall"
    repeatable = True
    description = ("Search long-term memory by words, by time, or both; "
                   "best match first.")

    def parameters_schema(self) -> Schema:
        return closed_object(
            query=optional(string("Words to search for")),
            limit=integer("How many at most", default=5, minimum=1,
                          maximum=100),
            since=optional(string("Not older than this RFC 3339 time")),
            until=optional(string("Not newer than this RFC 3339 time")))

    async def run(self, args: Arguments) -> ToolResult:
        query = args.get("query", "").strip()
        since, until = _time(args, "since"), _time(args, "until")
        if not query and since is None and until is None:
            raise UsageError("Provide 'query', 'since' or 'until'")
        found = await asyncio.to_thread(
            recall_all, self._memory, query, args["limit"],
            self._sessions(), since, until)
        if not found:
            return ToolResult(output="No memories found.")
        turn = current_turn.get()
        if turn is not None:
            turn.labels.update(*(split_origin(e.origin) for e in found))
        return ToolResult(output="\n".join(
            [f"Found {len(found)} memories:", *map(line, found)]))


class MemoryForget(_MemoryTool):
    """Removes one memory."""

    name = "memory_forget"
    description = "Remove the memory with exactly this key."

    def parameters_schema(self) -> Schema:
        return closed_object(key=string("The memory's key", minLength=1))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        key = args["key"]
        if not await asyncio.to_thread(self._forget, key):
            return ToolResult(output=f"No memory found with key: {key}")
        return ToolResult(output=f"Forgot memory: {key}" + (
            await asyncio.to_thread(self._way_back, key)))

    def _forget(self, key: str) -> bool:
        """Another session's memory is not there for this one."""
        entry = self._memory.get(key)
        return (entry is not None and not self._is_anothers(entry)
                and self._memory.forget(key))

    def _way_back(self, key: str) -> str:
        """Only the owner is told of it: undo is a command."""
        memory = self._memory
        if self._session() is None and isinstance(memory, KeepsVersions) \
                and any(version.ended_by == "forgotten"
                        for version in memory.history(key)[:1]):
            return f"\nTo bring it back: claw memory undo {shlex.quote(key)}"
        return ""


class MemoryPurge(_MemoryTool):
    """Removes all memories of a category or session that the turn may
    see."""

    name = "memory_purge"
    description = ("Remove all memories of a category, of a session, or of "
                   "both together.")

    def parameters_schema(self) -> Schema:
        return closed_object(
            category=optional(string("core, daily, conversation or another",
                                     minLength=1)),
            session_id=optional(string("Session whose memories go",
                                       minLength=1)))

    async def run(self, args: Arguments) -> ToolResult:
        if not args:
            raise UsageError("Provide 'category' or 'session_id'")
        self._policy.enforce("act")
        count = await asyncio.to_thread(
            self._purge, args.get("category"), args.get("session_id"))
        return ToolResult(output=f"Removed {count} memories")

    def _purge(self, category: str | None, session: str | None) -> int:
        memory = self._memory
        keys = [entry.key for entry in memory.list(category, session)
                if session in (None, entry.session_id)
                and not self._is_anothers(entry)]
        if isinstance(memory, ForgetsMany):
            return memory.forget_where(None, None, keys) if keys else 0
        return sum(map(memory.forget, keys))


def line(entry: MemoryEntry) -> str:
    """One memory as a line; a score in [0, 1] is shown in per cent, and
    where foreign text in it comes from beside the key."""
    percent = "" if entry.score is None else f" [{entry.score * 100:.0f}%]"
    origin = describe_origin(entry.origin)
    key = f"{entry.key} ({origin})" if origin else entry.key
    return f"- [{entry.category}] {key}: {entry.content}{percent}"


def _time(args: Arguments, name: str) -> str | None:
    value: str | None = args.get(name)
    if not value:
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None:
        raise UsageError(f"'{name}' must be an RFC 3339 time, such as "
                         "2026-03-01T00:00:00Z")
    return value
