"""Arguments written as plain text, in the types of the tool's schema."""

from collections.abc import Collection, Mapping
from typing import Any

from claw.agent.parsing.values import whole_json
from claw.core.tool import standard_type

_NO_JSON = object()


def read_argument(known: Collection[str], tool: str, name: str,
                  text: str) -> Any:
    """The value that `text` stands for as the argument `name` of a tool.

    `known` may hold the schemas of the tools. A string stays what it is;
    without a type JSON is read and anything else is a string. "null" is
    null unless only a string will do.
    """
    schema = known.get(tool) if isinstance(known, Mapping) else None
    schema = schema if isinstance(schema, Mapping) else {}
    properties = schema.get("properties")
    found = properties.get(name) if isinstance(properties, Mapping) else None
    kinds = _find_kinds(found)
    text = _strip_frame(text)
    bare = text.strip()
    if bare == "null" and not (kinds == {"string"} and name in _list(
            schema.get("required"))):
        return None
    if kinds and kinds <= {"string", "null"}:
        return text
    value = whole_json(bare, _NO_JSON)
    if value is not _NO_JSON and (not kinds or _fits(value, kinds)):
        return value
    if isinstance(value, float) and "integer" in kinds \
            and value.is_integer():
        return int(value)
    if "boolean" in kinds and bare.lower() in ("true", "false"):
        return bare.lower() == "true"
    return text


def _strip_frame(text: str) -> str:
    """A value that stands on lines of its own, without their ends."""
    for end in ("\r\n", "\n"):
        if text.startswith(end) and text.endswith("\n") \
                and len(text) > len(end):
            return text[len(end):-1].removesuffix("\r" if end == "\r\n"
                                                  else "")
    return text


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _find_kinds(schema: Any, depth: int = 0) -> set[str]:
    """The JSON types that a schema allows; none where it does not say."""
    if not isinstance(schema, Mapping) or depth > 4:
        return set()
    named = schema.get("type")
    names = [named] if isinstance(named, str) else _list(named)
    kinds = {standard_type(str(name)) for name in names}
    for key in ("anyOf", "oneOf"):
        for variant in _list(schema.get(key)):
            below = _find_kinds(variant, depth + 1)
            if not below:
                return set()
            kinds |= below
    if schema.get("nullable") is True and kinds:
        kinds.add("null")
    return set() if "" in kinds else kinds


def _fits(value: Any, kinds: set[str]) -> bool:
    """Whether JSON of this type may stand there. Where a string may, text
    in quotes is one with quotes."""
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, int):
        return bool(kinds & {"integer", "number"})
    if isinstance(value, float):
        return "number" in kinds
    if value is None:
        return "null" in kinds
    return (isinstance(value, dict) and "object" in kinds) \
        or (isinstance(value, list) and "array" in kinds)
