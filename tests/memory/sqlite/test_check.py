"""Looking over a brain.db, mending it, and its numbers."""

import contextlib
import sqlite3
import subprocess
import sys

import pytest

from claw.core.errors import StorageError
from claw.core.memory import MemoryEntry
from claw.memory.sqlite import check as inspection
from claw.memory.sqlite import statistics
from claw.memory.sqlite.backend import FILE
from claw.memory.sqlite.check import check_brain
from claw.memory.sqlite.repair import changes_rows, repair
from claw.storage.sqlite import CorruptError, connect, write
from claw.testing.reference_brain import reference_brain

IDS = ["integrity", "index", "index-content", "schema", "text", "times",
       "superseded", "versions", "vectors"]
NOBODY = "'00000000-0000-0000-0000-000000000000'"


@pytest.fixture
def brain(memory, tmp_path):
    """A connection to a store with a few memories of any script."""
    memory.restore([
        MemoryEntry("", key, text, "core", f"2026-0{n}-01", "")
        for n, (key, text) in enumerate({
            "colour": "Mina likes green", "猫": "我的猫名字是咪咪",
            "언어": "민아는 한국어를 말합니다", "blank": " ",
            "nul\0": "x\0y"}.items(), 1)], overwrite=True)
    memory.store("colour", "Mina likes blue")
    with contextlib.closing(connect(tmp_path / FILE)) as connection:
        yield connection


def ill(connection):
    return {f.id: f for f in check_brain(connection) if not f.ok}


def mended(connection):
    with write(connection, "brain.db"):
        return repair(connection)


def test_a_sound_store_is_well_and_has_stable_ids(brain, memory):
    assert [f.id for f in check_brain(brain)] == IDS
    assert ill(brain) == {}
    assert [f.id for f in memory.check()] == IDS
    assert mended(brain) == []


def test_a_reader_looks_without_changing_anything(brain, tmp_path):
    before = (tmp_path / FILE).read_bytes()
    with contextlib.closing(connect(tmp_path / FILE,
                                    readonly=True)) as reader:
        assert ill(reader) == {}
        assert not reader.in_transaction
    assert (tmp_path / FILE).read_bytes() == before


DAMAGE = {
    "lost from the index":
        (["index", "index-content"],
         "DELETE FROM memories_fts WHERE rowid = 1"),
    "indexed for nothing":
        (["index"], "INSERT INTO memories_fts(rowid, key, content)"
         " VALUES (77, 'k', 'ghost')"),
    "one lost, one too many":
        (["index", "index-content"],
         "UPDATE memories_fts SET rowid = 77 WHERE rowid = 2"),
    "other words":
        (["index-content"],
         "UPDATE memories_fts SET content = 'zebra' WHERE rowid = 1"),
    "words that no query finds":
        (["index-content"],
         "DELETE FROM memories_fts_idx;"
         "UPDATE memories_fts_data SET block = x'00' WHERE id > 10"),
    "a superseded one is found":
        (["index"],
         "UPDATE memories SET superseded_by ="
         " (SELECT id FROM memories WHERE rid = 2) WHERE rid = 1"),
    "no index": (["index", "index-content"], "DROP TABLE memories_fts"),
    "no configuration": (["index-content"],
                         "DROP TABLE memories_fts_config"),
    "no data": (["index-content"], "DELETE FROM memories_fts_data"),
    "no data table": (["index-content"], "DROP TABLE memories_fts_data"),
    "no sizes": (["index", "index-content"],
                 "DROP TABLE memories_fts_docsize"),
    "no table index": (["schema"], "DROP INDEX idx_memories_session"),
    "no versions": (["schema", "superseded", "versions"],
                    "DROP TABLE memory_versions"),
    "no vectors": (["schema", "vectors"],
                   "DROP TABLE vectors; DROP TABLE vector_shards"),
    "no column": (["schema"], "ALTER TABLE memories DROP COLUMN source"),
    "no text": (["text", "index-content"],
                "UPDATE memories SET content = CAST(x'61ff' AS TEXT)"
                " WHERE rid = 1"),
    "a number": (["text", "index-content"],
                 "UPDATE memories SET content = CAST(x'3432' AS BLOB)"
                 " WHERE rid = 1"),
    "key of no text": (["text", "index-content"],
                       "UPDATE memories SET key = CAST(x'ff' AS TEXT)"
                       " WHERE rid = 1"),
    "time of no kind": (["times"],
                        "UPDATE memories SET created_at = 'long ago'"),
    "time with an offset":
        (["times"], "UPDATE memories SET updated_at ="
         " '2026-03-24T10:00:00+01:00' WHERE rid = 1"),
    "hidden by nothing": (["index", "superseded"],
                          f"UPDATE memories SET superseded_by = {NOBODY}"
                          " WHERE rid = 1"),
    "a state without end": (["versions"],
                            "UPDATE memory_versions SET valid_until = '?'"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_each_damage_is_told_and_mended(brain, memory, damage):
    expected, statements = DAMAGE[damage]
    before = memory.count()
    memory.close()
    brain.executescript(statements)
    found = ill(brain)

    assert list(found) == [name for name in IDS if name in expected]
    assert all(f.hint and f.detail for f in found.values())
    assert mended(brain)
    assert ill(brain) == {}
    assert brain.execute("SELECT count(*) FROM memories").fetchone() == (
        before,)
    assert brain.execute(
        "SELECT rowid FROM memories_fts WHERE memories_fts MATCH '咪咪'"
    ).fetchall() == [(2,)]


def test_vectors_are_looked_at_where_there_are_any(brain, memory):
    memory.close()
    brain.executescript(
        "INSERT INTO embedding_models VALUES (1, 'toy', 2);"
        "INSERT INTO vectors VALUES (1, 1, x'0000803f0000803f'),"
        " (2, 1, x'00'), (99, 1, x'0000803f0000803f')")
    found = ill(brain)

    assert {"vectors", "vector_index"} == set(found)
    assert mended(brain) == ["3 vectors and shards were set right"]
    assert ill(brain) == {}
    assert brain.execute("SELECT rid FROM vectors").fetchall() == [(1,)]


def test_without_vectors_numpy_is_not_loaded(tmp_path):
    done = subprocess.run([sys.executable, "-c", (
        "import sys; from pathlib import Path\n"
        "from claw.memory.settings import MemorySettings\n"
        "from claw.memory.sqlite.backend import SqliteMemory\n"
        "m = SqliteMemory.open(Path(sys.argv[1]), MemorySettings())\n"
        "m.store('a', 'b'); m.check(); m.repair(); m.close()\n"
        "print(*sys.modules)"), str(tmp_path)],
        capture_output=True, check=True, text=True)

    assert "claw.memory.sqlite.repair" in done.stdout.split()
    assert "numpy" not in done.stdout.split()


def test_mending_keeps_what_can_be_read(brain, memory):
    memory.close()
    brain.executescript(
        "UPDATE memories SET content = CAST(x'61ff' AS TEXT),"
        " created_at = 'once', updated_at = '2026-03-24T10:00:00+01:00'"
        " WHERE rid = 1")
    mended(brain)

    assert brain.execute(
        "SELECT content, created_at, updated_at FROM memories"
        " WHERE rid = 1").fetchone() == (
        "a\ufffd", "2026-03-24T09:00:00.000000Z",
        "2026-03-24T09:00:00.000000Z")


def test_two_keys_that_become_one_stay_two(brain, memory):
    memory.close()
    brain.executescript(
        "UPDATE memories SET key = CAST(x'ff' AS TEXT) WHERE rid = 1;"
        "UPDATE memories SET key = CAST(x'fe' AS TEXT) WHERE rid = 2")
    mended(brain)

    assert {row[0] for row in brain.execute(
        "SELECT key FROM memories WHERE rid < 3")} == {
        "\ufffd", "\ufffd\ufffd"}


def test_a_memory_whose_successor_was_forgotten_is_no_fault(brain, memory):
    memory.restore([MemoryEntry("new", "new", "x", "core", "", "")],
                   overwrite=True)
    brain.execute("UPDATE memories SET superseded_by = 'new' WHERE rid = 1")
    brain.execute("DELETE FROM memories_fts WHERE rowid = 1")
    memory.forget("new")

    assert ill(brain) == {}


@pytest.mark.parametrize(("ids", "touches"), [
    (["index", "schema", "vectors"], False), (["times"], True)])
def test_only_changes_of_memories_call_for_a_copy(brain, ids, touches):
    findings = [inspection.MemoryCheck(name, False, "") for name in ids]

    assert changes_rows(findings) is touches
    assert not changes_rows(check_brain(brain))


def test_a_large_store_is_looked_at_in_places(memory, monkeypatch, tmp_path):
    monkeypatch.setattr(inspection, "_EVERY", 50)
    monkeypatch.setattr(inspection, "_SAMPLE", 20)
    memory.restore([MemoryEntry("", f"k{n}", f"word{n}", "core", "", "")
                    for n in range(200)], overwrite=True)
    for n in range(50, 150):
        memory.forget(f"k{n}")
    with contextlib.closing(connect(tmp_path / FILE)) as brain:
        content = {f.id: f for f in check_brain(brain)}["index-content"]
        assert content.detail.startswith("20 of 100 memories")
        brain.execute("UPDATE memories_fts SET content = 'zebra'")
        assert "index-content" in ill(brain)


def test_damaged_pages_are_told_and_not_mended(brain, memory, tmp_path):
    memory.close()
    root = brain.execute("SELECT rootpage FROM sqlite_master"
                         " WHERE name = 'memory_versions'").fetchone()[0]
    brain.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    brain.close()
    with open(tmp_path / FILE, "r+b") as stream:
        stream.seek((root - 1) * 4096)
        stream.write(b"\xff" * 4096)
    with contextlib.closing(connect(tmp_path / FILE)) as again:
        found = ill(again)
        assert "export" in found["integrity"].hint
        with pytest.raises(StorageError, match="the file is damaged") as e:
            mended(again)
        assert not isinstance(e.value, CorruptError)  # it would be put aside
        assert again.execute("SELECT count(*) FROM memories").fetchone() == (
            5,)


def test_a_brain_of_the_reference_is_well_once_it_is_upgraded(
        open_memory, tmp_path):
    reference_brain(tmp_path / FILE)
    notes = []
    memory = open_memory(notes=notes)
    with contextlib.closing(connect(tmp_path / FILE)) as brain:
        # Its unreadable time is kept as it was.
        assert list(ill(brain)) == ["times"]
        mended(brain)
        assert ill(brain) == {}
    assert memory.get("old colour").superseded_by == "id-1"
    assert "kept as it was" in notes[0]
    copy, = (tmp_path / FILE).parent.glob("brain.db.before-claw-*")
    with contextlib.closing(sqlite3.connect(copy)) as before:
        assert before.execute("SELECT count(*) FROM memories"
                              ).fetchone() == (4,)


def test_the_numbers_of_a_store(memory, tmp_path):
    memory.restore([
        MemoryEntry("a", "a", "x", "core", "2026-01-31T23:00:00Z", "", "s1",
                    None, "ann"),
        MemoryEntry("b", "b", "x", "daily", "2026-02-01", "", "s1", None,
                    "ann"),
        MemoryEntry("c", "c", "x", "core", "2026-02-02", "", "s2", None,
                    "ben", "default", 0.5, "b"),
        MemoryEntry("d", "d", "x", "core", "2026-02-08", "")],
        overwrite=True)
    with contextlib.closing(connect(tmp_path / FILE,
                                    readonly=True)) as brain:
        found = statistics.count_rows(brain)
        pages = (brain.execute("PRAGMA page_count").fetchone()[0]
                 * brain.execute("PRAGMA page_size").fetchone()[0])
    assert found.categories == {"core": 3, "daily": 1}
    assert (found.superseded, found.sessions, found.senders) == (1, 2, 2)
    assert found.top_senders == {"ann": 2, "ben": 1}
    assert (found.unit, found.timeline) == (
        "week", {"2026-01-26": 2, "2026-02-02": 2})
    assert found.oldest == "2026-01-31T23:00:00.000000Z"
    assert found.newest == "2026-02-08T00:00:00.000000Z"
    assert (found.vectors, found.versions) == (0, 0)
    assert sum(found.bytes.values()) == pages
    assert all(found.bytes[part] for part in ("text", "index", "vectors",
                                              "versions"))


def test_a_long_life_is_counted_by_months(memory, tmp_path):
    memory.restore([
        MemoryEntry("", key, "x", "core", time, "")
        for key, time in {"a": "2024-11-05", "b": "2026-01-31",
                          "c": "2026-01-01"}.items()], overwrite=True)
    with contextlib.closing(connect(tmp_path / FILE)) as brain:
        brain.execute("INSERT INTO memories (id, key, content, created_at,"
                      " updated_at) VALUES ('o', 'o', '', 'once', 'now')")
        found = statistics.count_rows(brain)

    assert (found.unit, found.timeline) == (
        "month", {"2024-11": 1, "2026-01": 2})


def test_sizes_are_estimated_where_sqlite_can_not_say(memory, tmp_path,
                                                      monkeypatch):
    memory.restore([MemoryEntry("", f"k{n}", "green tea " * 20, "core", "",
                                "") for n in range(500)], overwrite=True)
    with contextlib.closing(connect(tmp_path / FILE)) as brain:
        exact = statistics.count_rows(brain).bytes
        monkeypatch.setattr(statistics, "_DBSTAT", "no_such_table")
        rough = statistics.count_rows(brain).bytes

    assert sum(rough.values()) == sum(exact.values())
    assert rough["index"] == pytest.approx(exact["index"], rel=0.3)


def test_the_numbers_of_any_other_store_are_the_same(memory, tmp_path):
    memory.restore([
        MemoryEntry("a", "a", "x", "core", "2024-01-31", "", "s1", None,
                    "ann"),
        MemoryEntry("b", "b", "x", "daily", "2026-02-01", "", None, None,
                    None, "default", 0.5, "a")], overwrite=True)
    counted = statistics.count_entries(memory.entries())
    with contextlib.closing(connect(tmp_path / FILE)) as brain:
        own = statistics.count_rows(brain)

    for name in ("categories", "superseded", "sessions", "senders",
                 "top_senders", "timeline", "oldest", "newest"):
        assert getattr(counted, name) == getattr(own, name)
    assert counted.vectors is None
    assert statistics.count_entries([]).categories == {}
