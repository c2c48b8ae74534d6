"""A small JSON Schema validator: the keywords that answers need.

type, enum, const, properties, patternProperties, required,
additionalProperties, min/maxProperties, items, prefixItems, contains,
min/maxItems, uniqueItems, minimum, maximum, exclusive ones, multipleOf,
min/maxLength, pattern, anyOf, oneOf, allOf, not, if/then/else and local
$ref. Keywords outside that list do not count; `unknown_keywords` names
them. Source: json-schema.org, draft 2020-12.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from claw.core.errors import UsageError

Schema: TypeAlias = dict[str, Any] | bool

_ANNOTATIONS = frozenset((
    "$schema", "$id", "$defs", "definitions", "$comment", "title",
    "description", "default", "examples", "deprecated", "readOnly",
    "writeOnly", "$anchor"))
_MAX_DEPTH = 100
_KINDS: dict[str, type] = {"object": dict, "array": list, "string": str,
                           "boolean": bool, "null": type(None)}


def problems(value: Any, schema: Schema) -> list[str]:
    """What is wrong with a value, each as "path: sentence"; [] if nothing.

    Raises UsageError where the schema itself can not be followed.
    """
    try:
        return list(_Checker(schema).check(value, schema, "$", 0))
    except (TypeError, AttributeError, ArithmeticError) as error:
        raise UsageError(f"schema: a keyword has a value that it can not "
                         f"have: {error}") from error


def unknown_keywords(schema: Any) -> list[str]:
    """Keywords of the schema that have no effect here, sorted."""
    return sorted(set(_unknown(schema)))


def _unknown(schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if key in ("properties", "patternProperties", "$defs",
                   "definitions"):
            if isinstance(value, dict):
                for part in value.values():
                    yield from _unknown(part)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for part in value if isinstance(value, list) else ():
                yield from _unknown(part)
        elif key in _KEYWORDS or key in _PARTNERS:
            if key in _HOLD_SCHEMA:
                yield from _unknown(value)
        elif key not in _ANNOTATIONS:
            yield key


def has_type(value: Any, name: str) -> bool:
    """Whether a decoded value is of a JSON type; 1.0 is an integer."""
    if name == "integer":
        return has_type(value, "number") and (
            isinstance(value, int) or value.is_integer())
    if name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    if name not in _KINDS:
        raise UsageError(f"schema: there is no type {name!r}")
    return isinstance(value, _KINDS[name])


def same(a: Any, b: Any) -> bool:
    """JSON equality: true is not 1, and 1 is 1.0."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return bool(a == b)


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


class _Checker:
    def __init__(self, root: Schema) -> None:
        self._root = root

    def check(self, value: Any, schema: Any, path: str,
              depth: int) -> Iterator[str]:
        if schema is True:
            return
        if schema is False:
            yield f"{path}: nothing is allowed here"
            return
        if not isinstance(schema, dict):
            raise UsageError(f"schema: {_show(schema)} at {path} is no schema")
        if depth > _MAX_DEPTH:
            raise UsageError(f"schema: nested or referring to itself more "
                             f"than {_MAX_DEPTH} times at {path}")
        for key, expected in schema.items():
            rule = _KEYWORDS.get(key)
            if rule is not None:
                yield from rule(self, value, expected, schema, path, depth)

    def fits(self, value: Any, schema: Any, path: str, depth: int) -> bool:
        return next(self.check(value, schema, path, depth), None) is None

    def resolve(self, reference: Any) -> Any:
        """The part of the schema that a local reference names."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise UsageError(f"schema: $ref {reference!r} is not local",
                             hint="put it under $defs and use #/$defs/NAME")
        part: Any = self._root
        for step in reference[1:].split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(part, list) and step.isdecimal():
                part = dict(enumerate(part)).get(int(step))
            else:
                part = part.get(step) if isinstance(part, dict) else None
            if part is None:
                raise UsageError(f"schema: $ref {reference!r} leads nowhere")
        return part


_Rule: TypeAlias = Callable[
    [_Checker, Any, Any, dict[str, Any], str, int], Iterator[str]]


def _ref(c: _Checker, value: Any, to: Any, schema: dict[str, Any],
         path: str, depth: int) -> Iterator[str]:
    yield from c.check(value, c.resolve(to), path, depth + 1)


def _type(c: _Checker, value: Any, names: Any, schema: dict[str, Any],
          path: str, depth: int) -> Iterator[str]:
    names = names if isinstance(names, list) else [names]
    if not any(has_type(value, name) for name in names):
        yield f"{path}: {_show(value)} is not of type {' or '.join(names)}"


def _enum(c: _Checker, value: Any, choices: Any, schema: dict[str, Any],
          path: str, depth: int) -> Iterator[str]:
    if not any(same(value, choice) for choice in choices):
        yield f"{path}: {_show(value)} is none of {_show(choices)}"


def _const(c: _Checker, value: Any, only: Any, schema: dict[str, Any],
           path: str, depth: int) -> Iterator[str]:
    if not same(value, only):
        yield f"{path}: {_show(value)} is not {_show(only)}"


def _properties(c: _Checker, value: Any, parts: Any, schema: dict[str, Any],
                path: str, depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in parts.items():
            if name in value:
                yield from c.check(value[name], part, f"{path}.{name}",
                                   depth + 1)


def _pattern_properties(c: _Checker, value: Any, parts: Any,
                        schema: dict[str, Any], path: str,
                        depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        for pattern, part in parts.items():
            for name in value:
                if _compiled(pattern).search(name):
                    yield from c.check(value[name], part, f"{path}.{name}",
                                       depth + 1)


def _additional(c: _Checker, value: Any, part: Any, schema: dict[str, Any],
                path: str, depth: int) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    patterns = [_compiled(p) for p in schema.get("patternProperties", ())]
    for name in value:
        if name in schema.get("properties", ()) \
                or any(p.search(name) for p in patterns):
            continue
        if part is False:
            yield f"{path}: {_show(name)} is not allowed here"
        else:
            yield from c.check(value[name], part, f"{path}.{name}",
                               depth + 1)


def _required(c: _Checker, value: Any, names: Any, schema: dict[str, Any],
              path: str, depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        for name in names:
            if name not in value:
                yield f"{path}: {_show(name)} is missing"


def _items(c: _Checker, value: Any, part: Any, schema: dict[str, Any],
           path: str, depth: int) -> Iterator[str]:
    if isinstance(value, list):
        start = len(schema.get("prefixItems", ()))
        for index, item in enumerate(value[start:], start):
            yield from c.check(item, part, f"{path}[{index}]", depth + 1)


def _prefix_items(c: _Checker, value: Any, parts: Any,
                  schema: dict[str, Any], path: str,
                  depth: int) -> Iterator[str]:
    if isinstance(value, list):
        for index, (item, part) in enumerate(
                zip(value, parts, strict=False)):
            yield from c.check(item, part, f"{path}[{index}]", depth + 1)


def _contains(c: _Checker, value: Any, part: Any, schema: dict[str, Any],
              path: str, depth: int) -> Iterator[str]:
    if isinstance(value, list):
        found = sum(c.fits(item, part, path, depth + 1) for item in value)
        if found < schema.get("minContains", 1):
            yield f"{path}: too few items are as they should be"
        if found > schema.get("maxContains", found):
            yield f"{path}: too many items are of one kind"


def _unique(c: _Checker, value: Any, wanted: Any, schema: dict[str, Any],
            path: str, depth: int) -> Iterator[str]:
    if wanted and isinstance(value, list) and any(
            same(a, b) for i, a in enumerate(value) for b in value[:i]):
        yield f"{path}: the items are not all different"


def _not(c: _Checker, value: Any, part: Any, schema: dict[str, Any],
         path: str, depth: int) -> Iterator[str]:
    if c.fits(value, part, path, depth + 1):
        yield f"{path}: {_show(value)} is what it must not be"


def _any_of(c: _Checker, value: Any, parts: Any, schema: dict[str, Any],
            path: str, depth: int) -> Iterator[str]:
    if not any(c.fits(value, part, path, depth + 1) for part in parts):
        yield f"{path}: {_show(value)} fits none of the alternatives"


def _one_of(c: _Checker, value: Any, parts: Any, schema: dict[str, Any],
            path: str, depth: int) -> Iterator[str]:
    count = sum(c.fits(value, part, path, depth + 1) for part in parts)
    if count != 1:
        yield (f"{path}: {_show(value)} fits {count} of the alternatives "
               "instead of one")


def _all_of(c: _Checker, value: Any, parts: Any, schema: dict[str, Any],
            path: str, depth: int) -> Iterator[str]:
    for part in parts:
        yield from c.check(value, part, path, depth + 1)


def _if(c: _Checker, value: Any, part: Any, schema: dict[str, Any],
        path: str, depth: int) -> Iterator[str]:
    branch = "then" if c.fits(value, part, path, depth + 1) else "else"
    yield from c.check(value, schema.get(branch, True), path, depth + 1)


def _compiled(pattern: Any) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        raise UsageError(f"schema: {pattern!r} is no pattern: "
                         f"{error}") from error


def _pattern(c: _Checker, value: Any, pattern: Any, schema: dict[str, Any],
             path: str, depth: int) -> Iterator[str]:
    if isinstance(value, str) and not _compiled(pattern).search(value):
        yield f"{path}: {_show(value)} does not match {pattern}"


def _multiple(c: _Checker, value: Any, of: Any, schema: dict[str, Any],
              path: str, depth: int) -> Iterator[str]:
    if has_type(value, "number"):
        parts = value / of
        if abs(parts - round(parts)) > 1e-9 * max(1.0, abs(parts)):
            yield f"{path}: {value} is no multiple of {of}"


def _bound(kind: str, measure: Callable[[Any], Any],
           holds: Callable[[Any, Any], bool], words: str) -> _Rule:
    """A rule that compares one measure of values of one type."""
    def rule(c: _Checker, value: Any, limit: Any, schema: dict[str, Any],
             path: str, depth: int) -> Iterator[str]:
        if has_type(value, kind) and not holds(measure(value), limit):
            yield f"{path}: {_show(value)} {words.format(limit)}"
    return rule


def _itself(value: Any) -> Any:
    return value


def _at_least(a: Any, b: Any) -> bool:
    return bool(a >= b)


def _at_most(a: Any, b: Any) -> bool:
    return bool(a <= b)


def _above(a: Any, b: Any) -> bool:
    return bool(a > b)


def _below(a: Any, b: Any) -> bool:
    return bool(a < b)


_KEYWORDS: dict[str, _Rule] = {
    "$ref": _ref, "type": _type, "enum": _enum, "const": _const,
    "properties": _properties, "patternProperties": _pattern_properties,
    "additionalProperties": _additional, "required": _required,
    "items": _items, "prefixItems": _prefix_items, "contains": _contains,
    "uniqueItems": _unique, "not": _not, "anyOf": _any_of, "oneOf": _one_of,
    "allOf": _all_of, "if": _if, "pattern": _pattern,
    "multipleOf": _multiple,
    "minimum": _bound("number", _itself, _at_least, "is below {}"),
    "maximum": _bound("number", _itself, _at_most, "is above {}"),
    "exclusiveMinimum": _bound("number", _itself, _above, "is not above {}"),
    "exclusiveMaximum": _bound("number", _itself, _below, "is not below {}"),
    "minLength": _bound("string", len, _at_least,
                        "is shorter than {} characters"),
    "maxLength": _bound("string", len, _at_most,
                        "is longer than {} characters"),
    "minItems": _bound("array", len, _at_least, "has fewer than {} items"),
    "maxItems": _bound("array", len, _at_most, "has more than {} items"),
    "minProperties": _bound("object", len, _at_least,
                            "has fewer than {} members"),
    "maxProperties": _bound("object", len, _at_most,
                            "has more than {} members"),
}
_PARTNERS = frozenset(("then", "else", "minContains", "maxContains"))
_HOLD_SCHEMA = frozenset(("items", "additionalProperties", "not", "if",
                          "then", "else", "contains"))
