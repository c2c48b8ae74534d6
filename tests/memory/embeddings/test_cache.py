"""The cache of vectors in brain.db."""

import itertools
import sqlite3
import struct
import time
from contextlib import closing

import pytest

from claw.memory.embeddings import cache
from claw.memory.embeddings.cache import (
    content_hash,
    keep,
    lookup,
)
from claw.memory.sqlite.schema import _VECTORS

VECTOR = struct.pack("<3f", 1.0, -2.5, 0.125)


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "brain.db"
    with closing(opened(found)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in _VECTORS:
            connection.execute(statement)
    return found


def opened(path, readonly=False):
    mode = "?mode=ro" if readonly else ""
    return sqlite3.connect(f"file:{path}{mode}", uri=True, timeout=5,
                           isolation_level=None)


@pytest.fixture
def connection(path):
    with closing(opened(path)) as found:
        yield found


@pytest.fixture(autouse=True)
def _ticking(monkeypatch):
    """Each use has a time of its own."""
    ticks = itertools.count()
    monkeypatch.setattr(cache.times, "now", lambda:
                        f"2026-11-20T00:00:00.{next(ticks):06}Z")


def put(connection, *texts, size=100, model="m"):
    for text in texts:
        keep(connection, model, {text: VECTOR}, size, clock=cache.times.now)


def test_the_hash_is_that_of_the_seeds():
    assert content_hash("hello world") == "b94d27b9934d3e08"
    assert len(content_hash("\ud800")) == 16


def test_what_is_kept_is_found_by_text_and_model(connection):
    keep(connection, "m", {"a": VECTOR, "猫": VECTOR * 2}, 10)

    assert lookup(connection, "m", ["a", "猫", "b", "a"]) == {
        "a": VECTOR, "猫": VECTOR * 2}
    assert lookup(connection, "other", ["a"]) == {}
    assert lookup(connection, "m", []) == {}


def test_models_don_t_replace_each_other(connection):
    put(connection, "a", model="m")
    keep(connection, "n", {"a": VECTOR * 2}, 10)

    assert lookup(connection, "m", ["a"]) == {"a": VECTOR}
    assert lookup(connection, "n", ["a"]) == {"a": VECTOR * 2}


def test_a_text_is_kept_once(connection):
    put(connection, "a")
    keep(connection, "m", {"a": VECTOR * 2}, 10)

    assert lookup(connection, "m", ["a"]) == {"a": VECTOR * 2}
    assert connection.execute(
        "SELECT count(*) FROM embedding_cache").fetchone() == (1,)


def test_the_oldest_makes_room(connection):
    put(connection, "a", "b", "c", size=2)

    assert lookup(connection, "m", "abc").keys() == {"b", "c"}


def test_a_hit_keeps_a_vector_alive(connection):
    put(connection, "a", "b", size=2)
    lookup(connection, "m", ["a"])
    put(connection, "c", size=2)

    assert lookup(connection, "m", "abc").keys() == {"a", "c"}


def test_the_size_counts_all_models(connection):
    put(connection, "a", model="old")
    put(connection, "b", "c", size=2)

    assert lookup(connection, "old", ["a"]) == {}


def test_size_zero_keeps_nothing(connection):
    put(connection, "a")
    put(connection, "b", size=0)

    assert lookup(connection, "m", "ab") == {}


def test_more_at_once_than_fit_leaves_the_last(connection):
    keep(connection, "m", {str(n): VECTOR for n in range(1200)}, 700)

    found = lookup(connection, "m", map(str, range(1200)))
    assert found.keys() == {str(n) for n in range(500, 1200)}


def test_a_damaged_row_is_no_vector(connection):
    put(connection, "a", "b", "c")
    for text, value in (("a", b"123"), ("b", "text")):
        connection.execute("UPDATE embedding_cache SET embedding = ?"
                           " WHERE content_hash = ?",
                           (value, content_hash(text)))

    assert lookup(connection, "m", "abc") == {"c": VECTOR}


def test_a_reader_finds_and_writes_nothing(path, connection):
    put(connection, "a", "b", size=2)
    with closing(opened(path, readonly=True)) as reader:
        assert lookup(reader, "m", ["a"]) == {"a": VECTOR}
    put(connection, "c", size=2)

    assert lookup(connection, "m", "abc").keys() == {"b", "c"}


def test_a_hit_does_not_wait_for_another_writer(path, connection):
    put(connection, "a")
    with closing(opened(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        begun = time.monotonic()
        found = lookup(connection, "m", ["a"])

    assert found == {"a": VECTOR}
    assert time.monotonic() - begun < 4
    assert connection.execute("PRAGMA busy_timeout").fetchone() == (5000,)


def test_the_callers_transaction_is_joined(connection):
    put(connection, "a")
    connection.execute("BEGIN IMMEDIATE")
    put(connection, "b")
    lookup(connection, "m", ["a"])
    assert connection.in_transaction
    connection.execute("ROLLBACK")

    assert lookup(connection, "m", "ab").keys() == {"a"}
    assert not connection.in_transaction


def test_a_failure_leaves_no_transaction_open(connection):
    with pytest.raises(sqlite3.Error):
        keep(connection, "m", {"a": None}, 10)

    assert not connection.in_transaction
