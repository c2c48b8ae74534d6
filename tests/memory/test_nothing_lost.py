"""What once lost, doubled or hid a memory: each test is a symptom.

Other programs that write to brain.db, bytes that are no text, ids that
change under a reference, and files that are replaced while they are open.
"""

import sqlite3
from contextlib import closing

from claw.core.value import replace


def other_program(workspace, *statements):
    with closing(sqlite3.connect(workspace / "memory" / "brain.db")) as brain:
        for statement in statements:
            brain.execute(statement)
        brain.commit()


def complaints(memory):
    return [(found.id, found.detail) for found in memory.inspect()
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
