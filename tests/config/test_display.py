"""Settings as people see them."""

import math
from datetime import date

import pytest

from claw.config.display import find_open_secrets, mask, to_toml


@pytest.mark.parametrize(("value", "text"), [
    (True, "true"), (False, "false"), (3, "3"), (0.5, "0.5"),
    (1e22, "1e+22"), (math.inf, "inf"), (-math.inf, "-inf"),
    (math.nan, "nan"), ('a"b\n\x7fé', '"a\\"b\\n\\u007fé"'),
    ([1, "a"], '[1, "a"]'), ((), "[]"), ({}, "{}"),
    ({"a.b": 1, "c": None, "d": [True]}, '{ "a.b" = 1, d = [true] }'),
    (date(2026, 11, 20), "2026-11-20"),
])
def test_values_are_written_as_toml(value, text):
    assert to_toml(value) == text


@pytest.mark.parametrize("value", [None, [None], "\ud800", {"a": "\udc00"}])
def test_what_toml_cannot_say(value):
    with pytest.raises(ValueError, match=r"null|surrogate"):
        to_toml(value)


@pytest.mark.parametrize(("path", "value", "seen"), [
    ("api_key", "x" * 15, "********"),
    ("api_key", "x" * 12 + "abcd", "********abcd"),
    ("api_key", "", ""),
    ("api_key", "enc2:00", "******** (encrypted)"),
    ("extra_headers.X-Odd", "short", "********"),
    ("mcp.servers.0.headers.X-Odd", "short", "********"),
    ("headers", "short", "short"),
    ("url", "http://u:pw@host/x@y", "http://u:********@host/x@y"),
    ("url", "http://u@host/a:b", "http://u@host/a:b"),
    ("name", "plain", "plain"),
    ("count", 5, 5),
    ("api_keys", ["x" * 20, 3], ["********xxxx", 3]),
])
def test_secrets_are_masked(path, value, seen):
    assert mask(tuple(path.split(".")), value) == seen


def test_secrets_in_plain_text_are_found_with_their_place():
    tree = {"api_key": "a", "token": "", "name": "b", "n": 1,
            "t": {"password": "c", "secret": "enc2:00"},
            "api_keys": ["d", "enc:11"]}

    assert find_open_secrets(tree) == [
        (("api_key",), "a"), (("t", "password"), "c"),
        (("api_keys", "0"), "d")]
