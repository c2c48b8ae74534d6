"""Memories of the reference, of OpenClaw and of Markdown files."""

import builtins
import contextlib
import hashlib
import os
import random
import sqlite3
import stat
from collections import Counter
from pathlib import Path

import pytest

from claw.core.errors import NotFoundError, StorageError, UsageError
from claw.core.memory import MemoryEntry
from claw.memory.importers.guess import origins
from claw.memory.importers.migration import back_up, bring, dry_run_import
from claw.memory.markdown.backend import MarkdownMemory
from claw.memory.settings import MemorySettings
from claw.memory.snapshot.file import export_snapshot
from claw.memory.sqlite.backend import FILE
from claw.storage import foreign
from claw.testing.reference_brain import (
    add_without_checkpoint,
    reference_brain,
)


@pytest.fixture
def take(memory, tmp_path):
    """take(path..., wanted="auto") imports and gives the numbers."""
    def call(*paths, wanted="auto", into=memory, dry=False):
        tally = Counter()
        found = origins([str(p) for p in paths], wanted, tmp_path / FILE)
        (dry_run_import if dry else bring)(into, found, tally)
        return tally
    return call


def by_key(memory):
    return {entry.key: entry for entry in memory.entries()}


def openclaw(tmp_path, files=None, brain=None):
    """A workspace of OpenClaw."""
    workspace = tmp_path / ".openclaw" / "workspace"
    (workspace / "memory").mkdir(parents=True, exist_ok=True)
    for name, text in (files or {}).items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if brain:
        with contextlib.closing(sqlite3.connect(
                workspace / "memory" / "brain.db")) as connection:
            connection.executescript(brain)
    return workspace


def test_everything_of_the_references_brain_comes_over(take, memory,
                                                       tmp_path):
    tally = take(reference_brain(tmp_path / "other" / "brain.db"))

    found = by_key(memory)
    assert tally["written"] == tally["read"] == 4
    colour = found["colour"]
    assert (colour.id, colour.content, colour.category) == (
        "id-1", "Mina likes green", "core")
    assert colour.created_at == "2026-03-24T09:00:00.123456789Z"
    assert colour.updated_at == "2026-03-25T01:00:00.000000Z"
    cat = found["猫"]
    assert (cat.session_id, cat.namespace, cat.importance) == (
        "s1", "work", 0.9)
    assert cat.created_at == "2026-03-25T04:30:00.000000Z"
    assert found["old colour"].superseded_by == "id-1"
    assert [m.key for m in memory.recall("colour")] == ["colour"]
    assert [m.key for m in memory.recall("咪咪")] == ["猫"]


def test_bytes_that_are_no_text_and_times_that_are_none_lose_no_row(
        take, memory, tmp_path):
    tally = take(reference_brain(tmp_path / "b.db"))

    odd = memory.get("odd")
    assert odd.content == "ab\ufffd"
    assert odd.created_at == odd.updated_at == "2026-02-28T23:00:00.000000Z"
    assert tally["odd_times"] == 1


def test_a_file_from_before_the_later_columns_is_read(take, memory,
                                                      tmp_path):
    assert take(reference_brain(tmp_path / "b.db", later=False)
                )["written"] == 4
    assert memory.get("colour").importance == 0.5


def test_what_is_only_in_the_log_is_read_and_the_file_is_left(
        take, memory, tmp_path):
    brain = reference_brain(tmp_path / "b.db")
    add_without_checkpoint(
        brain, "INSERT INTO memories (id, key, content, created_at,"
        " updated_at) VALUES ('n', 'newest', 'in the log', '2026-01-01',"
        " '2026-01-01')")
    log = Path(f"{brain}-wal")
    before = brain.read_bytes(), log.read_bytes()
    assert before[1]

    assert take(brain)["written"] == 5
    assert memory.get("newest").content == "in the log"
    assert (brain.read_bytes(), log.read_bytes()) == before


def test_unknown_columns_and_odd_types_are_no_obstacle(take, memory,
                                                       tmp_path):
    brain = reference_brain(tmp_path / "b.db", more="""
        ALTER TABLE memories ADD COLUMN "agent alias" BLOB;
        UPDATE memories SET "agent alias" = x'ff', importance = 'high';
        UPDATE memories SET content = x'e78cab' WHERE id = 'id-1';
        UPDATE memories SET content = 42 WHERE id = 'id-2';
        UPDATE memories SET key = '' WHERE id = 'id-3';""")

    assert take(brain)["written"] == 4
    assert memory.get("colour").content == "猫"
    assert memory.get("colour").importance is None
    assert memory.get("猫").content == "42"
    assert memory.get("zeroclaw_3").content == "Mina likes blue"


def test_importing_twice_changes_nothing(take, memory, tmp_path):
    brain = reference_brain(tmp_path / "b.db")
    take(brain)
    before = [e for e in memory.entries() if e.key != "odd"]

    assert take(brain)["written"] == 4
    assert [e for e in memory.entries() if e.key != "odd"] == before


def test_a_brain_of_claw_keeps_who_said_it_and_where(open_memory, take,
                                                     memory, tmp_path):
    there = open_memory(workspace=tmp_path / "there")
    there.restore([MemoryEntry("7", "k", "text", "daily", "2020-01-01",
                               "2021-01-01", "s", None, "ann", "ns", 0.7,
                               None, "telegram:1:2")], overwrite=True)

    take(tmp_path / "there" / FILE)
    assert list(memory.entries()) == list(there.entries())


@pytest.mark.parametrize("name", [
    "memory/brain.db", "memory/brain.db-wal", "memory/brain.db-shm",
    "hard", "soft", ".", "memory"])
def test_our_own_brain_is_refused_before_it_is_opened(
        memory, tmp_path, monkeypatch, name):
    memory.store("k", "text")
    os.link(tmp_path / FILE, tmp_path / "hard")
    os.symlink(tmp_path / FILE, tmp_path / "soft")

    def forbidden(*args, **kw):
        raise AssertionError(f"opened {args}")
    monkeypatch.setattr(builtins, "open", forbidden)
    monkeypatch.setattr(sqlite3, "connect", forbidden)

    with pytest.raises(UsageError, match="memory of this workspace"):
        origins([str(tmp_path / name)], "auto", tmp_path / FILE)


@pytest.mark.parametrize(("content", "complaint"), [
    ("CREATE TABLE chunks (id)", "holds no memories"),
    ("CREATE TABLE memories (x)", "holds no memories"),
    ("CREATE TABLE memories (rid, key, content); PRAGMA user_version=999000",
     "newer version of claw"),
])
def test_a_database_of_something_else_is_named(tmp_path, content, complaint):
    with contextlib.closing(sqlite3.connect(tmp_path / "x.db")) as other:
        other.executescript(content)

    with pytest.raises((UsageError, StorageError), match=complaint):
        origins([str(tmp_path / "x.db")], "auto", tmp_path / FILE)


def test_damage_in_the_middle_writes_nothing_and_blames_the_source(
        open_memory, tmp_path):
    notes = []
    memory = open_memory(notes=notes)
    memory.store("mine", "kept")
    brain = reference_brain(tmp_path / "b.db", more="".join(
        "INSERT INTO memories (id, key, content, created_at, updated_at)"
        f" VALUES ('x{n}', 'k{n}', '{'word ' * 300}', '2026', '2026');"
        for n in range(200)))
    junk = random.Random(4).randbytes(4096)
    with open(brain, "r+b") as stream:
        for page in range(20, 60):
            stream.seek(page * 4096)
            stream.write(junk)
    tally = Counter()

    with pytest.raises(StorageError, match=r"b\.db is damaged; nothing was"):
        bring(memory, origins([str(brain)], "auto", tmp_path / FILE), tally)

    assert [e.key for e in memory.entries()] == ["mine"]
    assert notes == []
    assert memory.recall("kept")


def test_two_sources_are_written_both_or_neither(take, memory, tmp_path):
    brain = reference_brain(tmp_path / "b.db")
    bad = tmp_path / "bad.ndjson"
    bad.write_text('{"key": "a", "content": "b"}\n{"key": "c"}\n')

    with pytest.raises(UsageError, match="line 2"):
        take(brain, bad)
    assert memory.count() == 0


def test_openclaws_files_become_memories(take, memory, tmp_path):
    workspace = openclaw(tmp_path, {
        "MEMORY.md": "# Long-term\n\n- **favourite colour**: green\n"
                     "- **Home:** Lyon\n* likes tea\n\n---\n",
        "memory/2026-03-28.md": "## Today\n1. walked the dog\n",
        "memory/projects/kit.md": "**状态**:完成了\n",
        "memory/.hidden/x.md": "not this\n", "AGENTS.md": "nor this\n"})

    tally = take(workspace)
    found = by_key(memory)
    assert {key: e.content for key, e in found.items()} == {
        "favourite colour": "green", "Home": "Lyon",
        "openclaw_MEMORY_5": "likes tea",
        "openclaw_2026-03-28_2": "walked the dog", "状态": "完成了"}
    day = found["openclaw_2026-03-28_2"]
    assert (day.category, day.created_at) == (
        "daily", "2026-03-28T00:00:00.000000Z")
    assert found["Home"].category == "core"
    assert (tally["written"], tally["blank"]) == (5, 1)


@pytest.mark.parametrize("columns", [
    ("key", "content", "category"), ("id", "value", "kind"),
    ("name", "text", "type"), ("Name", "memory", "TYPE")])
def test_openclaws_database_under_any_of_its_names(take, memory, tmp_path,
                                                   columns):
    key, content, category = columns
    workspace = openclaw(tmp_path, brain=(
        f"CREATE TABLE memories ({key}, {content}, {category}, created_at);"
        "INSERT INTO memories VALUES ('tea', 'green tea', 'Daily',"
        " 1711270800000), ('none', NULL, 'core', ''), ('blank', ' ', '', 5)"))

    tally = take(workspace)
    assert tally["blank"] == 2
    entry, = memory.entries()
    assert (entry.key, entry.content, entry.category) == (
        "tea", "green tea", "daily")
    assert entry.created_at == "2024-03-24T09:00:00.000000Z"


def test_what_openclaw_knows_otherwise_gets_another_key(take, memory,
                                                        tmp_path):
    memory.store("colour", "green")
    memory.store("tea", "black")
    memory.store("tea__openclaw_1", "white")
    brain = ("CREATE TABLE memories (name, text);"
             "INSERT INTO memories VALUES ('colour', 'green'),"
             " ('tea', 'oolong'), ('tea', 'oolong'), ('tea', 'white'),"
             " ('tea', 'mate'), ('new', 'x'), ('new', 'x'), ('new', 'y')")
    workspace = openclaw(tmp_path, brain=brain)

    first, kept = take(workspace), by_key(memory)
    again = take(workspace)

    assert {key: e.content for key, e in kept.items()} == {
        "colour": "green", "tea": "black", "tea__openclaw_1": "white",
        "tea__openclaw_2": "oolong", "tea__openclaw_3": "mate",
        "new": "x", "new__openclaw_1": "y"}
    assert dict(first) == {"read": 8, "written": 4, "renamed": 3,
                           "unchanged": 1, "duplicates": 3}
    assert again["written"] == 0
    assert by_key(memory) == kept


def test_many_texts_under_one_key_do_not_take_a_square_of_time(
        take, memory, tmp_path):
    workspace = openclaw(tmp_path, brain=(
        "CREATE TABLE memories (name, text); WITH RECURSIVE n(i) AS"
        " (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
        " INSERT INTO memories SELECT 'note', 'text ' || i FROM n"))
    asked = []
    get = memory.get
    memory.get = lambda key: (asked.append(key), get(key))[1]

    assert take(workspace)["written"] == 1000
    assert len(asked) < 3000


def test_a_rehearsal_counts_and_writes_nothing(take, memory, tmp_path,
                                               monkeypatch):
    memory.store("colour", "red")
    memory.store("tea", "black")
    brain = reference_brain(tmp_path / "b.db")
    workspace = openclaw(tmp_path, {"MEMORY.md": "**tea**: oolong\n"})
    monkeypatch.setattr(memory, "restore", None)

    assert dict(take(brain, workspace, dry=True)) == {
        "read": 5, "written": 5, "renamed": 1, "replaced": 1,
        "odd_times": 1}
    assert memory.count() == 2


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"


@pytest.mark.parametrize("script", [
    f"CREATE VIEW memories AS {ENDLESS} SELECT n key, 'x' content FROM r",
    "CREATE VIEW memories AS SELECT 'a' key, 'x' content",
    "CREATE TABLE memories (key, content AS (hex(zeroblob(100000000))));"
    "INSERT INTO memories VALUES ('a')",
    "CREATE VIRTUAL TABLE memories USING fts5(key, content)"])
def test_a_view_in_the_place_of_memories_never_ended(take, memory, tmp_path,
                                                     monkeypatch, script):
    monkeypatch.setattr(foreign, "MOST_STEPS", 1_000_000)
    brain = tmp_path / "brain.db"
    with contextlib.closing(sqlite3.connect(brain)) as connection:
        connection.executescript(script)

    with pytest.raises(UsageError, match="no plain table"):
        take(brain)
    assert memory.count() == 0


def test_a_view_that_is_put_there_meanwhile_is_not_read(take, memory,
                                                        tmp_path):
    """Another program may write the file between two looks at it."""
    brain = tmp_path / "brain.db"
    with contextlib.closing(sqlite3.connect(brain)) as connection:
        connection.executescript("CREATE TABLE memories (key, content)")
        found = origins([str(brain)], "auto", tmp_path / FILE)
        connection.executescript(
            "DROP TABLE memories; CREATE VIEW memories AS "
            f"{ENDLESS} SELECT n key, 'x' content FROM r")

    with pytest.raises(UsageError, match="no plain table"):
        bring(memory, found, Counter())


def test_reading_a_foreign_file_ends_after_so_many_steps(take, tmp_path,
                                                         monkeypatch):
    brain = tmp_path / "brain.db"
    with contextlib.closing(sqlite3.connect(brain)) as connection:
        connection.executescript(
            "CREATE TABLE memories (key, content);"
            f"INSERT INTO memories {ENDLESS} SELECT n, 'x' FROM r"
            " LIMIT 100000")
    monkeypatch.setattr(foreign, "MOST_STEPS", 100_000)

    with pytest.raises(StorageError, match="too long to read"):
        take(brain)


def test_another_backend_gets_openclaws_memories_too(take, tmp_path):
    into = MarkdownMemory.open(tmp_path / "md", MemorySettings())
    into.store("tea", "black")
    workspace = openclaw(tmp_path, {"MEMORY.md": "**tea**: oolong\n**a**: b"})

    assert take(workspace, into=into)["written"] == 2
    assert into.get("tea").content == "black"
    assert into.get("tea__openclaw_1").content == "oolong"


def test_the_references_markdown_memory(take, memory, tmp_path):
    home = tmp_path / "zero"
    (home / "memory").mkdir(parents=True)
    (home / "MEMORY.md").write_text(
        "# Long-Term Memory\n\n- **plan**: first\nsecond line\n\n"
        "- **empty**:\n- prose without a key\n")
    (home / "memory" / "2026-03-24.md").write_bytes(
        b"\xef\xbb\xbf# Daily Log\r\n\r\n- **walk**: in the \xff park\r\n")

    take(home)
    found = by_key(memory)
    assert found["plan"].content == "first\nsecond line"
    assert found["zeroclaw_MEMORY_7"].content == "prose without a key"
    assert found["walk"].content == "in the \ufffd park"
    assert found["walk"].category == "daily"
    assert len(found) == 3


def test_beside_a_brain_only_keyed_lines_are_memories(take, memory,
                                                      tmp_path):
    reference_brain(tmp_path / "zero" / "workspace" / "memory" / "brain.db")
    (tmp_path / "zero" / "workspace" / "MEMORY.md").write_text(
        "You are a helpful agent.\n- **note**: from the file\n")

    assert take(tmp_path / "zero")["written"] == 5
    assert memory.get("note").content == "from the file"


def test_claws_own_markdown_reads_back_as_it_was(take, memory, tmp_path):
    there = MarkdownMemory.open(tmp_path / "md", MemorySettings())
    there.restore([MemoryEntry(
        "7", "pl*an", "one\n\n  two\n<!-- claw x", "core",
        "2020-01-01T00:00:00.000000Z", "2021-01-01T00:00:00.000000Z", "s",
        None, "ann", "default", 0.5, None, "telegram:1:2"), MemoryEntry(
        "8", "b", "for all", "core", "2020-01-02T00:00:00.000000Z",
        "2021-01-01T00:00:00.000000Z")], overwrite=True)

    assert take(*(tmp_path / "md").rglob("*.md"))["written"] == 2
    assert list(memory.entries()) == list(there.entries())


def test_a_snapshot_is_known_by_what_stands_in_it(take, memory, open_memory,
                                                  tmp_path):
    there = open_memory(workspace=tmp_path / "there")
    there.store("a", "- **b**: c\n---")
    export_snapshot(there, tmp_path / "old.md")

    assert take(tmp_path / "old.md")["written"] == 1
    assert memory.get("a").content == "- **b**: c\n---"


@pytest.mark.parametrize(("name", "wanted", "error"), [
    ("none", "auto", UsageError), ("empty", "auto", NotFoundError),
    ("empty", "ndjson", UsageError), ("text.txt", "openclaw", UsageError),
    ("-", "openclaw", UsageError), ("a\0b", "auto", UsageError)])
def test_what_can_not_be_imported_is_refused(tmp_path, name, wanted, error):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("{}")
    path = name if name == "-" else str(tmp_path / name)

    with pytest.raises(error):
        origins([path], wanted, tmp_path / FILE)


def test_the_copy_is_whole_and_as_private_as_the_store(memory, tmp_path):
    memory.store("k", "text")
    brain = tmp_path / FILE
    brain.chmod(0o600)
    one, two = back_up(brain, "openclaw"), back_up(brain, "openclaw")

    assert one != two
    assert one.parent.parent == brain.parent / "migrations"
    assert stat.S_IMODE(one.stat().st_mode) == 0o600
    with contextlib.closing(sqlite3.connect(one)) as copy:
        assert copy.execute("SELECT content FROM memories").fetchall() == [
            ("text",)]
    assert back_up(tmp_path / "none" / "brain.db", "openclaw") is None


def test_the_digest_of_a_source_is_the_same_after_a_dry_run(take, tmp_path):
    brain = reference_brain(tmp_path / "b.db")
    digest = hashlib.sha256(brain.read_bytes()).digest()

    take(brain, dry=True)
    assert hashlib.sha256(brain.read_bytes()).digest() == digest


def test_one_markdown_file_of_openclaw_is_known_by_its_place(tmp_path):
    workspace = openclaw(tmp_path, {"MEMORY.md": "- likes walks\n"})

    found, = origins([str(workspace / "MEMORY.md")], "auto", tmp_path / FILE)

    assert (found.kind, found.agent) == ("markdown", "openclaw")
