import jsonschema
import pytest

from claw.agent.structured.short_form import parse_short_form
from claw.core.errors import UsageError

STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def fields(**given):
    return {"type": "object", "properties": given, "required": list(given),
            "additionalProperties": False}


@pytest.mark.parametrize(("text", "expected"), [
    ("name", fields(name=STRING)),
    ("name, age int", fields(name=STRING, age=INTEGER)),
    (" name string ,age integer, ", fields(name=STRING, age=INTEGER)),
    ("name\nage int\r\n\nok bool", fields(
        name=STRING, age=INTEGER, ok={"type": "boolean"})),
    ("price float, n number", fields(
        price={"type": "number"}, n={"type": "number"})),
    ("tags [string], ids[int], any []", fields(
        tags={"type": "array", "items": STRING},
        ids={"type": "array", "items": INTEGER},
        any={"type": "array", "items": STRING})),
    ("address {street, zip int}, last", fields(
        address=fields(street=STRING, zip=INTEGER), last=STRING)),
    ("rows [{a, b [[int]]}]", fields(rows={"type": "array", "items": fields(
        a=STRING, b={"type": "array", "items": {
            "type": "array", "items": INTEGER}})})),
    ("a {\n  b,\n  c\n}", fields(a=fields(b=STRING, c=STRING))),
    ("note string: a comment, age int:  in years ", fields(
        note={**STRING, "description": "a comment"},
        age={**INTEGER, "description": "in years"})),
    ("a: at 10:30 [sic] {b\nc {d: e}", fields(
        a={**STRING, "description": "at 10:30 [sic] {b"},
        c=fields(d={**STRING, "description": "e"}))),
    ("名前, Größe int, नाम, 🍵 bool", fields(**{
        "名前": STRING, "Größe": INTEGER, "नाम": STRING,
        "🍵": {"type": "boolean"}})),
])
def test_fields_stand_for_a_schema(text, expected):
    found = parse_short_form(text)

    assert found == expected
    assert list(found["properties"]) == list(expected["properties"])
    jsonschema.Draft202012Validator.check_schema(found)


@pytest.mark.parametrize(("text", "problem"), [
    ("", "no fields"), (" , ", "name of a field is missing before ','"),
    ("a {}", "no fields"), ("a {b", "'}' is missing"),
    ("a [int", "']' is missing"), ("a [int}", "']' is missing before '}'"),
    ("a }", "'}' closes nothing"), ("a]", "']' closes nothing"),
    ("a date", "no type 'date'"), ("first name string", "no type 'name'"),
    ("a int b", "comma is missing before 'b'"),
    ("a, a int", "'a' stands there twice"),
    ('["a"]', "field is missing before '\\['"),
    ('"a" int', "field is missing"), (": comment", "field is missing"),
    ("a " + "[" * 100_000, "nested more than"),
    ("a {" * 100_000, "nested more than"),
])
def test_what_is_no_short_form_is_refused_with_an_example(text, problem):
    with pytest.raises(UsageError, match=problem) as caught:
        parse_short_form(text)

    assert "name, age int" in caught.value.hint
