"""Arguments written as plain text, in the types of the tool's schema."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from claw.agent.parsing.literals import LiteralError, read_literal
from claw.agent.parsing.values import whole_json
from claw.core.tool import standard_type

_NO_JSON = object()
_BEGINS = re.compile(r"[\[({]")


def read_argument(known: Collection[str], tool: str, name: str,
                  text: str) -> Any:
    """The value that `text` stands for as the argument `name` of a tool.
    `known` may hold the schemas of the tools."""
    return read_text(find_schema(known, tool, name), _strip_frame(text),
                     required=name in _list(_schema(known, tool).get(
                         "required")))


def read_text(schema: Any, text: str, *, required: bool = False) -> Any:
    """The value that `text` stands for by a schema.

    A string stays what it is; without a type JSON is read and anything
    else is a string. Templates write lists, null and the rest as Python
    does, too.
    """
    kinds = find_kinds(schema)
    bare = text.strip()
    if bare in ("null", "None") and _means_null(bare, schema, kinds,
                                                required):
        return None
    if kinds and kinds <= {"string", "null"}:
        return text
    value = whole_json(bare, _NO_JSON)
    if value is _NO_JSON and kinds & {"array", "object"} \
            and _BEGINS.match(bare):
        value = _read_python(bare)
    if value is not _NO_JSON and (not kinds or _fits(value, kinds)):
        return value
    if isinstance(value, float) and "integer" in kinds \
            and value.is_integer():
        return int(value)
    if "boolean" in kinds and bare.lower() in ("true", "false"):
        return bare.lower() == "true"
    return text


def _means_null(word: str, schema: Any, kinds: set[str],
                required: bool) -> bool:
    """Null, unless only a string will do. Of a string the default tells."""
    default = schema.get("default", "") if isinstance(
        schema, Mapping) else ""
    if kinds != {"string"}:
        return word == "null" or bool(kinds)
    return default is None or (
        word == "null" and default != word and not required)


def _read_python(text: str) -> Any:
    try:
        value, end = read_literal(text, 0)
    except LiteralError:
        return _NO_JSON
    return value if end == len(text) else _NO_JSON


def find_schema(known: Collection[str], tool: str, name: str) -> Any:
    """The schema of an argument, None where nobody says."""
    return parameter(_schema(known, tool), name)


def parameter(schema: Any, name: str) -> Any:
    """The schema of a property."""
    properties = schema.get("properties") if isinstance(
        schema, Mapping) else None
    return properties.get(name) if isinstance(properties, Mapping) else None


def _schema(known: Collection[str], tool: str) -> Mapping[str, Any]:
    schema = known.get(tool) if isinstance(known, Mapping) else None
    return schema if isinstance(schema, Mapping) else {}


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


def find_kinds(schema: Any, depth: int = 0) -> set[str]:
    """The JSON types that a schema allows; none where it does not say."""
    if not isinstance(schema, Mapping) or depth > 4:
        return set()
    named = schema.get("type")
    names = [named] if isinstance(named, str) else _list(named)
    kinds = {standard_type(str(name)) for name in names}
    for key in ("anyOf", "oneOf"):
        for variant in _list(schema.get(key)):
            below = find_kinds(variant, depth + 1)
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
