"""Filters: one table for SQL and for entries at hand."""

import pytest

from claw.core.errors import UsageError
from claw.core.memory import Filters, MemoryEntry
from claw.memory.search.filters import (
    RULES,
    Dialect,
    build_test,
    conditions,
    select_forgotten,
)
from claw.memory.sqlite import schema

NOON = "2026-01-05T12:00:00.000000Z"
ENTRY = MemoryEntry("i", "k", "tea", "core", NOON, NOON, "s1")


def test_every_filter_and_every_field_has_its_row():
    assert set(RULES) == set(Filters.__match_args__) - {"as_of"}
    assert set(schema.COLUMNS) == set(MemoryEntry.__match_args__) - {"score"}


@pytest.mark.parametrize(("filters", "passes"), [
    ({}, True),
    ({"category": "core"}, True), ({"category": "daily"}, False),
    ({"session_id": "s1"}, True), ({"session_id": "s2"}, False),
    ({"since": "2026-01-05T12:00:00Z"}, True),
    ({"since": "2026-01-05T12:00:01Z"}, False),
    ({"until": "2026-01-05"}, True),
    ({"until": "2026-01-05T11:59:59Z"}, False),
])
def test_an_entry_is_tested_as_sql_would(filters, passes):
    assert build_test(Filters(**filters))(ENTRY) is passes


def test_conditions_name_the_column_and_keep_memories_without_a_session():
    found, values = conditions(Filters("core", "s", until="2026-01-05"))

    assert found == [
        "memories.superseded_by IS NULL", "memories.category = ?",
        "(memories.session_id = ? OR memories.session_id IS NULL)",
        "memories.created_at <= ?"]
    assert values == ["core", "s", "2026-01-05T23:59:59.999999Z"]
    assert conditions(Filters(), live=False) == ([], [])


def test_forgetting_names_what_is_older():
    assert select_forgotten("core", "2026-01-05", None) == (
        ["category = ?", "updated_at < ?"],
        ["core", "2026-01-05T00:00:00.000000"])
    assert select_forgotten(None, None, []) == ([], [])
    with pytest.raises(UsageError, match="nothing was named"):
        select_forgotten(None, None, None)


def test_a_number_is_compared_as_it_is():
    assert Dialect().compare("importance", ">=", 0.5) == (
        "importance >= ?", 0.5)
