"""Memory inside a turn: what is brought in before, and kept after.

`on_thread` is the one place where the agent calls a memory.
"""

import asyncio
import re
import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec

from claw.agent.likeness import says_no_more
from claw.core.memory import (
    CONVERSATION,
    DAILY,
    Memory,
    MemoryEntry,
    Source,
    store_with,
)
from claw.core.provider import Passage
from claw.core.turn import TurnContext

T = TypeVar("T")

LIMIT = 5
MIN_SCORE = 0.4
ENTRY_CHARS = 800
BLOCK_CHARS = 4_000
MARK = "[Memory context]"

# what a person writes in less is rarely worth keeping
MIN_SAVED_CHARS = 20
MAX_SAVED_CHARS = 8_000
ANSWER_CHARS = 100

_ANSWER_KEY = "assistant_resp"
_ASSISTANT = "assistant"
# Keys that tell nothing: what was made of a turn is called so.
_nameless_key = re.compile(
    r"(?:user_msg|core|daily_\d{4}-\d\d-\d\d)_[0-9a-f]{8}-[0-9a-f-]{27}\Z")
_SKIPPED_STARTS = ("[cron:", "[heartbeat task", "[distilled_", MARK.lower())
_SKIPPED_PARTS = ("distilled_index_sig:", "<tool_result", "[image:")


class Recalled(msgspec.Struct, frozen=True):
    """Memories for a turn: as a block of the prompt, and one by one."""

    block: str = ""
    entries: tuple[MemoryEntry, ...] = ()

    @property
    def passages(self) -> list[Passage]:
        return [Passage(f"memory:{e.key}", e.content) for e in self.entries]


async def on_thread(call: Callable[[], T]) -> T:
    """The result of a memory call, off the event loop."""
    return await asyncio.to_thread(call)


async def recall(memory: Memory, message: str, session_id: str | None, *,
                 min_score: float = MIN_SCORE,
                 limit: int = LIMIT) -> Recalled:
    """What the memory knows about a message."""
    found = await on_thread(
        lambda: memory.recall(message, limit, session_id))
    return rendered(distinct(relevant(found, min_score)))


def relevant(entries: Iterable[MemoryEntry],
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


def distinct(entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """Entries without those that say only what one before says already: a
    message, and the fact that was made from it. What has a key of its own
    stays, since the key is a part of what it says."""
    kept: list[MemoryEntry] = []
    for entry in entries:
        if not (_is_nameless(entry) and any(
                (entry.session_id, entry.sender) == (
                    other.session_id, other.sender)
                and says_no_more(entry.content, _shown(other))
                for other in kept)):
            kept.append(entry)
    return kept


def _is_nameless(entry: MemoryEntry) -> bool:
    return (entry.category == CONVERSATION
            or _nameless_key.match(entry.key) is not None)


def _shown(entry: MemoryEntry) -> str:
    """As much of an entry as a model is shown."""
    return _cut(_one_line(entry.content))


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


def rendered(entries: Sequence[MemoryEntry]) -> Recalled:
    """The block for the prompt and the entries that it holds.

    One entry is one line: line ends inside it become spaces, so that no
    content can look like another entry or end the block. Entries past
    4,000 characters are left out.
    """
    lines: list[str] = []
    kept: list[MemoryEntry] = []
    room = BLOCK_CHARS - len(MARK) - 2
    for entry in entries:
        line = f"- {_one_line(entry.key)}: {_shown(entry)}"
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
        kept.append(entry)
    if not lines:
        return Recalled()
    return Recalled("\n".join([MARK, *lines]) + "\n\n", tuple(kept))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str) -> str:
    return text if len(text) <= ENTRY_CHARS else text[:ENTRY_CHARS - 1] + "…"


def enrich(block: str, now: datetime, message: str) -> str:
    """A user message as history holds it: block, [time], message."""
    stamp = now.strftime("%Y-%m-%d %H:%M:%S %Z").rstrip()
    return f"{block}[{stamp}] {message}"


def bare_message(enriched: str) -> str:
    """What the person wrote, out of an enriched message."""
    if enriched.startswith(MARK + "\n"):
        enriched = enriched.partition("\n\n")[2]
    head, close, rest = enriched.partition("] ")
    is_stamp = (close and head.startswith("[") and len(head) < 48
                and head[1:5].isdigit() and head[5:6] == "-")
    return rest if is_stamp else enriched


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
                       Source(_ASSISTANT, context.message))
    await on_thread(save)


def is_worth_saving(message: str) -> bool:
    """At least 20 characters. Whether a person wrote them is told by where
    the turn comes from, never by how the text begins."""
    return len(message.strip()) >= MIN_SAVED_CHARS
