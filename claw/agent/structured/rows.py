"""Several rows in one answer (`claw ask --schema-multi`). Pure.

Servers take objects alone for a schema, so rows stand in an array in one.
"""

import json
from typing import Any

from claw.agent.structured.answer import check_answer

_NAME = "items"
_OUTER = ("$defs", "definitions", "$schema", "$id")


def wrap_rows(row: dict[str, Any]) -> dict[str, Any]:
    """The schema of an answer that holds any number of rows. What rows
    refer to stays where servers look for it."""
    inner = {key: _move_references(part) for key, part in row.items()}
    outer = {key: inner.pop(key) for key in _OUTER if key in inner}
    return {"type": "object",
            "properties": {_NAME: {"type": "array", "items": inner}},
            "required": [_NAME], "additionalProperties": False, **outer}


def _move_references(part: Any) -> Any:
    """A part of the row's schema whose references lead to the row."""
    if isinstance(part, list):
        return [_move_references(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {key: f"#/properties/{_NAME}/items{value[1:]}"
            if key == "$ref" and _leads_inside(value)
            else _move_references(value) for key, value in part.items()}


def _leads_inside(reference: Any) -> bool:
    return isinstance(reference, str) and (
        reference == "#" or (
            reference.startswith("#/") and not reference.startswith(
                ("#/$defs/", "#/definitions/"))))


def check_rows(text: str, row: dict[str, Any]) -> str:
    """The rows in an answer, one JSON text a line; "" where there are none.
    Raises RequestRefusedError as `check_answer`."""
    found = check_answer(text, wrap_rows(row)).value[_NAME]
    return "\n".join(json.dumps(one, ensure_ascii=False) for one in found)
