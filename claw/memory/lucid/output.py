"""What the `lucid` command prints, as memories.

    <lucid-context>
    - [decision] Use token refresh middleware
    - [context] Working in src/auth.rs
    </lucid-context>

Only rows between the two tags count; banners, warnings and progress around
them, and lines between them that are no rows, do not. The tool tells no
times, keys or sessions: a row is dated now and called by its place.
"""

import re
from collections.abc import Iterable

from claw.core.memory import (
    CONVERSATION,
    CORE,
    DAILY,
    Explanation,
    MemoryEntry,
)

Scored = tuple[MemoryEntry, Explanation]

LOWEST = 0.1
_STEP = 0.05
_BEGIN, _END = "<lucid-context>", "</lucid-context>"
_row = re.compile(r"\s*-\s*\[([^\]]{0,100})\]\s*(\S.*)")
_unseen = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]+")
_TYPES = {CORE: "decision", DAILY: "context", CONVERSATION: "conversation"}
_CATEGORIES = {"decision": CORE, "learning": CORE, "solution": CORE,
               "context": CONVERSATION, "conversation": CONVERSATION,
               "bug": DAILY}


def choose_type(category: str) -> str:
    """The tool's word for a category."""
    return _TYPES.get(category, "learning")


def choose_category(label: str) -> str:
    """Our word for the label of a row."""
    label = label.strip().lower()
    return ("visual" if "visual" in label
            else _CATEGORIES.get(label, label or "custom"))


def rows(output: bytes) -> list[tuple[str, str]]:
    """(label, text) of each row, in order. A block whose end is missing
    counts as far as it goes."""
    text = output.decode("utf-8", "replace")
    found = []
    for block in text.split(_BEGIN)[1:]:
        for line in block.partition(_END)[0].splitlines():
            match = _row.fullmatch(_unseen.sub(" ", line).rstrip())
            if match:
                found.append((match[1], match[2]))
    return found


def memories(output: bytes, now: str) -> list[Scored]:
    """The rows as memories of sender "lucid", best first: 1.0 for the
    first, 0.05 less for each after it, at least 0.1."""
    found = []
    for number, (label, text) in enumerate(rows(output)):
        score = max(LOWEST, 1 - _STEP * number)
        entry = MemoryEntry(
            f"lucid:{number}", f"lucid_{number}", text,
            choose_category(label), now, now, None, score, "lucid")
        found.append((entry, Explanation(entry.key, score, {
            "method": "lucid", "label": label.strip(),
            "place": float(number)})))
    return found


def merge_foreign(local: list[Scored], foreign: Iterable[Scored], limit: int
           ) -> list[Scored]:
    """Ours and what of the tool's rows is new and still has room, best
    score first, ours first among equals."""
    found = local[:limit]
    known = {sign for entry, _ in found for sign in _signs(entry)}
    for entry, why in foreign:
        if len(found) < limit and known.isdisjoint(_signs(entry)):
            found.append((entry, why))
            known |= _signs(entry)
    return sorted(found, key=lambda one: -(one[0].score or 0.0))


def _signs(entry: MemoryEntry) -> set[str]:
    """Two memories that share one of these are the same. What was sent to
    the tool comes back as "key: content"."""
    key, content = entry.key.lower(), entry.content.lower()
    return {f"{key}\0{content}", " ".join(content.split()),
            " ".join(f"{key}: {content}".split())}
