"""Requests against Discord's own OpenAPI description, or an extract of it:
{"operations": {id: {path, method, query, body}}, "components": ...}.

Unknown fields are wrong here, too: the description lets them pass. Lengths
that it gives for other kinds of accounts are the fake's own to check.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jsonschema import (  # type: ignore[import-untyped]
    Draft202012Validator,
)

Spec = dict[str, Any]


def load_spec(path: str | Path) -> Spec:
    loaded: Spec = json.loads(Path(path).read_text(encoding="utf-8"))
    return loaded


def check(spec: Spec, operation: str, query: str, body: Any) -> list[str]:
    """What is wrong with a request, one sentence each."""
    known = spec["operations"].get(operation)
    if known is None:
        return [f"{operation}: not in the description"]
    found = [f"{operation}: no query {name}"
             for name, _ in parse_qsl(query) if name not in known["query"]]
    schema = known.get("body")
    if schema is None:
        return found if body is None else [
            *found, f"{operation}: it takes no body"]
    errors = Draft202012Validator({
        **schema, "components": spec["components"]}).iter_errors(body)
    found += [f"{operation}: {error.json_path}: {error.message[:200]}"
              for error in errors]
    return found + [f"{operation}: no field {name}" for name in _unknown(
        spec, schema, body)]


def _unknown(spec: Spec, schema: Mapping[str, Any], body: Any) -> list[str]:
    names = _properties(spec, schema)
    return sorted(set(body) - names) \
        if names and isinstance(body, dict) else []


def _properties(spec: Spec, schema: Mapping[str, Any]) -> set[str]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _properties(spec, spec["components"]["schemas"][name])
    found = set(schema.get("properties", ()))
    for kind in ("anyOf", "oneOf", "allOf"):
        for option in schema.get(kind, ()):
            found |= _properties(spec, option)
    return found
