import json
import time

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.agent.structured import following
from claw.agent.structured.answer import check_answer, load_schema
from claw.agent.structured.code_blocks import (
    first_code_block,
    required_code_block,
)
from claw.agent.structured.validator import check_schema, problems
from claw.core.errors import NotFoundError, RequestRefusedError, UsageError

SCHEMAS = [
    {"type": "integer"}, {"type": ["string", "null"]}, {"type": "number"},
    {"enum": [1, "a", None, True]}, {"const": {"a": [1]}},
    {"type": "object", "properties": {"a": {"type": "integer"}},
     "required": ["a"], "additionalProperties": False},
    {"additionalProperties": {"type": "string"}},
    {"properties": {"a": True}, "patternProperties": {"^b": {"minimum": 2}},
     "additionalProperties": False},
    {"items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
    {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
    {"contains": {"type": "integer"}, "maxContains": 1},
    {"uniqueItems": True},
    {"minimum": 0, "exclusiveMaximum": 2}, {"maximum": 1},
    {"exclusiveMinimum": 0, "multipleOf": 0.5},
    {"minLength": 1, "maxLength": 2}, {"pattern": "^a"},
    {"anyOf": [{"type": "string"}, {"minimum": 1}]},
    {"oneOf": [{"type": "integer"}, {"minimum": 1}]},
    {"allOf": [{"type": "integer"}, {"minimum": 1}]},
    {"not": {"type": "object"}},
    {"if": {"type": "integer"}, "then": {"minimum": 1},
     "else": {"type": "string"}},
    {"$defs": {"n": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
     "$ref": "#/$defs/n"},
    {"minProperties": 1, "maxProperties": 1},
    {"properties": {"a": {"$ref": "#"}}, "required": ["a"]},
]
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-2, 3),
                   st.sampled_from([0.5, 1.0, 1.5]),
                   st.text("ab", max_size=3))
VALUES = st.recursive(LEAVES, lambda inner: st.one_of(
    st.lists(inner, max_size=3),
    st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)),
    max_leaves=6)


@given(st.sampled_from(SCHEMAS), VALUES)
def test_the_validator_agrees_with_the_reference(schema, value):
    reference = jsonschema.Draft202012Validator(schema)

    assert (problems(value, schema) == []) is reference.is_valid(value)


def test_a_number_past_all_bounds_is_no_integer():
    assert problems(float("inf"), {"type": "integer"})


def test_problems_say_where_and_what():
    schema = {"properties": {"days": {"items": {"type": "integer"}}},
              "required": ["name"]}

    assert problems({"days": [1, "x"]}, schema) == [
        '$.days[1]: "x" is not of type integer', '$: "name" is missing']


@pytest.mark.parametrize(("value", "schema", "expected"), [
    ("x", {"type": ["integer", "null"]},
     ['$: "x" is not of type integer or null']),
    (True, {"enum": [1, "a"]}, ['$: true is none of [1, "a"]']),
    ("ä", {"const": "é"}, ['$: "ä" is not "é"']),
    ({}, {"required": ["a", "b"]},
     ['$: "a" is missing', '$: "b" is missing']),
    ({"a": 1, "b": 2, "cc": 3}, {
        "properties": {"a": True}, "patternProperties": {"^c": True},
        "additionalProperties": False}, ['$: "b" is not allowed here']),
    ({"a": {"b": 1}}, {"properties": {"a": {"properties": {"b": False}}}},
     ["$.a.b: nothing is allowed here"]),
    (1, {"minimum": 2}, ["$: 1 is below 2"]),
    (1, {"exclusiveMaximum": 1}, ["$: 1 is not below 1"]),
    (1.5, {"multipleOf": 1}, ["$: 1.5 is no multiple of 1"]),
    ("ab", {"maxLength": 1}, ['$: "ab" is longer than 1 characters']),
    ("b", {"pattern": "^a"}, ['$: "b" does not match ^a']),
    ([], {"minItems": 1}, ["$: [] has fewer than 1 items"]),
    ([1, 1.0], {"uniqueItems": True},
     ["$: the items are not all different"]),
    (["a"], {"contains": {"type": "null"}},
     ["$: too few items are as they should be"]),
    ("x", {"anyOf": [{"type": "null"}, {"type": "integer"}]},
     ['$: "x" fits none of the alternatives']),
    ("x", {"oneOf": [{"type": "null"}]},
     ['$: "x" fits none of the alternatives instead of one']),
    ("x", {"oneOf": [{"type": "string"}, {"minLength": 1}]},
     ['$: "x" fits more of the alternatives instead of one']),
    ("x", {"not": {"type": "string"}}, ['$: "x" is what it must not be']),
    ({"a": 1}, {"dependentRequired": {"a": ["b"]}},
     ["$: 'b' is a dependency of 'a'"]),
    ({"a": 1}, {"unevaluatedProperties": False}, [
        "$: Unevaluated properties are not allowed ('a' was unexpected)"]),
    ({"a": "x"}, {"$schema": "http://json-schema.org/draft-07/schema#",
                  "definitions": {"n": {"type": "integer"}},
                  "properties": {"a": {"$ref": "#/definitions/n"}}},
     ['$.a: "x" is not of type integer']),
    ("x" * 99, {"type": "null"},
     [f'$: "{"x" * 56}... is not of type null']),
])
def test_every_keyword_has_a_sentence(value, schema, expected):
    load_schema(json.dumps(schema))

    assert problems(value, schema) == expected


@pytest.mark.each(("value", "of", "holds"), [
    (19.99, 0.01, True), (0.3, 0.1, True), (19.995, 0.01, False),
    (10 ** 10 + 1, 2, False), (10 ** 400, 0.5, True),
    (float("inf"), 0.5, False)])
def test_a_multiple_is_counted_in_decimals_as_written(value, of, holds):
    assert (problems(value, {"multipleOf": of}) == []) is holds


@pytest.mark.parametrize("schema", [
    {"$ref": "https://a.example/s"}, {"$ref": "#/$defs/none"},
    {"type": "strange"}, {"pattern": "("}, {"$ref": "#"},
    {"properties": {"a": 3}}, {"minLength": "x"}, {"anyOf": 3},
])
def test_a_schema_that_cannot_be_followed_is_a_usage_error(schema):
    with pytest.raises(UsageError):
        problems({"a": "x"} if "properties" in schema else "x", schema)


@pytest.mark.parametrize(("form", "good", "bad"), [
    ("date", "2026-11-23", "23.11.2026"),
    ("date-time", "2026-11-23T16:25:00.5+01:00", "2026-11-23 16:25"),
    ("date-time", "2016-12-31t23:59:60Z", "2026-02-30T00:00:00Z"),
    ("email", "mina@example.org", "mina"),
    ("ipv4", "127.0.0.1", "300.0.0.1"),
    ("uuid", "9e3c1b52-6a37-4c3b-9a3e-0d0f6a8f0f11", "9e3c"),
    ("date-time", 3, "soon"),  # a format speaks of texts
])
def test_a_format_is_tested(form, good, bad):
    schema = {"format": form}

    assert problems(good, schema) == []
    assert problems(bad, schema) == [f"$: {json.dumps(bad)} is no {form}"]


def test_keywords_without_effect_are_named():
    schema = {"title": "t", "format": "date", "properties": {
        "format": {"type": "string", "contentEncoding": "x"}},
        "then": {"dependentRequired": {}}}

    assert check_schema(schema) == ["contentEncoding"]
    assert check_schema({"format": "uri"}) == ["format uri"]


SCHEMA = {"type": "object", "required": ["n"],
          "properties": {"n": {"type": "integer"}}}


@pytest.mark.parametrize("text", [
    '{"n": 1}', ' {"n":1}\n', '```json\n{"n": 1}\n```',
    'Sure:\n```\n{"n": 1}\n```\nbye', 'The answer is {"n": 1}, I think.',
    '```json\n{"n": 1}',
])
def test_json_is_found_and_printed_in_one_form(text):
    assert check_answer(text, SCHEMA).text == '{"n": 1}'


@pytest.mark.parametrize(("text", "cause"), [
    ('{"n": "1"}', r'\$.n: "1" is not of type integer'),
    ("I can not.", "holds no JSON"),
    ("", "holds no JSON"),
    ('{"n": NaN}', "holds no JSON"),
    ("[" * 100_000, "holds no JSON"),
])
def test_other_answers_are_refused_with_the_cause(text, cause):
    with pytest.raises(RequestRefusedError, match=cause):
        check_answer(text, SCHEMA)


# The first alarm may come while Python clears away: the next one counts.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("schema", "value"), [
    ({"pattern": "^(a+)+$"}, "a" * 60 + "b"),
    ({"$ref": "#/$defs/0", "$defs": {str(n): {"anyOf": [
        {"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)}
        | {"40": False}}, 1),
])
def test_a_schema_without_end_is_broken_off(monkeypatch, schema, value):
    monkeypatch.setattr(following, "LIMIT_S", 0.2)

    with pytest.raises(UsageError, match=r"after 0\.2 s"):
        problems(value, schema)


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_break_that_is_lost_in_a_destructor_comes_again(monkeypatch):
    monkeypatch.setattr(following, "LIMIT_S", 0.05)

    class Slow:
        def __del__(self):
            compute(0.08)

    def compute(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass

    def follow():
        with following.follow_schema():
            for _ in range(50):
                Slow()
            compute(1)

    with pytest.raises(UsageError, match="not followed"):
        follow()


def test_a_deep_answer_to_a_recursive_schema_is_a_usage_error():
    value = []
    for _ in range(2_000):
        value = [value]

    with pytest.raises(UsageError, match="nested too deep"):
        problems(value, {"items": {"$ref": "#"}})


@pytest.mark.parametrize(("schema", "cause"), [
    ({"$ref": "https://a.example/s"}, "not local"),
    ({"$ref": "file:///etc/passwd"}, "not local"),
    ({"$ref": "#"}, "referring to itself"),
    ({"$ref": "other.json"}, "not local"),
    ({"properties": {"a": {"$ref": "#/$defs/none"}}},
     "'#/\\$defs/none' leads nowhere"),
    ({"$ref": "#none"}, "'#none' leads nowhere"),
    ({"$schema": "https://json-schema.org/draft/2020-12/schema",
      "$ref": "https://json-schema.org/draft/2020-12/schema"}, "not local"),
])
def test_references_are_tried_before_anything_is_asked(schema, cause):
    with pytest.raises(UsageError, match=cause):
        load_schema(json.dumps(schema))


@pytest.mark.parametrize("schema", [
    '{"not": ' * 900 + "{}" + "}" * 900,
    json.dumps({"pattern": "(" * 50_000}),
    json.dumps({"pattern": "a{99999999999999999999}"}),
    json.dumps({"$schema": 5}), json.dumps({"$ref": 5}),
    json.dumps({"$defs": 5}), json.dumps({"$ref": "#", "type": []}),
])
def test_a_hostile_schema_is_a_usage_error(schema):
    with pytest.raises(UsageError):
        load_schema(schema)


@pytest.mark.parametrize("text", ["", "{", "[]", "3"])
def test_a_schema_file_must_hold_an_object(text):
    with pytest.raises(UsageError):
        load_schema(text)


def test_a_schema_comes_with_its_notes():
    assert load_schema(json.dumps({**SCHEMA, "format": "x"})) == (
        {**SCHEMA, "format": "x"}, ["format x"])


@pytest.mark.parametrize(("text", "block"), [
    ("a\n```python\nx = 1\n```\nb\n```\ny\n```", "x = 1\n"),
    ("~~~\nx\n~~~", "x\n"),
    ("````md\n```\nx\n```\n````", "```\nx\n```\n"),
    ("```\nnever closed", "never closed"),
    ("```\n```", None),
    ("```\n\n```\nor\n```sh\nls\n```", "ls\n"),
    ("see:\n```", None),
    ("1. Run\n\n    ```sh\n    if x; then\n      y\n    fi\n    ```\n",
     "if x; then\n  y\nfi\n"),
    ("```ls -la```", None),
    ("```sh\r\nls\r\n```\r\n", "ls\r\n"),
    ("  ```\n  x\n y\n  ```", "x\ny\n"),
    ("no `inline` code", None),
])
def test_the_first_code_block(text, block):
    assert first_code_block(text) == block


def test_a_missing_code_block_is_a_negative_answer():
    with pytest.raises(NotFoundError):
        required_code_block("none")


@pytest.mark.each("schema", SCHEMAS)
def test_every_schema_is_taken_by_its_form(schema):
    assert load_schema(json.dumps(schema))[0] == schema


@pytest.mark.parametrize(("schema", "place"), [
    ({"type": 5}, "#/type"), ({"type": ["string", "x"]}, "#/type"),
    ({"pattern": "("}, "#/pattern"), ({"required": "a"}, "#/required"),
    ({"properties": []}, "#/properties"), ({"anyOf": 3}, "#/anyOf"),
    ({"properties": {"a": {"minimum": "x"}}}, "#/properties/a/minimum"),
    ({"items": 3}, "#/items"), ({"multipleOf": 0}, "#/multipleOf"),
    ({"maxItems": -1}, "#/maxItems"), ({"enum": "a"}, "#/enum"),
    ({"patternProperties": {"(": True}}, "#/patternProperties"),
])
def test_what_is_no_schema_is_told_before_anything_is_asked(schema, place):
    with pytest.raises(UsageError, match=rf"{place}(:| must be) "):
        load_schema(json.dumps(schema))


@pytest.mark.parametrize(("value", "wrong"), [
    ([1, "a"], []), ([1], []), (["a"], ["$[0]"]), ([1, 2], ["$[1]"]),
    ([1, "a", 2], ["$[2]"])])
def test_items_begin_behind_the_prefix(value, wrong):
    found = problems(value, {"prefixItems": [{"type": "integer"}],
                             "items": {"type": "string"}})

    assert [text.partition(":")[0] for text in found] == wrong
