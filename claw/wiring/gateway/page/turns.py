"""Turns for the page: which there were, and what happened in one."""

import re
from collections.abc import Mapping
from typing import Any

from claw.config.tree import Tree
from claw.core.errors import NotFoundError, UsageError
from claw.gateway.endpoint import parameter
from claw.storage.log.entry import Entry
from claw.storage.log.reader import Filters, open_reader
from claw.wiring.status.why import find_trace, write_trace
from claw.wiring.workspace.place_names import log_path

_ROWS = 30
_CHARS = 200
_TEXT_CHARS = 20_000
OFFSET = parameter("offset", {"type": "integer", "minimum": 0,
                              "maximum": 999_999_999})
TURN = parameter("id", {"type": "string",
                        "pattern": "^[0-9A-Za-z_-]{1,64}$"}, required=True)


def find_turns(tree: Tree, asked: Mapping[str, str]) -> dict[str, Any]:
    """A page of what is in the log, the newest first, from `offset` on."""
    offset = asked.get("offset", "0")
    if not re.fullmatch("[0-9]{1,9}", offset):
        raise UsageError(f"offset: {offset!r:.40} is no number")
    try:
        with open_reader(log_path(tree.places)) as reader:
            rows = reader.page(Filters(), _ROWS + 1, int(offset))
    except NotFoundError:
        rows = []  # nothing was asked yet
    return {"turns": [_summarize(row) for row in rows[:_ROWS]],
            "has_more": len(rows) > _ROWS}


def find_turn(tree: Tree, asked: Mapping[str, str]) -> dict[str, Any]:
    """What `claw log show` and `claw why` know of the turn `id`. Raises
    NotFoundError."""
    wanted = asked.get("id", "")
    if not re.fullmatch("[0-9A-Za-z_-]{1,64}", wanted):
        raise UsageError(f"id: {wanted!r:.80} is no turn")
    with open_reader(log_path(tree.places)) as reader:
        entry = reader.get(wanted)
    trace = find_trace(tree.places, entry.id)
    return {**_summarize(entry), "answer": _cut(entry.answer or ""),
            "question": _cut(entry.prompt), "before": _cut(entry.before),
            "under": _cut(entry.under), "tool_calls": [
                {**call, "arguments": _cut(call["arguments"])}
                for call in entry.tool_calls],
            "labels": list(entry.labels),
            "trace": [] if trace is None else list(write_trace(trace))}


def _summarize(entry: Entry) -> dict[str, Any]:
    found = entry.to_json(whole=False)
    return {name: found[name] for name in (
        "id", "at", "origin", "session", "sender", "provider", "model",
        "state", "error", "usage", "cost", "duration_ms")} | {
            "prompt": " ".join(entry.prompt[:_CHARS].split())}


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_CHARS else text[:_TEXT_CHARS] + "…"
