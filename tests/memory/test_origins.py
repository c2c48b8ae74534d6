"""A memory says where foreign text in it comes from, wherever it goes."""

import json
import sqlite3
from contextlib import closing

import pytest

from claw.core.memory import Filters, Source
from claw.memory.importers.ndjson import import_entries, parse, records
from claw.memory.markdown.backend import MarkdownMemory
from claw.memory.settings import MemorySettings
from claw.memory.snapshot.file import export_snapshot, hydrate
from claw.memory.sqlite.backend import FILE, SqliteMemory
from claw.memory.sqlite.ephemeral import EphemeralMemory
from claw.memory.sqlite.schema import VERSION

WEB = Source("al", "chat:7:1", "file,web")


@pytest.fixture
def memory(tmp_path):
    with closing(SqliteMemory.open(tmp_path, MemorySettings())) as found:
        yield found


def store(memory):
    memory.store_from("colour", "Mina likes green", "core", None, WEB)
    memory.store("tea", "Mina likes tea")


def test_it_is_kept_by_undo_superseding_and_in_the_past(memory):
    store(memory)
    memory.store("colour", "Mina likes blue")

    assert memory.get("colour").origin is None
    before = memory.history("colour")[1].entry
    assert (before.content, before.origin) == ("Mina likes green", "file,web")
    found = memory.recall_filtered("green", 5, Filters(
        as_of=before.updated_at))
    assert [entry.origin for entry in found] == ["file,web"]
    assert memory.undo("colour").origin == "file,web"


def test_the_same_words_of_another_origin_are_another_state(memory):
    store(memory)
    memory.store_from("colour", "Mina likes green", "core", None,
                      Source("al", "chat:7:1"))

    assert [v.entry.origin for v in memory.history("colour")] == [
        None, "file,web"]


@pytest.mark.parametrize("kind", [EphemeralMemory, MarkdownMemory])
def test_an_export_brings_it_along(memory, tmp_path, kind):
    store(memory)
    lines = [json.dumps(record).encode() for record in records(memory)]
    other = kind.open(tmp_path / "other", MemorySettings())

    assert import_entries(other, parse(lines)) == 2
    assert (other.get("colour").origin, other.get("tea").origin) == (
        "file,web", None)


def test_a_snapshot_brings_it_back(memory, tmp_path):
    store(memory)
    export_snapshot(memory, tmp_path / "snapshot.md")
    (tmp_path / "other").mkdir()
    with closing(SqliteMemory.open(tmp_path / "other", MemorySettings())
                 ) as other:
        hydrate(other, tmp_path / "snapshot.md")

        assert other.get("colour").origin == "file,web"


def test_a_person_can_read_it_in_the_markdown_files(tmp_path):
    store(MarkdownMemory.open(tmp_path, MemorySettings()))

    assert '"origin": "file,web"' in (tmp_path / "MEMORY.md").read_text()


def test_a_brain_of_the_version_before_is_read_and_renewed(memory, tmp_path):
    store(memory)
    memory.close()
    with closing(sqlite3.connect(tmp_path / FILE)) as brain:
        brain.executescript(
            "DROP TRIGGER foreign_update;"
            "ALTER TABLE memories DROP COLUMN origin;"
            "ALTER TABLE memory_versions DROP COLUMN origin;"
            "DROP INDEX idx_memories_unseen;"
            "ALTER TABLE memories DROP COLUMN arrived_at;"
            "ALTER TABLE memories DROP COLUMN kept_by;"
            "ALTER TABLE memory_versions DROP COLUMN kept_by;"
            f"PRAGMA user_version={VERSION - 1000}")
    for readonly in (True, False):
        with closing(SqliteMemory.open(tmp_path, MemorySettings(),
                                       readonly=readonly)) as again:
            found = again.recall("green")
            assert [(e.key, e.origin) for e in found] == [("colour", None)]
    with closing(SqliteMemory.open(tmp_path, MemorySettings())) as again:
        store(again)
        assert again.get("colour").origin == "file,web"
