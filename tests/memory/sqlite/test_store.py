"""brain.db under load, in the hands of others, and by its columns."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from claw.core.errors import StorageError, UnavailableError, UsageError
from claw.core.memory import Filters, MemoryEntry
from claw.text.segment import index_text

WRITER = """
import sys
from pathlib import Path
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory
memory = SqliteMemory.open(Path(sys.argv[1]), MemorySettings())
for number in range(int(sys.argv[3])):
    memory.store(f"{sys.argv[2]}-{number}", f"text {number} of {sys.argv[2]}")
    print(number, flush=True)
"""


def writer(workspace, name, count):
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(workspace), name, str(count)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_outside_tools_find_the_columns_of_the_reference(memory, tmp_path):
    memory.store("colour", "Mina likes green", "core", "s1")
    memory.close()

    with contextlib.closing(sqlite3.connect(
            tmp_path / "memory/brain.db")) as raw:
        row = raw.execute(
            "SELECT id, key, content, category, embedding, session_id,"
            " namespace, superseded_by FROM memories").fetchone()
        assert row[1:] == ("colour", "Mina likes green", "core", None, "s1",
                           "default", None)
        assert len(row[0]) == 36
        assert raw.execute(
            "SELECT m.key FROM memories_fts f JOIN memories m"
            " ON m.rid = f.rowid WHERE memories_fts MATCH 'green'"
        ).fetchall() == [("colour",)]
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        raw.execute("INSERT INTO memories_fts(memories_fts, rank)"
                    " VALUES ('integrity-check', 1)")
        raw.execute("SELECT content_hash, embedding, created_at, accessed_at"
                    " FROM embedding_cache")


class Spy:
    """A connection that notes its statements."""

    def __init__(self, connection):
        self._connection = connection
        self.statements = set()

    def execute(self, sql, *values):
        self.statements.add(sql)
        return self._connection.execute(sql, *values)

    def __getattr__(self, name):
        return getattr(self._connection, name)


def test_statements_are_the_same_whatever_is_found(memory):
    """Each other one is kept by the connection: up to 128, of megabytes
    in all."""
    spy = memory._connection = Spy(memory._connection)
    said = []
    for start in (0, 100):
        for number in range(start, start + 20):
            memory.store(f"k{number}", f"green tea {number}",
                         "conversation", "s")
        spy.statements.clear()
        assert memory.recall("tea with milk", 5)
        said.append(frozenset(spy.statements))

    assert said[0] == said[1]


def test_the_index_follows_every_kind_of_write(memory, tmp_path):
    for number in range(30):
        memory.store(f"k{number}", f"word{number} text")
        memory.store(f"k{number % 7}", f"other{number} text")
    memory.forget("k3")
    memory.forget_where(None, None, ["k4", "k5"])
    memory.restore([MemoryEntry("", "k6", "restored", "core", "", "")] * 2,
                   overwrite=True)
    rows = {e.key: e.content for e in memory.list()}
    memory.close()

    with contextlib.closing(sqlite3.connect(
            tmp_path / "memory/brain.db")) as raw:
        indexed = raw.execute(
            "SELECT m.key, f.content FROM memories_fts f"
            " JOIN memories m ON m.rid = f.rowid").fetchall()
        assert len(indexed) == len(rows) == 27
        assert dict(indexed) == {key: index_text(content)
                                 for key, content in rows.items()}
        assert raw.execute("SELECT count(*) FROM memories_fts").fetchone() \
            == (27,)


def test_processes_that_open_and_store_at_once_lose_nothing(tmp_path,
                                                            open_memory):
    running = [writer(tmp_path, name, 40) for name in "abcd"]

    for process in running:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, b"")
        assert len(out.split()) == 40
    assert open_memory().count() == 160


def test_kill_loses_no_acknowledged_memory(tmp_path, open_memory):
    acknowledged = 0
    for turn in range(6):
        process = writer(tmp_path, f"w{turn}", 100_000)
        deadline = time.monotonic() + 30
        seen = 0
        while seen < 20 * (turn + 1) and time.monotonic() < deadline:
            seen += bool(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        seen += len(process.communicate()[0].splitlines())
        acknowledged += seen

    memory = open_memory()
    assert acknowledged >= 6 * 20
    assert memory.count() >= acknowledged
    assert len(memory.recall("text", 10_000)) == memory.count()


def test_threads_share_one_memory(memory):
    def work(number):
        memory.store(f"k{number}", f"text {number}")
        return memory.recall("text", 3)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(200)))

    assert all(results)
    assert memory.count() == 200


def test_a_store_that_waits_too_long_says_so(memory, tmp_path):
    memory.store("a", "text")
    with contextlib.closing(sqlite3.connect(
            tmp_path / "memory/brain.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        memory._connection.execute("PRAGMA busy_timeout=50")
        with pytest.raises(UnavailableError) as raised:
            memory.store("b", "text")
        other.execute("ROLLBACK")

    assert raised.value.exit_code == 5
    assert "locked" in raised.value.message
    memory.store("b", "text")
    assert memory.count() == 2


def test_a_full_disk_keeps_what_was_stored(memory):
    memory.store("a", "text")
    connection = memory._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")

    with pytest.raises(StorageError, match="full") as raised:
        memory.store("b", "x" * 100_000)

    assert raised.value.exit_code == 74
    assert [e.key for e in memory.list()] == ["a"]
    connection.execute("PRAGMA max_page_count=100000")
    memory.store("b", "x" * 100_000)
    assert memory.count() == 2


def test_a_failing_restore_writes_nothing(memory):
    def entries():
        yield MemoryEntry("", "a", "text", "core", "", "")
        yield MemoryEntry("", "b", "text", "core", "soon", "")

    with pytest.raises(UsageError, match="not a time"):
        memory.restore(entries(), overwrite=True)
    assert memory.count() == 0


def test_readonly_refuses_to_write(memory, open_memory):
    memory.store("a", "text")
    reader = open_memory(readonly=True)

    assert reader.recall("text")[0].key == "a"
    for write in (lambda: reader.store("b", "x"),
                  lambda: reader.forget("a"),
                  lambda: reader.restore([], overwrite=True)):
        with pytest.raises(StorageError, match="reading only"):
            write()


def test_rows_with_bytes_that_are_no_text_do_not_stop_the_rest(memory):
    memory.store("a", "good tea")
    memory.store("b", "bad tea")
    memory._connection.execute(
        "UPDATE memories SET content = CAST(x'ff41' AS TEXT)"
        " WHERE key = 'b'")

    assert {e.key: e.content for e in memory.list()} == {
        "a": "good tea", "b": "\ufffdA"}


def test_forgetting_by_no_rule_is_refused(memory):
    memory.store("a", "text")

    with pytest.raises(UsageError):
        memory.forget_where(None, None)
    with pytest.raises(UsageError):
        memory.forget_where(None, "long ago")
    assert memory.count() == 1


def test_many_keys_are_forgotten_at_once(memory):
    memory.restore((MemoryEntry("", f"k{n}", "text", "core", "", "")
                    for n in range(1500)), overwrite=False)

    assert memory.forget_where(None, None, [f"k{n}" for n in range(
        1200)]) == 1200
    assert memory.page(Filters(), 1, 0)[1] == 300
