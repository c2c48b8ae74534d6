"""claw memory reindex, check and stats."""

import contextlib
import os
import pty
import sqlite3
import subprocess
import sys

import pytest

from claw.cli.commands.memory import maintenance as memory_care
from claw.cli.commands.memory.stats_view import Counts, draw_picture, to_lines
from claw.cli.invocation import Invocation
from claw.cli.show.bars import count_cells, draw_bar, draw_chart, fit
from claw.cli.show.output import Output
from claw.core.errors import UnavailableError
from claw.memory.none import NoneMemory
from claw.memory.sqlite.statistics import Statistics

IDS = ["memory.open", "memory.integrity", "memory.index",
       "memory.index-content", "memory.schema", "memory.text",
       "memory.times", "memory.superseded", "memory.versions",
       "memory.vectors"]


@pytest.fixture
def brain(claw, home):
    """brain.db with two memories."""
    claw("memory", "store", "colour", "Mina likes green")
    claw("memory", "store", "猫", "我的猫名字是咪咪", "--category", "日记")
    return home / "workspace/memory/brain.db"


def run_sql(path, script):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def status(done):
    return {check["id"]: check["status"] for check in done.json["checks"]}


def test_a_sound_store_is_well(claw, brain):
    done = claw("memory", "check", "--json")

    assert done.code == 0
    assert done.json["ok"] is True
    assert status(done) == dict.fromkeys(IDS, "ok")
    assert "10 ok, 0 warnings, 0 failures" in claw("memory", "check").out


def test_a_check_of_nothing_makes_nothing(claw, home):
    assert claw("memory", "check").code == 0
    assert not home.exists()


def test_a_lost_index_is_told_and_mended(claw, brain):
    run_sql(brain, "DELETE FROM memories_fts")
    before = brain.stat().st_mtime_ns, brain.read_bytes()
    ill = claw("memory", "check", "--json")
    assert (ill.code, ill.json["ok"]) == (1, False)
    assert status(ill)["memory.index"] == "fail"
    assert (brain.stat().st_mtime_ns, brain.read_bytes()) == before

    done = claw("memory", "check", "--repair")
    assert done.code == 0
    assert "fixed: the word index was made anew: 2 memories" in done.err
    assert claw("memory", "recall", "green").code == 0
    assert not (brain.parent / "migrations").exists()


def test_before_memories_are_changed_the_store_is_copied(claw, brain):
    run_sql(brain, "UPDATE memories SET created_at = 'once'")
    done = claw("memory", "check", "--repair", "--json")

    assert (done.code, done.json["ok"]) == (0, True)
    copy, = brain.parent.glob("migrations/check-*/brain.db")
    assert done.json["repaired"] == [
        f"the memory as it was is kept as {copy}",
        "the times of 2 memories were set right"]
    with contextlib.closing(sqlite3.connect(copy)) as before:
        assert before.execute("SELECT DISTINCT created_at FROM memories"
                              ).fetchall() == [("once",)]


def test_an_old_snapshot_is_worth_a_word_and_no_failure(claw, brain):
    claw("memory", "snapshot")
    claw("memory", "store", "new", "text")
    done = claw("memory", "check", "--repair", "--json")

    assert (done.code, status(done)["memory.snapshot"]) == (0, "warn")
    assert done.json["repaired"] == []


def test_doctor_knows_the_same_ids(claw, brain):
    run_sql(brain, "DELETE FROM memories_fts")
    done = claw("doctor", "--json")
    assert status(done)["memory.index"] == "fail"
    fixed = claw("doctor", "--fix", "--json")

    assert {status(fixed)[name] for name in IDS} == {"ok"}


def test_the_word_index_is_made_anew(claw, brain):
    run_sql(brain, "DELETE FROM memories_fts")
    done = claw("memory", "reindex")

    assert (done.code, done.out) == (0, "words: 2\n")
    assert claw("memory", "recall", "咪咪").code == 0
    assert claw("memory", "reindex", "--words", "--json").json == {
        "words": 2, "vectors": None}


def test_vectors_are_asked_for_in_vain_without_an_embedder(claw, brain):
    done = claw("memory", "reindex", "--vectors")

    assert (done.code, done.out) == (3, "")
    assert "memory.embedding_provider" in done.err


class Embedding(NoneMemory):
    """A store of five memories whose embedder fails after so many."""

    embedder = object()

    def __init__(self, works):
        self.works, self.made = works, 0

    def unembedded(self):
        return 5 - self.made

    def embed_missing(self, progress):
        while self.made < 5:
            if self.made == self.works:
                raise UnavailableError("the server is away", hint="wait")
            self.made += 1
            progress(self.made)
        return self.made


@pytest.fixture
def reindexed(monkeypatch, capsys):
    """reindexed(memory): what `claw memory reindex --vectors` prints."""
    def call(memory):
        run = Invocation()
        run.__dict__["out"] = Output()
        monkeypatch.setattr(memory_care, "open_memory", lambda *_, **__:
                            contextlib.nullcontext(memory))
        monkeypatch.setattr(Invocation, "of", lambda _: run)
        memory_care.reindex(None, words=False, vectors=True)
        return capsys.readouterr().out
    return call


def test_a_failing_embedder_says_how_far_it_came_and_how_to_go_on(reindexed):
    memory = Embedding(works=3)

    with pytest.raises(UnavailableError) as raised:
        reindexed(memory)
    assert raised.value.message == (
        "the server is away (3 of 5 vectors were made and are kept)")
    assert raised.value.hint == (
        "wait; then go on: claw memory reindex --vectors")
    memory.works = 5
    assert reindexed(memory) == "vectors: 5 made, 0 missing\n"


def test_stats_in_a_pipe_are_lines(claw, brain):
    run_sql(brain, "UPDATE memories SET sender = 'ann', session_id = 's'"
            " WHERE key = '猫'")
    told = claw("memory", "stats").out.splitlines()

    assert told[:5] == ["backend: sqlite", "health: healthy", "total: 2",
                        "  core: 1", "  日记: 1"]
    assert {"sessions: 1", "senders: 1", "vectors: 0"} <= set(told)
    assert [line for line in told if line.startswith(" ")] == told[3:5]
    assert not any("█" in line or "\x1b" in line for line in told)


def test_stats_as_json(claw, brain):
    found = claw("memory", "stats", "--json").json

    assert (found["backend"], found["healthy"], found["total"],
            found["categories"]) == ("sqlite", True, 2,
                                     {"core": 1, "日记": 1})
    assert found["size_bytes"] == sum(found["bytes"].values()) > 0
    assert sum(found["timeline"]["counts"].values()) == 2
    assert found["vectors"] == {"made": 0, "missing": None}


@pytest.mark.parametrize("backend", ["none", "ephemeral", "markdown"])
def test_every_backend_has_numbers_and_is_well(claw, home, backend):
    home.mkdir()
    (home / "config.toml").write_text(f'[memory]\nbackend = "{backend}"\n')
    claw("memory", "store", "a", "text")

    assert claw("memory", "stats", "--json").json["backend"] == backend
    assert claw("memory", "check").code == 0
    assert claw("memory", "reindex").code == 0


def test_a_terminal_sees_a_picture_of_its_width(claw, brain, environment):
    leader, follower = pty.openpty()
    with subprocess.Popen(
            [sys.executable, "-m", "claw", "memory", "stats"],
            env={**environment, "COLUMNS": "50"}, stdout=follower
            ) as process:
        os.close(follower)
        seen = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(leader, 4096):
                seen += piece
    os.close(leader)

    shown = seen.decode().splitlines()
    assert process.returncode == 0
    assert shown[0] == "sqlite, healthy: 2 memories"
    assert max(map(count_cells, shown)) == 49
    assert any(line.startswith("  日记  ████") for line in shown)
    assert "\x1b" not in seen.decode()


@pytest.mark.parametrize(("text", "cells"), [
    ("abc", 3), ("日记", 4), ("한국", 4), ("é", 1), ("e\u0301", 1),
    ("ｶ", 1), ("🎉", 2), ("a\u200b", 1), ("❤️", 2), ("❤", 1), ("👍🏽", 2),
    ("👩\u200d👩\u200d👧", 2), ("🇩🇪🇫🇷", 4), ("1️⃣", 2),
    ("\u1112\u1161\u11ab", 2),
    ("مرحبا", 5), ("می\u200cخواهم", 7)])
def test_width_is_that_of_a_terminal(text, cells):
    assert count_cells(text) == cells


@pytest.mark.parametrize(("text", "shown"), [
    ("👩\u200d👩\u200d👧👍🏽x", "👩\u200d👩\u200d👧… "),
    ("ab", "ab  "), ("日记", "日记"), ("日记本", "日… "), ("abcde", "abc…")])
def test_names_are_cut_and_filled_by_cells(text, shown):
    assert fit(text, 4) == shown
    assert count_cells(shown) == 4


@pytest.mark.parametrize(("share", "shown"), [
    (0, ""), (1, "████"), (0.5, "██"), (0.25 + 1 / 32, "█▏"),
    (1e-9, "▏"), (2, "████")])
def test_bars_are_drawn_in_eighths(share, shown):
    assert draw_bar(share, 4) == shown


def test_a_chart_of_nothing_and_of_zeros():
    assert draw_chart({}, 80) == []
    assert draw_chart({"a": 0}, 80) == ["  a   0"]
    assert all(count_cells(line) < 40 for line in draw_chart(
        {"x" * 100: 10**9, "日" * 50: 1}, 40))


def test_empty_months_are_seen_and_categories_are_bounded():
    seen = Counts("sqlite", True, 40, Statistics(
        {f"c{n}": 1 for n in range(40)}, oldest="2025-01-01T",
        newest="2026-02-01T", timeline={"2025-01": 1, "2025-12": 3,
                                        "2026-02": 2}))
    shown = draw_picture(seen, 60)

    assert "  2026-01   0" in shown.splitlines()
    assert "2025-03" in shown
    assert "2025-01 " not in shown
    assert "(29 others)" in shown
    assert to_lines(seen).count("\n  c") == 40


def damage(brain, table):
    """Overwrite the first page of a table."""
    with contextlib.closing(sqlite3.connect(brain)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,), (size,) = (connection.execute(sql).fetchone() for sql in (
            f"SELECT rootpage FROM sqlite_master WHERE name = '{table}'",
            "PRAGMA page_size"))
    with open(brain, "r+b") as stream:
        stream.seek((page - 1) * size)
        stream.write(b"\xaa" * size)


@pytest.mark.parametrize("with_snapshot", [False, True])
def test_of_a_damaged_file_all_that_can_be_read_is_taken_over(
        claw, brain, with_snapshot):
    claw("memory", "store", "meal", "vegan", "--sender", "mina",
         "--category", "daily")
    if with_snapshot:
        claw("memory", "snapshot")
        claw("memory", "store", "colour", "Mina likes blue now")
    before = claw("memory", "export").out
    damage(brain, "memories_fts_data")
    ill = claw("memory", "check")
    done = claw("memory", "check", "--repair", "--json")

    assert ill.code == 1
    assert "claw memory check --repair takes all that can be read" in ill.out
    assert (done.code, done.json["ok"]) == (0, True)
    assert sorted(claw("memory", "export").out.splitlines()) == sorted(
        before.splitlines())
    assert claw("memory", "recall", "vegan").code == 0
    aside, = brain.parent.glob("brain.db.corrupt-*Z")
    assert done.json["repaired"] == [
        f"the damaged file is kept as {aside}",
        "3 memories taken over from it"]
    assert status(done)["memory.aside"] == "warn"


def test_where_nothing_can_be_read_the_file_is_kept_and_that_is_said(
        claw, brain):
    damage(brain, "memories")
    done = claw("memory", "check", "--repair")

    aside, = brain.parent.glob("brain.db.corrupt-*Z")
    assert f"the damaged file is kept as {aside}" in done.err
    assert "nothing could be taken over" in done.err
    assert claw("memory", "count").out == "0\n"


def test_what_is_not_damage_puts_no_file_aside(claw, brain):
    run_sql(brain, "DELETE FROM memories_fts")
    brain.chmod(0o400)
    brain.parent.chmod(0o500)
    try:
        claw("memory", "check", "--repair")
    finally:
        brain.parent.chmod(0o700)
        brain.chmod(0o600)

    assert not list(brain.parent.glob("brain.db.corrupt-*"))
    assert claw("memory", "count").out == "2\n"
