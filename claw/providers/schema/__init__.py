"""SchemaCleaner: one tool schema in the form that each provider takes.

Every vendor knows a different part of JSON Schema and refuses the rest, the
whole request with it. Tools write plain JSON Schema; the wire cleans it.

    keyword               Gemini            Anthropic  OpenAI
    minLength, pattern    dropped           dropped    kept
    $ref                  inlined           inlined    kept
    additionalProperties  dropped           kept       kept
    anyOf, oneOf          the first type    kept       kept
    nullable              nullable: true    kept       kept

Conservative, for an unknown provider, inlines references, drops
additionalProperties and takes null out of types and unions.
Source: spec/agent.md 3.4, seed 004.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any

from claw.providers.schema.gemini import Gemini
from claw.providers.schema.parameters import add_types, object_root
from claw.providers.schema.tree import AT_ROOT
from claw.providers.schema.usual import (
    ANTHROPIC,
    CONSERVATIVE,
    OPENAI,
    Usual,
)


class CleaningStrategy(Enum):
    """Whose part of JSON Schema is wanted; strictest first."""

    GEMINI = "gemini"
    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    CONSERVATIVE = "conservative"


_PASSES: dict[CleaningStrategy, Callable[[object], Gemini | Usual]] = {
    CleaningStrategy.GEMINI: Gemini,
    CleaningStrategy.ANTHROPIC: lambda root: Usual(root, ANTHROPIC),
    CleaningStrategy.OPENAI: lambda root: Usual(root, OPENAI),
    CleaningStrategy.CONSERVATIVE: lambda root: Usual(root, CONSERVATIVE),
}


def clean_schema(schema: object,
                 strategy: CleaningStrategy) -> dict[str, Any]:
    """A schema as the strategy wants it, in a copy.

    Cleaning twice changes nothing more. What is no object gives {}; what is
    circular, remote, nested past 64 levels or multiplies past 5,000 inlined
    schemas gives {} in its place. Never raises for what a schema holds.
    """
    result = _PASSES[strategy](schema).node(schema, 0, AT_ROOT)
    return result if isinstance(result, dict) else {}


def tool_parameters(schema: object,
                    strategy: CleaningStrategy) -> dict[str, Any]:
    """A cleaned schema fit to be a tool's `parameters`: an object at the
    root, without a union there; for Gemini with a type everywhere.

    Gemini's wire leaves `parameters` out where "properties" is empty.
    """
    result = clean_schema(object_root(schema), strategy)
    return add_types(result) if strategy is CleaningStrategy.GEMINI else result


def clean_for_gemini(schema: object) -> dict[str, Any]:
    return clean_schema(schema, CleaningStrategy.GEMINI)


def clean_for_anthropic(schema: object) -> dict[str, Any]:
    return clean_schema(schema, CleaningStrategy.ANTHROPIC)


def clean_for_openai(schema: object) -> dict[str, Any]:
    return clean_schema(schema, CleaningStrategy.OPENAI)


class SchemaCleaner:
    """The functions of this module under one name."""

    clean = staticmethod(clean_schema)
    clean_for_gemini = staticmethod(clean_for_gemini)
    clean_for_anthropic = staticmethod(clean_for_anthropic)
    clean_for_openai = staticmethod(clean_for_openai)

    @staticmethod
    def validate(schema: object) -> list[str]:
        """What keeps a schema from describing a tool's parameters; empty
        where nothing does."""
        if not isinstance(schema, dict):
            return ["the schema is no object"]
        if "type" not in schema:
            return ['the schema has no "type"']
        return []


SchemaCleanr = SchemaCleaner
