"""What hygiene is to remove: announced first, gone a day later, and back."""

import contextlib
import os
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from claw.core.memory import MemoryEntry
from claw.memory import times
from claw.memory.hygiene.run import run
from claw.memory.hygiene.state import (
    FILE,
    Announcement,
    Uptime,
    read_state,
    take_announcement,
)
from claw.memory.markdown.backend import MarkdownMemory
from claw.memory.settings import MemoryPolicySettings, MemorySettings
from claw.memory.sqlite.backend import SqliteMemory
from claw.storage.sessions import SessionStore
from claw.testing.reference_brain import reference_brain

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
UNKNOWN = Uptime()


class Store:
    """A memory whose clock is that of the test."""

    def __init__(self, workspace):
        self.workspace = workspace
        self.now = NOW
        self.memory = SqliteMemory.open(workspace, MemorySettings())
        self.memory._clock = lambda: times.canonical(self.now)

    def put(self, *keys, category="conversation", age=40, kept_by=None):
        """Memories that came here so many days ago."""
        self.now -= timedelta(days=age)
        at = times.canonical(self.now)
        self.memory.restore([MemoryEntry("", key, f"text of {key}", category,
                                         at, at, kept_by=kept_by)
                             for key in keys], overwrite=True)
        self.now += timedelta(days=age)

    def tidy(self, *, hours=0.0, uptime=UNKNOWN, **settings):
        """Let hours pass, and hygiene run."""
        self.now += timedelta(hours=hours)
        return run(self.memory, self.workspace, MemorySettings(**settings),
                   now=self.now, force=True, uptime=uptime)

    def keys(self):
        return {entry.key for entry in self.memory.list()}


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path)
    with contextlib.closing(made.memory):
        yield made


def removed(report):
    return report.counts["pruned_conversation_rows"] \
        + report.counts["pruned_rows"]


def test_the_first_purge_is_announced_a_day_before(store):
    store.put("a", "b")
    first = store.tidy()
    early = store.tidy(hours=23.9)
    late = store.tidy(hours=0.2)

    assert first.announced == Announcement(
        NOW, {"conversation": 2}, {"memory": 0, "sessions": 0, "messages": 0})
    assert "2 memories of category conversation" in first.announcement
    assert "unchanged for 30 days" in first.announcement
    assert "from 2026-06-16 12:00 UTC on" in first.announcement
    assert "claw memory pin --category conversation" in first.announcement
    assert "memory.conversation_retention_days 0" in first.announcement
    assert early.announced == first.announced
    assert [removed(report) for report in (first, early, late)] == [0, 0, 2]
    assert (late.announced, store.keys()) == (None, set())


def test_old_messages_of_a_session_in_use_go_a_day_after_they_were_announced(
        store):
    sessions = SessionStore(store.workspace / "sessions")
    for age in (60, 37.5, 36.5):
        sessions.append("work", [
            {"at": f"{NOW - timedelta(days=age):%Y-%m-%dT%H:%M:%SZ}",
             "text": f"{age:g}/{number}"} for number in range(250)])
    first = store.tidy()
    kept = len(sessions.load("work"))
    later = store.tidy(hours=24.1)

    assert first.announced.files["messages"] == 500
    assert "500 messages of sessions in use (for good)" in first.announcement
    assert "claw config set memory.purge_after_days 0" in first.announcement
    assert kept == 750
    assert later.counts["removed_messages"] == 500
    assert "500 old messages of sessions in use removed" in later.lines()
    assert [record["text"] for record in sessions.load("work")] == [
        f"36.5/{number}" for number in range(250)]


@pytest.mark.parametrize("settings", [
    {"archive_after_days": 0}, {"purge_after_days": 0}])
def test_sessions_that_are_kept_for_ever_keep_all_messages(store, settings):
    sessions = SessionStore(store.workspace / "sessions")
    sessions.append("work", [{"at": "2020-01-01T00:00:00Z"}] * 300)
    for _ in range(2):
        store.tidy(hours=25, **settings)

    assert len(sessions.load("work")) == 300


def test_one_day_is_one_day(store):
    store.put("a")
    said = store.tidy(conversation_retention_days=1).announcement

    assert "unchanged for 1 day" in said
    assert "1 days" not in said


def test_only_what_was_announced_goes_then_and_later_the_rest_at_once(store):
    store.put("old")
    store.put("younger", age=29.5)
    store.tidy()

    assert removed(store.tidy(hours=25)) == 1
    assert store.keys() == {"younger"}
    assert removed(store.tidy(hours=1)) == 1


def test_unusually_much_is_announced_again(store):
    store.put("a")
    store.tidy()
    assert removed(store.tidy(hours=25)) == 1
    store.put(*(f"k{n}" for n in range(101)), age=60)

    again = store.tidy(hours=1)

    assert (removed(again), again.announced.rows) == (0, 101)
    assert removed(store.tidy(hours=24)) == 101


def test_a_hundred_and_five_percent_are_not_unusual(store):
    store.put(*(f"core{n}" for n in range(2000)), category="core")
    store.put("a")
    store.tidy()
    store.tidy(hours=25)
    store.put(*(f"k{n}" for n in range(100)), age=60)
    store.put(*(f"m{n}" for n in range(5)), age=60)

    assert removed(store.tidy()) == 105


def test_another_retention_announces_anew(store):
    store.put("a", "b", age=40)
    store.put("c", age=20)
    store.tidy()
    changed = store.tidy(hours=25, conversation_retention_days=10)

    assert removed(changed) == 0
    assert changed.announced.memories == {"conversation": 3}
    assert removed(store.tidy(hours=23, conversation_retention_days=10)) == 0
    assert removed(store.tidy(hours=1, conversation_retention_days=10)) == 3


def test_another_brain_is_announced_anew(store):
    store.put("a")
    store.tidy()
    brain = store.workspace / "memory/brain.db"
    store.memory.close()
    shutil.copy(brain, f"{brain}.copy")
    os.replace(f"{brain}.copy", brain)
    again = Store(store.workspace)
    again.now = store.now

    assert removed(again.tidy(hours=25)) == 0
    assert removed(again.tidy(hours=25)) == 1
    again.memory.close()


def test_a_clock_set_back_begins_the_day_anew(store):
    store.put("a", age=400)
    store.tidy()
    store.now -= timedelta(days=3)

    assert removed(store.tidy()) == 0
    assert removed(store.tidy(hours=23)) == 0
    assert removed(store.tidy(hours=1)) == 1


def test_a_clock_set_forward_does_not_shorten_the_day(store):
    store.put("a")
    store.tidy(uptime=Uptime("boot", 1000))

    jumped = store.tidy(hours=300, uptime=Uptime("boot", 1060))
    assert removed(jumped) == 0
    assert removed(store.tidy(uptime=Uptime("boot", 1000 + 86_400))) == 1


def test_after_a_restart_of_the_machine_the_clock_counts(store):
    store.put("a")
    store.tidy(uptime=Uptime("boot", 1000))

    assert removed(store.tidy(hours=25, uptime=Uptime("other", 5))) == 1


def test_a_damaged_state_announces_anew(store):
    store.put("a")
    store.tidy()
    (store.workspace / FILE).write_text('{"announced": {"announced_at": 3}')

    assert removed(store.tidy(hours=25)) == 0
    assert removed(store.tidy(hours=25)) == 1


@pytest.mark.parametrize("kept_by", ["import", "pin"])
def test_what_was_imported_or_pinned_stays_whatever_its_category(
        store, kept_by):
    store.put("a", kept_by=kept_by)
    store.put("b", category="recipes", kept_by=kept_by)
    store.put("c")
    rules = {"policy": MemoryPolicySettings(
        retention_days_by_category={"recipes": 1})}
    for _ in range(3):
        store.tidy(hours=25, **rules)

    assert store.keys() == {"a", "b"}


def test_age_counts_from_the_day_a_row_came_here(store):
    store.memory.restore([MemoryEntry(
        "", "a", "text", "conversation", "2020-01-01T00:00:00.000000Z",
        "2020-01-01T00:00:00.000000Z")], overwrite=True)
    for _ in range(29):
        store.tidy(hours=24)
    assert store.keys() == {"a"}

    for _ in range(3):
        store.tidy(hours=24)
    assert store.keys() == set()


def test_what_another_program_wrote_counts_from_when_it_was_first_seen(
        store):
    store.put("a", age=400)
    store.memory._connection.execute("UPDATE memories SET arrived_at = NULL")

    for _ in range(30):
        store.tidy(hours=24)
    assert store.keys() == {"a"}
    for _ in range(3):
        store.tidy(hours=24)
    assert store.keys() == set()


def test_a_purge_comes_back_whole_and_stays_its_time(store):
    store.put("a", "b", category="daily", age=90)
    store.put("c", "d", age=60)
    rules = {"policy": MemoryPolicySettings(
        retention_days_by_category={"daily": 60})}
    before = {entry.key: entry for entry in store.memory.list()}
    store.tidy(**rules)
    store.tidy(hours=25, **rules)
    purge, = store.memory.purges()

    assert purge.at == times.canonical(store.now)
    assert purge.categories == {"conversation": 2, "daily": 2}
    assert [v.ended_by for v in store.memory.history("a")] == ["purged"]
    assert store.memory.undo_purge(purge.at) == 4
    assert {e.key: e for e in store.memory.list()} == before
    assert [e.key for e in store.memory.recall("text of c", 1)] == ["c"]
    assert all(found.ok for found in store.memory.check())
    assert (store.memory.purges(), store.memory.undo_purge(purge.at)) == (
        [], 0)
    for _ in range(2):
        store.tidy(hours=25, **rules)
    assert store.keys() == set(before)


def test_a_purge_is_kept_as_long_as_history_and_no_longer(store):
    store.put("a")
    store.tidy()
    store.tidy(hours=25)

    store.tidy(hours=24 * 364)
    assert store.memory.purges()
    store.tidy(hours=48)
    assert store.memory.purges() == []


def test_what_was_stored_again_is_not_overwritten_by_undo(store):
    store.put("a", "b")
    store.tidy()
    store.tidy(hours=25)
    store.memory.store("a", "new")
    purge, = store.memory.purges()

    assert store.memory.undo_purge(purge.at) == 1
    assert store.memory.get("a").content == "new"
    assert store.memory.undo("a").content == "text of a"


def test_one_key_of_a_purge_comes_back_alone(store):
    store.put("a", "b")
    store.tidy()
    store.tidy(hours=25)

    assert store.memory.undo("a").content == "text of a"
    assert store.memory.purges()[0].count == 1


def test_what_is_forgotten_for_good_does_not_come_back_with_a_purge(store):
    store.put("a", "b")
    store.tidy()
    store.tidy(hours=25)
    store.memory.purge("a")

    assert store.memory.undo_purge(store.memory.purges()[0].at) == 1
    assert store.keys() == {"b"}


def test_a_pin_lasts_through_storing_undo_and_import(store):
    store.put("a")
    store.memory.pin(["a"], None, on=True)
    store.memory.store("a", "other")
    store.put("a")
    store.memory.undo("a")

    assert store.memory.get("a").kept_by == "pin"
    assert store.memory.pin(["a", "none"], None, on=False) == ["a"]
    assert store.memory.get("a").kept_by is None


def test_archived_files_are_announced_too(store):
    file = store.workspace / "sessions/archive/a.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("text")
    os.utime(file, (0, 0))

    first = store.tidy()
    assert "1 archived session" in first.announcement
    assert file.exists()
    store.tidy(hours=25)
    assert not file.exists()


def test_each_one_who_asks_is_told_once_a_day(store):
    store.put("a")
    store.tidy()
    found = read_state(store.workspace).announced

    for hours, who, told in (
            (0, "log", found), (1, "log", None), (1, "terminal", found),
            (23, "log", None), (24, "log", found)):
        assert take_announcement(store.workspace, who, NOW + timedelta(
            hours=hours)) == told


def test_nothing_due_leaves_no_announcement(store):
    store.put("a")
    store.tidy()
    store.memory.pin(None, "conversation", on=True)

    assert store.tidy(hours=25).announced is None
    store.memory.pin(None, "conversation", on=False)
    assert removed(store.tidy(hours=1)) == 0


def test_what_a_zeroclaw_left_counts_from_the_day_claw_first_saw_it(
        tmp_path):
    reference_brain(tmp_path / "memory/brain.db", more=(
        "INSERT INTO memories (id, key, content, category, created_at,"
        " updated_at) VALUES ('old', 'old', 'text', 'conversation',"
        " '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z');"))
    store = Store(tmp_path)
    with contextlib.closing(store.memory):
        for _ in range(31):
            store.tidy(hours=24)
        assert store.memory.get("old") is not None
        for _ in range(3):
            store.tidy(hours=24)
        assert store.memory.get("old") is None


def test_a_file_of_markdown_that_holds_what_was_imported_stays(tmp_path):
    memory = MarkdownMemory.open(tmp_path, MemorySettings())
    at = "2020-01-0{}T12:00:00.000000Z"
    memory.restore([
        MemoryEntry("", "a", "text", "daily", *2 * [at.format(1)],
                    kept_by="import"),
        MemoryEntry("", "b", "text", "daily", *2 * [at.format(3)])],
        overwrite=True)
    settings = MemorySettings(backend="markdown", policy=MemoryPolicySettings(
        retention_days_by_category={"daily": 10}))

    run(memory, tmp_path, settings, now=NOW, uptime=UNKNOWN)
    assert [entry.key for entry in memory.list()] == ["a"]


def test_for_the_size_goes_only_what_was_announced(store):
    store.put(*(f"k{n}" for n in range(50)), category="core", age=1)
    store.memory.restore([MemoryEntry(
        "", f"c{n}", f"word{n} " * 20_000, "conversation",
        *2 * [times.canonical(NOW - timedelta(days=2, minutes=-n))],
        kept_by="pin" if n < 5 else None) for n in range(60)],
        overwrite=True)
    first = store.tidy(max_size_mb=3)
    assert 0 < first.announced.for_size < 55
    assert first.counts["shed_conversation_rows"] == 0
    assert "(for good)" in first.announcement
    second = store.tidy(hours=25, max_size_mb=3)

    assert 0 < second.counts["shed_conversation_rows"] \
        <= first.announced.for_size
    assert {f"c{n}" for n in range(5)} <= store.keys()
