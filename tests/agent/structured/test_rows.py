import json

import jsonschema
import pytest

from claw.agent.structured.answer import load_schema
from claw.agent.structured.rows import check_rows, wrap_rows
from claw.core.errors import RequestRefusedError

TREE = {"type": "object", "required": ["n"], "properties": {
    "n": {"$ref": "#/$defs/number"}, "child": {"$ref": "#"},
    "same": {"$ref": "#/properties/n"}},
    "$defs": {"number": {"type": "integer"}}}


@pytest.mark.parametrize(("row", "fits"), [
    ({"n": 1}, True), ({"n": "x"}, False), ({"n": 1, "same": "x"}, False),
    ({"n": 1, "child": {"n": 2, "child": {"n": 3, "same": 4}}}, True),
    ({"n": 1, "child": {"n": 2, "child": {}}}, False),
])
def test_references_of_a_row_hold_in_every_row(row, fits):
    text = json.dumps({"items": [{"n": 0}, row]})

    schema = wrap_rows(TREE)
    assert jsonschema.Draft202012Validator(schema).is_valid(
        json.loads(text)) is fits
    assert load_schema(json.dumps(schema))[0] == schema
    if fits:
        assert list(map(json.loads, check_rows(text, TREE).split("\n"))) \
            == [{"n": 0}, row]
    else:
        with pytest.raises(RequestRefusedError):
            check_rows(text, TREE)


def test_a_row_of_another_draft_and_name_is_checked_as_one():
    row = {"$schema": "http://json-schema.org/draft-07/schema#",
           "$id": "https://a.example/row", "type": "object",
           "properties": {"n": {"$ref": "#/definitions/n"},
                          "m": {"$ref": "#/properties/n"}},
           "definitions": {"n": {"items": [{"type": "integer"}]}}}

    load_schema(json.dumps(row))
    assert check_rows('{"items": [{"n": [1, "x"], "m": [2]}]}', row)
    with pytest.raises(RequestRefusedError, match=r"items\[0\]\.m\[0\]"):
        check_rows('{"items": [{"m": ["x"]}]}', row)


def test_no_rows_are_no_lines():
    assert check_rows('{"items": []}', TREE) == ""
