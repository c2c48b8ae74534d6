"""JSON that stands for tool calls."""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from claw.agent.rounds.calls import ParsedToolCall

# Tries to read JSON in one body; each failed try may cost its whole length.
MAX_TRIES = 64

_CALL_KEYS = frozenset(("arguments", "parameters", "function"))
_START = re.compile(r"[{\[]")


class Parsed(msgspec.Struct, frozen=True):
    """Calls found in a text, and the text without them."""

    text: str
    calls: list[ParsedToolCall]


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# strict=False: models write line ends inside strings
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


def json_at(text: str, start: int) -> tuple[Any, int] | None:
    """The JSON value that starts exactly here, and where it ends."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def whole_json(text: str) -> Any:
    """The value that the whole trimmed text is; None where it is none."""
    text = text.strip()
    found = json_at(text, 0) if text else None
    return found[0] if found and found[1] == len(text) else None


def json_values(text: str, start: int = 0) -> Iterator[tuple[Any, int, int]]:
    """Every object or array in the text with its first and last index.

    Gives up after 64 places where none could be read.
    """
    tries = 0
    while tries < MAX_TRIES and (head := _START.search(text, start)):
        start = head.start()
        found = json_at(text, start)
        if found is None:
            tries += 1
            start += 1
            continue
        yield found[0], start, found[1]
        start = found[1]


def as_arguments(value: Any) -> dict[str, Any]:
    """Arguments as an object; any other value becomes {"value": ...}."""
    return (value if isinstance(value, dict)
            else {} if value is None else {"value": value})


def _read_arguments(holder: dict[str, Any]) -> dict[str, Any]:
    value = holder.get("arguments", holder.get("parameters"))
    if isinstance(value, str):
        value = whole_json(value)
        return value if isinstance(value, dict) else {}
    return as_arguments(value)


def call_from_object(value: Any) -> ParsedToolCall | None:
    """The call that an object describes.

    Either {"function": {"name", "arguments"}} or {"name", "arguments"};
    `parameters` is another word for arguments, and arguments may be JSON
    text.
    """
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    holder = inner if isinstance(inner, dict) else value
    name = holder.get("name")
    if not isinstance(name, str) or not name.strip():
        return None
    ids = [holder.get("id"), value.get("id"), value.get("tool_call_id"),
           value.get("call_id")]
    call_id = next((i for i in ids if isinstance(i, str) and i), None)
    return ParsedToolCall(name.strip(), _read_arguments(holder), call_id)


def calls_from_value(value: Any) -> list[ParsedToolCall]:
    """The calls of an object with `tool_calls`, an array, or one call."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    items = value if isinstance(value, list) else [value]
    return [call for item in items if (call := call_from_object(item))]


def parse_whole(text: str, known: Collection[str]) -> Parsed:
    """Text that is one JSON value as a whole.

    With `known` given, an answer such as {"name": "Kim"} is no call: it
    must have arguments or name a tool on offer.
    """
    value = whole_json(text) if text[:1] in ("{", "[") else None
    if value is None:
        return Parsed(text, [])
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        content = value.get("content")
        return Parsed(content if isinstance(content, str) else "",
                      calls_from_value(value))
    items = value if isinstance(value, list) else [value]
    calls = [call for item in items if (call := call_from_object(item))
             and (not known or call.name in known or not _CALL_KEYS.isdisjoint(
                 item))]
    return Parsed("" if calls else text, calls)
