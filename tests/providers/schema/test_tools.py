"""SchemaCleaner on 125 schemas as tools bring them: MCP servers (zod),
pydantic with $defs and definitions, OpenAPI, issue trackers and chats,
property names that are keywords, references and unions of every kind.

What is expected follows the seed's table (spec/agent.md 3.4, C12 to C15);
for OpenAI and Anthropic to the last key, by rules written again here.
"""

import json
from pathlib import Path
from urllib.parse import unquote

import pytest

from claw.providers.schema import (
    CleaningStrategy,
    clean_schema,
    tool_parameters,
)

SCHEMAS = [json.loads(line) for line in
           Path(__file__).with_name("more_schemas.jsonl")
           .read_text(encoding="utf-8").splitlines()]
GEMINI, ANTHROPIC, OPENAI, CONSERVATIVE = CleaningStrategy
NAMED = ("properties", "patternProperties", "$defs", "definitions")
LISTED = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
SINGLE = ("items", "additionalProperties", "not", "if", "then", "else",
          "propertyNames")
META = ("description", "title", "default")
NOT_GEMINIS = {
    "$ref", "$schema", "$id", "$defs", "definitions", "const", "anyOf",
    "oneOf", "additionalProperties", "patternProperties", "minLength",
    "maxLength", "pattern", "format", "minimum", "maximum", "multipleOf",
    "minItems", "maxItems", "uniqueItems", "minProperties",
    "maxProperties", "examples"}


def places(schema):
    """Every place where a schema stands."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key, held in schema.items():
        if key in NAMED and isinstance(held, dict):
            held = list(held.values())
        elif key in SINGLE and isinstance(held, dict):
            held = [held]
        elif key not in LISTED:
            continue
        for each in held if isinstance(held, list) else ():
            yield from places(each)


def named(root, ref):
    found = root
    for part in unquote(ref).removeprefix("#/").split("/"):
        part = part.replace("~1", "/").replace("~0", "~")
        found = found.get(part) if isinstance(found, dict) else None
    return found


def for_anthropic(schema, root, seen=()):
    """References inlined, minLength and pattern gone, const as an enum."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        meta = {key: schema[key] for key in META if key in schema}
        ref = schema["$ref"]
        target = None if ref in seen or not ref.startswith("#/") \
            else named(root, ref)
        return meta if target is None else {
            **for_anthropic(target, root, (*seen, ref)), **meta}
    result = {}
    for key, held in schema.items():
        if key in ("minLength", "pattern", "$defs", "definitions"):
            continue
        if key == "const":
            result["enum"] = [held]
        elif key in NAMED:
            result[key] = {name: for_anthropic(each, root, seen)
                           for name, each in held.items()}
        elif key in LISTED and isinstance(held, list):
            result[key] = [for_anthropic(each, root, seen) for each in held]
        elif key in SINGLE:
            result[key] = for_anthropic(held, root, seen)
        else:
            result[key] = held
    return result


def is_null(variant):
    return variant.get("type") in ("null", ["null"]) \
        or variant.get("enum") == [None]


def test_there_are_125():
    assert len(SCHEMAS) == 125


@pytest.mark.each("schema", SCHEMAS)
def test_openai_keeps_everything(schema):
    assert clean_schema(schema, OPENAI) == schema


@pytest.mark.each("schema", SCHEMAS)
def test_anthropic_loses_bounds_of_strings_and_references(schema):
    assert clean_schema(schema, ANTHROPIC) == for_anthropic(schema, schema)


@pytest.mark.each("schema", SCHEMAS)
def test_gemini_is_left_with_one_type_and_no_bounds(schema):
    for place in places(clean_schema(schema, GEMINI)):
        assert not NOT_GEMINIS & set(place)
        assert not isinstance(place.get("type"), list)


@pytest.mark.each("schema", SCHEMAS)
def test_an_unknown_provider_gets_no_null_and_no_references(schema):
    for place in places(clean_schema(schema, CONSERVATIVE)):
        assert not {"$ref", "$defs", "definitions", "const",
                    "additionalProperties"} & set(place)
        assert "null" not in place.get("type", "") \
            or place["type"] == "null"
        assert not any(is_null(variant) for key in ("anyOf", "oneOf")
                       for variant in place.get(key, ()))


@pytest.mark.each("strategy", CleaningStrategy)
@pytest.mark.each("schema", SCHEMAS)
def test_names_stay_input_stays_and_twice_is_once(schema, strategy):
    before = json.dumps(schema)
    result = clean_schema(schema, strategy)

    assert json.dumps(schema) == before
    assert clean_schema(result, strategy) == result
    if "$ref" not in schema:
        assert list(result["properties"]) == list(schema["properties"])
        assert result.get("required") == schema.get("required")


@pytest.mark.parametrize("strategy", list(CleaningStrategy))
@pytest.mark.parametrize("kind", ["dict", "Dict", "OBJECT", "map", ["dict"]])
def test_a_root_of_another_name_keeps_its_parameters(strategy, kind):
    cleaned = tool_parameters(
        {"type": kind, "properties": {"city": {"type": "string"}},
         "required": ["city"]}, strategy)

    assert cleaned["type"] == "object"
    assert list(cleaned["properties"]) == ["city"]
    assert cleaned["required"] == ["city"]
