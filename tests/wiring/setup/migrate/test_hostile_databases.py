"""Databases of a folder that somebody else wrote."""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from claw.config.places import locate
from claw.storage import foreign
from claw.storage.foreign import open_foreign
from claw.wiring.setup.migrate.find import look_at
from claw.wiring.setup.migrate.plan import plan
from claw.wiring.setup.migrate.reading import source
from tests.wiring.setup.migrate import folders

ENDLESS = ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"
           " SELECT ")
JOBS = (f"CREATE VIEW cron_jobs AS {ENDLESS} n sort_order, n job_id,"
        " n created_at FROM r")
MESSAGES = (f"CREATE VIEW messages AS {ENDLESS} n session_id, 'user' role,"
            " 'x' content, n id, n timestamp FROM r")
MEMORIES = f"CREATE VIEW memories AS {ENDLESS} n key, 'x' content FROM r"
MADE = ("CREATE TABLE memories (key, content AS (hex(zeroblob(100000000))));"
        "INSERT INTO memories VALUES ('a')")


@pytest.fixture
def user_home(tmp_path):
    return tmp_path / "user"


def make(path, script):
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as db:
        db.executescript(script)
    db.close()


@pytest.mark.parametrize(("agent", "name", "script"), [
    ("openclaw", "state/openclaw.sqlite", JOBS),
    ("zeroclaw", "workspace/cron/jobs.db", JOBS),
    ("hermes", "state.db", MESSAGES),
    ("zeroclaw", "workspace/memory/brain.db", MEMORIES),
    ("zeroclaw", "workspace/memory/brain.db", MADE)])
def test_a_view_that_never_ends_is_told_and_the_rest_is_read(
        user_home, monkeypatch, agent, name, script):
    monkeypatch.setattr(foreign, "MOST_STEPS", 1_000_000)
    home = getattr(folders, agent)(user_home / f".{agent}")
    (home / name).unlink(missing_ok=True)
    make(home / name, script)

    made = plan(look_at(agent, home),
                locate(env={"HOME": str(user_home)}))

    assert any(Path(name).name in note for note in made.notes)
    assert made.parts[0].count("new")


def test_a_query_ends_after_so_many_steps(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign, "MOST_STEPS", 1_000_000)
    make(tmp_path / "a.db", "")

    with pytest.raises(sqlite3.OperationalError, match="too long"), \
            open_foreign(tmp_path / "a.db") as connection:
        connection.execute(ENDLESS + "max(n) FROM r").fetchall()


WAITS = f"""
import sys
from pathlib import Path
from claw.storage import foreign
foreign.MOST_STEPS = 1 << 62
with foreign.open_foreign(Path(sys.argv[1])) as connection:
    print("ready", flush=True)
    connection.execute({ENDLESS + "max(n) FROM r"!r}).fetchall()
"""


def test_ctrl_c_did_not_end_a_query(tmp_path):
    make(tmp_path / "a.db", "")
    with subprocess.Popen(
            [sys.executable, "-c", WAITS, str(tmp_path / "a.db")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=Path(folders.__file__).parents[3]) as running:
        try:
            assert running.stdout.readline() == b"ready\n"
            time.sleep(0.2)
            running.send_signal(signal.SIGINT)
            assert b"KeyboardInterrupt" in running.communicate(timeout=30)[1]
        finally:
            running.kill()


def test_a_database_was_copied_for_each_conversation(user_home, tmp_path,
                                                     monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    home = folders.hermes(user_home / ".hermes")
    with sqlite3.connect(home / "state.db") as db:
        db.executemany("INSERT INTO messages (session_id, role, content)"
                       " VALUES (?, 'user', 'x')", [(n,) for n in range(9)])
    db.close()
    copied = []
    copy = source.Source.copy_database
    monkeypatch.setattr(
        source.Source, "copy_database",
        lambda self, *args: copied.append(args) or copy(self, *args))

    made = plan(look_at("hermes", home),
                locate(env={"HOME": str(user_home)}))

    assert next(part for part in made.parts
                if part.name == "sessions").count("new") == 10
    assert len(copied) == 1
    assert not list(tmp_path.glob("claw-migrate-*"))


def test_copies_that_a_kill_left_are_removed_a_day_later(tmp_path,
                                                         monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "mine").mkdir()
    for name, target in (("old", None), ("new", None), ("link", "mine")):
        path = tmp_path / f"claw-migrate-{name}"
        if target:
            path.symlink_to(tmp_path / target)
        else:
            path.mkdir()
            (path / "0.db").write_text("x")
    os.utime(tmp_path / "claw-migrate-old", (1, 1))
    os.utime(tmp_path / "mine", (1, 1))

    with source.keeping_copies():
        pass

    assert sorted(os.listdir(tmp_path)) == [
        "claw-migrate-link", "claw-migrate-new", "mine"]


def test_a_copy_that_has_no_room_is_told(user_home, monkeypatch):
    monkeypatch.setattr(source, "_SPARE", 1 << 60)
    home = folders.hermes(user_home / ".hermes")

    made = plan(look_at("hermes", home),
                locate(env={"HOME": str(user_home)}))

    assert any("has no room" in note for note in made.notes)
