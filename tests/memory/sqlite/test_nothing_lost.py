"""What once lost, doubled or hid a memory: each test is a symptom.

Other programs that write to brain.db, bytes that are no text, ids that
change under a reference, and files that are replaced while they are open.
"""

import sqlite3
import tracemalloc
from contextlib import closing
from datetime import datetime, timedelta

import pytest

from claw.core.errors import StorageError
from claw.core.memory import CONVERSATION, Filters
from claw.core.value import replace
from claw.memory import times
from claw.memory.settings import MemorySettings
from claw.memory.snapshot.file import FILE_NAME, export_snapshot
from claw.memory.sqlite.backend import SqliteMemory, recovery


def other_program(workspace, *statements):
    with closing(sqlite3.connect(workspace / "memory" / "brain.db")) as brain:
        for statement in statements:
            brain.execute(statement)
        brain.commit()


def complaints(memory):
    return [(found.id, found.detail) for found in memory.check()
            if not found.ok]


def test_storing_goes_on_after_another_program_removed_the_last_row(
        memory, tmp_path):
    memory.store("first", "alpha")
    memory.store("last", "beta")
    other_program(tmp_path, "DELETE FROM memories WHERE key = 'last'")

    memory.store("new", "gamma")

    assert [found.key for found in memory.recall("gamma")] == ["new"]
    assert memory.recall("beta") == []
    assert complaints(memory) == []


def test_an_import_goes_on_after_another_program_removed_the_last_rows(
        memory, tmp_path):
    for key in ("first", "second", "last"):
        memory.store(key, "alpha")
    kept = memory.get("first")
    other_program(tmp_path, "DELETE FROM memories WHERE key <> 'first'")

    assert memory.restore([replace(kept, id="", key=key) for key in "xyz"],
                          overwrite=False) == 3
    assert complaints(memory) == []


def test_undo_goes_on_after_another_program_removed_the_last_row(
        memory, tmp_path):
    memory.store("gone", "alpha")
    memory.forget("gone")
    memory.store("first", "beta")
    other_program(tmp_path, "DELETE FROM memories")

    assert memory.undo("gone").content == "alpha"
    assert complaints(memory) == []


def test_a_new_memory_never_has_the_vector_of_one_that_is_gone(
        memory, tmp_path):
    memory.store("last", "beta")
    other_program(
        tmp_path, "INSERT INTO vectors VALUES (1, 1, x'00000000')",
        "DELETE FROM memories", "DELETE FROM memories_fts")

    memory.store("new", "gamma")

    with closing(sqlite3.connect(tmp_path / "memory" / "brain.db")) as brain:
        assert brain.execute("SELECT rid FROM vectors").fetchall() == []


def test_what_superseded_a_memory_may_get_another_id_by_an_import(memory):
    memory.store("old", "lives in Oslo")
    memory.store("new", "lives in Bergen")
    memory.supersede("old", "new")

    memory.restore([replace(memory.get("new"), id="")], overwrite=True)

    assert memory.get("old").superseded_by == memory.get("new").id
    assert complaints(memory) == []


def test_an_ended_fact_is_whole_when_its_successor_is_gone_for_good(memory):
    memory.store("old", "lives in Oslo")
    memory.store("new", "lives in Bergen")
    memory.supersede("old", "new")

    memory.purge("new")

    assert complaints(memory) == []
    assert memory.recall("lives") == []
    assert memory.undo("old").superseded_by is None


def test_an_import_over_bytes_that_are_no_text_loses_no_entry(memory,
                                                               tmp_path):
    for key in "abcde":
        memory.store(key, "old")
    given = [replace(found, content="new") for found in memory.entries()]
    other_program(tmp_path, "UPDATE memories SET content ="
                            " CAST(x'ff41' AS TEXT) WHERE key = 'c'")

    assert memory.restore(iter(given), overwrite=True) == 5
    assert {memory.get(key).content for key in "abcde"} == {"new"}


def test_bytes_that_are_no_text_can_be_removed_and_brought_back(memory,
                                                                tmp_path):
    for key in "ab":
        memory.store(key, "first")
        memory.store(key, "second")
    other_program(tmp_path, "UPDATE memories SET content ="
                            " CAST(x'ff41' AS TEXT)")

    assert memory.undo("a").content == "first"
    assert memory.purge("b")
    assert memory.history("b") == []


def test_halves_of_a_character_are_indexed_as_they_are_stored(memory):
    memory.store("here", "x")
    memory.restore([replace(memory.get("here"), id="", key="pair",
                            content="\ud840\udc00\ud840\udc01 word")],
                   overwrite=False)

    assert complaints(memory) == []


REFERENCE = """
CREATE TABLE memories (
    id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL,
    category TEXT NOT NULL DEFAULT 'core', embedding BLOB,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, session_id TEXT);
CREATE VIRTUAL TABLE memories_fts USING fts5(
    key, content, content='memories', content_rowid='rowid');
"""
TRIGGER = """
CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN
    INSERT INTO memories_fts(rowid, key, content)
    VALUES (new.rowid, new.key, new.content); END;
"""
THEN = "2026-03-01T10:00:00.123456+02:00"


def of_reference(workspace, *rows):
    """A brain.db of the reference; rows of id, key and content as bytes."""
    path = workspace / "memory" / "brain.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as brain:
        brain.executescript(REFERENCE + TRIGGER)
        brain.executemany(
            "INSERT INTO memories (id, key, content, created_at, updated_at)"
            " VALUES (CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT),"
            f" '{THEN}', '{THEN}')", rows)
        brain.commit()
    return path


def test_keys_that_are_alike_once_they_are_text_are_all_kept(open_memory,
                                                             tmp_path):
    of_reference(tmp_path, (b"1\xff", b"k\xff", b"one"),
                 (b"1\xfe", b"k\xfe", b"two"),
                 (b"3", "k\ufffd".encode(), b"real"), (None, b"n", b"null"))

    memory = open_memory()

    assert {found.content for found in memory.list()} == {
        "one", "two", "real", "null"}
    assert memory.get("k\ufffd").content == "real"
    assert complaints(memory) == []


def test_blobs_of_the_reference_become_texts(open_memory, tmp_path):
    path = of_reference(tmp_path)
    with closing(sqlite3.connect(path)) as brain:
        brain.execute("DROP TRIGGER memories_ai")
        brain.execute("INSERT INTO memories VALUES (x'31', x'6b', x'68ff69',"
                      f" 'core', NULL, '{THEN}', '{THEN}', NULL)")
        brain.commit()

    memory = open_memory()

    assert memory.get("k").content == "h\ufffdi"
    assert complaints(memory) == []


def test_a_blob_that_another_program_wrote_does_not_stop_reindex(memory,
                                                                 tmp_path):
    memory.store("k", "x")
    other_program(tmp_path, "UPDATE memories SET content = x'68ff69'")

    assert memory.reindex() == 1
    memory.repair()
    assert memory.get("k").content == "h\ufffdi"


def test_two_that_upgrade_at_once_keep_one_copy_of_the_original(
        tmp_path, monkeypatch):
    path = of_reference(tmp_path, (b"1", b"k", b"one"))
    make = recovery._make_current

    def overtaken(brain, connection):
        monkeypatch.setattr(recovery, "_make_current", make)
        SqliteMemory.open(tmp_path, MemorySettings()).close()
        monkeypatch.setattr(recovery, "datetime", _Later)
        return make(brain, connection)
    monkeypatch.setattr(recovery, "_make_current", overtaken)
    SqliteMemory.open(tmp_path, MemorySettings()).close()

    (copy,) = path.parent.glob("*before-claw*")
    with closing(sqlite3.connect(copy)) as brain:
        assert brain.execute("PRAGMA user_version").fetchone() == (0,)


class _Later:
    """A clock that runs an hour ahead."""

    @staticmethod
    def now(zone):
        return datetime.now(zone) + timedelta(hours=1)


def test_a_copy_that_could_not_be_made_whole_leaves_nothing(
        tmp_path, monkeypatch):
    path = of_reference(tmp_path, (b"1", b"k", b"one"))

    def full(connection, target):
        target.write_bytes(b"half")
        raise StorageError("the disk is full")
    monkeypatch.setattr(recovery, "copy_to", full)

    with pytest.raises(StorageError, match="full"):
        SqliteMemory.open(tmp_path, MemorySettings())
    assert [p.name for p in path.parent.glob("*before-claw*")] == []


def test_times_that_the_reference_wrote_later_can_be_compared(open_memory,
                                                              tmp_path):
    open_memory().store("ours", "alpha")
    with closing(sqlite3.connect(tmp_path / "memory" / "brain.db")) as brain:
        brain.executescript(TRIGGER)
        brain.execute("INSERT INTO memories (id, key, content, created_at,"
                      f" updated_at) VALUES ('r', 'r', 'x', '{THEN}',"
                      f" '{THEN}')")
        brain.commit()

    memory = open_memory()

    assert memory.get("r").created_at == "2026-03-01T08:00:00.123456Z"
    assert complaints(memory) == []


def test_who_meets_an_old_damaged_file_keeps_the_new_one_in_place(
        open_memory, tmp_path):
    first = open_memory()
    for number in range(200):
        first.store(f"k{number}", "some text " * 100)
    first.close()
    late = open_memory()
    path = tmp_path / "memory" / "brain.db"
    data = bytearray(path.read_bytes())
    for start in range(3 * 4096, len(data), 4096):
        data[start:start + 64] = b"\xaa" * 64
    with open(path, "r+b") as stream:
        stream.write(data)
    for side in ("", "-wal", "-shm"):  # as another process keeps it aside
        if (old := path.with_name(path.name + side)).exists():
            old.rename(f"{path}.corrupt-1{side}")
    open_memory().store("new", "precious")

    with pytest.raises(StorageError, match="replaced by another"):
        late.list()

    assert open_memory().get("new").content == "precious"


def test_what_was_removed_for_good_stays_gone_after_a_reindex(open_memory,
                                                              tmp_path):
    memory = open_memory()
    memory.store("secret", "alpha")
    export_snapshot(memory, tmp_path / FILE_NAME)
    memory.purge("secret")
    memory.reindex()
    memory.close()

    assert open_memory().count() == 0


def test_old_states_of_one_key_are_pruned_at_once(open_memory):
    """2,000 states of one key took a minute, with the lock held."""
    memory = open_memory(max_versions=0)
    for number in range(1_000):
        memory.store("k", f"state {number}")
    memory.forget("k")
    memory.store("k", "again")
    steps = 0

    def count():
        nonlocal steps
        steps += 1
        return 0
    memory._connection.set_progress_handler(count, 1_000)
    pruned = memory.maintenance().prune_versions("2999-01-01T00:00:00Z",
                                             "2000-01-01T00:00:00Z")
    memory._connection.set_progress_handler(None, 0)

    assert pruned == 1_000
    assert steps < 1_000


def test_storing_under_one_key_stays_as_fast_as_it_was(memory):
    def cost(number):
        steps = 0

        def count():
            nonlocal steps
            steps += 1
            return 0
        memory._connection.set_progress_handler(count, 10)
        memory.store("k", f"state {number}")
        memory._connection.set_progress_handler(None, 0)
        return steps
    memory.store("k", "first")
    before = cost(0)
    for number in range(2_000):
        memory.store("k", f"between {number}")

    assert cost(1) < 3 * before + 10


def sizes(memory):
    return [memory._connection.execute(f"SELECT count(*) FROM {table}")
            .fetchone()[0] for table in ("memories", "memory_versions",
                                         "embedding_cache")]


def test_kept_vectors_make_room_before_what_was_said(memory):
    memory.store("said", "hello", CONVERSATION)
    memory.store("said", "hello there", CONVERSATION)
    memory._connection.executescript(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
        " WHERE i < 300) INSERT INTO embedding_cache"
        " SELECT i, 'm', zeroblob(6000), i, i FROM n")

    removed = memory.maintenance().shed(1 << 20)

    assert removed == {"cache": 300 - sizes(memory)[2],
                       "conversation": 0, "versions": 0}
    assert removed["cache"] > 0
    assert not memory.maintenance().is_larger(1 << 20)


def test_states_of_one_key_make_room_before_what_was_said(open_memory):
    memory = open_memory(max_versions=0)
    for number in range(20):
        memory.store(f"said {number}", "hello", CONVERSATION)
    for number in range(60):
        memory.store("page", "some words " * 3_000 + str(number))
    planned = memory.maintenance().shed(1 << 20, dry=True)

    removed = memory.maintenance().shed(1 << 20)

    assert (removed["conversation"], planned["conversation"]) == (0, 0)
    assert removed["versions"] > 0
    assert abs(planned["versions"] - removed["versions"]) < 10
    assert not memory.maintenance().is_larger(1 << 20)


def test_much_talk_does_not_cost_what_facts_were_before(memory):
    for town in ("Oslo", "Bergen", "Rome"):
        memory.store("home", f"lives in {town}")
    for number in range(60):
        memory.store(f"said {number}", "some words " * 1_500 + str(number),
                     CONVERSATION)

    removed = memory.maintenance().shed(1 << 20)

    assert removed["conversation"] > 0
    assert removed["versions"] == 0
    assert len(memory.history("home")) == 3


@pytest.mark.parametrize("change", ["undo", "purge"])
def test_many_states_of_a_long_text_need_no_room_in_memory(memory, change):
    for number in range(150):
        memory.store("page", "some words " * 10_000 + str(number))

    tracemalloc.start()
    assert getattr(memory, change)("page")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 8_000_000  # of 16,000,000


def test_an_imported_memory_that_was_superseded_held_until_then(
        open_memory, tmp_path):
    memory = open_memory()
    memory.store("old", "lives in Oslo")
    between = times.now()
    memory.store("new", "lives in Bergen")
    memory.supersede("old", "new")

    other = open_memory(workspace=tmp_path / "other")
    other.restore(memory.entries(), overwrite=False)

    assert other.history("old")[0].valid_until == other.get("new").created_at
    assert [found.key for found in other.recall_filtered(
        "lives", 5, Filters(as_of=between))] == ["old"]
    other.purge("new")
    assert complaints(other) == []
