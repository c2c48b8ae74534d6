"""Gemini: the OpenAPI subset that its function declarations take.

One type per schema, `nullable` beside it, string enums, no references, no
bounds, no unions: what stands here is what is left. A field that is not
listed is refused with HTTP 400 ("Cannot find field"), and so are `required`
names without a property, `properties` on what is no object and an `enum` on
what is no string.
Source: google-genai 3.4, types.Schema and handle_null_fields; issues of
Gemini's clients for what the server refuses.
"""

import json
from typing import Any

from claw.providers.schema.tree import (
    META,
    Refs,
    Schema,
    TooLargeError,
    Walker,
    literals,
    name_kind,
    one_kind,
    only_null,
)

_KINDS = frozenset({"string", "number", "integer", "boolean", "array",
                    "object", "null"})
_TYPED = frozenset({"type", "enum", "const", "items", "prefixItems",
                    "anyOf", "oneOf", "allOf"})
_SHOWN = (("properties", "object"), ("items", "array"), ("enum", "string"))
_LISTED_AT_MOST = 50


class Gemini(Walker):
    """One pass that leaves what Gemini takes."""

    def node(self, value: object, depth: int, refs: Refs) -> Schema:
        """As Walker.node; true and false can only be said as {}."""
        result = super().node(value, depth, refs)
        return result if isinstance(result, dict) else {}

    def _object(self, value: Schema, depth: int, refs: Refs) -> Schema:
        value, refs = self.resolve(value, refs)
        result = self._describe(value)
        _types(result, value.get("type"))
        if isinstance(value.get("nullable"), bool):
            result["nullable"] = result.get("nullable") or value["nullable"]
        self._children(result, value, depth, refs)
        parts = value.get("allOf")
        for part in parts if isinstance(parts, list) else ():
            result = _join(result, self.node(part, depth + 1, refs))
        for key in ("anyOf", "oneOf"):
            if isinstance(value.get(key), list):
                result = self._flat(result, value[key], depth, refs)
        values = self._copy(literals(value))
        if values is not None:
            _list(result, values)
        return _fit(result)

    def _describe(self, value: Schema) -> Schema:
        """What is said about a schema, in words and by example."""
        result: Schema = {key: value[key] for key in ("title", "description")
                          if isinstance(value.get(key), str)}
        for key in ("default", "example"):
            if key in value:
                result[key] = self._copy(value[key])
        return result

    def _copy(self, value: object) -> Any:
        try:
            return self.data(value)
        except TooLargeError:
            return None

    def _children(self, result: Schema, value: Schema, depth: int,
                  refs: Refs) -> None:
        named = value.get("properties")
        if isinstance(named, dict):
            result["properties"] = {
                name: self.node(each, depth + 1, refs)
                for name, each in named.items() if each is not False}
        for key in ("required", "propertyOrdering"):
            if isinstance(value.get(key), list):
                result[key] = self._copy(value[key]) or []
        tuples = value.get("prefixItems")
        items = value.get("items")
        if isinstance(tuples, list) and tuples:
            items = tuples
        if isinstance(items, list):
            each = [self.node(one, depth + 1, refs) for one in items]
            same = all(one == each[0] for one in each)
            result["items"] = each[0] if each and same else {}
        elif isinstance(items, dict | bool):
            result["items"] = self.node(items, depth + 1, refs)

    def _flat(self, result: Schema, variants: list[Any], depth: int,
              refs: Refs) -> Schema:
        """The first variant that has a type in the union's stead, nullable
        where another one was null. Variants that only add conditions
        ("either of these is required") are no types and are left out."""
        plain = [self.resolve(each, refs)[0] if isinstance(each, dict)
                 else {} for each in variants]
        null = any(only_null(each) for each in plain)
        left = [index for index, each in enumerate(plain)
                if not only_null(each)]
        same = one_kind([plain[index] for index in left])
        part: Schema | None = None
        if same:
            part = {"type": same[0]}
            _list(part, same[1])
        else:
            part = next((self.node(variants[index], depth + 1, refs)
                         for index in left
                         if _has_type(plain[index], result)), None)
        if part is None:
            part = {"type": "null"} if null and not left else {}
        null = null or bool(part.get("nullable"))
        said = {key: result[key] for key in META if key in result}
        if "type" in part and "type" in result:
            result = {key: held for key, held in result.items()
                      if key != "type"}
        result = {**_join(result, part), **said}
        if null and part.get("type") != "null":
            result["nullable"] = True
        return result


def _types(result: Schema, kinds: object) -> None:
    """The first type that is one; null beside it is `nullable`."""
    listed = kinds if isinstance(kinds, list) else [kinds]
    names = [each.lower() for each in listed if isinstance(each, str)
             and each.lower() in _KINDS]
    real = [name for name in names if name != "null"]
    if real and len(real) < len(names):
        result["nullable"] = True
    if names:
        result["type"] = (real or names)[0]


def _has_type(variant: Schema, beside: Schema) -> bool:
    if not _TYPED.isdisjoint(variant):
        return True
    return "properties" in variant and "properties" not in beside


def _list(result: Schema, values: list[Any]) -> None:
    """Allowed values as an `enum` of strings. Other types can't have one:
    theirs are told in the description."""
    rest = [each for each in values if each is not None]
    if not rest:
        result.setdefault("type", "null")
        return
    if len(rest) < len(values) and "type" not in result:
        result["nullable"] = True
    kind = result.setdefault("type", name_kind(rest[0]))
    if kind == "string":
        # An empty string in the list is refused.
        result["enum"] = list(dict.fromkeys(
            each for each in rest if isinstance(each, str) and each))
        return
    told = ", ".join(json.dumps(each, ensure_ascii=False, default=str)
                     for each in rest[:_LISTED_AT_MOST]
                     if not isinstance(each, dict | list))
    if told:
        before = result.get("description", "")
        result["description"] = f"{before} (one of: {told})".strip()


def _join(first: Schema, second: Schema) -> Schema:
    """Both at once, as far as one schema can say it; the first has the
    word where they differ."""
    result = {**second, **first}
    if "properties" in first and "properties" in second:
        one, two = first["properties"], second["properties"]
        result["properties"] = {
            name: _join(one[name], two[name]) if name in one
            and name in two else one.get(name, two.get(name))
            for name in (*one, *(name for name in two if name not in one))}
    if "items" in first and "items" in second:
        result["items"] = _join(first["items"], second["items"])
    if "required" in first and "required" in second:
        result["required"] = first["required"] + second["required"]
    if "enum" in first and "enum" in second:
        both = [each for each in first["enum"] if each in second["enum"]]
        result["enum"] = both or first["enum"]
    if not first.get("nullable") and "type" in first:
        result.pop("nullable", None)
    return result


def _fit(value: Schema) -> Schema:
    """Without what the server refuses beside its type."""
    if "type" not in value:
        value.update(next(({"type": shown} for key, shown in _SHOWN
                           if key in value), {}))
    kind = value.get("type")
    if kind != "object":
        value.pop("properties", None)
    if kind != "array":
        value.pop("items", None)
    if kind != "string":
        value.pop("enum", None)
    known = value.get("properties", {})
    for key in ("required", "propertyOrdering"):
        if key in value:
            value[key] = list(dict.fromkeys(
                name for name in value[key]
                if isinstance(name, str) and name in known))
    for key in ("required", "propertyOrdering", "enum"):
        if not value.get(key, True):
            del value[key]
    if not value.get("nullable", True):
        del value["nullable"]
    return value
