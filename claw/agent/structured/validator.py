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
from collections.abc import Callable, Iterable, Iterator
from operator import ge, gt, le, lt
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
    return sorted(set(_find_unknown(schema)))


def _find_unknown(schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if key in ("properties", "patternProperties", "$defs",
                   "definitions"):
            if isinstance(value, dict):
                for part in value.values():
                    yield from _find_unknown(part)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for part in value if isinstance(value, list) else ():
                yield from _find_unknown(part)
        elif key in _HOLD_SCHEMA:
            yield from _find_unknown(value)
        elif not any(key in known for known in (
                _TESTS, _PARTS, _RULES, _PARTNERS, _ANNOTATIONS)):
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
            if key in _TESTS:
                kind, holds, say = _TESTS[key]
                if (not kind or has_type(value, kind)) and not holds(
                        value, expected):
                    yield f"{path}: {say(value, expected)}"
            elif key in _PARTS:
                kind, find = _PARTS[key]
                if not kind or has_type(value, kind):
                    for part, wanted, where in find(value, expected, schema):
                        yield from self.check(part, wanted, path + where,
                                              depth + 1)
            elif key in _RULES:
                yield from _RULES[key](self, value, expected, schema, path,
                                       depth)

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


def _check_ref(c: _Checker, value: Any, to: Any, schema: dict[str, Any],
               path: str, depth: int) -> Iterator[str]:
    yield from c.check(value, c.resolve(to), path, depth + 1)


def _check_additional(c: _Checker, value: Any, part: Any,
                      schema: dict[str, Any], path: str,
                      depth: int) -> Iterator[str]:
    if not isinstance(value, dict):
        return
    patterns = [_compile(p) for p in schema.get("patternProperties", ())]
    for name in value:
        if name in schema.get("properties", ()) \
                or any(p.search(name) for p in patterns):
            continue
        if part is False:
            yield f"{path}: {_show(name)} is not allowed here"
        else:
            yield from c.check(value[name], part, f"{path}.{name}",
                               depth + 1)


def _check_required(c: _Checker, value: Any, names: Any,
                    schema: dict[str, Any], path: str,
                    depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        for name in names:
            if name not in value:
                yield f"{path}: {_show(name)} is missing"


def _check_contains(c: _Checker, value: Any, part: Any,
                    schema: dict[str, Any], path: str,
                    depth: int) -> Iterator[str]:
    if isinstance(value, list):
        found = sum(c.fits(item, part, path, depth + 1) for item in value)
        if found < schema.get("minContains", 1):
            yield f"{path}: too few items are as they should be"
        if found > schema.get("maxContains", found):
            yield f"{path}: too many items are of one kind"


def _check_not(c: _Checker, value: Any, part: Any, schema: dict[str, Any],
               path: str, depth: int) -> Iterator[str]:
    if c.fits(value, part, path, depth + 1):
        yield f"{path}: {_show(value)} is what it must not be"


def _check_any_of(c: _Checker, value: Any, parts: Any,
                  schema: dict[str, Any], path: str,
                  depth: int) -> Iterator[str]:
    if not any(c.fits(value, part, path, depth + 1) for part in parts):
        yield f"{path}: {_show(value)} fits none of the alternatives"


def _check_one_of(c: _Checker, value: Any, parts: Any,
                  schema: dict[str, Any], path: str,
                  depth: int) -> Iterator[str]:
    count = sum(c.fits(value, part, path, depth + 1) for part in parts)
    if count != 1:
        yield (f"{path}: {_show(value)} fits {count} of the alternatives "
               "instead of one")


def _check_if(c: _Checker, value: Any, part: Any, schema: dict[str, Any],
              path: str, depth: int) -> Iterator[str]:
    branch = "then" if c.fits(value, part, path, depth + 1) else "else"
    yield from c.check(value, schema.get(branch, True), path, depth + 1)


def _compile(pattern: Any) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        raise UsageError(f"schema: {pattern!r} is no pattern: "
                         f"{error}") from error


def _is_multiple(value: Any, of: Any) -> bool:
    times = value / of
    return bool(abs(times - round(times)) <= 1e-9 * max(1.0, abs(times)))


def _is_unique(value: Any, wanted: Any) -> bool:
    return not wanted or not any(
        same(a, b) for i, a in enumerate(value) for b in value[:i])


def _list_names(names: Any) -> list[Any]:
    return names if isinstance(names, list) else [names]


def _after(words: str) -> Callable[[Any, Any], str]:
    """A sentence with the value in front and the keyword's own in it."""
    return lambda value, limit: f"{_show(value)} {words.format(limit)}"


_Test: TypeAlias = tuple[str, Callable[[Any, Any], bool],
                         Callable[[Any, Any], str]]
_Find: TypeAlias = Callable[[Any, Any, dict[str, Any]],
                            Iterable[tuple[Any, Any, str]]]


def _bound_size(kind: str, compare: Callable[[Any, Any], bool],
                words: str) -> _Test:
    return kind, lambda value, limit: compare(len(value), limit), \
        _after(words)


# The type that a keyword is about ("": every), whether a value holds to it,
# and what is said where it does not.
_TESTS: dict[str, _Test] = {
    "type": ("", lambda value, names: any(
        has_type(value, name) for name in _list_names(names)),
        lambda value, names: f"{_show(value)} is not of type "
                             f"{' or '.join(_list_names(names))}"),
    "enum": ("", lambda value, choices: any(
        same(value, choice) for choice in choices),
        lambda value, choices: f"{_show(value)} is none of "
                               f"{_show(choices)}"),
    "const": ("", same,
              lambda value, only: f"{_show(value)} is not {_show(only)}"),
    "uniqueItems": ("array", _is_unique,
                    lambda value, _: "the items are not all different"),
    "pattern": ("string", lambda value, pattern: _compile(
        pattern).search(value) is not None, _after("does not match {}")),
    "multipleOf": ("number", _is_multiple,
                   lambda value, of: f"{value} is no multiple of {of}"),
    "minimum": ("number", ge, _after("is below {}")),
    "maximum": ("number", le, _after("is above {}")),
    "exclusiveMinimum": ("number", gt, _after("is not above {}")),
    "exclusiveMaximum": ("number", lt, _after("is not below {}")),
    "minLength": _bound_size("string", ge, "is shorter than {} characters"),
    "maxLength": _bound_size("string", le, "is longer than {} characters"),
    "minItems": _bound_size("array", ge, "has fewer than {} items"),
    "maxItems": _bound_size("array", le, "has more than {} items"),
    "minProperties": _bound_size("object", ge, "has fewer than {} members"),
    "maxProperties": _bound_size("object", le, "has more than {} members"),
}

# The type that a keyword is about, and the parts of a value that it gives a
# schema: (part, its schema, what its path ends in).
_PARTS: dict[str, tuple[str, _Find]] = {
    "properties": ("object", lambda value, parts, schema: (
        (value[name], part, f".{name}") for name, part in parts.items()
        if name in value)),
    "patternProperties": ("object", lambda value, parts, schema: (
        (value[name], part, f".{name}") for pattern, part in parts.items()
        for name in value if _compile(pattern).search(name))),
    "items": ("array", lambda value, part, schema: (
        (item, part, f"[{index}]") for index, item in enumerate(value)
        if index >= len(schema.get("prefixItems", ())))),
    "prefixItems": ("array", lambda value, parts, schema: (
        (item, part, f"[{index}]") for index, (item, part) in enumerate(
            zip(value, parts, strict=False)))),
    "allOf": ("", lambda value, parts, schema: (
        (value, part, "") for part in parts)),
}

_RULES: dict[str, _Rule] = {
    "$ref": _check_ref, "additionalProperties": _check_additional,
    "required": _check_required, "contains": _check_contains,
    "not": _check_not, "anyOf": _check_any_of, "oneOf": _check_one_of,
    "if": _check_if,
}
_PARTNERS = frozenset(("then", "else", "minContains", "maxContains"))
_HOLD_SCHEMA = frozenset(("items", "additionalProperties", "not", "if",
                          "then", "else", "contains"))
