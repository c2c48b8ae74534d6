"""What was kept under usernames and ids of before, brought under the ids
that people have now.

Until people were their ids the name stood in conversation keys, session
files, memories, waiting messages and open questions. At the first start the
private chats come over whose address is their person's id; a name that such
a chat proves to be one person's becomes his in the allow-list too. The rest
follows when its holder is known: the first who came with a name that the
allow-list (or a pairing) holds. What only carries a name, and of whom that
is not known, stays where it is.

Where a platform says that an id became another one (ChannelDeps.carry_over),
that is written down first; the rest comes before the next message. A kill
in between leaves it to be done again, and each step is the same when it is.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from claw.core.channel import Channel, ChannelMessage, KeepsMarks
from claw.core.errors import ClawError, describe
from claw.core.log import Log
from claw.core.memory import Memory, MemoryEntry, RestoresMemories
from claw.core.value import replace
from claw.runtime.message.keys import (
    find_person,
    move_key,
    read_named_key,
)
from claw.runtime.turn.histories import Histories
from claw.storage.jobs.store import SqliteJobs
from claw.storage.names import PeopleFile
from claw.storage.queue.model import Lease
from claw.storage.queue.rekey import Renames
from claw.storage.queue.sqlite import SqliteQueue
from claw.storage.sessions import SessionStore

# open_memory(readonly); with readonly nothing is created.
OpenMemory = Callable[[bool], AbstractContextManager[Memory | None]]


class CarryOver:
    """Awaited before each message; costs a look at one file's times where
    nothing is left to do."""

    def __init__(self, queue: SqliteQueue, lease: Callable[[], Lease],
                 histories: Histories, store: SessionStore | None,
                 people: PeopleFile, log: Log, *,
                 channels: Callable[[], Iterable[Channel]],
                 listed: Callable[[str], Iterable[str]],
                 open_memory: OpenMemory, chats: KeepsMarks,
                 jobs: SqliteJobs, is_free: Callable[[str], bool],
                 relist: Callable[[str, str, str], bool]) -> None:
        """`is_free` says of an id that no list names it; `relist` puts one
        in another's place in config.toml, and whether it is there."""
        self._queue = queue
        self._lease = lease
        self._histories = histories
        self._store = store
        self._people = people
        self._log = log
        self._channels = channels
        self._listed = listed
        self._open_memory = open_memory
        self._chats = chats
        self._jobs = jobs
        self._is_free = is_free
        self._relist = relist
        self._working = asyncio.Lock()

    async def __call__(self) -> list[str]:
        """Conversations that wait under another key now."""
        moved: list[str] = []
        for channel in self._channels():
            if self._is_due(channel):
                async with self._working:
                    if self._is_due(channel):
                        moved += await self._carry(channel)
        return moved

    def _is_due(self, channel: Channel) -> bool:
        named = channel.capabilities.identity_change
        return (named and self._people.is_new(channel.name)) or any(
            not one.carried and (named or one.moved)
            for one in self._people.list(channel.name))

    async def _carry(self, channel: Channel) -> list[str]:
        name = channel.name
        try:
            if self._people.is_new(name) \
                    and channel.capabilities.private_chat_is_person:
                await asyncio.to_thread(self._find_holders, name)
            known = self._people.list(name)
            holders = {one.name: one.id for one in known if not one.moved}
            moves = {one.name: one.id for one in known if one.moved
                     and not one.carried}
            renames = build_renames(
                name, holders, channel.capabilities.private_chat_is_person,
                moves)
            async with self._histories.at_rest():
                rows = await self._queue.rekey(self._lease(), renames)
                sessions = await asyncio.to_thread(self._carry_sessions,
                                                   renames)
            memories = await asyncio.to_thread(self._carry_memories, renames,
                                               moves)
            self._carry_chats(renames)
            jobs = await asyncio.to_thread(self._jobs.rekey, name,
                                           renames.key, renames.address)
            for old, new in moves.items():
                await asyncio.to_thread(self._settle, name, old, new)
        except ClawError as error:  # the next message tries again
            self._log("people.error", error=describe(error), hint=error.hint)
            return []
        if not rows.running:  # else the next start looks again
            self._people.note_carried(name, [*holders, *moves])
        if rows.rows or sessions or memories or jobs:
            self._log("people.carried", channel=name, sessions=sessions,
                      memories=memories, rows=rows.rows, jobs=jobs)
        return rows.conversations

    def _find_holders(self, channel: str) -> None:
        """Names of the allow-list that private chats prove to be one
        person's: nobody who takes the name first gets it."""
        people: dict[str, set[str]] = defaultdict(set)
        for info in self._store.list() if self._store is not None else ():
            found = read_named_key(info.key, channel)
            if found is not None:
                number = found.chat.partition(":")[0]
                people[found.name] |= {number} if number.isdigit() else set()
        for name in self._listed(channel):
            if len(people.get(name, ())) == 1:
                self._people.bind(channel, name, *people[name])

    def _carry_sessions(self, renames: Renames) -> int:
        changed = 0
        for info in self._store.list() if self._store is not None else ():
            key = renames.key(info.key)
            if key is None:
                continue
            assert self._store is not None
            self._store.replace(key, merge_records(
                self._store.load(info.key), self._store.load(key)))
            self._store.clear(info.key)
            self._histories.drop(info.key)
            self._histories.drop(key)
            changed += 1
        return changed

    def _settle(self, channel: str, old: str, new: str) -> None:
        """Name the new id in config.toml. Until it does, the old entry
        stands for the new id (PeopleFile.follow)."""
        if self._relist(channel, old, new):
            self._people.note_settled(channel, old)

    def _carry_chats(self, renames: Renames) -> None:
        """Which conversations are private, and whose."""
        for key in self._chats.keys():  # noqa: SIM118
            whose = (self._chats.get(key) or "").partition(":")[2]
            new, sender = renames.key(key), renames.sender(ChannelMessage(
                "", whose, "", "", renames.channel, 0))
            if new is not None and sender is not None:
                self._chats.set(new, f"{renames.channel}:{sender}")
                self._chats.set(key, None)

    def _carry_memories(self, renames: Renames, moves: Mapping[str, str]
                        ) -> int:
        """Those of conversations; and what was noted under an id itself,
        where that is nobody's now."""
        notes = {old: new for old, new in moves.items()
                 if self._is_free(old)}
        with self._open_memory(True) as memory:
            entries: Iterable[MemoryEntry] = (
                memory.entries() if isinstance(memory, RestoresMemories)
                else ())
            changed = [new for entry in entries
                       if (new := rename_entry(entry, renames, notes))
                       != entry]
        if not changed:
            return 0
        with self._open_memory(False) as memory:
            assert isinstance(memory, RestoresMemories)
            return memory.restore(changed, overwrite=True)


def build_renames(channel: str, holders: Mapping[str, str],
                  chat_is_person: bool, moves: Mapping[str, str] | None = None
                  ) -> Renames:
    """The new names of what belongs to a channel: `holders` of usernames,
    and `moves` from an id to another."""
    ids = {f"{sign}{old}": f"{sign}{new}" for old, new
           in (moves or {}).items() for sign in ("", "@")}

    def rename_key(key: str) -> str | None:
        for old, new in ids.items():
            if (moved := move_key(key, channel, old, new)) is not None:
                return moved
        found = read_named_key(key, channel)
        person = found and find_person(found.chat, found.name, holders,
                                       chat_is_person=chat_is_person)
        return found.start + person if found and person else None

    def find_sender(message: ChannelMessage) -> str | None:
        name = message.sender
        if name in ids:
            return ids[name]
        return (find_person(message.reply_target, name, holders,
                            chat_is_person=chat_is_person)
                if name[:1].isalpha() and name.isidentifier() else None)
    return Renames(channel, rename_key, find_sender, ids.get)


def merge_records(old: list[dict[str, Any]], new: list[dict[str, Any]]
                  ) -> list[dict[str, Any]]:
    """The records of a conversation's two files, oldest first, each
    once."""
    def bare(record: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in record.items() if k != "n"}
    known = [bare(record) for record in new]
    return sorted([*(r for r in map(bare, old) if r not in known), *known],
                  key=lambda record: str(record.get("at", "")))


def rename_entry(entry: MemoryEntry, renames: Renames,
                 notes: Mapping[str, str]) -> MemoryEntry:
    """A memory with its session and its sender by id. A sender without a
    source of this channel may be anybody."""
    session = renames.key(entry.session_id or "") or notes.get(
        entry.session_id or "", entry.session_id)
    sender = entry.sender
    channel, _, place = (entry.source or "").partition(":")
    if sender and channel == renames.channel:
        sender = renames.sender(ChannelMessage(
            "", sender, place.partition(":")[0], "", channel, 0)) or sender
    return replace(entry, session_id=session, sender=sender)
