"""YAML over several lines, as a hostile folder may have it."""

import pytest

from claw.wiring.setup.migrate.reading import yaml_subset
from claw.wiring.setup.migrate.reading.yaml_subset import parse_yaml


def test_a_list_over_thousands_of_lines_was_read_anew_for_each(monkeypatch):
    tries = []

    class Counted(yaml_subset._Flow):
        def __init__(self, text):
            tries.append(text)
            super().__init__(text)
    monkeypatch.setattr(yaml_subset, "_Flow", Counted)

    found = parse_yaml("a: [\n" + "1,\n" * 5_000 + "]\nb: 2\n")

    assert (len(found["a"]), found["b"]) == (5_000, 2)
    assert len(tries) < 20


@pytest.mark.parametrize(("text", "found"), [
    ("a: {b: [1,\n 2],\n c: 'd'} # no\ne: 1", {
        "a": {"b": [1, 2], "c": "d"}, "e": 1}),
    ("a: 'x\n\n  y\n  it''s'\nb: 2", {"a": "x\ny it's", "b": 2}),
    ('a: "x\\\n   y \\\\\n z"\nb: 2', {"a": "xy \\ z", "b": 2}),
    ('- [\n]\n- "a\n b"', [[], "a b"]),
])
def test_what_goes_over_lines_ends_where_it_ends(text, found):
    assert parse_yaml(text) == found


@pytest.mark.parametrize(("text", "problem"), [
    ("a: [1,\n2] 3\nb: 1", "line 2: there is more behind a bracket"),
    ("a: 'x\ny' z\nb: 1", "line 2: there is more behind a text"),
    ("a: [1,\n*b,\n2]", "line 2: '*' is YAML"),
    ("a: [1,\n2", "line 3: a bracket has no end"),
    ("a: 'x\ny", "line 3: a text has no end"),
])
def test_the_line_is_named_where_it_goes_wrong(text, problem):
    with pytest.raises(ValueError, match=problem.replace("*", r"\*")):
        parse_yaml(text)
