"""The response cache's file: what is kept, for how long, and what may go
wrong with it."""

import os
import sqlite3
import stat
import threading
import time
from contextlib import closing

import pytest

from claw.core.errors import StorageError, UnavailableError
from claw.core.times import rfc3339
from claw.storage import response_cache
from claw.storage.response_cache import (
    HOT_CHARS,
    CacheStats,
    open_response_cache,
)
from claw.storage.sqlite import CorruptError, ReadOnlyError

NOON = 1_795_262_400.0  # 2026-11-21T12:00:00Z
MINUTE = 60.0


class Clock:
    def __init__(self):
        self.now = NOON

    def __call__(self):
        self.now += 0.001  # nothing happens at the same time
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "memory" / "response_cache.db"


@pytest.fixture
def opened(path, clock):
    made = []

    def opened(**settings):
        made.append(open_response_cache(path, now=clock, **settings))
        return made[-1]
    yield opened
    for cache in made:
        cache.close()


def rows(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return {row["prompt_hash"]: dict(row) for row in
                connection.execute("SELECT * FROM response_cache")}


def text_of(cache, key):
    found = cache.get(key)
    return found and found.response


def test_an_answer_is_given_again(opened):
    cache = opened()

    cache.put("k", "m", "hello 你好 \0 é", 3)

    found = cache.get("k")
    assert (found.response, found.token_count) == ("hello 你好 \0 é", 3)
    assert cache.get("other") is None


def test_it_outlives_the_process(opened):
    opened().put("k", "m", "hello", 3)

    assert text_of(opened(), "k") == "hello"


def test_nothing_is_on_the_disk_before_the_first_answer(opened, path):
    cache = opened()

    assert cache.get("k") is None
    cache.touch("k")
    assert cache.stats() == CacheStats(0, 0, 0)
    assert cache.clear() == 0
    cache.close()

    assert not path.parent.exists()


def test_the_table_is_that_of_the_reference(opened, path, clock):
    cache = opened()
    cache.put("k", "hint:fast", "hello", 3)
    made = clock.now
    cache.touch("k")

    row = rows(path)["k"]
    assert row == {"prompt_hash": "k", "model": "hint:fast",
                   "response": "hello", "token_count": 3,
                   "created_at": row["created_at"],
                   "accessed_at": row["accessed_at"], "hit_count": 1}
    assert row["created_at"] == rfc3339(made)
    assert row["created_at"] < row["accessed_at"]


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_only_the_owner_can_read_it(opened, path):
    opened().put("k", "m", "private", 1)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_second_answer_takes_the_place_of_the_first(opened, path):
    cache = opened()
    cache.put("k", "m", "old", 1)
    cache.touch("k")
    cache.put("k", "m", "new", 2)

    assert text_of(cache, "k") == "new"
    assert text_of(opened(), "k") == "new"
    assert rows(path)["k"]["hit_count"] == 0


# --- age --------------------------------------------------------------

@pytest.mark.parametrize("hot_entries", [0, 256])
@pytest.mark.parametrize(("minutes", "there"), [
    (0, True), (59.9, True), (60, False), (600, False), (-0.5, True),
    (-90, False)])  # the clock was set back
def test_an_answer_is_kept_for_its_time(opened, clock, minutes, there,
                                        hot_entries):
    cache = opened(hot_entries=hot_entries, ttl_minutes=60)
    cache.put("k", "m", "hello", 1)

    clock.now += minutes * MINUTE

    assert (text_of(cache, "k") == "hello") is there
    assert (text_of(opened(), "k") == "hello") is there


def test_an_answer_that_was_read_late_is_not_kept_longer(opened, clock):
    opened().put("k", "m", "hello", 1)
    clock.now += 50 * MINUTE
    cache = opened()
    assert text_of(cache, "k") == "hello"

    clock.now += 11 * MINUTE

    assert cache.get("k") is None


def test_old_answers_are_removed_by_the_next_one(opened, clock, path):
    cache = opened(ttl_minutes=5)
    cache.put("old", "m", "hello", 1)
    clock.now += 4 * MINUTE
    cache.put("young", "m", "hello", 1)
    clock.now += 2 * MINUTE
    cache.put("new", "m", "hello", 1)

    assert set(rows(path)) == {"young", "new"}


def test_answers_from_a_future_that_never_was_are_removed(opened, clock,
                                                          path):
    cache = opened()
    clock.now += 600 * MINUTE
    cache.put("ahead", "m", "hello", 1)
    clock.now -= 600 * MINUTE
    cache.put("now", "m", "hello", 1)

    assert set(rows(path)) == {"now"}


@pytest.mark.parametrize("settings", [{"ttl_minutes": 0},
                                      {"max_entries": 0}])
def test_a_limit_of_zero_keeps_nothing(opened, path, settings):
    cache = opened(**settings)

    cache.put("k", "m", "hello", 1)

    assert cache.get("k") is None
    assert not path.exists()


# --- numbers ----------------------------------------------------------

def test_who_was_asked_for_longest_ago_makes_room(opened, path):
    cache = opened(max_entries=3)
    for key in "abc":
        cache.put(key, "m", key, 1)
    cache.touch("a")

    cache.put("d", "m", "d", 1)

    assert set(rows(path)) == {"a", "c", "d"}


def test_the_new_answer_is_never_the_one_that_goes(opened, path):
    cache = opened(max_entries=1)

    for key in "abc":
        cache.put(key, "m", key, 1)
        assert set(rows(path)) == {key}


def test_a_smaller_limit_takes_effect_with_the_next_answer(opened, path):
    cache = opened()
    for key in "abcdef":
        cache.put(key, "m", key, 1)

    opened(max_entries=2).put("g", "m", "g", 1)

    assert set(rows(path)) == {"f", "g"}


def test_answers_in_memory_need_no_file(opened, path):
    cache = opened(hot_entries=2)
    for key in "abc":
        cache.put(key, "m", key, 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE response_cache SET response='changed'")
        connection.commit()

    assert [text_of(cache, key) for key in "cba"] == ["c", "b", "changed"]


def test_what_was_read_last_stays_in_memory(opened, path):
    cache = opened(hot_entries=2)
    cache.put("a", "m", "a", 1)
    cache.put("b", "m", "b", 1)
    cache.get("a")
    cache.put("c", "m", "c", 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM response_cache")
        connection.commit()

    assert [text_of(cache, key) for key in "abc"] == ["a", None, "c"]


def test_long_answers_are_read_from_the_file(opened, path):
    cache = opened()
    cache.put("k", "m", "x" * (HOT_CHARS + 1), 1)
    assert len(text_of(cache, "k")) == HOT_CHARS + 1

    cache.clear()

    assert cache.get("k") is None


def test_statistics_and_clearing(opened):
    cache = opened()
    cache.put("a", "m", "a", 10)
    cache.put("b", "m", "b", 7)
    for key in "aab":
        cache.touch(key)

    assert cache.stats() == CacheStats(entries=2, hits=3, tokens_saved=27)
    assert cache.clear() == 2
    assert cache.get("a") is None
    assert cache.stats() == CacheStats(0, 0, 0)


# --- others -----------------------------------------------------------

def test_rows_of_the_reference_are_read(opened, path, clock):
    opened().put("ours", "m", "hello", 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany(
            "INSERT INTO response_cache VALUES (?, 'm', 'theirs', 1, ?, ?, "
            "0)", [(key, stamp, stamp) for key, stamp in (
                ("utc", "2026-11-21T11:50:00.123456789+00:00"),
                ("local", "2026-11-21T19:50:00+08:00"),
                ("old", "2026-11-21T18:50:00+08:00"),
                ("nonsense", "yesterday"))])
        connection.commit()
    cache = opened()

    assert [text_of(cache, key) for key in (
        "utc", "local", "old", "nonsense")] == [
            "theirs", "theirs", None, None]


def test_two_processes_keep_their_answers_in_one_file(opened, path):
    caches = [opened(hot_entries=0) for _ in range(4)]
    errors = []

    def work(number, cache):
        try:
            for n in range(20):
                cache.put(f"{number}/{n}", "m", "x", 1)
                cache.get(f"{number}/{n}")
        except Exception as error:  # shown by the assert below
            errors.append(error)

    threads = [threading.Thread(target=work, args=each)
               for each in enumerate(caches)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    # Somebody may have waited too long: that costs an answer kept, no more.
    assert all(isinstance(each, UnavailableError) for each in errors)
    assert len(rows(path)) >= 80 - 20 * len(errors)


def test_a_removed_file_is_made_anew(opened, path):
    cache = opened(hot_entries=0)
    cache.put("a", "m", "a", 1)
    for each in path.parent.iterdir():
        each.unlink()

    assert cache.get("a") is None
    cache.put("b", "m", "b", 1)

    assert set(rows(path)) == {"b"}


def test_after_closing_it_is_opened_again(opened):
    cache = opened(hot_entries=0)
    cache.put("k", "m", "hello", 1)
    cache.close()
    cache.close()

    assert text_of(cache, "k") == "hello"


# --- trouble ----------------------------------------------------------

@pytest.mark.parametrize("damage", [
    b"this is no database" * 500, b"SQLite format 3\0" + b"\xff" * 5_000])
def test_a_damaged_file_is_put_aside(opened, path, damage):
    path.parent.mkdir()
    path.write_bytes(damage)
    cache = opened()

    with pytest.raises(CorruptError, match="kept aside as response_cache"):
        cache.get("k")

    assert cache.get("k") is None
    cache.put("k", "m", "hello", 1)
    assert text_of(opened(), "k") == "hello"
    kept = [each for each in path.parent.iterdir() if "corrupt" in each.name]
    assert [each.read_bytes() for each in kept] == [damage]


def test_pages_that_break_while_it_is_open_are_put_aside(opened, path):
    cache = opened(hot_entries=0)
    for n in range(60):
        cache.put(str(n), "m", "x" * 4_000, 1)
    cache.close()
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))

    with pytest.raises(CorruptError, match="kept aside"):
        cache.get("1")
    cache.put("k", "m", "hello", 1)

    assert text_of(cache, "k") == "hello"


def test_a_locked_file_is_no_long_wait(opened, path):
    cache = opened()
    cache.put("a", "m", "hello", 1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with pytest.raises(UnavailableError, match="locked"):
            cache.put("b", "m", "hello", 1)

        assert time.monotonic() - started < 2
        assert text_of(opened(), "a") == "hello"
        assert cache.get("b") is None

    cache.put("b", "m", "hello", 1)
    assert text_of(cache, "b") == "hello"


def test_a_file_that_can_only_be_read_still_answers(opened, path,
                                                    monkeypatch):
    opened().put("a", "m", "hello", 1)
    # Who runs tests as root can write everything.
    monkeypatch.setattr(response_cache.os, "access", lambda *_: False)
    cache = opened()

    assert text_of(cache, "a") == "hello"
    with pytest.raises(ReadOnlyError):
        cache.touch("a")
    with pytest.raises(ReadOnlyError):
        cache.put("b", "m", "hello", 1)
    assert cache.get("b") is None


def test_a_full_disk_is_said_and_keeps_what_was_there(opened, path):
    cache = opened()
    cache.put("a", "m", "hello", 1)
    pages = cache._connection.execute("PRAGMA page_count").fetchone()[0]
    cache._connection.execute(f"PRAGMA max_page_count={pages}")

    with pytest.raises(StorageError, match="disk is full"):
        cache.put("b", "m", "x" * 100_000, 1)

    assert text_of(cache, "a") == "hello"
    assert cache.get("b") is None
    assert set(rows(path)) == {"a"}


def test_a_folder_that_can_not_be_made_is_a_storage_error(tmp_path, clock):
    (tmp_path / "memory").write_text("a file")
    cache = open_response_cache(tmp_path / "memory" / "c.db", now=clock)

    assert cache.get("k") is None
    with pytest.raises(StorageError, match="can't be"):
        cache.put("k", "m", "hello", 1)


def test_a_foreign_table_of_that_name_is_a_storage_error(opened, path):
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE response_cache (x)")
    cache = opened()

    with pytest.raises(StorageError):
        cache.get("k")


@pytest.mark.parametrize(("model", "text"), [("m", "\ud83d half"),
                                             ("\ud83d", "whole")])
def test_text_that_can_not_be_stored_is_not_kept(opened, path, model, text):
    cache = opened()

    cache.put("k", model, text, 1)

    assert cache.get("k") is None
    assert not path.exists()
