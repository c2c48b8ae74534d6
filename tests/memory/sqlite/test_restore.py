"""Many memories at once: what is left out on the way is there at the end."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys

import pytest

from claw.core.errors import UsageError
from claw.core.memory import MemoryEntry

SCHEMA = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
KILLED = """
import os, signal, sys
from pathlib import Path
from claw.core.memory import MemoryEntry
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory

def entries():
    for number in range(30_000):
        yield MemoryEntry("", f"k{number}", "green tea " * 9, "core", "", "")
    os.kill(os.getpid(), signal.SIGKILL)
SqliteMemory.open(Path(sys.argv[1]), MemorySettings()).restore(
    entries(), overwrite=False)
"""


def entry(key, content="text", id_="", **more):
    return MemoryEntry(id_, key, content, "core", "", "", **more)


def some(count, word="tea"):
    return [entry(f"k{number}", f"green {word} {number}")
            for number in range(count)]


@pytest.fixture
def brain(memory, tmp_path):
    with contextlib.closing(sqlite3.connect(
            tmp_path / "memory/brain.db", isolation_level=None)) as raw:
        yield raw


def test_a_restored_store_has_every_index_and_trigger(memory, brain):
    before = brain.execute(SCHEMA).fetchall()

    assert memory.restore(some(1_200), overwrite=False) == 1_200
    assert brain.execute(SCHEMA).fetchall() == before
    assert all(check.ok for check in memory.check())


def test_what_a_store_had_lost_before_stays_for_its_repair(memory, brain):
    brain.execute("DROP TRIGGER foreign_delete")

    memory.restore(some(10), overwrite=False)
    assert ("foreign_delete",) not in brain.execute(
        "SELECT name FROM sqlite_master").fetchall()


def test_another_program_s_row_after_a_restore_is_found(memory, brain):
    memory.restore(some(600), overwrite=False)
    brain.execute("INSERT INTO memories (id, key, content, created_at,"
                  " updated_at) VALUES ('1', 'their', 'oolong', '', '')")

    assert [e.key for e in memory.recall("oolong")] == ["their"]


def test_a_restore_that_fails_leaves_the_store_as_it_was(memory, brain):
    before = brain.execute(SCHEMA).fetchall()

    with pytest.raises(UsageError, match="needs a key"):
        memory.restore([*some(1_200), entry("")], overwrite=False)
    assert brain.execute(SCHEMA).fetchall() == before
    assert memory.count() == 0
    memory.store("a", "green tea")
    assert all(check.ok for check in memory.check())


def test_a_restore_killed_in_the_middle_leaves_the_store_as_it_was(
        memory, brain, tmp_path):
    before = brain.execute(SCHEMA).fetchall()

    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)],
                            env={**os.environ}, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert brain.execute(SCHEMA).fetchall() == before
    assert memory.count() == 0
    assert memory.restore(some(700), overwrite=False) == 700
    assert all(check.ok for check in memory.check())


@pytest.mark.parametrize("overwrite", [False, True])
def test_keys_and_ids_that_come_twice_in_one_restore(memory, overwrite):
    memory.store("k1", "already there")

    written = memory.restore(
        [*some(3), entry("a", "apple", "same"), entry("b", "berry", "same"),
         entry("a", "apricot"), entry("c", "cherry", superseded_by="same")],
        overwrite=overwrite)

    held = {e.key: e for e in memory.list()}
    assert written == (7 if overwrite else 5)
    assert held["a"].content == ("apricot" if overwrite else "apple")
    assert held["k1"].content == ("green tea 1" if overwrite
                                  else "already there")
    assert len({e.id for e in held.values()}) == len(held) == 5
    assert memory.get("c").superseded_by == held["a"].id
    for word, key in (("berry", "b"), (held["a"].content, "a")):
        assert [e.key for e in memory.recall(word)] == [key]
    assert memory.recall("cherry") == []
    assert all(check.ok for check in memory.check())


def test_a_restore_above_the_highest_row_id_finds_room(memory, brain):
    brain.execute("INSERT INTO memories (rid, id, key, content, created_at,"
                  f" updated_at) VALUES ({2**63 - 1}, '1', 'last', 'oolong',"
                  " '', '')")
    assert memory.recall("oolong")[0].key == "last"

    assert memory.restore(some(3), overwrite=False) == 3
    assert {e.key for e in memory.recall("tea")} == {"k0", "k1", "k2"}
