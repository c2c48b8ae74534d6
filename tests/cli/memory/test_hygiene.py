"""claw memory hygiene, and what the start of a program does."""

import json
import os
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.memory.hygiene.state import hold_lock
from claw.memory.settings import MemorySettings
from claw.memory.snapshot.format import read_snapshot
from claw.memory.sqlite.backend import SqliteMemory
from claw.wiring.memory.hygiene import maintain_memory

OLD = "2026-01-01T00:00:00Z"


@pytest.fixture
def workspace(home):
    """A workspace with one of everything that is old."""
    place = home / "workspace"
    for path in ("memory/2026-01-01.md", "sessions/work-1.jsonl",
                 "sessions/archive/gone.jsonl"):
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("text")
        os.utime(file, (time.time() - 40 * 86400,) * 2)
    return place


@pytest.fixture
def remembered(claw, workspace):
    """... and memories."""
    claw("memory", "import", stdin="\n".join(json.dumps(
        {"key": key, "content": "text", "category": category,
         "created_at": OLD, "updated_at": OLD})
        for key, category in (("fact", "core"), ("said", "conversation"))))
    return workspace


def set_(home, text):
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(f"[memory]\n{text}\n")


@pytest.fixture
def tend(home, tmp_path):
    """tend(hours=...) -> (report, notes)"""
    def call(*, hours=0, **more):
        tree = load(locate(str(home), None, {"HOME": str(tmp_path)}))
        notes = []
        return maintain_memory(tree, notes.append, now=datetime.now(UTC)
                           + timedelta(hours=hours), **more), notes
    return call


def test_it_says_what_it_did(claw, remembered):
    done = claw("memory", "hygiene")

    assert done.code == 0
    assert done.out.splitlines() == [
        "1 daily files archived", "1 sessions archived",
        "1 archived sessions removed",
        "1 old conversation memories removed"]
    assert done.err == ""
    assert (remembered / "memory/archive/2026-01-01.md").exists()
    assert [m["key"] for m in claw(
        "memory", "list", "--json").json["memories"]] == ["fact"]


def test_it_is_done_twice_a_day_at_most(claw, remembered):
    claw("memory", "hygiene")
    again = claw("memory", "hygiene")
    forced = claw("memory", "hygiene", "--force")

    assert (again.code, again.out) == (0, "")
    assert "--force" in again.err
    assert (forced.code, forced.out) == (0, "")
    assert forced.err == "claw: there was nothing to do\n"
    assert claw("memory", "hygiene", "--json").json["skipped"] == "not_due"


def test_a_dry_run_names_the_files_and_changes_nothing(claw, remembered):
    before = sorted(path for path in remembered.rglob("*")
                    if "brain" not in path.name)
    done = claw("memory", "hygiene", "--dry-run")

    assert done.code == 0
    assert len(done.out.splitlines()) == 4
    assert all(line.startswith("would be: ")
               for line in done.out.splitlines())
    assert "would be removed: sessions/archive/gone.jsonl" in done.err
    assert "would be archived: memory/2026-01-01.md" in done.err
    assert "nothing was changed" in done.err
    assert sorted(path for path in remembered.rglob("*")
                  if "brain" not in path.name) == before
    assert claw("memory", "count").out == "2\n"


def test_json_has_every_count(claw, remembered):
    report = claw("memory", "hygiene", "--json").json

    assert report["archived_memory_files"] == 1
    assert report["pruned_conversation_rows"] == 1
    assert report["snapshot_memories"] == 0
    assert (report["skipped"], report["dry_run"]) == (None, False)
    assert report["errors"] == []
    assert {"done": "archived", "path": "sessions/work-1.jsonl"} in report[
        "files"]


def test_switched_off_it_says_so(claw, home, remembered):
    set_(home, "hygiene_enabled = false")
    off = claw("memory", "hygiene")

    assert (off.code, off.out) == (0, "")
    assert "hygiene_enabled" in off.err
    assert claw("memory", "hygiene", "--force").out != ""


def test_without_a_memory_none_is_made(claw, home, workspace):
    assert claw("memory", "hygiene").out.splitlines()[0] == (
        "1 daily files archived")
    assert not (workspace / "memory/brain.db").exists()


def test_without_a_workspace_nothing_is_made(claw, home):
    done = claw("memory", "hygiene")

    assert (done.code, done.out) == (1, "")
    assert "no workspace" in done.err
    assert not home.exists()


def test_a_step_that_fails_is_told_and_ends_with_its_code(claw, home,
                                                          remembered):
    set_(home, "snapshot_on_hygiene = true")
    (remembered / "MEMORY_SNAPSHOT.md").mkdir()
    done = claw("memory", "hygiene", "--json")

    assert done.code == 74
    assert done.json["archived_session_files"] == 1
    assert done.json["errors"][0]["step"] == "writing the snapshot"
    assert "writing the snapshot" in done.err


def test_a_damaged_memory_does_not_stop_the_rest(claw, remembered):
    (remembered / "memory/brain.db").write_bytes(b"x" * 9000)
    done = claw("memory", "hygiene", "--json")

    assert done.code == 74
    assert done.json["errors"][0]["step"] == "opening the memory"
    assert done.json["archived_session_files"] == 1


def test_while_another_tidies_it_ends_with_5(claw, workspace):
    with hold_lock(workspace):
        done = claw("memory", "hygiene", "--force")

    assert (done.code, done.out) == (5, "")
    assert "another process" in done.err


@pytest.mark.parametrize("settings", ["snapshot_on_hygiene = true",
                                      "snapshot_enabled = true"])
def test_the_snapshot_is_written(claw, home, remembered, settings):
    set_(home, settings)

    assert "1 core memories in the snapshot" in claw("memory", "hygiene").out
    assert [entry.key for entry in read_snapshot(
        remembered / "MEMORY_SNAPSHOT.md")] == ["fact"]


def test_a_start_tidies_when_it_is_due(remembered, tend):
    report, notes = tend()
    again, silence = tend(hours=11)
    later, _ = tend(hours=13)

    assert report.counts["archived_session_files"] == 1
    assert len(notes) == 1
    assert notes[0].startswith("memory hygiene: 1 daily files archived, ")
    assert (again, silence) == (None, [])
    assert later is not None
    assert later.lines() == []


def test_a_start_leaves_alone_what_is_not_there_or_off(home, workspace,
                                                       tend):
    set_(home, "hygiene_enabled = false")
    assert tend() == (None, [])
    assert not (workspace / "state").exists()


def test_a_start_without_a_workspace_makes_none(home, tend):
    assert tend() == (None, [])
    assert not home.exists()


def test_sessions_in_use_stay(workspace, tend):
    os.rename(workspace / "sessions/work-1.jsonl",
              workspace / "sessions/work.jsonl")

    report, _ = tend(protected=["work"])
    assert report.counts["archived_session_files"] == 0


def test_a_snapshot_of_each_start(home, remembered, tend):
    set_(home, "snapshot_enabled = true")
    tend()
    with closing(SqliteMemory.open(remembered, _settings(home))) as memory:
        memory.store("new", "text")
    report, notes = tend(hours=1)

    assert (report, notes) == (None, [])
    assert [entry.key for entry in read_snapshot(
        remembered / "MEMORY_SNAPSHOT.md")] == ["fact", "new"]


def _settings(home):
    return load(locate(str(home), None, {"HOME": "/"})).decode(
        "memory", MemorySettings)


def test_what_fails_at_a_start_is_told_and_not_raised(workspace, tend):
    (workspace / "state").write_text("a file")
    report, notes = tend()

    assert report is None
    assert len(notes) == 1
    assert "state" in notes[0]
