"""<tool><param>value</param></tool> inside a call tag."""

import re
from collections.abc import Collection
from typing import Any

from claw.agent.parsing.values import as_arguments, whole_json
from claw.agent.rounds.calls import ParsedToolCall

_META = frozenset(("tool_call", "toolcall", "tool-call", "invoke",
                   "thinking", "thought", "analysis", "reasoning",
                   "reflection"))
_TAG = re.compile(r"<([A-Za-z_][A-Za-z0-9_\-]{0,63})>")
_MAX_ELEMENTS = 64


def _list_elements(text: str) -> list[tuple[str, str]]:
    """The top elements as (tag, body); unclosed ones are passed over."""
    found: list[tuple[str, str]] = []
    position = unclosed = 0
    while len(found) < _MAX_ELEMENTS and unclosed < _MAX_ELEMENTS:
        head = _TAG.search(text, position)
        if head is None:
            break
        close = text.find(f"</{head[1]}>", head.end())
        if close < 0:
            unclosed += 1
            position = head.end()
            continue
        found.append((head[1], text[head.end():close]))
        position = close + len(head[1]) + 3
    return found


def parse_nested(body: str, known: Collection[str]) -> list[ParsedToolCall]:
    """A call for each element that has the name of a tool on offer."""
    return [ParsedToolCall(tag, _read_arguments(inner))
            for tag, inner in _list_elements(body)
            if tag.lower() not in _META and (not known or tag in known)]


def _read_arguments(inner: str) -> dict[str, Any]:
    inner = inner.strip()
    if not inner:
        return {}
    value = whole_json(inner)
    if value is not None:
        return as_arguments(value)
    parameters = {tag: _read_value(body) for tag, body in _list_elements(inner)
                  if tag.lower() not in _META}
    return parameters or {"content": inner}


def _read_value(body: str) -> Any:
    """Objects and arrays as JSON, everything else as it is written."""
    body = body.strip()
    value = whole_json(body) if body[:1] in ("{", "[") else None
    return body if value is None else value
