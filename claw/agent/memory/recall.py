"""Memory around a turn: what is brought in before, and kept after.

A turn of the owner asks one session. A turn of a channel asks several at
once: the conversation's (its history key), under which messages are kept,
and those of the same person. `on_thread` is the one place where the agent
calls a memory.
"""

import asyncio
import re
import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, TypeVar

import msgspec

from claw.agent.memory.consolidation.similarity import says_no_more
from claw.agent.rounds.events import Guarded, Notice, OnEvent, ignore
from claw.core.errors import ClawError
from claw.core.labels import (
    GUARD_MARK,
    describe_origin,
    join_origin,
    split_origin,
)
from claw.core.memory import (
    CONVERSATION,
    DAILY,
    MIN_RELEVANCE,
    NO_SOURCE,
    Memory,
    MemoryEntry,
    Source,
    recall_all,
    store_with,
)
from claw.core.provider import Passage
from claw.core.turn import TurnContext

if TYPE_CHECKING:
    from claw.core.channel import ChannelMessage
    from claw.security.prompt_guard import PromptGuard

T = TypeVar("T")

LIMIT = 5
ENTRY_CHARS = 800
BLOCK_CHARS = 4_000
MARK = "[Memory context]"
CHANNEL_ENTRIES = 4
_QUERY_CHARS = 4_000

# what a person writes in less is rarely worth keeping
MIN_SAVED_CHARS = 20
MAX_SAVED_CHARS = 8_000
ANSWER_CHARS = 100

_ANSWER_KEY = "assistant_resp"
_ASSISTANT = "assistant"
# Keys that tell nothing: what was made of a turn is called so.
_NAMELESS_KEY = (
    r"(?:user_msg|core|daily_\d{4}-\d\d-\d\d)_[0-9a-f]{8}-[0-9a-f-]{27}\Z")
_SKIPPED_STARTS = ("[cron:", "[heartbeat task", "[distilled_", MARK.lower())
_SKIPPED_PARTS = ("distilled_index_sig:", "<tool_result", "[image:")


class Recalled(msgspec.Struct, frozen=True):
    """Memories for a turn: as a block of the prompt, and one by one."""

    block: str = ""
    entries: tuple[MemoryEntry, ...] = ()

    @property
    def labels(self) -> set[str]:
        """The origins of foreign text among them."""
        return {label for entry in self.entries
                for label in split_origin(entry.origin)}

    @property
    def passages(self) -> list[Passage]:
        return [Passage(f"memory:{e.key}", e.content) for e in self.entries]


async def on_thread(call: Callable[[], T]) -> T:
    """The result of a memory call, off the event loop."""
    return await asyncio.to_thread(call)


def is_empty(query: str) -> bool:
    """Whether a memory would answer with its newest."""
    return query.strip() in ("", "*")


async def recall(memory: Memory, message: str, session_id: str | None, *,
                 others: Iterable[str] = (),
                 min_score: float = MIN_RELEVANCE,
                 limit: int = LIMIT) -> Recalled:
    """What the memory knows about a message; nothing about one that says
    nothing. `others` are further sessions of the same person."""
    if is_empty(message):
        return Recalled()
    found = await on_thread(
        lambda: recall_all(memory, message, limit, (session_id, *others)))
    return render_block(drop_repeats(keep_relevant(found, min_score)))


async def recall_for_channel(
        memory: Memory, text: str, *, scopes: Iterable[str],
        is_group: bool, min_score: float, on_event: OnEvent = ignore
        ) -> Recalled:
    """What the memory knows about a message in these sessions, at most 4
    entries.

    Best first; in a group the scopes take turns, so that the person's
    memories do not crowd out the group's, and what he said to a program
    (a key of the gateway) is left out. What says nothing that is not
    said by one before it is left out. An error counts as nothing found
    and is said as a Notice.
    """
    query = text.strip()[:_QUERY_CHARS]
    if is_empty(query):
        return Recalled()

    async def search(scope: str) -> list[MemoryEntry]:
        try:
            found = await on_thread(
                lambda: memory.recall(query, LIMIT, scope))
        except ClawError as error:
            on_event(Notice(f"memory not read: {error.message}"))
            return []
        # The message itself was kept a moment ago and is the best match of
        # all: it tells nothing.
        return [entry for entry in keep_relevant(found, min_score)
                if len(entry.content) <= BLOCK_CHARS
                and not (is_group and is_from_program(entry))
                and not (entry.category == CONVERSATION
                         and entry.content.strip() in text)]
    answers = await asyncio.gather(*map(search, dict.fromkeys(scopes)))
    if is_group:
        found = [entry for entry in chain.from_iterable(
            zip_longest(*answers)) if entry is not None]
    else:  # without a score as the memory gave them, in front
        found = sorted(chain.from_iterable(answers), key=lambda entry: -(
            1.0 if entry.score is None else entry.score))
    keys: set[str] = set()
    contents: set[str] = set()
    fresh: list[MemoryEntry] = []
    for entry in found:  # each key once, and each content once
        if entry.key not in keys and entry.content not in contents:
            fresh.append(entry)
        keys.add(entry.key)
        contents.add(entry.content)
    return render_block(drop_repeats(fresh)[:CHANNEL_ENTRIES])


def is_from_program(entry: MemoryEntry) -> bool:
    """Whether a key of the gateway stored it: as private as a chat with
    nobody else."""
    return (entry.source or "").startswith("gateway:")


def keep_relevant(entries: Iterable[MemoryEntry],
                  min_score: float) -> list[MemoryEntry]:
    """Entries good enough and fit to be shown to a model.

    A missing score passes. Kept answers of the assistant, records of
    scheduled jobs, histories, tool output and earlier context blocks stay
    out: they would feed on themselves.
    """
    return [entry for entry in entries
            if (entry.score is None or entry.score >= min_score)
            and not _is_skipped_key(entry.key)
            and not is_machine_text(entry.content)]


def drop_repeats(entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """Entries without those that say only what one before says already: a
    message, and the fact that was made from it. What has a key of its own
    stays, since the key is a part of what it says."""
    kept: list[MemoryEntry] = []
    for entry in entries:
        nameless = (entry.category == CONVERSATION
                    or re.match(_NAMELESS_KEY, entry.key) is not None)
        if not (nameless and any(
                (entry.session_id, entry.sender) == (
                    other.session_id, other.sender)
                and says_no_more(entry.content, _cut(other))
                for other in kept)):
            kept.append(entry)
    return kept


def _cut(entry: MemoryEntry) -> str:
    """As much of an entry as a model is shown."""
    text = " ".join(entry.content.split())
    return text if len(text) <= ENTRY_CHARS else text[:ENTRY_CHARS - 1] + "…"


def _is_skipped_key(key: str) -> bool:
    key = key.strip().lower()
    return (key == _ANSWER_KEY or key.startswith(_ANSWER_KEY + "_")
            or key.endswith("_history"))


def is_machine_text(text: str) -> bool:
    """Text that a program wrote for itself, or nothing at all."""
    start = text.lstrip()[:200].lower()
    lowered = text.lower()
    return (not start or start.startswith(_SKIPPED_STARTS)
            or any(part in lowered for part in _SKIPPED_PARTS))


def render_block(entries: Sequence[MemoryEntry]) -> Recalled:
    """The block for the prompt and the entries that it holds.

    One entry is one line: line ends inside it become spaces, so that no
    content can look like another entry or end the block. Entries past
    4,000 characters are left out.
    """
    lines: list[str] = []
    kept: list[MemoryEntry] = []
    left = BLOCK_CHARS - len(MARK) - 2
    for entry in entries:
        key, origin = " ".join(entry.key.split()), describe_origin(
            entry.origin)
        line = f"- {key}{f' ({origin})' if origin else ''}: {_cut(entry)}"
        left -= len(line) + 1
        if left < 0:
            break
        lines.append(line)
        kept.append(entry)
    return (Recalled("\n".join([MARK, *lines]) + "\n\n", tuple(kept))
            if lines else Recalled())


def enrich(block: str, now: datetime, message: str) -> str:
    """A user message as history holds it: block, [time], message."""
    stamp = now.strftime("%Y-%m-%d %H:%M:%S %Z").rstrip()
    return f"{block}[{stamp}] {message}"


def guard_recalled(found: Recalled,
                   guard: "Callable[[], PromptGuard] | None",
                   on_event: OnEvent) -> Recalled:
    """Memories of foreign text, as the prompt guard lets them be shown."""
    if guard is None or not found.labels:
        return found
    shown, verdict = guard().treat(found.block.removeprefix(f"{MARK}\n"),
                                   "what was remembered")
    if verdict is None:
        return found
    on_event(Guarded.of("memory", verdict))
    return msgspec.structs.replace(found,
                                   block=f"{MARK}\n{shown.rstrip()}\n\n")


def drop_block(enriched: str) -> str:
    """An enriched message without what was recalled for it."""
    return (enriched.partition("\n\n")[2]
            if enriched.startswith(MARK + "\n") else enriched)


def bare_message(enriched: str) -> str:
    """What the person wrote, out of an enriched message."""
    enriched = drop_block(enriched)
    head, close, rest = enriched.partition("] ")
    is_stamp = (close and head.startswith("[") and len(head) < 48
                and head[1:5].isdigit() and head[5:6] == "-")
    message = rest if is_stamp else enriched
    while message.startswith(GUARD_MARK):
        message = message.partition("\n")[2]
    return message


async def autosave(memory: Memory, message: str, answer: str,
                   context: TurnContext) -> None:
    """Keep the raw message and the start of the answer, in this order."""
    def save() -> None:
        session = context.session_id
        if is_worth_saving(message):
            store_with(memory, f"user_msg_{uuid.uuid4()}",
                       message[:MAX_SAVED_CHARS], CONVERSATION, session,
                       Source(context.sender, context.message))
        if answer.strip():
            store_with(memory, f"{_ANSWER_KEY}_{uuid.uuid4()}",
                       answer.strip()[:ANSWER_CHARS], DAILY, session,
                       Source(_ASSISTANT, context.message,
                              join_origin(context.labels)))
    await on_thread(save)


def is_worth_saving(message: str) -> bool:
    """At least 20 characters. Whether a person wrote them is told by where
    the turn comes from, never by how the text begins."""
    return len(message.strip()) >= MIN_SAVED_CHARS


def build_source(message: "ChannelMessage") -> Source:
    """Who said what is kept of a message, and where: channel, chat and
    the id by which the queue knows it, without saying these two again."""
    name, chat = message.channel.partition(":")[0], message.reply_target
    number = message.id.removeprefix(f"{name}_").removeprefix(f"{chat}_")
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
