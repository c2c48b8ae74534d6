"""Hygiene: files, rows, states, size, snapshot; alone and killed."""

import contextlib
import fcntl
import json
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from claw.core import failpoint
from claw.core.errors import StorageError
from claw.core.memory import MemoryEntry
from claw.core.value import replace
from claw.memory.hygiene import state as hygiene_state
from claw.memory.hygiene.announce import list_rules, name_store
from claw.memory.hygiene.report import COUNTS
from claw.memory.hygiene.run import run
from claw.memory.hygiene.state import (
    Announcement,
    read_state,
    write_state,
)
from claw.memory.none import NoneMemory
from claw.memory.settings import MemoryPolicySettings, MemorySettings
from claw.memory.snapshot.format import read_snapshot
from claw.memory.sqlite.backend import SqliteMemory
from claw.memory.sqlite.ephemeral import EphemeralMemory
from claw.memory.sqlite.maintenance import SqliteMaintenance
from claw.storage.sessions import SessionStore, file_name

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)


def days_ago(days):
    return NOW - timedelta(days=days)


def stamp(days):
    return days_ago(days).isoformat(timespec="microseconds").replace(
        "+00:00", "Z")


@pytest.fixture
def workspace(tmp_path):
    return tmp_path


@pytest.fixture
def memory(workspace):
    opened = SqliteMemory.open(workspace, MemorySettings())
    yield opened
    opened.close()


@pytest.fixture
def tidy(workspace, memory):
    """tidy(now=..., force=..., archive_after_days=...) -> Report; as after a
    first removal under these rules."""
    def call(*, of=memory, now=NOW, notes=None, policy=None, force=False,
             dry_run=False, whole=False, protected=(), announced=False,
             **settings):
        if policy is not None:
            settings["policy"] = MemoryPolicySettings(**policy)
        chosen = MemorySettings(**settings)
        release(workspace, chosen, of.name if of else "sqlite", announced)
        return run(of, workspace, chosen, now=now,
                   notify=(notes if notes is not None else []).append,
                   force=force, dry_run=dry_run, whole=whole,
                   protected=protected)
    return call


def release(workspace, settings, store="sqlite", announced=False):
    """Let what is due go without a day's delay; or, where it is unusually
    much, what was announced a day ago."""
    with contextlib.suppress(StorageError):
        write_state(workspace, replace(
            read_state(workspace),
            rules=list_rules(settings, name_store(workspace, store)),
            released=True, announced=Announcement(
                NOW - timedelta(hours=25), for_size=10**6)
            if announced else None))


def put(workspace, path, *, age, text="text"):
    """A file that was last changed so many days ago."""
    file = workspace / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    moment = days_ago(age).timestamp()
    os.utime(file, (moment, moment))
    return file


def put_rows(memory, *rows):
    """(key, category, age in days)"""
    memory.restore([MemoryEntry("", key, f"text of {key}", category,
                                stamp(age), stamp(age))
                    for key, category, age in rows], overwrite=True)
    settle(memory)


def settle(memory):
    """Let all memories have come here when they say that they changed."""
    memory._connection.execute("UPDATE memories SET arrived_at = updated_at")


def names(folder):
    return sorted(path.name for path in folder.iterdir()) \
        if folder.is_dir() else []


def keys(memory):
    return {entry.key for entry in memory.list()}


def counted(report):
    return {name: n for name, n in report.counts.items() if n}


def test_old_daily_files_go_to_the_archive_by_the_date_in_their_name(
        workspace, tidy):
    put(workspace, "memory/2026-06-01.md", age=0, text="old")
    put(workspace, "memory/2026-06-02-notes.md", age=0)
    put(workspace, "memory/2026-06-10.md", age=60)

    report = tidy()

    assert counted(report) == {"archived_memory_files": 2}
    assert names(workspace / "memory/archive") == [
        "2026-06-01.md", "2026-06-02-notes.md"]
    assert (workspace / "memory/archive/2026-06-01.md").read_text() == "old"
    assert (workspace / "memory/2026-06-10.md").exists()
    assert report.files == (("archived", "memory/2026-06-01.md"),
                            ("archived", "memory/2026-06-02-notes.md"))


def test_a_session_is_as_young_as_its_last_change_whatever_its_name(
        workspace, tidy):
    put(workspace, "sessions/work-1a2b.jsonl", age=8)
    put(workspace, "sessions/fresh-1a2b.jsonl", age=6)
    put(workspace, "sessions/2026-01-01-plan-1a2b.jsonl", age=1)
    put(workspace, "sessions/2026-01-01-done-1a2b.jsonl", age=9)

    assert counted(tidy()) == {"archived_session_files": 2}
    assert names(workspace / "sessions/archive") == [
        "2026-01-01-done-1a2b.jsonl", "work-1a2b.jsonl"]


def test_only_known_kinds_of_files_are_touched(workspace, tidy, tmp_path):
    """sessions.db was archived once (and then removed)."""
    kept = ["sessions/sessions.db", "sessions/sessions.db-wal",
            "sessions/x.lock", "sessions/.hidden.jsonl",
            "sessions/x.jsonl.new", "memory/notes.md", "memory/MEMORY.md",
            "memory/2026-99-99.md", "memory/2026-01-01.db",
            "memory/2026-01-01.md.tmp", "memory/.2026-01-01.md",
            "memory/archive/brain.db", "sessions/archive/sessions.db",
            "sessions/archive/.x.jsonl"]
    for path in kept:
        put(workspace, path, age=400)
    outside = put(workspace, "outside.jsonl", age=400)
    (workspace / "sessions/link.jsonl").symlink_to(outside)
    (workspace / "sessions/archive/link.jsonl").symlink_to(outside)
    (workspace / "sessions/folder.jsonl").mkdir()
    os.mkfifo(workspace / "sessions/pipe.jsonl")
    before = sorted(workspace.rglob("*"))

    assert counted(tidy(force=True)) == {}
    assert counted(tidy(force=True)) == {}
    assert [path for path in sorted(workspace.rglob("*"))
            if "state" not in path.parts] == before


@pytest.mark.parametrize("folder", ["memory", "sessions"])
def test_an_archive_that_is_a_link_is_left_alone(workspace, tidy, folder):
    elsewhere = put(workspace, "precious/2026-01-01.md", age=400)
    put(workspace, f"{folder}/2026-01-01.md", age=400)
    (workspace / folder / "archive").symlink_to(elsewhere.parent)
    notes = []

    report = tidy(notes=notes)

    assert counted(report) == {}
    assert names(elsewhere.parent) == ["2026-01-01.md"]
    assert (workspace / folder / "2026-01-01.md").exists()
    assert any("is a link" in failure.message for failure in report.failures)
    assert len(notes) == len(report.failures)


def test_a_name_that_is_taken_gets_a_number(workspace, tidy):
    for number in range(3):
        put(workspace, "memory/2026-06-01.md", age=0, text=str(number))
        assert counted(tidy(force=True)) == {"archived_memory_files": 1}

    folder = workspace / "memory/archive"
    assert {name: (folder / name).read_text() for name in names(folder)} == {
        "2026-06-01.md": "0", "2026-06-01_1.md": "1", "2026-06-01_2.md": "2"}


def test_a_session_in_use_stays(workspace, tidy):
    store = SessionStore(workspace / "sessions")
    for key in ("telegram:1:2", "gone"):
        store.append(key, [{"type": "Chat"}])
    put(workspace, "sessions/plain.jsonl", age=40)
    held = put(workspace, "sessions/held.jsonl", age=40)
    for file in (workspace / "sessions").glob("*-*.jsonl"):
        os.utime(file, (0, 0))
    with open(held, "rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)  # as one who writes it does
        tidy(protected=["telegram:1:2", "plain"])

    assert names(workspace / "sessions") == sorted([
        "archive", "held.jsonl", "plain.jsonl", file_name("telegram:1:2")])
    assert names(workspace / "sessions/archive") == [file_name("gone")]


def test_a_session_that_is_written_after_it_was_looked_at_stays(
        workspace, tidy, monkeypatch):
    put(workspace, "sessions/a.jsonl", age=40)
    put(workspace, "sessions/b.jsonl", age=40)

    def written_meanwhile(name):
        if name == "hygiene.archived":
            put(workspace, "sessions/b.jsonl", age=0)
    failpoint.install(written_meanwhile)
    try:
        tidy()
    finally:
        failpoint.install(None)

    assert names(workspace / "sessions") == ["archive", "b.jsonl"]


def test_what_was_archived_is_removed_after_its_time(workspace, tidy):
    put(workspace, "sessions/a.jsonl", age=8)
    put(workspace, "memory/2026-06-01.md", age=8)
    tidy()
    files = {"memory/archive/2026-06-01.md", "sessions/archive/a.jsonl"}

    for later in (1, 20, 29.9):
        tidy(now=NOW + timedelta(days=later))
        assert all((workspace / file).exists() for file in files)
    report = tidy(now=NOW + timedelta(days=31))

    assert counted(report) == {"purged_memory_archives": 1,
                               "purged_session_archives": 1}
    assert {path for _, path in report.files} == files
    assert not any((workspace / file).exists() for file in files)


def test_files_that_are_very_old_when_archived_still_get_their_time(
        workspace, tidy):
    put(workspace, "sessions/a.jsonl", age=400)
    put(workspace, "memory/2025-06-01.md", age=400)

    for later in (0, 1, 29):
        tidy(now=NOW + timedelta(days=later))
        assert names(workspace / "sessions/archive") == ["a.jsonl"]
        assert names(workspace / "memory/archive") == ["2025-06-01.md"]
    tidy(now=NOW + timedelta(days=31))

    assert names(workspace / "sessions/archive") == []
    assert names(workspace / "memory/archive") == []


def test_archives_of_another_program_are_purged_by_date_or_last_change(
        workspace, tidy):
    put(workspace, "memory/archive/2026-01-01.md", age=0)
    put(workspace, "memory/archive/2026-06-01.md", age=90)
    put(workspace, "sessions/archive/old.jsonl", age=31)
    put(workspace, "sessions/archive/new.jsonl", age=29)

    assert counted(tidy()) == {"purged_memory_archives": 1,
                               "purged_session_archives": 1}
    assert names(workspace / "memory/archive") == ["2026-06-01.md"]
    assert names(workspace / "sessions/archive") == ["new.jsonl"]


def test_zero_and_unthinkable_days_switch_a_step_off(workspace, memory,
                                                     tidy):
    put(workspace, "memory/2020-01-01.md", age=400)
    put(workspace, "sessions/a.jsonl", age=400)
    put(workspace, "sessions/archive/b.jsonl", age=400)
    put_rows(memory, ("c", "conversation", 400))

    for days in (0, 10**12):
        assert counted(tidy(
            force=True, archive_after_days=days, purge_after_days=days,
            conversation_retention_days=days)) == {}
    assert keys(memory) == {"c"}


def test_only_old_conversation_is_removed_and_kept_for_undo(memory, tidy):
    put_rows(memory, ("old", "conversation", 31), ("new", "conversation", 29),
             ("fact", "core", 400), ("note", "daily", 400),
             ("mine", "recipes", 400))

    assert counted(tidy()) == {"pruned_conversation_rows": 1}
    assert keys(memory) == {"new", "fact", "note", "mine"}
    assert memory.recall("old") == []
    assert states(memory) == [("old", "purged", "text of old")]


def test_the_policy_says_how_long_each_category_is_kept(memory, tidy):
    put_rows(memory, ("a", "conversation", 31), ("b", "conversation", 61),
             ("c", "daily", 8), ("d", "daily", 6), ("e", "recipes", 400))

    report = tidy(policy={"retention_days_by_category": {
        "conversation": 60, " Daily": 7, "recipes": -1}})

    assert counted(report) == {"pruned_conversation_rows": 1,
                               "pruned_rows": 1}
    assert keys(memory) == {"a", "d", "e"}


def test_a_time_that_is_none_counts_as_young(memory, tidy):
    put_rows(memory, ("a", "conversation", 31), ("b", "conversation", 31))
    memory._connection.execute(
        "UPDATE memories SET updated_at = '1700000000' WHERE key = 'b'")

    tidy()
    assert keys(memory) == {"b"}


def test_more_rows_than_a_batch_are_removed(memory, tidy):
    put_rows(memory, *((f"k{n}", "conversation", 40) for n in range(1201)))

    assert counted(tidy(dry_run=True, announced=True)) == {
        "pruned_conversation_rows": 1201}
    assert memory.count() == 1201
    assert counted(tidy(announced=True)) == {"pruned_conversation_rows": 1201}
    assert memory.count() == 0


def states(memory):
    return memory._connection.execute(
        "SELECT key, ended_by, content FROM memory_versions"
        " ORDER BY vid").fetchall()


def put_states(memory, *given):
    """(key, ended_by, age of the end in days)"""
    memory._connection.executemany(
        "INSERT INTO memory_versions (id, key, content, category,"
        " created_at, updated_at, valid_until, ended_by)"
        " VALUES ('i', ?, 'was', 'core', 't', 't', ?, ?)",
        [(key, stamp(age), ended) for key, ended, age in given])


def test_states_are_kept_as_long_as_undo_and_history_want(memory, tidy):
    put_states(
        memory,
        ("a", "updated", 400), ("a", "updated", 300), ("a", "undone", 400),
        ("b", "updated", 300), ("b", "forgotten", 31), ("b", "updated", 5),
        ("c", "updated", 300), ("c", "forgotten", 29))

    assert counted(tidy(dry_run=True)) == {"pruned_versions": 4}
    assert counted(tidy()) == {"pruned_versions": 4}
    # What a forgotten memory had said before went with it.
    assert [row[:2] for row in states(memory)] == [
        ("a", "updated"), ("b", "updated"), ("c", "updated"),
        ("c", "forgotten")]


@pytest.mark.parametrize(("settings", "left"), [
    ({"undo_retention_days": 0}, [("a", "updated")]),
    ({"history_retention_days": 0}, [("b", "forgotten")]),
])
def test_zero_days_keep_no_states(memory, tidy, settings, left):
    put_states(memory, ("a", "updated", 1), ("b", "updated", 2),
               ("b", "forgotten", 1))
    tidy(**settings)

    assert [row[:2] for row in states(memory)] == left


def test_undo_works_within_its_time_and_not_after(memory, tidy):
    memory.store("a", "text")
    memory.forget("a")
    soon, late = (datetime.now(UTC) + timedelta(days=n) for n in (29, 31))

    assert counted(tidy(now=soon)) == {}
    assert len(states(memory)) == 1
    assert counted(tidy(now=late)) == {"pruned_versions": 1}


def filled(memory, rows, words=2000):
    memory.restore((MemoryEntry(
        "", f"{category}{n}", f"word{n} " * words, category,
        stamp(20 - n / 1000), stamp(20 - n / 1000))
        for category in ("core", "conversation") for n in range(rows)),
        overwrite=False)


def needed(memory):
    return memory.maintenance()._needed()


def test_above_the_size_the_oldest_conversation_goes_first(memory, tidy):
    filled(memory, 200)
    limit = (needed(memory) >> 20) * 3 // 4

    planned = tidy(dry_run=True, announced=True, max_size_mb=limit)
    report = tidy(announced=True, max_size_mb=limit)

    left = needed(memory) / (limit << 20)
    assert 0.75 < left <= 0.9       # below it, and no more than needed
    removed = report.counts["shed_conversation_rows"]
    assert 0 < removed < 200
    assert planned.counts["shed_conversation_rows"] == pytest.approx(
        removed, rel=0.5)
    assert {entry.key for entry in memory.list("conversation")} == {
        f"conversation{n}" for n in range(removed, 200)}
    assert len(memory.list("core")) == 200
    assert [e.key for e in memory.recall("word199", 1)]
    assert all(found.ok for found in memory.check())
    assert states(memory) == []


def test_no_more_is_removed_than_the_size_asks_for_where_rows_are_mixed(
        memory, tidy):
    """Half empty pages once looked like full ones: all conversation went,
    and the store seemed no smaller."""
    memory.restore((MemoryEntry(
        "", f"k{n}", f"word{n % 977} is a short text about {n}",
        "conversation" if n % 2 else "core", stamp(20), stamp(20 - n / 1e5))
        for n in range(20_000)), overwrite=False)
    limit = (needed(memory) >> 20) * 9 // 10

    report = tidy(announced=True, max_size_mb=limit)

    assert report.failures == ()
    assert 0 < report.counts["shed_conversation_rows"] < 8_000
    assert needed(memory) <= limit << 20
    assert counted(tidy(max_size_mb=limit, force=True)) == {}


def test_an_sqlite_that_can_not_tell_free_parts_is_told_to_write_anew(
        memory, tidy, monkeypatch):
    monkeypatch.setattr("claw.memory.sqlite.maintenance._unused",
                        lambda _: None)
    memory.restore((MemoryEntry(
        "", f"k{n}", f"word{n % 977} is a short text about {n}",
        "conversation" if n % 2 else "core", stamp(20), stamp(20 - n / 1e5))
        for n in range(20_000)), overwrite=False)
    limit = (needed(memory) >> 20) * 3 // 4

    report = tidy(announced=True, max_size_mb=limit)

    assert 0 < report.counts["shed_conversation_rows"] < 10_000
    assert report.counts["freed_bytes"] > 0
    assert memory._connection.execute(
        "PRAGMA freelist_count").fetchone() == (0,)


def test_then_old_states_and_kept_vectors_and_never_core(memory, tidy):
    filled(memory, 60)
    memory._connection.executemany(
        "INSERT INTO memory_versions (id, key, content, category,"
        " created_at, updated_at, valid_until, ended_by)"
        " VALUES ('i', 'k', ?, 'core', 't', 't', ?, 'updated')",
        [("x" * 50_000, stamp(20 - n / 100)) for n in range(20)])
    memory._connection.executemany(
        "INSERT INTO embedding_cache VALUES (?, 'm', ?, 't', 't')",
        [(str(n), bytes(50_000)) for n in range(20)])

    report = tidy(max_size_mb=1)

    counts = report.counts
    assert (counts["shed_conversation_rows"], counts["shed_versions"],
            counts["shed_cache_rows"]) == (60, 20, 20)
    assert len(memory.list("core")) == 60
    (failure,) = report.failures
    assert "max_size_mb" in failure.message
    assert failure.code == 74


@pytest.mark.parametrize("settings", [{"whole": True}, {"max_size_mb": 20}])
def test_free_space_does_not_count_and_may_be_given_back(
        workspace, memory, tidy, settings):
    filled(memory, 300, words=2500)
    memory.forget_where("core", None)
    memory.forget_where("conversation", None)
    memory._connection.execute("DELETE FROM memory_versions")
    put_rows(memory, ("a", "core", 1))
    file = workspace / "memory/brain.db"
    memory._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    large = file.stat().st_size
    assert large > 20 << 20

    assert counted(tidy()) == {}
    assert file.stat().st_size == large
    report = tidy(force=True, **settings)

    assert file.stat().st_size < large / 4
    assert report.counts["freed_bytes"] == large - file.stat().st_size
    assert keys(memory) == {"a"}
    assert memory.recall("text")[0].key == "a"


def test_it_runs_at_most_every_twelve_hours(workspace, tidy):
    assert tidy().skipped is None
    put(workspace, "sessions/a.jsonl", age=40)

    skipped = tidy(now=NOW + timedelta(hours=11, minutes=59))
    assert skipped.skipped == "not_due"
    assert skipped.to_json()["archived_session_files"] == 0
    assert tidy(now=NOW + timedelta(hours=12)).counts[
        "archived_session_files"] == 1


def test_force_and_a_clock_that_was_set_back_run_it(tidy):
    tidy()

    assert tidy(force=True).skipped is None
    assert tidy(now=NOW - timedelta(hours=1)).skipped is None


def test_switched_off_it_runs_when_forced_alone(workspace, tidy):
    assert tidy(hygiene_enabled=False).skipped == "off"
    assert read_state(workspace).last_run_at is None
    assert tidy(hygiene_enabled=False, force=True).skipped is None


def test_the_state_says_when_and_what(workspace, memory, tidy):
    put(workspace, "sessions/a.jsonl", age=40)
    put_rows(memory, ("a", "conversation", 31))
    tidy()

    state = json.loads(
        (workspace / "state/memory_hygiene_state.json").read_text())
    assert state["last_run_at"] == "2026-06-15T12:00:00.000000Z"
    assert set(state["last_report"]) == set(COUNTS)
    assert state["last_report"]["archived_session_files"] == 1
    assert state["last_report"]["pruned_conversation_rows"] == 1
    assert state["archived"] == {
        "sessions/archive/a.jsonl": "2026-06-15T12:00:00.000000Z"}
    assert names(workspace / "state") == ["memory_hygiene.lock",
                                          "memory_hygiene_state.json"]


@pytest.mark.parametrize("content", [
    b"", b"\xff\xfe", b"[]", b"null", b"{", b'{"last_run_at": 5}',
    b"[" * 100_000, b'{"last_run_at": "yesterday", "archived": 3}',
    b'{"last_run_at": "0001-01-01T00:00:00+23:00"}',
    b'{"last_run_at": null, "archived": {"a": []}, "last_report": 1}'])
def test_a_damaged_state_counts_as_none(workspace, tidy, content):
    (workspace / "state").mkdir()
    (workspace / "state/memory_hygiene_state.json").write_bytes(content)

    assert tidy().skipped is None
    assert tidy().skipped == "not_due"


def test_where_the_state_can_not_be_kept_it_says_so(workspace, tidy):
    (workspace / "state").write_text("a file")

    with pytest.raises(StorageError, match="state"):
        tidy()


def test_of_two_at_once_one_runs(workspace, tidy):
    with hygiene_state.hold_lock(workspace):
        assert tidy().skipped == "busy"
        assert tidy(force=True).skipped == "busy"
        assert tidy(dry_run=True).skipped is None
    assert tidy().skipped is None


def test_a_dry_run_changes_nothing_and_counts_the_same(workspace, memory,
                                                       tidy):
    put(workspace, "memory/2026-01-01.md", age=1)
    put(workspace, "sessions/a.jsonl", age=40)
    put(workspace, "sessions/archive/b.jsonl", age=40)
    put_rows(memory, ("a", "conversation", 31), ("b", "core", 1))
    put_states(memory, ("x", "forgotten", 40))
    release(workspace, MemorySettings(snapshot_on_hygiene=True))
    state = workspace / "state/memory_hygiene_state.json"
    before = {path: path.stat().st_mtime_ns for path in workspace.rglob("*")
              if "brain" not in path.name and path not in (
                  state, state.parent)}
    said = state.read_bytes()

    planned = tidy(dry_run=True, snapshot_on_hygiene=True)

    assert {path: path.stat().st_mtime_ns for path in workspace.rglob("*")
            if "brain" not in path.name and path not in (
                state, state.parent)} == before
    assert state.read_bytes() == said
    assert memory.count() == 2
    done = tidy(snapshot_on_hygiene=True)
    assert counted(planned) == counted(done) == {
        "archived_memory_files": 1, "archived_session_files": 1,
        "purged_session_archives": 1, "pruned_conversation_rows": 1,
        "pruned_versions": 1, "snapshot_memories": 1}
    assert planned.files == done.files
    assert (planned.dry_run, done.dry_run) == (True, False)


def test_a_failing_step_is_told_and_the_others_go_on(
        workspace, memory, tidy, monkeypatch):
    def fails(*_, **__):
        raise sqlite3.OperationalError("disk I/O error")
    monkeypatch.setattr(SqliteMaintenance, "prune_versions", fails)
    put(workspace, "memory/2026-01-01.md", age=1)
    put(workspace, "memory/archive", age=1)              # a file
    put(workspace, "sessions/a.jsonl", age=40)
    put_rows(memory, ("a", "conversation", 31))
    (workspace / "MEMORY_SNAPSHOT.md").mkdir()
    notes = []

    report = tidy(notes=notes, snapshot_on_hygiene=True)

    assert counted(report) == {"archived_session_files": 1,
                               "pruned_conversation_rows": 1}
    assert {failure.step for failure in report.failures} >= {
        "archiving daily files", "removing old states",
        "writing the snapshot"}
    assert len(notes) == len(report.failures)
    assert report.to_json()["errors"][0]["step"] == report.failures[0].step
    assert (workspace / "memory/2026-01-01.md").exists()
    assert tidy().skipped == "not_due"


def test_one_file_that_can_not_be_moved_does_not_hold_up_the_others(
        workspace, tidy, monkeypatch):
    for name in "abc":
        put(workspace, f"sessions/{name}.jsonl", age=40)
    rename = os.rename

    def refuses(source, target, **where):
        if source == "a.jsonl":
            raise OSError(18, "cross-device link", source)
        rename(source, target, **where)
    monkeypatch.setattr(os, "rename", refuses)

    report = tidy()

    assert report.counts["archived_session_files"] == 2
    assert [failure.message for failure in report.failures] == [
        "a.jsonl: cross-device link"]
    assert names(workspace / "sessions") == ["a.jsonl", "archive"]
    assert names(workspace / "sessions/archive") == ["b.jsonl", "c.jsonl"]


@pytest.mark.parametrize(("settings", "written"), [
    ({}, False), ({"snapshot_on_hygiene": True}, True),
    ({"snapshot_enabled": True}, True)])
def test_the_snapshot_is_written_after_each_run(workspace, memory, tidy,
                                                settings, written):
    put_rows(memory, ("a", "core", 400), ("b", "daily", 1))
    report = tidy(**settings)

    path = workspace / "MEMORY_SNAPSHOT.md"
    assert path.exists() is written
    assert report.counts["snapshot_memories"] == written
    if written:
        assert [e.key for e in read_snapshot(path)] == ["a"]
        memory.forget("a")
        tidy(force=True, **settings)
        assert list(read_snapshot(path)) == []


@pytest.mark.parametrize("make", [
    NoneMemory, lambda: EphemeralMemory.open(Path(), MemorySettings())])
def test_a_memory_without_a_store_leaves_the_snapshot_alone(
        workspace, tidy, make):
    path = put(workspace, "MEMORY_SNAPSHOT.md", age=1, text="precious")
    other = make()
    tidy(of=other, snapshot_on_hygiene=True)
    if hasattr(other, "close"):
        other.close()

    assert path.read_text() == "precious"


def test_an_empty_store_does_not_empty_a_snapshot_that_is_not_hydrated(
        workspace, memory, tidy):
    put_rows(memory, ("a", "core", 1))
    tidy(snapshot_on_hygiene=True)
    memory.forget("a")
    notes = []
    tidy(force=True, snapshot_on_hygiene=True, auto_hydrate=False,
         notes=notes)

    assert [e.key for e in read_snapshot(
        workspace / "MEMORY_SNAPSHOT.md")] == ["a"]
    assert "left as it is" in notes[0]


class Plain(NoneMemory):
    """A backend with the contract's members alone."""

    def __init__(self, *rows):
        self.rows = dict(rows)

    @property
    def name(self):
        return "plain"

    def list(self, category=None, session_id=None):
        return [MemoryEntry("", key, "t", category, at, at)
                for key, at in self.rows.items()]

    def forget(self, key):
        return self.rows.pop(key, None) is not None


def test_a_backend_that_can_do_no_more_forgets_one_by_one(tidy):
    plain = Plain(("a", stamp(31)), ("b", stamp(29)), ("c", "long ago"))

    assert counted(tidy(of=plain, dry_run=True)) == {
        "pruned_conversation_rows": 1}
    assert counted(tidy(of=plain)) == {"pruned_conversation_rows": 1}
    assert set(plain.rows) == {"b", "c"}


class Markdown(Plain):
    """Its daily files are the memory."""

    @property
    def name(self):
        return "markdown"


def test_daily_files_that_are_the_memory_go_when_daily_ones_shall(
        workspace, tidy):
    put(workspace, "memory/2026-06-01.md", age=1)

    assert counted(tidy(of=Markdown())) == {}
    assert counted(tidy(of=Markdown(), force=True, policy={
        "retention_days_by_category": {"daily": 10}})) == {
            "archived_memory_files": 1}


def test_without_a_store_files_are_looked_after(workspace, tidy):
    put(workspace, "memory/2026-01-01.md", age=1)

    assert counted(tidy(of=None)) == {"archived_memory_files": 1}


def test_who_writes_to_an_archived_session_goes_on_with_it(workspace, tidy):
    store = SessionStore(workspace / "sessions", now=lambda: days_ago(40))
    store.append("work", [{"type": "Chat", "data": {"text": "first"}}])
    os.utime(workspace / "sessions" / file_name("work"), (0, 0))
    assert counted(tidy()) == {"archived_session_files": 1}
    store.append("work", [{"type": "Chat", "data": {"text": "second"}}])

    assert [r["data"]["text"] for r in store.load("work")] == [
        "first", "second"]
    assert not [*(workspace / "sessions/archive").glob("*.jsonl")]


def killed_at(number, workspace, settings):
    """Run hygiene in a child that dies at a failpoint; its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        failpoint.install(failpoint.die_at(number))
        memory = SqliteMemory.open(workspace, settings)
        run(memory, workspace, settings, now=NOW)
        memory.close()
    finally:
        os._exit(0)


def test_killed_anywhere_every_file_is_in_one_place_and_the_store_is_whole(
        workspace):
    settings = MemorySettings(snapshot_on_hygiene=True)
    number = 0
    while True:
        number += 1
        place = workspace / str(number)
        for name in ("2026-01-01.md", "2026-01-02.md"):
            put(place, f"memory/{name}", age=1, text=name)
        for name in ("a.jsonl", "b.jsonl"):
            put(place, f"sessions/{name}", age=400, text=name)
        put(place, "sessions/archive/c.jsonl", age=400)
        with contextlib.closing(SqliteMemory.open(place, settings)) as memory:
            put_rows(memory, ("fact", "core", 400),
                     *((f"k{n}", "conversation", 40) for n in range(600)))
        release(place, settings, announced=True)

        ended = killed_at(number, place, settings)

        for folder, files in (("memory", ["2026-01-01.md", "2026-01-02.md"]),
                              ("sessions", ["a.jsonl", "b.jsonl"])):
            for name in files:
                found = [path for path in (place / folder).rglob("*")
                         if path.is_file() and path.suffix != ".db"
                         and path.read_bytes() == name.encode()]
                assert len(found) == 1
        with contextlib.closing(SqliteMemory.open(place, settings)) as memory:
            assert memory.get("fact") is not None
            assert all(found.ok for found in memory.check())
            report = run(memory, place, settings, now=NOW,
                         force=ended == 0)
            assert (report.skipped, report.failures) == (None, ())
            assert keys(memory) == {"fact"}
        for folder in ("memory", "sessions"):
            texts = [path.read_text() for path in
                     (place / folder / "archive").iterdir()]
            assert len([text for text in texts if text]) == 2
        if ended == 0:
            break
        assert ended == failpoint.KILLED
    assert number > 10


def test_the_store_is_never_opened_as_a_file(workspace, memory, tidy,
                                             monkeypatch):
    """Closing a descriptor of a live database drops its locks."""
    put(workspace, "memory/2026-01-01.md", age=1)
    put_rows(memory, ("a", "conversation", 40))
    opened = []
    real = os.open

    def noted(path, *arguments, **named):
        opened.append(str(path))
        return real(path, *arguments, **named)
    monkeypatch.setattr(os, "open", noted)
    tidy(max_size_mb=1, snapshot_on_hygiene=True)

    assert opened
    assert not [path for path in opened if "brain" in path]


def test_while_hygiene_works_another_connection_writes(workspace, memory,
                                                       tidy):
    put_rows(memory, *((f"k{n}", "conversation", 40) for n in range(1200)))
    written = []

    def write_between(name):
        if name == "hygiene.pruned":
            with contextlib.closing(sqlite3.connect(
                    workspace / "memory/brain.db", timeout=0)) as other:
                other.execute("UPDATE memories SET importance = 1"
                              " WHERE key = 'k1199'")
                other.commit()
            written.append(name)
    failpoint.install(write_between)
    try:
        tidy(announced=True)
    finally:
        failpoint.install(None)

    assert len(written) >= 3


def test_states_of_before_the_bound_go_with_hygiene(workspace, tidy):
    with closing(SqliteMemory.open(
            workspace, MemorySettings(max_versions=0))) as memory:
        for number in range(30):
            memory.store("k", f"state {number}")
            memory.store("other", f"state {number % 5}")
        planned = tidy(of=memory, dry_run=True, force=True, max_versions=10)
        report = tidy(of=memory, force=True, max_versions=10)

        assert planned.counts["thinned_versions"] == 19 + 19
        assert report.counts["thinned_versions"] == 19 + 19
        assert [len(memory.history(key)) for key in ("k", "other")] \
            == [11, 11]
        assert memory.history("k")[-1].entry.content == "state 0"
