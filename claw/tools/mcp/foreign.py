"""What an MCP server says of its tools, made fit for a prompt. Pure.

Descriptions and schemas are text of strangers: characters that are not
seen are taken out, lengths and depths are bounded, and a reference that
leads out of the schema is dropped (nobody fetches it).
Source: JSON Schema 2020-12; what vendors refuse, as met in
providers/schema.
"""

import json
import re
import unicodedata
from typing import Any

from claw.core.tool import Schema

DESCRIPTION_CHARS = 1_024
_TITLE_CHARS = 400
_SCHEMA_CHARS = 32_768
_DEPTH = 32
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_TEXTS = frozenset(("description", "title", "$comment"))
# They name documents elsewhere.
_DROPPED = frozenset(("$schema", "$id", "$anchor", "$dynamicAnchor",
                      "$dynamicRef", "$vocabulary"))
_REFERENCES = ("$ref", "$recursiveRef")
_PARAMETER = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")


class UnfitError(ValueError):
    """A tool that no model can be offered; the text says why."""


def clean_text(text: str, limit: int = DESCRIPTION_CHARS) -> str:
    """The text without control, format and unassigned characters (bidi,
    zero width, tags), but for line ends and tabs; cut at `limit`."""
    kept = "".join(c for c in text[:8 * limit] if c in "\n\t"
                   or unicodedata.category(c) not in _UNSEEN).strip()
    return kept if len(kept) <= limit else kept[:limit - 1].rstrip() + "…"


def clean_schema(schema: Any) -> Schema:
    """The schema of an object's arguments, in a copy. Raises UnfitError
    for what is no such schema, too deep or too large."""
    if not isinstance(schema, dict):
        raise UnfitError("its schema is no object")
    clean: Schema = _clean(schema, 0)
    if clean.setdefault("type", "object") != "object":
        raise UnfitError("its arguments are no object: its schema is "
                         f"{clean['type']!s:.80}")
    properties = clean.setdefault("properties", {})
    if not isinstance(properties, dict):
        raise UnfitError("its parameters are no object")
    for name in properties:
        if not _PARAMETER.match(name):
            raise UnfitError(f"no model takes a parameter named {name!r:.80}")
    if len(json.dumps(clean)) > _SCHEMA_CHARS:
        raise UnfitError(f"its schema has more than {_SCHEMA_CHARS} "
                         "characters")
    return clean


def _clean(value: Any, depth: int) -> Any:
    if depth > _DEPTH:
        raise UnfitError(f"its schema is nested past {_DEPTH} levels")
    if isinstance(value, list):
        return [_clean(each, depth + 1) for each in value]
    if not isinstance(value, dict):
        return value
    clean: dict[str, Any] = {}
    for key, held in value.items():
        if isinstance(held, str) and (key in _DROPPED or (
                key in _REFERENCES and not held.startswith("#"))):
            continue
        clean[key] = (clean_text(held, _TITLE_CHARS)
                      if key in _TEXTS and isinstance(held, str)
                      else _clean(held, depth + 1))
    return clean
