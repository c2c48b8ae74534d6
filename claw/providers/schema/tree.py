"""Where schemas stand inside a JSON Schema, and how far one is followed.

A keyword is one only at a place where a schema stands: a property may be
called "pattern", a default may hold a "$ref". What stands anywhere else
(default, enum, examples, a vendor's own keys) is data and is copied.
Source of the places: JSON Schema 2020-12 and draft 7.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias
from urllib.parse import unquote

from claw.core.tool import standard_type

Schema: TypeAlias = dict[str, Any]
Refs: TypeAlias = frozenset[str]

ONE = frozenset({
    "items", "additionalProperties", "additionalItems", "contains",
    "unevaluatedItems", "unevaluatedProperties", "propertyNames", "not",
    "if", "then", "else", "contentSchema"})
MANY = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions",
                   "dependentSchemas", "dependencies"})
META = ("description", "title", "default")

# Nobody nests that deep, and every level costs the stack five frames.
MAX_DEPTH = 64
MAX_NODES = 200_000
# Inlining may multiply: ten definitions that name each other twice are a
# thousand copies. Past this many the rest is left open.
MAX_INLINED = 5_000

AT_ROOT: Refs = frozenset({"#"})


def _name_types(value: Schema) -> Schema:
    """The same with types as JSON Schema calls them, where they have a
    name of another language ("dict"); "any" allows anything."""
    kind = value.get("type")
    names = kind if isinstance(kind, list) else [kind]
    words = [name for name in names if isinstance(name, str)]
    if not any(word.lower() == "any" or standard_type(word) not in (
            "", word.lower()) for word in words):
        return value
    found = [standard_type(word) for word in words]
    rest = {key: held for key, held in value.items() if key != "type"}
    if "" in found:
        return rest
    return {"type": found if isinstance(kind, list) else found[0], **rest}


class TooLargeError(Exception):
    """Data that is nested deeper, or holds more, than is followed."""


class Walker:
    """One pass over one schema. `node` cleans what stands at a schema's
    place; what a pass does with an object is its `_object`.

    Never raises for what a schema holds: what is too deep, too much or
    circular becomes {} (anything goes), counted in `losses`.
    """

    def __init__(self, root: object) -> None:
        self.root = root
        self.losses = 0
        self._nodes = 0
        self._inlined = 0

    def node(self, value: object, depth: int, refs: Refs) -> Schema | bool:
        """The clean form of a schema; what is none says nothing."""
        self._nodes += 1
        self._inlined += refs is not AT_ROOT
        if isinstance(value, bool):
            return value
        if not isinstance(value, dict) or not value:
            return {}
        self._nodes += len(value)
        if depth > MAX_DEPTH or self._nodes > MAX_NODES \
                or self._inlined > MAX_INLINED:
            self.losses += 1
            return {}
        return self._object(_name_types(value), depth, refs)

    def _object(self, value: Schema, depth: int, refs: Refs) -> Schema:
        raise NotImplementedError

    def below(self, key: str, value: object, depth: int,
              refs: Refs) -> object:
        """The clean form of what a keyword holds.

        Raises TooLargeError for data past every bound.
        """
        if key in ONE and isinstance(value, dict | bool):
            return self.node(value, depth + 1, refs)
        if key in MANY and isinstance(value, list):
            return [self.node(each, depth + 1, refs) for each in value]
        if key in NAMED and isinstance(value, dict):
            return {name: self.data(each)  # "dependencies" of draft 7
                    if key == "dependencies" and isinstance(each, list)
                    else self.node(each, depth + 1, refs)
                    for name, each in value.items()}
        return self.data(value)

    def data(self, value: object, depth: int = 0) -> Any:
        """A copy of what is no schema. Raises TooLargeError."""
        if not isinstance(value, dict | list):
            return value
        self._nodes += 1 + len(value)
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise TooLargeError
        if isinstance(value, list):
            return [self.data(each, depth + 1) for each in value]
        return {key: self.data(each, depth + 1)
                for key, each in value.items()}

    def resolve(self, value: Schema, refs: Refs) -> tuple[Schema, Refs]:
        """What a `$ref` stands for, with the description, title and default
        of the place that refers; its other keywords fall away, as in
        draft 7. Circular, remote and unknown ones say nothing."""
        while "$ref" in value:
            name, meta = value["$ref"], pick(value, META)
            self.losses += len(value) > len(meta) + 1
            target = find(self.root, name)
            self._inlined += 1
            if target is None or name in refs \
                    or self._inlined > MAX_INLINED:
                self.losses += 1
                return meta, refs
            refs |= {name}
            value = {**target, **meta}
            self._nodes += len(value)
        return value, refs


def pick(value: Schema, keys: Iterable[str]) -> Schema:
    """Those keys alone."""
    return {key: value[key] for key in keys if key in value}


def find(root: object, ref: object) -> Schema | None:
    """What a local reference ("#/$defs/N", any JSON Pointer) points at;
    None where there is no schema."""
    if not isinstance(ref, str) or not ref.startswith("#"):
        return None
    found = root
    for token in unquote(ref[1:]).split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(token)
        elif isinstance(found, list) and token.isdecimal() \
                and int(token[:9]) < len(found):
            found = found[int(token[:9])]
        else:
            return None
    if ref != "#" and not ref.startswith("#/"):
        return None  # an anchor: nobody's tools use them
    if isinstance(found, bool):
        return {} if found else {"not": {}}
    return found if isinstance(found, dict) else None


def name_kind(value: object) -> str:
    """JSON Schema's name for the type of a JSON value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    for kind, name in ((str, "string"), (int, "integer"), (float, "number"),
                       (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return "string"


def literals(value: Schema) -> list[Any] | None:
    """The values that a schema lists by `const` or `enum`."""
    if "const" in value:
        return [value["const"]]
    values = value.get("enum")
    return values if isinstance(values, list) and values else None


def only_null(value: object) -> bool:
    """Whether a schema stands for null alone."""
    return isinstance(value, dict) and (
        value.get("type") in ("null", ["null"])
        or literals(value) == [None])


def one_kind(variants: list[Schema]) -> tuple[str, list[Any]] | None:
    """The type and all values of variants that are lists of scalars of one
    type, None where they are not."""
    values: list[Any] = []
    for variant in variants:
        listed = literals(variant)
        if listed is None or "$ref" in variant:
            return None
        values += listed
    kinds = {name_kind(each) for each in values}
    if len(kinds) != 1 or kinds & {"array", "object"}:
        return None
    return kinds.pop(), list(dict.fromkeys(values))
