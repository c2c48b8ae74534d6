"""Opening brain.db: absent, foreign, corrupt, unwritable."""

import contextlib
import os
import shutil
import sqlite3
import stat
import tempfile
from pathlib import Path

import pytest

from claw.core.errors import StorageError
from claw.memory.snapshot.file import export_snapshot
from claw.storage.sqlite import CorruptError

# What the reference makes (spec of its file format), with rows of its own.
REFERENCE = """
CREATE TABLE memories (
    id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL,
    category TEXT NOT NULL DEFAULT 'core', embedding BLOB,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL);
CREATE INDEX idx_memories_category ON memories(category);
CREATE INDEX idx_memories_key ON memories(key);
CREATE VIRTUAL TABLE memories_fts USING fts5(
    key, content, content=memories, content_rowid=rowid);
CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN
    INSERT INTO memories_fts(rowid, key, content)
    VALUES (new.rowid, new.key, new.content); END;
CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN
    INSERT INTO memories_fts(memories_fts, rowid, key, content)
    VALUES ('delete', old.rowid, old.key, old.content); END;
CREATE TRIGGER memories_au AFTER UPDATE ON memories BEGIN
    INSERT INTO memories_fts(memories_fts, rowid, key, content)
    VALUES ('delete', old.rowid, old.key, old.content);
    INSERT INTO memories_fts(rowid, key, content)
    VALUES (new.rowid, new.key, new.content); END;
CREATE TABLE embedding_cache (
    content_hash TEXT PRIMARY KEY, embedding BLOB NOT NULL,
    created_at TEXT NOT NULL);
INSERT INTO embedding_cache VALUES ('b94d27b9934d3e08', x'0000803f', 'now');
INSERT INTO memories VALUES
    ('id-1', 'colour', 'Mina likes green', 'core', x'0000803f',
     '2026-03-24T10:00:00.123456789+01:00', '2026-03-25T10:00:00+01:00'),
    ('id-2', '猫', '我的猫名字是咪咪', 'daily', NULL, 'long ago', 'now');
"""
NEWER_COLUMNS = """
ALTER TABLE memories ADD COLUMN session_id TEXT;
ALTER TABLE memories ADD COLUMN namespace TEXT DEFAULT 'default';
ALTER TABLE memories ADD COLUMN importance REAL DEFAULT 0.5;
ALTER TABLE memories ADD COLUMN superseded_by TEXT;
ALTER TABLE memories ADD COLUMN "agent alias" TEXT;
UPDATE memories SET session_id = 's1', importance = 0.9, "agent alias" = 'x';
"""


def brain(tmp_path):
    return tmp_path / "memory" / "brain.db"


def reference(tmp_path, *, newer):
    brain(tmp_path).parent.mkdir()
    with contextlib.closing(sqlite3.connect(brain(tmp_path))) as raw:
        raw.executescript("PRAGMA journal_mode=WAL;" + REFERENCE
                          + (NEWER_COLUMNS if newer else ""))


def files(tmp_path):
    return sorted(path.name for path in (tmp_path / "memory").iterdir()
                  if not path.name.endswith(("-wal", "-shm")))


@pytest.mark.parametrize("newer", [False, True])
def test_a_file_of_the_reference_is_upgraded_with_a_copy_kept(
        open_memory, tmp_path, newer):
    reference(tmp_path, newer=newer)
    notes = []
    memory = open_memory(notes=notes)

    entry = memory.get("colour")
    assert (entry.id, entry.content, entry.category) == (
        "id-1", "Mina likes green", "core")
    assert entry.created_at == "2026-03-24T09:00:00.123456789Z"
    assert memory.get("猫").created_at == "long ago"    # kept as it was
    assert entry.session_id == ("s1" if newer else None)
    assert entry.importance == (0.9 if newer else 0.5)
    assert memory.recall("咪咪")[0].key == "猫"
    assert memory.recall("liked")[0].key == "colour"
    memory.store("colour", "blue")
    assert memory.forget("猫") is True
    memory.close()

    backup = [name for name in files(tmp_path) if "before-claw" in name]
    assert len(backup) == len(notes) == 1
    with contextlib.closing(sqlite3.connect(
            tmp_path / "memory" / backup[0])) as raw:
        assert raw.execute("SELECT count(*) FROM memories").fetchone() == (2,)
    with contextlib.closing(sqlite3.connect(brain(tmp_path))) as raw:
        assert raw.execute("SELECT accessed_at FROM embedding_cache"
                           ).fetchall() == [("",)]
        if newer:
            assert raw.execute('SELECT "agent alias" FROM memories'
                               ).fetchall() == [("x",)]


def test_reading_a_file_of_the_reference_changes_nothing(open_memory,
                                                         tmp_path):
    reference(tmp_path, newer=True)
    before = brain(tmp_path).read_bytes()
    memory = open_memory(readonly=True)

    assert memory.recall("咪咪")[0].key == "猫"
    memory.close()
    assert brain(tmp_path).read_bytes() == before
    assert files(tmp_path) == ["brain.db"]


def test_the_reference_may_open_the_file_again(open_memory, tmp_path):
    memory = open_memory()
    memory.store("colour", "green")
    memory.close()
    with contextlib.closing(sqlite3.connect(brain(tmp_path))) as raw:
        raw.executescript(REFERENCE[REFERENCE.index("CREATE TRIGGER"):
                                    REFERENCE.index("CREATE TABLE embed")])
        raw.execute("INSERT INTO memories (id, key, content, created_at,"
                    " updated_at) VALUES ('x', 'tea', 'warm', 't', 't')")
        raw.commit()

    memory = open_memory()
    memory.store("tea", "hot")
    assert memory.recall("hot")[0].key == "tea"
    assert memory.forget("tea") is True


def test_another_segmentation_is_indexed_anew(open_memory, tmp_path):
    memory = open_memory()
    memory.store("colour", "green")
    memory.close()
    with contextlib.closing(sqlite3.connect(brain(tmp_path))) as raw:
        raw.execute("DELETE FROM memories_fts")
        raw.execute("PRAGMA user_version=1000")
        raw.commit()

    assert open_memory(readonly=True).recall("greens")[0].key == "colour"
    assert open_memory().recall("greens")[0].key == "colour"


def test_a_store_of_the_version_before_finds_parts_of_german_words(
        open_memory, tmp_path):
    memory = open_memory()
    memory.store("key", "Der Haustürschlüssel liegt unter der Matte")
    memory.close()
    with contextlib.closing(sqlite3.connect(brain(tmp_path))) as raw:
        version = raw.execute("PRAGMA user_version").fetchone()[0]
        raw.execute("DROP TABLE memories_fts")
        raw.execute("CREATE VIRTUAL TABLE memories_fts USING fts5("
                    "key, content, tokenize='ascii')")
        raw.execute("INSERT INTO memories_fts(rowid, key, content) VALUES"
                    " (1, 'key', 'der hausturschlussel liegt unter der matt')")
        raw.execute(f"PRAGMA user_version={version - 1}")
        raw.commit()

    assert open_memory().recall("Haustür")[0].key == "key"


@pytest.mark.parametrize("readonly", [False, True])
def test_a_file_of_a_newer_claw_is_left_alone(open_memory, tmp_path,
                                              readonly):
    open_memory().close()
    with contextlib.closing(sqlite3.connect(brain(tmp_path))) as raw:
        raw.execute("PRAGMA user_version=9001")

    with pytest.raises(StorageError, match="newer"):
        open_memory(readonly=readonly)
    assert files(tmp_path) == ["brain.db"]


def test_reading_an_absent_memory_creates_nothing(open_memory, tmp_path):
    memory = open_memory(readonly=True)

    assert (memory.count(), memory.recall("x"), memory.list()) == (0, [], [])
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_its_owner_emptied_stays_empty(open_memory, tmp_path):
    memory = open_memory()
    memory.store("a", "text")
    export_snapshot(memory, tmp_path / "MEMORY_SNAPSHOT.md")
    memory.forget("a")
    memory.close()

    assert open_memory().count() == open_memory(readonly=True).count() == 0


def mark(tmp_path):
    with contextlib.closing(sqlite3.connect(brain(tmp_path))) as raw:
        return raw.execute("PRAGMA application_id").fetchone()[0]


def test_an_emptied_store_stays_empty_when_no_trace_is_left(open_memory,
                                                            tmp_path):
    """Undo off, the index made anew: only the mark tells."""
    memory = open_memory(undo_retention_days=0)
    memory.store("a", "text")
    export_snapshot(memory, tmp_path / "MEMORY_SNAPSHOT.md")
    memory.forget("a")
    memory.close()
    with contextlib.closing(open_memory()) as again:
        assert again.count() == 0
        again.reindex()

    assert mark(tmp_path) != 0
    assert open_memory().count() == open_memory(readonly=True).count() == 0


def test_a_restored_store_that_is_emptied_stays_empty(open_memory, tmp_path):
    memory = open_memory()
    memory.store("a", "text")
    export_snapshot(memory, tmp_path / "MEMORY_SNAPSHOT.md")
    memory.close()
    shutil.rmtree(tmp_path / "memory")
    with contextlib.closing(open_memory(undo_retention_days=0)) as restored:
        assert restored.forget("a") is True
        restored.reindex()

    assert open_memory().count() == 0


def snapshot_of_one(open_memory, tmp_path):
    """A snapshot with one memory, made elsewhere."""
    other = open_memory(workspace=tmp_path / "other")
    other.store("a", "text")
    export_snapshot(other, tmp_path / "MEMORY_SNAPSHOT.md")


@pytest.mark.parametrize("readonly", [False, True])
def test_a_store_that_was_never_written_is_restored_when_a_snapshot_comes(
        open_memory, tmp_path, readonly):
    open_memory().close()
    assert mark(tmp_path) == 0
    snapshot_of_one(open_memory, tmp_path)
    notes = []

    assert open_memory(readonly=readonly, notes=notes).get("a") is not None
    assert len(notes) == 1
    assert "restored 1 memory" in notes[0]
    assert open_memory(auto_hydrate=False).get("a") is not None  # on disk


@pytest.mark.parametrize("readonly", [False, True])
def test_rows_that_went_without_claw_come_back(open_memory, tmp_path,
                                               readonly):
    memory = open_memory()
    memory.store("a", "green tea")
    memory.store("b", "rain", "daily")
    export_snapshot(memory, tmp_path / "MEMORY_SNAPSHOT.md")
    memory.close()
    with contextlib.closing(sqlite3.connect(brain(tmp_path))) as raw:
        raw.execute("DELETE FROM memories")
        raw.commit()

    found = open_memory(readonly=readonly)
    assert [entry.key for entry in found.list()] == ["a"]
    assert [entry.key for entry in found.recall("tea")] == ["a"]
    assert found.recall("rain") == []
    assert all(seen.ok for seen in found.check())


def test_an_empty_store_and_an_empty_snapshot_are_looked_at_once(
        open_memory, tmp_path):
    open_memory().close()
    export_snapshot(open_memory(workspace=tmp_path / "other"),
                    tmp_path / "MEMORY_SNAPSHOT.md")
    open_memory().close()

    assert mark(tmp_path) != 0
    snapshot_of_one(open_memory, tmp_path)
    assert open_memory().count() == 0


def test_an_empty_file_is_restored(open_memory, tmp_path):
    snapshot_of_one(open_memory, tmp_path)
    brain(tmp_path).parent.mkdir()
    brain(tmp_path).write_bytes(b"")

    assert open_memory(readonly=True).count() == 1


def test_a_bad_snapshot_leaves_an_empty_store_as_it_was(open_memory,
                                                        tmp_path):
    open_memory().close()
    snapshot_of_one(open_memory, tmp_path)
    path = tmp_path / "MEMORY_SNAPSHOT.md"
    path.write_text(path.read_text("utf-8").replace("`a`", "``"), "utf-8")

    with pytest.raises(StorageError, match="without a key"):
        open_memory()
    assert mark(tmp_path) == 0


def test_a_store_that_can_not_be_marked_now_is_marked_later(open_memory,
                                                            tmp_path):
    memory = open_memory()
    memory.store("a", "text")
    assert mark(tmp_path) == 0
    memory.close()
    with contextlib.closing(sqlite3.connect(
            brain(tmp_path), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        memory = open_memory(sqlite_open_timeout_secs=60)
        other.execute("COMMIT")
    assert (memory.count(), mark(tmp_path)) == (1, 0)
    memory.close()

    open_memory().close()
    assert mark(tmp_path) != 0


def test_without_auto_hydrate_the_snapshot_is_not_read(open_memory,
                                                       tmp_path):
    memory = open_memory()
    memory.store("a", "text")
    export_snapshot(memory, tmp_path / "MEMORY_SNAPSHOT.md")
    memory.close()
    shutil.rmtree(tmp_path / "memory")

    assert open_memory(auto_hydrate=False).count() == 0


@pytest.mark.parametrize("content", [
    b"this is no database at all, but some text" * 100,
    b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_corrupt_file_is_kept_aside_and_the_next_run_begins_anew(
        open_memory, tmp_path, content):
    brain(tmp_path).parent.mkdir()
    brain(tmp_path).write_bytes(content)

    with pytest.raises(CorruptError) as raised:
        open_memory(readonly=True)
    assert raised.value.exit_code == 74
    assert files(tmp_path) == ["brain.db"]      # reading moves nothing

    with pytest.raises(StorageError, match="kept aside") as raised:
        open_memory()
    assert raised.value.exit_code == 74
    (aside,) = files(tmp_path)
    assert aside.startswith("brain.db.corrupt-")
    assert aside in raised.value.message
    assert (tmp_path / "memory" / aside).read_bytes() == content
    open_memory().store("a", "text")
    assert open_memory(readonly=True).count() == 1


@pytest.mark.parametrize("readonly", [False, True])
def test_a_corrupt_file_is_replaced_from_the_snapshot(open_memory, tmp_path,
                                                      readonly):
    memory = open_memory()
    memory.store("a", "text")
    export_snapshot(memory, tmp_path / "MEMORY_SNAPSHOT.md")
    memory.close()
    brain(tmp_path).write_bytes(b"x" * 9000)
    notes = []

    assert open_memory(readonly=readonly, notes=notes).get("a") is not None
    aside, = (name for name in files(tmp_path) if "corrupt" in name)
    assert (tmp_path / "memory" / aside).read_bytes() == b"x" * 9000
    assert "kept aside" in notes[0]
    assert "restored 1 memory" in notes[1]


def damage(path, wanted):
    """Overwrite the pages of one table."""
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = raw.execute("PRAGMA page_size").fetchone()[0]
        root = raw.execute("SELECT rootpage FROM sqlite_master"
                           " WHERE name = ?", (wanted,)).fetchone()[0]
    with open(path, "r+b") as stream:
        stream.seek((root - 1) * size)
        stream.write(b"\xff" * size)


def test_a_damaged_index_is_made_anew(open_memory, tmp_path):
    memory = open_memory()
    for number in range(50):
        memory.store(f"k{number}", f"text {number}")
    memory.close()
    with contextlib.closing(sqlite3.connect(brain(tmp_path))) as raw:
        raw.execute("UPDATE memories_fts_data SET block = x'ff00ff'"
                    " WHERE id > 10")
        raw.commit()
    notes = []
    memory = open_memory(notes=notes)

    assert len(memory.recall("text", 100)) == 50
    assert "made anew" in notes[0]
    assert memory.count() == 50


def test_damaged_memories_are_kept_aside_when_they_are_met(open_memory,
                                                           tmp_path):
    memory = open_memory()
    for number in range(200):
        memory.store(f"k{number}", f"text {number} " * 50)
    memory.close()
    damage(brain(tmp_path), "memories")
    memory = open_memory()

    with pytest.raises(StorageError, match="kept aside"):
        memory.list()
    assert any("corrupt" in name for name in files(tmp_path))
    memory.store("new", "a service goes on")
    assert [entry.key for entry in memory.list()] == ["new"]


def test_a_directory_in_the_place_of_the_file(open_memory, tmp_path):
    brain(tmp_path).mkdir(parents=True)

    for readonly in (False, True):
        with pytest.raises(StorageError, match="is a directory"):
            open_memory(readonly=readonly)


def test_a_file_in_the_place_of_the_directory(open_memory, tmp_path):
    (tmp_path / "memory").write_text("x")

    with pytest.raises(StorageError, match="can't be created"):
        open_memory()


def as_nobody(act):
    """Run in a child without root's rights; what it raised, as text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            answer = act()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(write, str(answer).encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as stream:
        text = stream.read().decode()
    os.waitpid(child, 0)
    return text


@pytest.fixture
def sealed(open_memory):
    """A workspace with a memory, that nobody may write to."""
    root = Path(tempfile.mkdtemp(prefix="claw-test-"))
    memory = open_memory(workspace=root)
    memory.store("a", "some text")
    export_snapshot(memory, root / "MEMORY_SNAPSHOT.md")
    memory.close()
    for path in (root / "memory").iterdir():
        path.chmod(0o444)
    (root / "MEMORY_SNAPSHOT.md").chmod(0o444)
    (root / "memory").chmod(0o555)
    root.chmod(0o555)
    yield root
    root.chmod(0o755)
    (root / "memory").chmod(0o755)
    shutil.rmtree(root)


def test_a_read_only_directory_can_be_read(sealed, open_memory):
    assert as_nobody(lambda: open_memory(
        workspace=sealed, readonly=True).recall("text")[0].key) == "a"


def test_a_read_only_directory_can_not_be_written(sealed, open_memory):
    answer = as_nobody(lambda: open_memory(workspace=sealed).store("b", "x"))

    assert answer.startswith(("StorageError", "ReadOnlyError"))


def test_a_snapshot_in_a_read_only_directory_is_read_into_memory(
        sealed, open_memory):
    sealed.chmod(0o755)
    (sealed / "memory").chmod(0o755)
    shutil.rmtree(sealed / "memory")
    (sealed / "memory").mkdir(mode=0o555)
    sealed.chmod(0o555)

    assert as_nobody(lambda: open_memory(
        workspace=sealed, readonly=True).get("a").content) == "some text"
    assert list((sealed / "memory").iterdir()) == []


def test_a_new_store_can_be_read_by_its_owner_only(open_memory, tmp_path):
    memory = open_memory()
    memory.store("key", "text")

    assert stat.S_IMODE((tmp_path / "memory").stat().st_mode) == 0o700
    for path in (tmp_path / "memory").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
