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


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(name, str) for name in value)


def _is_type(value: Any) -> bool:
    return all(name in _TYPES for name in (
        value if isinstance(value, list) else [value]))


def _is_pattern(value: Any) -> bool:
    try:
        re.compile(value)
    except (re.error, TypeError, RecursionError):
        return False
    return isinstance(value, str)


_FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (_is_type, f"one of {', '.join(_TYPES)}, or a list of them"),
    "enum": (lambda value: isinstance(value, list), "a list"),
    "required": (_is_names, "a list of names"),
    "pattern": (_is_pattern, "a regular expression"),
    "multipleOf": (lambda value: _is_number(value) and value > 0,
                   "a number above 0"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum",
                     "exclusiveMaximum"), (_is_number, "a number")),
    **dict.fromkeys((f"{end}{of}" for end in ("min", "max") for of in
                     ("Length", "Items", "Properties", "Contains")),
                    (_is_count, "a number from 0 on")),
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
        raise _wrong(path, "a schema")
    if depth > _NESTED:
        raise UsageError(f"--schema: nested more than {_NESTED} times")
    for key, value in schema.items():
        at = f"{path}/{key}"
        holds, words = _FORMS.get(key, (None, ""))
        if holds is not None and not holds(value):
            raise _wrong(at, words)
        for name, part in _parts(key, value, at):
            check_form(part, name, depth + 1)


def _parts(key: str, value: Any, at: str) -> list[tuple[str, Any]]:
    """The schemas that stand under a keyword, each with its place."""
    if key in _SCHEMA:
        return [(at, value)]
    if key in _LIST:
        if not isinstance(value, list):
            raise _wrong(at, "a list of schemas")
        return [(f"{at}/{n}", part) for n, part in enumerate(value)]
    if key in _BY_NAME:
        if not isinstance(value, dict):
            raise _wrong(at, "an object of schemas")
        if key == "patternProperties" and not all(map(_is_pattern, value)):
            raise _wrong(at, "an object whose names are regular expressions")
        return [(f"{at}/{name}", part) for name, part in value.items()]
    return []


def _wrong(path: str, words: str) -> UsageError:
    return UsageError(f"--schema: {path} must be {words}",
                      hint="correct the file")
