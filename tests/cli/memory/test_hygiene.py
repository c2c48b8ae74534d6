"""claw memory hygiene, and what the start of a program does."""

import os
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.memory.hygiene.announce import list_rules, name_store
from claw.memory.hygiene.state import (
    FILE,
    State,
    Uptime,
    hold_lock,
    write_state,
)
from claw.memory.settings import MemorySettings
from claw.memory.snapshot.format import read_snapshot
from claw.memory.sqlite.backend import SqliteMemory
from claw.wiring.memory.hygiene import maintain_memory

OLD = "2026-01-01T00:00:00.000000Z"


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
def remembered(workspace):
    """... and memories that came long ago; a first removal was announced."""
    with closing(SqliteMemory.open(workspace, MemorySettings())) as memory:
        memory._clock = lambda: OLD
        memory.store("fact", "text", "core")
        memory.store("said", "text", "conversation")
    write_state(workspace, State(
        rules=list_rules(MemorySettings(), name_store(workspace, "sqlite")),
        released=True))
    return workspace


def announce_now(workspace):
    """As if nothing had ever been announced."""
    (workspace / FILE).unlink()


def set_(home, text):
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(f"[memory]\n{text}\n")


@pytest.fixture
def tend(home, tmp_path):
    """tend(hours=...) -> (report, notes)"""
    def call(*, hours=0, **more):
        tree = load(locate(str(home), None, {"HOME": str(tmp_path)}))
        notes = []
        return maintain_memory(tree, notes.append, **{
            "who": "log", "now": datetime.now(UTC) + timedelta(hours=hours),
            "uptime": Uptime(), **more}), notes
    return call


def test_it_says_what_it_did(claw, remembered):
    done = claw("memory", "hygiene")

    assert done.code == 0
    assert done.out.splitlines() == [
        "1 daily file archived", "1 session archived",
        "1 archived session removed",
        "1 old conversation memory removed"]
    assert done.err == ("claw: claw memory undo --purge last brings them "
                        "back (365 days)\n")
    assert (remembered / "memory/archive/2026-01-01.md").exists()
    assert [m["key"] for m in claw(
        "memory", "list", "--json").json["memories"]] == ["fact"]


def test_what_is_to_go_is_announced_first(claw, remembered):
    announce_now(remembered)
    planned = claw("memory", "hygiene", "--dry-run", "--json").json
    done = claw("memory", "hygiene")
    again = claw("memory", "hygiene", "--force", "--json").json

    assert "archived sessions removed" not in done.out
    assert "old conversation" not in done.out
    assert "1 memory of category conversation, unchanged for 30" in done.err
    assert "claw memory pin --category conversation" in done.err
    assert planned["pruned_conversation_rows"] == 0
    assert planned["announced"]["memories"] == {"conversation": 1}
    assert planned["announced"]["files"]["sessions"] == 1
    assert again["announced"]["announced_at"] \
        > planned["announced"]["announced_at"]
    assert claw("memory", "count").out == "2\n"
    doctor = claw("doctor", "--json").json
    seen, = [check for check in doctor["checks"]
             if check["id"] == "memory.hygiene"]
    assert seen["status"] == "warn"
    assert "1 memory of category conversation" in seen["detail"]
    assert "claw memory pin" in seen["hint"]


def test_an_announcement_that_the_settings_took_back_is_not_told(
        claw, home, remembered, tend):
    announce_now(remembered)
    tend()
    set_(home, "conversation_retention_days = 0\npurge_after_days = 0")

    assert tend(hours=1, who="terminal") == (None, [])
    assert "memory.hygiene" not in claw("doctor", "--json").out


def test_a_start_announces_once_a_day_to_each_who_hears_it(remembered, tend):
    announce_now(remembered)
    told = [len([note for note in tend(hours=hours, who=who)[1]
                 if "To keep them" in note])
            for hours, who in ((0, "log"), (1, "terminal"), (2, "terminal"),
                               (13, "log"), (23.5, "log"))]
    late, notes = tend(hours=25.5)

    assert told == [1, 1, 0, 0, 0]
    assert late.counts["pruned_conversation_rows"] == 1
    assert "claw memory undo --purge last" in notes[0]


def test_a_purge_is_listed_and_brought_back_whole(claw, remembered):
    claw("memory", "hygiene")
    listed = claw("memory", "undo", "--json").json
    at = listed["purges"][0]["at"]
    text = claw("memory", "undo")
    history = claw("memory", "history", "said")
    back = claw("memory", "undo", "--purge", at[:19] + "Z", "--json")

    assert listed == {"purges": [{"at": at, "count": 1, "categories": {
        "conversation": 1}}], "total": 1}
    assert text.out == f"{at}  1  conversation 1\n"
    assert "--purge last" in text.err
    assert "purged" in history.out
    assert (back.code, back.json) == (0, {"at": at, "restored": 1, "left": 0})
    assert claw("memory", "get", "said").code == 0
    assert claw("memory", "hygiene", "--force").out == ""
    for wanted in ("last", at):
        assert claw("memory", "undo", "--purge", wanted).code == 1
    empty = claw("memory", "undo")
    assert (empty.code, empty.out) == (1, "")


def test_what_is_pinned_stays_until_it_is_released(claw, remembered):
    pinned = claw("memory", "pin", "said", "none")
    assert (pinned.code, pinned.out) == (1, "said\n")
    assert "none" in pinned.err
    assert claw("memory", "get", "said", "--json").json["kept_by"] == "pin"
    claw("memory", "hygiene")
    assert claw("memory", "count").out == "2\n"
    assert claw("memory", "pin", "--off", "--category", "conversation",
                "--json").json == {"released": 1, "missing": []}
    claw("memory", "hygiene", "--force")
    assert claw("memory", "count").out == "1\n"
    assert claw("memory", "pin").code == 2
    assert claw("memory", "pin", "a", "--category", "core").code == 2


@pytest.mark.parametrize("backend", ["markdown", "none"])
def test_a_backend_that_can_not_pin_or_undo_says_so(claw, home, workspace,
                                                    backend):
    set_(home, f'backend = "{backend}"')
    for arguments in (["pin", "a"], ["undo"], ["undo", "--purge", "last"]):
        done = claw("memory", *arguments)
        assert (done.code, done.out) == (2, "")
        assert backend in done.err


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
        "1 daily file archived")
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

    assert "1 core memory in the snapshot" in claw("memory", "hygiene").out
    assert [entry.key for entry in read_snapshot(
        remembered / "MEMORY_SNAPSHOT.md")] == ["fact"]


def test_a_start_tidies_when_it_is_due(remembered, tend):
    report, notes = tend()
    again, silence = tend(hours=11)
    later, _ = tend(hours=13)

    assert report.counts["archived_session_files"] == 1
    assert len(notes) == 1
    assert notes[0].startswith("memory hygiene: 1 daily file archived, ")
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
