"""Whether a JSON Schema is one, before an answer is paid for. Pure."""

import re
from collections.abc import Callable
from typing import Any

from claw.core.errors import UsageError

_TYPES = ("object", "array", "string", "number", "integer", "boolean",
          "null")
_NESTED = 100


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_pattern(value: Any) -> bool:
    try:
        re.compile(value)
    except (re.error, TypeError, RecursionError):
        return False
    return isinstance(value, str)


_FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (lambda value: all(name in _TYPES for name in (
        value if isinstance(value, list) else [value])),
        f"one of {', '.join(_TYPES)}, or a list of them"),
    "enum": (lambda value: isinstance(value, list), "a list"),
    "required": (lambda value: isinstance(value, list) and all(
        isinstance(name, str) for name in value), "a list of names"),
    "pattern": (_is_pattern, "a regular expression"),
    "multipleOf": (lambda value: _is_number(value) and value > 0,
                   "a number above 0"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum",
                     "exclusiveMaximum"), (_is_number, "a number")),
    **dict.fromkeys((f"{end}{of}" for end in ("min", "max") for of in
                     ("Length", "Items", "Properties", "Contains")),
                    (lambda value: _is_number(value) and value >= 0,
                     "a number from 0 on")),
}
_SCHEMA = ("items", "additionalProperties", "not", "if", "then", "else",
           "contains")
_LIST = ("anyOf", "oneOf", "allOf", "prefixItems")
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions")


def check_form(schema: Any, path: str = "#", depth: int = 0) -> None:
    """Raises UsageError for the first keyword whose value can't be."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise _refuse(path, "a schema")
    if depth > _NESTED:
        raise UsageError(f"--schema: nested more than {_NESTED} times")
    for key, value in schema.items():
        at = f"{path}/{key}"
        holds, words = _FORMS.get(key, (None, ""))
        if holds is not None and not holds(value):
            raise _refuse(at, words)
        for name, part in _list_parts(key, value, at):
            check_form(part, name, depth + 1)


def _list_parts(key: str, value: Any, at: str) -> list[tuple[str, Any]]:
    """The schemas that stand under a keyword, each with its place."""
    if key in _SCHEMA:
        return [(at, value)]
    if key in _LIST:
        if not isinstance(value, list):
            raise _refuse(at, "a list of schemas")
        return [(f"{at}/{n}", part) for n, part in enumerate(value)]
    if key in _BY_NAME:
        if not isinstance(value, dict):
            raise _refuse(at, "an object of schemas")
        if key == "patternProperties" and not all(map(_is_pattern, value)):
            raise _refuse(at, "an object whose names are regular expressions")
        return [(f"{at}/{name}", part) for name, part in value.items()]
    return []


def _refuse(path: str, words: str) -> UsageError:
    return UsageError(f"--schema: {path} must be {words}",
                      hint="correct the file")
