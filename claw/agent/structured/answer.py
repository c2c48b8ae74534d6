"""An answer that must be JSON of a given shape (`claw ask --schema`)."""

import json
from typing import Any

from claw.agent.structured.code_blocks import json_candidates
from claw.agent.structured.short_form import EXAMPLE, parse_short_form
from claw.agent.structured.validator import check_schema, problems
from claw.core.errors import RequestRefusedError, UsageError
from claw.core.value import Value

_SHOWN = 3


class Checked(Value):
    """A valid answer: its JSON text, compact, and the decoded value."""

    text: str
    value: Any


def parse_schema(text: str) -> tuple[dict[str, Any], list[str]]:
    """A schema in JSON or in the short form, and the keywords in it without
    effect. Raises UsageError."""
    return load_schema(text) if text.lstrip()[:1] == "{" \
        else (parse_short_form(text), [])


def load_schema(text: str) -> tuple[dict[str, Any], list[str]]:
    """A schema in JSON and the keywords in it without effect.

    Raises UsageError where it is no JSON object or no schema.
    """
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"schema: not JSON: {error}",
            hint=f'write JSON, or fields: "{EXAMPLE}"') from error
    if not isinstance(schema, dict):
        raise UsageError("schema: a JSON Schema is an object",
                         hint='for example {"type": "object"}')
    return schema, check_schema(schema)


class UnfitAnswerError(RequestRefusedError):
    """The model gave an answer, and not in the form that was asked for."""


def check_answer(text: str, schema: dict[str, Any]) -> Checked:
    """The JSON in an answer, valid against the schema.

    JSON may stand alone, in a code fence or inside prose. Raises
    UnfitAnswerError with the first problems where it is not valid.
    """
    first: list[str] | None = None
    for candidate in json_candidates(text):
        try:
            value = json.loads(candidate, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            continue
        found = problems(value, schema)
        if not found:
            return Checked(json.dumps(value, ensure_ascii=False), value)
        first = first or found
    raise UnfitAnswerError(
        "the answer does not fit the schema: "
        + ("; ".join(first[:_SHOWN]) if first else "it holds no JSON"),
        hint="ask again, or another model with -m")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def instructions(schema: dict[str, Any]) -> str:
    """What a model is told that has no response format of its own."""
    return ("Answer with one JSON value only, without any other text, that "
            "is valid against this JSON Schema:\n"
            + json.dumps(schema, ensure_ascii=False))
