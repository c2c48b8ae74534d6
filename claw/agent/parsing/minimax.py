"""MiniMax M3: elements whose tags follow a mark, so that no value can hold
one. A parameter is an element of its name, an array holds <item>s.

Source: chat template of MiniMax M3.
"""

import re
from collections.abc import Collection
from typing import Any, TypeAlias

from claw.agent.parsing import grammar
from claw.agent.parsing.typed import (
    find_kinds,
    find_schema,
    parameter,
    read_text,
)
from claw.agent.rounds.calls import ParsedToolCall

_TAG = re.compile(grammar.MINIMAX_MARK + r"<(/?)(?:invoke\s{1,8}"
                  r'name="([^"<>]{1,128})"|([^<>]{1,128}))>')
_MOST_NESTED = 32
# What stands in an element: other elements, or text.
_Inside: TypeAlias = "str | list[tuple[str, _Inside]]"


def read_minimax(text: str, start: int, known: Collection[str]
                 ) -> tuple[list[ParsedToolCall], int]:
    """The calls behind the opening tag and where its closing tag ends; none
    where the tags don't match."""
    try:
        calls, end = _read_inside(text, start, "tool_call", 0)
    except ValueError:
        return [], start
    return [ParsedToolCall(name, {
        key: _read_value(value, find_schema(known, name, key))
        for key, value in _elements(inside)})
        for name, inside in _elements(calls)], end


def _elements(inside: _Inside) -> list[tuple[str, _Inside]]:
    return inside if isinstance(inside, list) else []


def _read_inside(text: str, at: int, name: str, depth: int
                 ) -> tuple[_Inside, int]:
    """What stands up to the closing tag `name`, and where that ends."""
    found: list[tuple[str, _Inside]] = []
    while depth < _MOST_NESTED and (tag := _TAG.search(text, at)):
        if tag[1]:
            if tag[3] != name:
                break
            is_text = not found and name not in ("tool_call", "invoke")
            return (text[at:tag.start()] if is_text else found), tag.end()
        inside, at = _read_inside(text, tag.end(),
                                  "invoke" if tag[2] else tag[3], depth + 1)
        found.append((tag[2] or tag[3], inside))
    raise ValueError(name)


def _read_value(inside: _Inside, schema: Any) -> Any:
    kinds = find_kinds(schema)
    if isinstance(inside, str):
        if not inside and kinds in ({"array"}, {"object"}):
            return [] if kinds == {"array"} else {}
        return read_text(schema, inside)
    if all(key == "item" for key, _ in inside) and kinds != {"object"}:
        items = schema.get("items") if isinstance(schema, dict) else None
        return [_read_value(value, items) for _, value in inside]
    return {key: _read_value(value, parameter(schema, key))
            for key, value in inside}
