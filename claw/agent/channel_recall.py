"""Memory around a turn of a channel: what is brought in, what is kept.

Two scopes are asked at once: the sender's, and the conversation's (its
history key), under which messages are kept.
"""

import asyncio
from collections.abc import Sequence
from itertools import chain, zip_longest

from claw.agent.events import Notice, OnEvent, ignore
from claw.agent.recall import (
    BLOCK_CHARS,
    LIMIT,
    MAX_SAVED_CHARS,
    Recalled,
    distinct,
    is_worth_saving,
    on_thread,
    relevant,
    rendered,
)
from claw.core.channel import ChannelMessage
from claw.core.errors import ClawError
from claw.core.memory import (
    CONVERSATION,
    NO_SOURCE,
    Memory,
    MemoryEntry,
    Source,
    store_with,
)

ENTRIES = 4
_QUERY_CHARS = 4_000


async def context_for(memory: Memory, text: str, *, sender: str,
                      history_key: str, is_group: bool, min_score: float,
                      on_event: OnEvent = ignore) -> Recalled:
    """What the memory knows about a message, at most 4 entries.

    Best first; in a group the two scopes take turns, so that the person's
    memories do not crowd out the group's. What says nothing that is not
    said by one before it is left out. An error counts as nothing found
    and is said as a Notice.
    """
    query = text.strip()[:_QUERY_CHARS]
    if query in ("", "*"):  # a memory would answer with its newest
        return Recalled()
    scopes = await asyncio.gather(*(
        _found(memory, query, scope, on_event)
        for scope in dict.fromkeys((sender, history_key))))
    kept = [_fit(entries, text, min_score) for entries in scopes]
    found = distinct(_unique(
        _in_turns(kept) if is_group else _by_score(kept)))
    return rendered(found[:ENTRIES])


async def _found(memory: Memory, query: str, scope: str,
                 on_event: OnEvent) -> list[MemoryEntry]:
    try:
        return await on_thread(lambda: memory.recall(query, LIMIT, scope))
    except ClawError as error:
        on_event(Notice(f"memory not read: {error.message}"))
        return []


def _fit(entries: Sequence[MemoryEntry], text: str,
         min_score: float) -> list[MemoryEntry]:
    """Entries fit for the prompt. The message itself was kept a moment
    ago and is the best match of all: it tells nothing."""
    return [entry for entry in relevant(entries, min_score)
            if len(entry.content) <= BLOCK_CHARS
            and not (entry.category == CONVERSATION
                     and entry.content.strip() in text)]


def _in_turns(scopes: Sequence[Sequence[MemoryEntry]]) -> list[MemoryEntry]:
    return [entry for entry in chain.from_iterable(zip_longest(*scopes))
            if entry is not None]


def _by_score(scopes: Sequence[Sequence[MemoryEntry]]) -> list[MemoryEntry]:
    """Highest first; without a score as the memory gave them, in front."""
    return sorted(chain.from_iterable(scopes), key=lambda entry: -(
        1.0 if entry.score is None else entry.score))


def _unique(entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Each key once, and each content once."""
    keys: set[str] = set()
    contents: set[str] = set()
    kept: list[MemoryEntry] = []
    for entry in entries:
        if entry.key not in keys and entry.content not in contents:
            kept.append(entry)
        keys.add(entry.key)
        contents.add(entry.content)
    return kept


def said_in(message: ChannelMessage) -> Source:
    """Who said what is kept of a message, and where: channel, chat and
    the id by which the queue knows it, without saying these two again."""
    room, chat = message.channel.partition(":")[0], message.reply_target
    number = message.id.removeprefix(f"{room}_").removeprefix(f"{chat}_")
    return Source(message.sender, f"{message.channel}:{chat}:{number}")


async def remember(memory: Memory, key: str, text: str, session: str, *,
                   source: Source = NO_SOURCE,
                   on_event: OnEvent = ignore) -> bool:
    """Keep what a person wrote, at least 20 characters; whether it was.

    Nothing that a program wrote for itself is kept, nor what the turn adds
    to the message. An error is said as a Notice: it must not cost the
    answer.
    """
    if not is_worth_saving(text):
        return False
    try:
        await on_thread(lambda: store_with(
            memory, key, text[:MAX_SAVED_CHARS], CONVERSATION, session,
            source))
    except ClawError as error:
        on_event(Notice(f"message not kept in memory: {error.message}"))
        return False
    return True
