"""JSON that stands for tool calls."""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from claw.agent.parsing import grammar
from claw.agent.rounds.calls import ParsedToolCall

# What the arguments are called, and what the tool is called.
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_NAMES = ("name", "function", "tool", "tool_name")
_START = re.compile(r"[{\[]")
_BETWEEN = re.compile(r"[\s,;]*+")
_CUT = re.compile(r'[\[\s]{0,16}\{\s{0,64}(?:"type"\s{0,64}:\s{0,64}"function"'
                  r'\s{0,64},\s{0,64})?"name"\s{0,64}:\s{0,64}"([^"\n]{1,128})"'
                  r'\s{0,64},\s{0,64}"(?:arguments|parameters)"\s{0,64}:')


class Parsed(msgspec.Struct, frozen=True):
    """Calls found in a text, and the text without them. `problem` says
    what opens like a call and can't be read, where nothing could."""

    text: str
    calls: list[ParsedToolCall]
    problem: str = ""


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# All that an object which is nothing but a call may say.
_FIELDS = frozenset((*_ARGUMENTS, *_NAMES, "id", "type", "index",
                     "tool_call_id", "call_id"))

# strict=False: models write line ends inside strings
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant)


class _CutError(ValueError):
    """Arguments that are text begin an object and don't end it."""


class JsonReader:
    """Reads JSON in a text, within a budget for what can't be read: the
    time stays linear in the length of the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._budget = len(text) + 100_000

    @property
    def is_spent(self) -> bool:
        return self._budget <= 0

    def read(self, at: int) -> tuple[Any, int] | None:
        """The value that begins exactly here and where it ends."""
        if self.is_spent:
            return None
        try:
            return _DECODER.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            # the error itself counts the lines before it
            self._budget -= error.pos - at + error.pos // 64 + 200
        except RecursionError:
            self._budget -= 10_000
        except ValueError:  # a number of thousands of digits, NaN
            self._budget -= len(self._text) - at
        return None

    def read_all(self, at: int, end: int) -> Iterator[tuple[Any, int]]:
        """Every object or array between two places, and where it ends."""
        while not self.is_spent and (head := _START.search(
                self._text, at, end)):
            found = self.read(head.start())
            if found is None:
                at = head.end()
                continue
            yield found
            at = found[1]


def whole_json(text: str, otherwise: Any = None) -> Any:
    """The value that the whole trimmed text is, or `otherwise`."""
    text = text.strip()
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return otherwise
    return value if end == len(text) else otherwise


def as_arguments(value: Any) -> dict[str, Any]:
    """Arguments as an object; any other value becomes {"value": ...}."""
    return (value if isinstance(value, dict)
            else {} if value is None else {"value": value})


def _read_arguments(holder: dict[str, Any]) -> dict[str, Any]:
    value = next((holder[key] for key in _ARGUMENTS if key in holder), None)
    if isinstance(value, str):
        text, value = value, whole_json(value)
        if value is None and text.lstrip().startswith("{"):
            raise _CutError
        return value if isinstance(value, dict) else {}
    return as_arguments(value)


def call_from_object(value: Any) -> ParsedToolCall | None:
    """The call that an object describes.

    Either {"function": {"name", "arguments"}} or {"name", "arguments"};
    the arguments may have other names, and be JSON text.
    """
    if not isinstance(value, dict):
        return None
    inner = value.get("function")
    holder = inner if isinstance(inner, dict) else value
    name = next((holder[key] for key in _NAMES if isinstance(
        holder.get(key), str) and (key == "name" or not holder.keys(
            ).isdisjoint(_ARGUMENTS))), "").strip()
    if not name:
        return None
    ids = [holder.get("id"), value.get("id"), value.get("tool_call_id"),
           value.get("call_id")]
    call_id = next((i for i in ids if isinstance(i, str) and i), None)
    return ParsedToolCall(name, _read_arguments(holder), call_id)


def calls_from_value(value: Any) -> list[ParsedToolCall]:
    """The calls of an object with `tool_calls`, an array, or one call."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    items = value if isinstance(value, list) else [value]
    try:
        return [call for item in items if (call := call_from_object(item))]
    except _CutError:  # half of what was meant is not run
        return []


def calls_by_name(value: Any, known: Collection[str]) -> list[ParsedToolCall]:
    """The calls of [{"f": {...}}, {"g": {...}}], all of them on offer."""
    items = value if isinstance(value, list) else []
    calls = [ParsedToolCall(name, arguments)
             for item in items if isinstance(item, dict)
             for name, arguments in item.items()
             if name in known and isinstance(arguments, dict)]
    return calls if len(calls) == len(items) else []


def _is_bare_call(value: Any) -> bool:
    """Whether an object without marks can be meant as a call: it says what
    the arguments are and nothing else. A list of tools or of names, and the
    description of a tool, are answers."""
    if isinstance(value, list):
        return all("name" not in item or len(item) > 1
                   for item in value if isinstance(item, dict)) \
            and all(map(_is_bare_call, value))
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("tool_calls"), list):
        return True
    inner = value.get("function")
    holder = inner if isinstance(inner, dict) else value
    if not _FIELDS.issuperset(value) or not _FIELDS.issuperset(holder):
        return False
    arguments = _read_arguments(holder)
    return not (arguments.get("type") in ("object", "dict")
                and isinstance(arguments.get("properties"), dict))


def _find_cut_call(text: str, known: Collection[str]) -> str:
    """What is wrong with an answer that begins as a call of a known tool
    and is no JSON; "" where it does not."""
    head = _CUT.match(text)
    return "" if head is None or head[1] not in known else (
        f"it begins like a call of {head[1]} and can't be read as one")


def parse_whole(text: str, known: Collection[str]) -> Parsed:
    """Text that is nothing but JSON values that call tools.

    With `known` given all of them must be on offer, and be nothing but
    calls: an answer such as {"name": "Kim"} is none.
    """
    reader, at, values = JsonReader(text), 0, []
    while text[at:at + 1] in ("{", "[") and (found := reader.read(at)):
        values.append(found[0])
        blank = _BETWEEN.match(text, found[1])
        at = blank.end() if blank else found[1]
    if values and (tail := grammar.CLOSERS.match(text, at)):
        at = tail.end()  # some servers drop the mark in front alone
    calls = [call for value in values for call in calls_from_value(value)]
    if at < len(text) or not calls or not all(
            calls_from_value(value) for value in values) or (
            known and not (all(call.name in known for call in calls)
                           and all(map(_is_bare_call, values)))):
        return Parsed(text, [], "" if at == len(text)
                      else _find_cut_call(text, known))
    content = values[0].get("content") if isinstance(values[0], dict) \
        and "tool_calls" in values[0] else None
    return Parsed(content if isinstance(content, str) else "", calls)
