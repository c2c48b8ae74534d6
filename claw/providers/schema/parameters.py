"""The root of a tool's parameters, which vendors hold to more than the rest.

It has to be an object. OpenAI and Anthropic refuse anyOf, oneOf and allOf
there ("input_schema does not support oneOf, allOf, or anyOf at the top
level"), Gemini any schema below it without a type ("type: must be
specified") and arrays without items ("items: missing field"). One refused
tool costs the whole request.
"""

from typing import Any

from claw.providers.schema.tree import (
    AT_ROOT,
    MAX_INLINED,
    Schema,
    Walker,
)

_FOLDS_AT_MOST = 8  # a union in a union in a union


def object_root(schema: object) -> Schema:
    """A schema with an object at its root and no union or reference there.

    The properties of all variants stand side by side; required is what
    every one of them requires. What has properties is an object, whatever
    it calls itself ("dict"). Not a copy: what is below is shared.
    """
    if not isinstance(schema, dict):
        return {"type": "object", "properties": {}}
    root = _fold(Walker(schema), schema, 0)
    kinds = root.get("type", "object")
    if kinds != "object" and not root.get("properties") and not (
            isinstance(kinds, list) and "object" in kinds):
        kept = {key: held for key, held in root.items()
                if key == "description"}
        return {"type": "object", "properties": {}, **kept}
    for key in ("$defs", "definitions"):
        if key in schema:
            root[key] = schema[key]
    properties = root.get("properties")
    return {**root, "type": "object",
            "properties": properties if isinstance(properties, dict) else {}}


def _fold(walker: Walker, value: Schema, depth: int) -> Schema:
    value = dict(walker.resolve(value, AT_ROOT)[0])
    for key in ("allOf", "anyOf", "oneOf"):
        variants = value.pop(key, None)
        if not isinstance(variants, list) or depth > _FOLDS_AT_MOST:
            continue
        parts = [_fold(walker, each, depth + 1)
                 for each in variants[:MAX_INLINED]
                 if isinstance(each, dict)]
        value["properties"] = _side_by_side([value, *parts])
        needed = _names(value)
        if key == "allOf":
            needed += [name for part in parts for name in _names(part)]
        elif parts:
            others = [set(_names(part)) for part in parts[1:]]
            needed += [name for name in _names(parts[0])
                       if all(name in other for other in others)]
        value["required"] = list(dict.fromkeys(needed))
        if not value["required"]:
            del value["required"]
    return value


def _side_by_side(parts: list[Schema]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for part in parts:
        properties = part.get("properties")
        if isinstance(properties, dict):
            for name, held in properties.items():
                result.setdefault(name, held)
    return result


def _names(part: Schema) -> list[str]:
    names = part.get("required")
    return [name for name in names if isinstance(name, str)] \
        if isinstance(names, list) else []


def add_types(schema: Schema) -> Schema:
    """A schema that was cleaned for Gemini, with a type at every place: a
    string where anything goes."""
    result = dict(schema)
    kind = result.setdefault("type", "string")
    if "properties" in result:
        result["properties"] = {name: add_types(each) for name, each
                                in result["properties"].items()}
    if kind == "array":
        result["items"] = add_types(result.get("items", {}))
    return result
