"""SchemaCleaner: what holds for every schema, and the odd ones."""

import copy
import json
import time

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claw.providers.schema import (
    CleaningStrategy,
    SchemaCleaner,
    SchemaCleanr,
    clean_for_anthropic,
    clean_for_gemini,
    clean_for_openai,
    clean_schema,
    tool_parameters,
)

GEMINI, ANTHROPIC, OPENAI, CONSERVATIVE = CleaningStrategy
ALL = list(CleaningStrategy)
SLOW = settings(max_examples=100, deadline=None)

NAMES = st.sampled_from(["a", "b", "type", "pattern", "$ref", "enum",
                         "properties", "required", "const", "not"])
KINDS = ["string", "integer", "number", "boolean", "object", "array", "null"]
SCALARS = st.one_of(st.integers(-3, 3), st.sampled_from(["", "a", "ab"]),
                    st.booleans())
REFS = st.sampled_from(["#/$defs/A", "#/$defs/B", "#", "#/$defs/None",
                        "#/properties/a", "https://x.test/y"])
DATA = st.recursive(
    st.one_of(SCALARS, st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=2),
                            st.dictionaries(NAMES, inner, max_size=2)),
    max_leaves=5)


def some_of(keywords, most=4):
    """An object with a few of the keywords (drawing each of them or not
    would take ten times as long)."""
    return st.lists(st.one_of(*(
        st.tuples(st.just(key), value) for key, value in keywords.items())),
        max_size=most).map(dict)


def _node(inner):
    """An object that may hold any keyword, sensible or not."""
    some = st.lists(inner, max_size=3)
    named = st.dictionaries(NAMES, inner, max_size=3)
    return some_of({
        "type": st.one_of(st.sampled_from(KINDS), st.lists(
            st.sampled_from(KINDS), max_size=3, unique=True)),
        "properties": named, "required": st.lists(NAMES, max_size=2),
        "items": st.one_of(inner, some), "prefixItems": some,
        "additionalProperties": inner, "anyOf": some, "oneOf": some,
        "allOf": some, "not": inner, "if": inner, "then": inner,
        "minLength": st.integers(0, 3), "pattern": st.just("^a"),
        "maxLength": st.integers(0, 3), "minimum": st.integers(-2, 2),
        "enum": st.lists(DATA, max_size=3), "const": DATA,
        "default": DATA, "examples": st.lists(DATA, max_size=2),
        "nullable": st.booleans(), "$ref": REFS, "format": st.just("date"),
        "title": st.sampled_from(["t", "u"]), "description": st.just("d"),
        "patternProperties": named, "x-vendor": DATA, "$defs": named,
        "contains": inner, "dependentSchemas": named,
        "$schema": st.just("https://json-schema.org/x")})


ANY = st.recursive(st.one_of(st.booleans(), st.just({})), _node,
                   max_leaves=12)
ROOTS = st.builds(
    lambda root, a, b: {**root, "$defs": {"A": a, "B": b}},
    _node(ANY), ANY, ANY)


@given(ROOTS)
@SLOW
def test_cleaning_twice_changes_nothing_and_the_input_is_left_alone(schema):
    before = copy.deepcopy(schema)

    for strategy in ALL:
        once = clean_schema(schema, strategy)

        assert clean_schema(once, strategy) == once
        assert schema == before


PLACES = {
    "one": {"items", "additionalProperties", "contains", "not", "if",
            "then", "else"},
    "many": {"items", "prefixItems", "anyOf", "oneOf", "allOf"},
    "named": {"properties", "patternProperties", "$defs", "definitions",
              "dependentSchemas"}}


def schemas_in(schema):
    """Every schema object at a schema's place."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key, held in schema.items():
        if key in PLACES["one"] and isinstance(held, dict):
            yield from schemas_in(held)
        elif key in PLACES["many"] and isinstance(held, list):
            for each in held:
                yield from schemas_in(each)
        elif key in PLACES["named"] and isinstance(held, dict):
            for each in held.values():
                yield from schemas_in(each)


GEMINI_TAKES = {"type", "description", "title", "default", "example", "enum",
                "items", "properties", "required", "nullable",
                "propertyOrdering"}
FORBIDDEN = {
    ANTHROPIC: {"minLength", "pattern", "$ref", "$defs", "definitions",
                "const"},
    CONSERVATIVE: {"additionalProperties", "$ref", "$defs", "definitions",
                   "const"},
    OPENAI: set()}


@given(ROOTS)
@SLOW
def test_no_keyword_is_left_that_a_provider_refuses(schema):
    for strategy, forbidden in FORBIDDEN.items():
        for each in schemas_in(clean_schema(schema, strategy)):
            assert forbidden.isdisjoint(each)
    for each in schemas_in(clean_for_gemini(schema)):
        assert set(each) <= GEMINI_TAKES
        assert isinstance(each.get("type", ""), str)
        assert set(each.get("required", [])) <= set(
            each.get("properties", {}))
        assert all(isinstance(text, str) for text in each.get("enum", []))
        if "properties" in each:
            assert each["type"] == "object"


@given(ROOTS)
@SLOW
def test_gemini_gets_schemas_of_its_sdk(schema):
    types = pytest.importorskip("google.genai.types")

    types.Schema.model_validate(clean_for_gemini(schema))
    types.FunctionDeclaration.model_validate({
        "name": "f", "parameters": tool_parameters(schema, GEMINI)})


@given(ROOTS)
@SLOW
def test_openai_gets_every_schema_as_it_is(schema):
    assert clean_for_openai(schema) == schema


@given(ROOTS)
@SLOW
def test_a_copy_shares_nothing_with_the_original(schema):
    def empty(value):
        for each in list(value.values() if isinstance(value, dict)
                         else value):
            if isinstance(each, dict | list):
                empty(each)
        value.clear()

    before = copy.deepcopy(schema)
    for strategy in ALL:
        empty(clean_schema(schema, strategy))

    assert schema == before


@given(st.lists(NAMES, max_size=5, unique=True))
def test_properties_keep_their_names_and_order(names):
    schema = {"type": "object", "required": names, "properties": {
        name: {"type": "object", "properties": {name: {"type": "string"}}}
        for name in names}}

    for strategy in ALL:
        cleaned = clean_schema(schema, strategy)
        assert list(cleaned["properties"]) == names
        assert cleaned.get("required", []) == names
        assert all(list(each["properties"]) == [name] for name, each
                   in cleaned["properties"].items())


@given(DATA)
@SLOW
def test_data_is_passed_on_as_it_is(data):
    schema = {"type": "object", "default": data, "enum": [data],
              "examples": [data]}

    for strategy in (ANTHROPIC, OPENAI, CONSERVATIVE):
        assert clean_schema(schema, strategy) == schema
    assert clean_for_gemini(schema)["default"] == data


# --- what was allowed stays allowed -------------------------------------

INSTANCES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "c"]), inner,
                        max_size=3)), max_leaves=6)
PROPS = st.sampled_from(["a", "b"])


def _sound(inner):
    """Keywords whose meaning can be checked with jsonschema."""
    some = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(PROPS, inner, max_size=2)
    return st.one_of(inner, some_of({
        "type": st.one_of(st.sampled_from(KINDS), st.lists(
            st.sampled_from(KINDS), min_size=1, max_size=3, unique=True)),
        "properties": named, "required": st.lists(PROPS, max_size=2,
                                                  unique=True),
        "items": inner, "additionalProperties": inner, "anyOf": some,
        "allOf": some, "not": inner, "if": inner, "then": inner,
        "else": inner, "minLength": st.integers(0, 2),
        "pattern": st.just("^a"), "maxLength": st.integers(0, 2),
        "minimum": st.integers(-2, 2), "propertyNames": inner,
        "enum": st.lists(SCALARS, min_size=1, max_size=3), "const": SCALARS,
        "patternProperties": st.dictionaries(st.just("^a"), inner),
        "contains": inner, "dependentSchemas": named,
        "$ref": st.sampled_from(["#/$defs/A", "#/$defs/B"])}))


LEAVES = st.one_of(st.booleans(), st.sampled_from(KINDS).map(
    lambda kind: {"type": kind}))
SOUND = st.recursive(LEAVES, _sound, max_leaves=8)


def no_refs(schema):
    return '"$ref"' not in json.dumps(schema)


@given(_sound(SOUND).filter(lambda each: isinstance(each, dict)),
       _sound(LEAVES).filter(no_refs), _sound(LEAVES).filter(no_refs),
       st.lists(INSTANCES, min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_an_argument_that_was_valid_stays_valid(root, a, b, instances):
    schema = {**root, "$defs": {"A": a, "B": b}}
    check = jsonschema.Draft202012Validator

    for strategy in (ANTHROPIC, OPENAI, CONSERVATIVE):
        cleaned = check(clean_schema(schema, strategy))
        for instance in instances:
            if check(schema).is_valid(instance):
                assert cleaned.is_valid(instance), strategy


def _single(inner):
    """Schemas of one type each, as Gemini can say them."""
    named = st.dictionaries(PROPS, inner, max_size=2)
    lists = st.lists(PROPS, max_size=2, unique=True)
    more = {"description": st.just("d"), "not": inner, "title": st.just("t")}
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["object", ["object", "null"]])},
            optional={**more, "properties": named, "required": lists,
                      "additionalProperties": inner,
                      "allOf": st.lists(inner, max_size=2),
                      "if": inner, "then": inner}),
        st.fixed_dictionaries({"type": st.just("array")}, optional={
            **more, "items": inner, "minItems": st.integers(0, 2)}),
        st.fixed_dictionaries({"type": st.just("string")}, optional={
            **more, "minLength": st.integers(0, 2), "enum": st.lists(
                st.sampled_from(["a", "ab"]), min_size=1)}),
        st.fixed_dictionaries({"enum": st.lists(
            st.integers(-1, 2), min_size=1)}),
        st.fixed_dictionaries({"const": st.sampled_from(["a", 1, None])}),
        st.fixed_dictionaries({"anyOf": st.tuples(
            inner, st.just({"type": "null"})).map(list)}))


SINGLE = st.recursive(st.sampled_from(KINDS).map(
    lambda kind: {"type": kind}), _single, max_leaves=8)


def plain(schema):
    """Gemini's form as JSON Schema again."""
    schema = dict(schema)
    if "properties" in schema:
        schema["properties"] = {name: plain(each) for name, each
                                in schema["properties"].items()}
    if "items" in schema:
        schema["items"] = plain(schema["items"])
    if schema.pop("nullable", False):
        return {"anyOf": [schema, {"type": "null"}]}
    return schema


@given(SINGLE, st.lists(st.one_of(INSTANCES, st.none(), st.dictionaries(
    PROPS, st.none())), min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_where_gemini_can_say_it_a_valid_argument_stays_valid(
        schema, instances):
    check = jsonschema.Draft202012Validator
    cleaned = check(plain(clean_for_gemini(schema)))

    for instance in instances:
        if check(schema).is_valid(instance):
            assert cleaned.is_valid(instance)


# --- sizes ----------------------------------------------------------------

def nested(levels, wrap):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = wrap(schema)
    return schema


WRAPS = {
    "properties": lambda inner: {"type": "object",
                                 "properties": {"a": inner}},
    "items": lambda inner: {"type": "array", "items": inner},
    "anyOf": lambda inner: {"anyOf": [inner, {"type": "null"}]},
    "allOf": lambda inner: {"allOf": [inner]},
    "not": lambda inner: {"not": inner},
    "default": lambda inner: {"type": "object", "default": inner},
    "enum": lambda inner: {"enum": [inner]},
    "vendor": lambda inner: {"x": inner}}


@pytest.mark.each("strategy", ALL)
@pytest.mark.each("key", list(WRAPS))
def test_two_thousand_levels_are_bounded(key, strategy):
    schema = nested(2000, WRAPS[key])

    cleaned = clean_schema(schema, strategy)

    json.dumps(cleaned)
    json.dumps(tool_parameters(schema, strategy))
    assert clean_schema(cleaned, strategy) == cleaned


@pytest.mark.parametrize("strategy", ALL)
def test_data_of_two_thousand_levels_is_left_out(strategy):
    deep = nested(2000, lambda inner: {"a": [inner]})

    cleaned = clean_schema({"type": "object", "default": deep,
                            "x-more": deep, "description": "d"}, strategy)

    assert cleaned["type"] == "object"
    assert "x-more" not in cleaned
    json.dumps(cleaned)


@pytest.mark.parametrize("strategy", ALL)
def test_fifty_levels_are_kept(strategy):
    schema = nested(50, WRAPS["properties"])

    assert clean_schema(schema, strategy) == schema


@pytest.mark.parametrize("strategy", ALL)
def test_a_chain_of_two_thousand_references_is_followed(strategy):
    schema = {"$ref": "#/$defs/0", "$defs": {
        **{str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(2000)},
        "2000": {"type": "integer"}}}

    cleaned = clean_schema(schema, strategy)

    assert cleaned == (schema if strategy is OPENAI
                       else {"type": "integer"})


BOMBS = {
    "properties": lambda one: {"type": "object", "properties": {
        "a": one, "b": one}},
    "anyOf": lambda one: {"anyOf": [one, one, {"type": "null"}]},
    "allOf": lambda one: {"allOf": [one, one]},
    "lists": lambda one: {"type": "object", "properties": {
        "a": one, "b": one}, "required": ["a"] * 500,
        "enum": ["x"] * 500}}


@pytest.mark.parametrize("strategy", ALL)
@pytest.mark.parametrize("name", list(BOMBS))
def test_references_that_multiply_are_bounded(name, strategy):
    schema = {"$ref": "#/$defs/0", "$defs": {
        str(n): BOMBS[name]({"$ref": f"#/$defs/{n + 1}"})
        for n in range(40)}}
    started = time.monotonic()

    cleaned = clean_schema(schema, strategy)
    tool_parameters(schema, strategy)

    assert time.monotonic() - started < 5
    assert len(json.dumps(cleaned)) < 5_000_000
    assert clean_schema(cleaned, strategy) == cleaned


@pytest.mark.parametrize("strategy", ALL)
def test_a_schema_that_holds_itself_is_bounded(strategy):
    schema = {"type": "object", "properties": {}}
    schema["properties"].update(a=schema, b=schema)

    cleaned = clean_schema(schema, strategy)

    json.dumps(cleaned)
    assert cleaned["type"] == "object"


@pytest.mark.each("strategy", ALL)
@pytest.mark.each("odd", [None, True, False, 5, "x", [], [{}], b"x",
                                 object()])
def test_what_is_no_schema_says_nothing(odd, strategy):
    assert clean_schema(odd, strategy) == {}
    assert tool_parameters(odd, strategy) == {
        "type": "object", "properties": {}}


@given(st.dictionaries(
    st.one_of(NAMES, st.sampled_from([
        "anyOf", "allOf", "items", "if", "$defs", "definitions", "nullable",
        "propertyOrdering", "description", "prefixItems", "dependencies"])),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.floats(), st.integers(),
                  st.text(max_size=3), st.binary(max_size=2)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.one_of(NAMES, st.integers()), inner,
                            max_size=3)), max_leaves=8), max_size=5))
@SLOW
def test_nonsense_never_raises(nonsense):
    for strategy in ALL:
        cleaned = clean_schema(nonsense, strategy)
        assert isinstance(cleaned, dict)
        assert tool_parameters(nonsense, strategy)["type"] == "object"
        assert isinstance(SchemaCleaner.validate(nonsense), list)


# --- a tool's parameters -----------------------------------------------------

def test_variants_at_the_root_stand_side_by_side():
    schema = {"oneOf": [
        {"type": "object", "properties": {"a": {"type": "string"},
                                          "k": {"const": "A"}},
         "required": ["k", "a"]},
        {"$ref": "#/$defs/Other"}],
        "$defs": {"Other": {
            "type": "object", "properties": {"b": {"type": "integer"}},
            "required": ["k", "b"]}}}

    for strategy in ALL:
        result = tool_parameters(schema, strategy)

        assert result["type"] == "object"
        assert list(result["properties"]) == ["a", "k", "b"]
        assert result["required"] == ["k"]
        assert "oneOf" not in result


def test_all_of_at_the_root_requires_what_each_part_requires():
    schema = {"type": "object", "properties": {"a": {"type": "string"}},
              "required": ["a"], "allOf": [
                  {"properties": {"b": {"type": "string"}},
                   "required": ["b"]}]}

    for strategy in ALL:
        assert tool_parameters(schema, strategy) == {
            "type": "object", "required": ["a", "b"], "properties": {
                "a": {"type": "string"}, "b": {"type": "string"}}}


def test_a_recursive_model_keeps_its_definitions_for_openai():
    defs = {"Node": {"type": "object", "properties": {
        "next": {"$ref": "#/$defs/Node"}}}}

    result = tool_parameters({"$ref": "#/$defs/Node", "$defs": defs}, OPENAI)

    assert result == {**defs["Node"], "$defs": defs}


def test_gemini_gets_a_type_at_every_place():
    schema = {"type": "object", "properties": {
        "any": {"description": "anything"}, "list": {"type": "array"},
        "map": {"type": "object", "properties": {"x": {}}}}}

    assert tool_parameters(schema, GEMINI)["properties"] == {
        "any": {"description": "anything", "type": "string"},
        "list": {"type": "array", "items": {"type": "string"}},
        "map": {"type": "object", "properties": {"x": {"type": "string"}}}}


def test_parameters_that_are_no_object_become_an_empty_one():
    for strategy in ALL:
        assert tool_parameters({"type": "string", "description": "d"},
                               strategy) == {
            "type": "object", "properties": {}, "description": "d"}


@given(ROOTS)
@SLOW
def test_parameters_are_an_object_and_stay_the_same(schema):
    before = copy.deepcopy(schema)
    for strategy in ALL:
        once = tool_parameters(schema, strategy)

        assert once["type"] == "object"
        assert {"anyOf", "oneOf", "allOf"}.isdisjoint(once)
        assert tool_parameters(once, strategy) == once
    assert schema == before


# --- the names ---------------------------------------------------------------

def test_every_way_in_is_the_same_cleaning():
    schema = {"type": "string", "minLength": 1, "nullable": True}

    assert SchemaCleanr is SchemaCleaner
    for strategy, function, member in (
            (GEMINI, clean_for_gemini, SchemaCleaner.clean_for_gemini),
            (ANTHROPIC, clean_for_anthropic,
             SchemaCleaner.clean_for_anthropic),
            (OPENAI, clean_for_openai, SchemaCleaner.clean_for_openai)):
        expected = clean_schema(schema, strategy)
        assert function(schema) == expected
        assert member(schema) == expected
        assert SchemaCleaner.clean(schema, strategy) == expected


@pytest.mark.parametrize(("schema", "problems"), [
    ({"type": "object", "properties": {}}, 0),
    ({"type": "object"}, 0),
    ({"properties": {}}, 1),
    ([], 1), (None, 1), ("object", 1)])
def test_validate_names_what_is_missing(schema, problems):
    assert len(SchemaCleaner.validate(schema)) == problems
