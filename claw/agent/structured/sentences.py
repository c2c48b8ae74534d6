"""What is wrong with a value, in words. Pure."""

import json
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

# Keyword -> words behind the value; {} stands for the keyword's own.
_WORDS = {
    "minimum": "is below {}", "maximum": "is above {}",
    "exclusiveMinimum": "is not above {}",
    "exclusiveMaximum": "is not below {}",
    "multipleOf": "is no multiple of {}",
    "minLength": "is shorter than {} characters",
    "maxLength": "is longer than {} characters",
    "minItems": "has fewer than {} items",
    "maxItems": "has more than {} items",
    "minProperties": "has fewer than {} members",
    "maxProperties": "has more than {} members",
    "pattern": "does not match {}",
    "format": "is no {}",
    "not": "is what it must not be",
    "anyOf": "fits none of the alternatives",
}
_ALONE = {
    None: "nothing is allowed here",
    "uniqueItems": "the items are not all different",
    "contains": "too few items are as they should be",
    "minContains": "too few items are as they should be",
    "maxContains": "too many items are of one kind",
}


def describe_place(path: Iterable[str | int]) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int)
                         else f".{step}" for step in path)


def describe_problem(keyword: str | None, expected: Any, value: Any,
                     schema: Any, message: str, alternatives: int
                     ) -> list[str]:
    """One or more sentences; `message` where a keyword has no own.
    `alternatives` are those that do not fit."""
    if keyword == "not" and expected in ({}, True):
        keyword = None
    if keyword in _ALONE:
        return [_ALONE[keyword]]
    if keyword in _WORDS:
        return [f"{_show(value)} {_WORDS[keyword].format(expected)}"]
    if keyword == "type":
        names = expected if isinstance(expected, list) else [expected]
        return [f"{_show(value)} is not of type "
                + " or ".join(map(str, names))]
    if keyword == "enum":
        return [f"{_show(value)} is none of {_show(expected)}"]
    if keyword == "const":
        return [f"{_show(value)} is not {_show(expected)}"]
    if keyword == "oneOf":
        return [f"{_show(value)} fits {'none' if alternatives else 'more'} "
                "of the alternatives instead of one"]
    if keyword == "required" and isinstance(expected, list):
        return [f"{_show(name)} is missing" for name in expected
                if name not in value]
    if keyword == "additionalProperties":
        return [f"{_show(name)} is not allowed here"
                for name in value if not _is_named(name, schema)]
    return [_cut(message)]


def is_multiple(value: Any, of: Any) -> bool:
    """As the numbers are written; Fraction takes no infinity."""
    try:
        return Fraction(repr(value)) % Fraction(repr(of)) == 0
    except ValueError:
        return False


def _is_named(name: str, schema: dict[str, Any]) -> bool:
    return name in schema.get("properties", ()) or any(
        re.search(pattern, name)
        for pattern in schema.get("patternProperties", ()))


def _show(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
