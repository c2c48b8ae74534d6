"""What another program changes in brain.db by plain SQL is recalled."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from claw.core.memory import Filters, Source
from claw.memory.settings import MemorySettings
from claw.memory.sqlite import foreign, triggers
from claw.memory.sqlite.backend import FILE, SqliteMemory
from claw.testing.reference_brain import SCHEMA

NOW = "2026-11-23T01:00:00.000000Z"
# Words that the index knows otherwise: without them LIKE looks everywhere.
QUESTION = "does Mina drink oolong"
ROW = "(id, key, content, created_at, updated_at)"


def open_memory(folder, **more):
    return closing(SqliteMemory.open(folder, MemorySettings(), **more))


@pytest.fixture
def folder(tmp_path):
    """A store of two memories."""
    with open_memory(tmp_path) as memory:
        memory.store("colour", "Mina likes green walls")
        memory.store("pet", "the cat is called Tom")
    return tmp_path


def run_sql(folder, script, values=()):
    """As another program: the library alone."""
    with closing(sqlite3.connect(folder / FILE)) as brain, brain:
        if values:
            brain.execute(script, values)
        else:
            brain.executescript(script)


def insert(key, content):
    return (f"INSERT INTO memories {ROW} VALUES"
            f" ('id-{key}', '{key}', '{content}', '{NOW}', '{NOW}');")


def keys(folder, query, **more):
    with open_memory(folder, **more) as memory:
        return [entry.key for entry in memory.recall(query, 5)]


def marks(folder):
    with closing(sqlite3.connect(folder / FILE)) as brain:
        return brain.execute("SELECT * FROM memory_changes").fetchall()


def is_sound(folder):
    with open_memory(folder) as memory:
        return all(check.ok for check in memory.check())


@pytest.mark.parametrize("readonly", [True, False])
def test_an_inserted_row_is_found(folder, readonly):
    run_sql(folder, insert("drink", "Mina drinks oolong"))

    assert keys(folder, QUESTION, readonly=readonly) == ["drink", "colour"]
    assert marks(folder) == []
    assert is_sound(folder)


def test_the_sqlite3_shell_needs_nothing_of_claw(folder):
    subprocess.run(["sqlite3", folder / FILE],
                   input=insert("drink", "Mina drinks oolong"),
                   text=True, check=True)

    assert keys(folder, QUESTION) == ["drink", "colour"]


def test_an_updated_row_is_found_by_its_new_words_alone(folder):
    run_sql(folder, "UPDATE memories SET content = 'Mina likes purple'"
            " WHERE key = 'colour'")

    assert keys(folder, "purple") == ["colour"]
    assert keys(folder, "green walls") == []
    assert is_sound(folder)


def test_a_renamed_row_is_found_by_its_new_key(folder):
    run_sql(folder, "UPDATE memories SET key = 'paint', session_id = 's',"
            " category = 'daily' WHERE key = 'colour'")

    assert keys(folder, "paint") == ["paint"]
    assert keys(folder, "colour") == []


@pytest.mark.parametrize("script", [
    "DELETE FROM memories WHERE key = 'pet'",
    "DELETE FROM memories WHERE content LIKE '%Tom%'",
    "UPDATE memories SET superseded_by = 'id-x' WHERE key = 'pet'",
])
def test_a_removed_or_superseded_row_is_gone_from_the_index(folder, script):
    run_sql(folder, script)

    assert keys(folder, "cat Tom") == []
    with closing(sqlite3.connect(folder / FILE)) as brain:
        assert brain.execute(
            "SELECT count(*) FROM memories_fts_docsize").fetchone() == (1,)


@pytest.mark.parametrize("way", ["REPLACE", "INSERT OR REPLACE"])
def test_a_row_that_was_replaced_leaves_no_words(folder, way):
    run_sql(folder, insert("colour", "Mina likes purple").replace(
        "INSERT", way))

    assert keys(folder, "purple") == ["colour"]
    assert keys(folder, "green walls") == []
    assert is_sound(folder)


def test_an_update_that_replaces_another_row_leaves_none_of_its_words(folder):
    run_sql(folder, "UPDATE OR REPLACE memories SET key = 'pet'"
            " WHERE key = 'colour'")

    assert keys(folder, "green") == ["pet"]
    assert keys(folder, "Tom cat") == []
    assert is_sound(folder)


@pytest.mark.parametrize("way", ["FAIL", "ABORT", "ROLLBACK", "IGNORE"])
def test_the_triggers_never_fail_a_statement(folder, way):
    for content in ("one", "two"):
        run_sql(folder, f"UPDATE OR {way} memories SET content = '{content}'")
    run_sql(folder, insert("drink", "oolong").replace(
        "INSERT", f"INSERT OR {way}"))
    run_sql(folder, "DELETE FROM memories WHERE key = 'drink'")
    run_sql(folder, insert("drink", "oolong").replace(
        "INSERT", f"INSERT OR {way}"))

    assert keys(folder, "oolong") == ["drink"]


def test_an_upsert_and_a_swap_of_row_ids_are_followed(folder):
    run_sql(folder, insert("colour", "x").replace(
        ";", " ON CONFLICT (key) DO UPDATE SET content = 'Mina likes blue';"))
    run_sql(folder, "UPDATE memories SET rid = rid + 100")

    assert keys(folder, "blue") == ["colour"]
    assert keys(folder, "Tom") == ["pet"]
    assert is_sound(folder)


def test_its_text_is_labelled_as_foreign_and_nothing_else(folder):
    with open_memory(folder) as memory:
        memory.store_from("tea", "green tea", "core", None,
                          Source(origin="web"))
    run_sql(folder, "UPDATE memories SET category = 'daily'"
            " WHERE key = 'pet'")
    run_sql(folder, "UPDATE memories SET origin = NULL WHERE key = 'tea'")
    run_sql(folder, insert("drink", "Mina drinks oolong"))
    with open_memory(folder) as memory:
        found = {entry.key: entry.origin for entry in memory.list()}

    assert found == {"pet": None, "colour": None, "tea": "unknown",
                     "drink": "unknown"}


@pytest.mark.parametrize("readonly", [True, False])
def test_a_process_that_has_it_open_finds_it_at_its_next_recall(
        folder, readonly):
    said = []
    with open_memory(folder, notify=said.append, readonly=readonly) as memory:
        run_sql(folder, insert("drink", "Mina drinks oolong"))
        run_sql(folder, "DELETE FROM memories WHERE key = 'pet'")

        assert [e.key for e in memory.recall(QUESTION, 5)] == [
            "drink", "colour"]
        assert memory.recall("cat Tom", 5) == []
    assert said == ["another program changed brain.db: 2 memories were "
                    "looked through"]


def test_what_claw_writes_leaves_no_mark(folder):
    with open_memory(folder) as memory:
        memory.store("colour", "blue")
        memory.supersede("colour", "pet")
        memory.undo("colour")
        memory.forget("pet")
        memory.undo("pet")
        memory.restore(list(memory.entries()), overwrite=True)
        memory.purge("pet")

    assert marks(folder) == []


def test_bytes_that_are_no_text_do_not_hide_the_rest(folder):
    run_sql(folder, f"INSERT INTO memories {ROW} VALUES (?, ?, ?, ?, ?)",
            (b"\xff", b"colour", b"oolong \xff tea", NOW, "2026-11-23 01:00"))
    run_sql(folder, "UPDATE memories SET origin = x'ff', importance = 'high'"
            " WHERE key = 'pet'")
    run_sql(folder, insert("drink", "Mina drinks oolong"))

    assert sorted(keys(folder, "oolong")) == ["colour\ufffd", "drink"]
    assert is_sound(folder)


def test_many_rows_are_taken_up_little_by_little(folder, monkeypatch):
    run_sql(folder, "".join(insert(f"k{n}", f"oolong number w{n}")
                            for n in range(1200)))
    monkeypatch.setattr(foreign, "BUDGET_S", 0)
    said = []
    for left in ("700", "200"):
        with open_memory(folder, notify=said.append):
            assert said[-1].endswith(
                f"500 memories were looked through, {left} follow with the "
                "next commands")
    with open_memory(folder):
        assert keys(folder, "w1199") == ["k1199"]
    assert marks(folder) == []


def test_dropped_triggers_come_back_and_what_went_past_them_is_found(folder):
    run_sql(folder, "".join(f"DROP TRIGGER {name};"
                            for name in triggers._TRIGGERS))
    run_sql(folder, insert("drink", "Mina drinks oolong"))
    run_sql(folder, "UPDATE memories SET content = 'a dog named Rex'"
            " WHERE key = 'pet'")
    with open_memory(folder) as memory:
        found = {entry.key: entry.origin for entry in memory.list()}

    assert found == {"colour": None, "pet": "unknown", "drink": "unknown"}
    assert (keys(folder, "oolong"), keys(folder, "Rex")) == (
        ["drink"], ["pet"])
    run_sql(folder, "UPDATE memories SET content = 'a fish' WHERE"
            " key = 'pet'")
    assert keys(folder, "fish") == ["pet"]


def test_a_store_of_before_the_triggers_gets_them_with_its_next_writer(
        folder):
    run_sql(folder, "".join(f"DROP TRIGGER {name};"
                            for name in triggers._TRIGGERS)
            + "DROP TABLE memory_changes;"
            + insert("drink", "Mina drinks oolong"))

    assert keys(folder, QUESTION, readonly=True) == ["colour"]
    with open_memory(folder):
        pass
    assert keys(folder, QUESTION, readonly=True) == ["drink", "colour"]


def test_a_dropped_table_stops_no_recall_and_comes_back(folder):
    with open_memory(folder) as memory:
        run_sql(folder, "DROP TABLE memory_changes")

        assert memory.recall("green", 5)[0].key == "colour"
    with open_memory(folder) as memory:
        memory.store("tea", "black tea")
    run_sql(folder, insert("drink", "Mina drinks sencha"))
    assert keys(folder, "sencha") == ["drink"]


def test_a_folder_that_can_not_be_written_is_read_as_it_is(folder):
    run_sql(folder, insert("drink", "Mina drinks oolong"))
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    (folder / FILE).chmod(0o400)
    (folder / FILE).parent.chmod(0o500)
    said = []
    try:
        assert keys(folder, "green", readonly=True, notify=said.append) == [
            "colour"]
    finally:
        (folder / FILE).parent.chmod(0o700)
    assert said == []


def test_vacuum_and_a_copy_by_dump_keep_marks_and_rows_together(folder):
    run_sql(folder, "DELETE FROM memories WHERE key = 'colour';"
            + insert("drink", "Mina drinks oolong") + "VACUUM;")

    assert keys(folder, "oolong") == ["drink"]
    assert keys(folder, "Tom") == ["pet"]


def test_the_reference_s_triggers_beside_ours_lose_nothing(folder):
    trigger = SCHEMA[SCHEMA.index("CREATE TRIGGER memories_ai"):
                     SCHEMA.index("CREATE TRIGGER memories_ad")]
    run_sql(folder, trigger + insert("drink", "Mina drinks oolong"))

    assert keys(folder, "oolong") == ["drink"]
    assert marks(folder) == []
    assert is_sound(folder)


def test_all_rows_gone_by_sql_still_come_back_from_the_snapshot(folder):
    with open_memory(folder) as memory:
        from claw.memory.snapshot.file import export_snapshot
        export_snapshot(memory, folder / "MEMORY_SNAPSHOT.md")
        run_sql(folder, "DELETE FROM memories")
        assert memory.recall("green", 5) == []

    assert keys(folder, "green") == ["colour"]


def test_a_second_process_waits_for_no_writer_and_finds_the_rest(folder):
    run_sql(folder, insert("drink", "Mina drinks oolong"))
    with closing(sqlite3.connect(folder / FILE,
                                 isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert keys(folder, "green") == ["colour"]
        other.execute("ROLLBACK")
    assert keys(folder, "oolong") == ["drink"]


def test_a_kill_in_the_middle_loses_no_mark(folder):
    run_sql(folder, "".join(insert(f"k{n}", f"oolong w{n}")
                            for n in range(900)))
    killed = subprocess.run([sys.executable, "-c", f"""
import os, signal
from pathlib import Path
from claw.memory.settings import MemorySettings
from claw.memory.sqlite import foreign
from claw.memory.sqlite.backend import SqliteMemory
index, seen = foreign._index_row, []
def stop(*given):
    seen.append(given)
    if len(seen) == 700:
        os.kill(os.getpid(), signal.SIGKILL)
    return index(*given)
foreign._index_row, foreign.BUDGET_S = stop, 60
SqliteMemory.open(Path({str(folder)!r}), MemorySettings())
"""], check=False)

    assert killed.returncode == -9
    assert len(marks(folder)) == 400
    assert keys(folder, "w899") == ["k899"]
    assert is_sound(folder)


@pytest.mark.parametrize("readonly", [True, False])
def test_rows_of_any_offset_stand_at_their_instant_while_it_is_open(
        folder, readonly):
    in_order = ["2026-02-28T18:20:00-05:00", "2026-03-01T08:30+09:00",
                "2026-03-01T00:00:00Z", "2026-03-01 00:10:00"]
    eve = Filters(as_of="2026-02-28T23:45:00Z")
    with open_memory(folder, readonly=readonly) as memory:
        for number in (2, 0, 3, 1):
            run_sql(folder, insert(str(number), "a note").replace(
                NOW, in_order[number]))
            newest = memory.recall("", 1, until="2026-02-28T23:45:00Z")
            assert [one.key for one in newest] == {
                2: [], 0: ["0"], 3: ["0"], 1: ["1"]}[number]

    for looks in (lambda memory: memory.list(),
                  lambda memory: memory.page(Filters(), 9, 0)[0],
                  lambda memory: [*memory.entries()][::-1]):
        with open_memory(folder, readonly=readonly) as memory:
            run_sql(folder, "UPDATE memories SET created_at ="
                    " '2026-03-01T08:30+09:00', updated_at ="
                    " '2026-03-01T08:30+09:00' WHERE key = '1'")
            assert [one.key for one in looks(memory)][-4:] == [
                "3", "2", "1", "0"]
            assert {one.key for one in memory.recall_filtered(
                "note", 9, eve)} == {"0", "1"}


def test_nothing_is_forgotten_by_the_writing_of_its_time(folder):
    with open_memory(folder) as memory:
        run_sql(folder, insert("late", "a note").replace(
            NOW, "2026-02-28T20:00:00-05:00"))
        assert memory.forget_where(None, "2026-03-01T00:30:00Z") == 0
        assert memory.forget_where(None, "2026-03-01T01:30:00Z") == 1
