"""What a server says is made fit for a prompt, or left out."""

import json

import pytest

from claw.providers.schema import CleaningStrategy, tool_parameters
from claw.tools.mcp.foreign import (
    DESCRIPTION_CHARS,
    UnfitError,
    clean_schema,
    clean_text,
)
from claw.tools.mcp.names import name_file, name_tool


@pytest.mark.each(("text", "clean"), [
    ("plain", "plain"),
    ("two\nlines\tand a tab", "two\nlines\tand a tab"),
    ("a\x1b[2Jb\x00c\x7f", "a[2Jbc"),
    ("\u202eevil\u2066", "evil"),
    ("hid\u200bden\U000e0041", "hidden"),
    ("\ud800lone", "lone"),
    ("Tee für 東京 ☕", "Tee für 東京 ☕"),
    ("  around  ", "around"),
    ("", ""),
])
def test_what_is_not_seen_is_taken_out(text, clean):
    assert clean_text(text) == clean


def test_a_long_description_is_cut():
    cut = clean_text("x" * 1_000_000)

    assert len(cut) == DESCRIPTION_CHARS
    assert cut.endswith("…")


def test_a_reference_that_leads_out_is_dropped_and_one_inside_is_kept():
    clean = clean_schema({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://evil.example/x",
        "$defs": {"tea": {"type": "string"}},
        "properties": {
            "a": {"$ref": "#/$defs/tea"},
            "b": {"$ref": "https://evil.example/x.json"},
            "c": {"$ref": "file:///etc/passwd", "description": "a\u200bb"}}})

    assert clean == {
        "type": "object", "$defs": {"tea": {"type": "string"}},
        "properties": {"a": {"$ref": "#/$defs/tea"}, "b": {},
                       "c": {"description": "ab"}}}


def nest(levels):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.each("schema", [
    None, [], "object", {"type": "array"}, {"properties": []},
    {"properties": {"a b": {}}}, {"properties": {"x" * 65: {}}},
    {"properties": {"": {}}}, nest(40),
    {"properties": {"a": {"enum": ["x" * 40_000]}}},
])
def test_a_schema_that_no_vendor_takes_leaves_the_tool_out(schema):
    with pytest.raises(UnfitError):
        clean_schema(schema)


@pytest.mark.each("strategy", list(CleaningStrategy))
def test_what_is_left_goes_through_the_cleaner_of_every_vendor(strategy):
    loop = {"$defs": {"n": {"type": "object", "properties": {
        "n": {"$ref": "#/$defs/n"}}}},
        "properties": {"a": {"$ref": "#/$defs/n"},
                       "b": {"anyOf": [{"type": "null"},
                                       {"type": "integer"}]}}}

    parameters = tool_parameters(clean_schema(loop), strategy)

    assert parameters["type"] == "object"
    assert json.dumps(parameters)


@pytest.mark.each(("server", "tool", "name"), [
    ("time", "get_current_time", "time__get_current_time"),
    ("my files", "read/all.now", "my_files__read_all_now"),
    ("東京", "茶", "___"),
    ("a", "x" * 100, "a__" + "x" * 52 + "_"),
])
def test_a_name_is_one_that_every_vendor_takes(server, tool, name):
    made = name_tool(server, tool)

    assert made.startswith(name)
    assert len(made) <= 64
    assert made.isascii()


def test_names_that_would_be_the_same_are_told_apart():
    first = name_tool("a", "b__c")
    second = name_tool("a__b", "c", {first})

    assert first == "a__b__c"
    assert second != first
    assert second.startswith("a__b__c_")
    assert name_file("a/../b") != name_file("a_b")
    assert "/" not in name_file("../../etc/passwd")
