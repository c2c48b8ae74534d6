"""A backup of a claw listen in full traffic, put back elsewhere, row by row.

Each row that was committed before the backup began is in it, with all that
was written in it; columns that go on changing are named here.
"""

import contextlib
import json
import sqlite3
import subprocess
import threading
import time

import pytest

from claw.storage.backup.restore import restore_archive
from claw.storage.sqlite import connect
from claw.testing.prove.child import COMMAND, environment
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.telegram import TelegramStage

_A_SECOND = 30
_UNANSWERED = 60
_BACKUPS = 3
# What changes in a row that stays. `attempts` and a state go forward, and a
# lease passes from hand to hand.
_MOVES = {
    "inbox": {"state", "attempts", "lease", "fence", "draft_id",
              "finished_at", "reason", "answered_in", "payload"},
    "outbox": {"state", "message_id", "uncertain", "attempts", "next_at",
               "put_at", "error", "finished_at", "lease", "fence", "part",
               "seen"},
    "cron_jobs": {"last_run", "last_status", "next_run", "begun",
                  "quiet_since", "silent", "month", "month_usd"},
    "cron_runs": {"status", "finished_at", "output", "duration_ms",
                  "cost_usd", "turn_id", "lease_until", "delivery"},
    "calls": {"outcome", "answered", "input_tokens", "output_tokens",
              "cached_tokens", "cache_write_tokens", "cost_usd",
              "estimated", "first_token_ms", "duration_ms"},
    "entries": {"provider", "model", "owner", "outcome", "input_tokens",
                "output_tokens", "cost", "duration_ms", "labels", "passages",
                "error", "system", "before", "under", "rounds", "answer"},
    "sums": {"calls", "failed", "unpriced", "estimated", "input_tokens",
             "output_tokens", "cached_tokens", "cache_write_tokens",
             "cost_usd"},
}
# Rows that go again when their work is done: looked at by themselves.
_PASSING = {"history", "journal", "leases"}
_WATCHED = {"queue": {"inbox", "outbox", "sends", "traces"},
            "brain": {"memories"}, "jobs": {"cron_jobs", "cron_runs"},
            "ledger": {"calls", "sums"}, "log": {"entries"}}


def read_rows(path):
    """{table: {key: row}} of a database, as of one moment."""
    with contextlib.closing(connect(path, readonly=True)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("BEGIN")
        tables = {}
        found = dict(connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
            " AND name NOT LIKE 'sqlite~_%' ESCAPE '~'").fetchall())
        indexes = tuple(name for name, sql in found.items()
                        if sql.startswith("CREATE VIRTUAL"))
        for name in found:
            columns = connection.execute(
                f'PRAGMA table_info("{name}")').fetchall()
            keys = [one["name"] for one in sorted(
                columns, key=lambda one: one["pk"]) if one["pk"]]
            if name.startswith(indexes) or not keys:
                continue
            tables[name] = {tuple(row[key] for key in keys): dict(row)
                            for row in connection.execute(
                                f'SELECT * FROM "{name}"')}
        return tables


def read_home(home):
    """The rows of each database, and the bytes of each session file."""
    return ({path.stem: read_rows(path)
             for path in home.rglob("*.db")},
            {path.name: path.read_bytes() for path
             in (home / "workspace/sessions").glob("*.jsonl")})


def find_missing(before, after):
    """What of the rows of `before` is not in `after`, or is otherwise."""
    for database, tables in before.items():
        for table, rows in tables.items():
            if table in _PASSING:
                continue
            moves = _MOVES.get(table, set())
            for key, row in rows.items():
                found = after[database][table].get(key)
                if found is None:
                    yield database, table, key
                else:
                    yield from ((database, table, key, name)
                                for name, value in row.items()
                                if name not in moves
                                and value != found[name])


def find_unsaid(before, after, sessions):
    """Records of the history that are in neither the table nor a file."""
    lines = {json.dumps(line["data"], sort_keys=True)
             for data in sessions.values()
             for line in map(json.loads, data.splitlines())
             if "data" in line}
    for key, row in before["queue"]["history"].items():
        if after["queue"]["history"].get(key) != row:
            record = json.loads(row["record"])
            if json.dumps(record.get("data"), sort_keys=True) not in lines:
                yield row


def run(scene, *words):
    """A command of claw as its own process."""
    return subprocess.run(
        [*COMMAND, "--config-dir", str(scene.home), *words], check=True,
        env=environment(scene.home, scene.folder / "run"),
        stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout


def post_until(scene, stop):
    """People who write without a pause, while no more than `_UNANSWERED`
    wait: a slow machine would still answer long after them."""
    number = 0
    while not stop.wait(1 / _A_SECOND):
        if scene.unanswered() >= _UNANSWERED:
            continue
        number += 1
        scene.post(1001 + number % 6, f"say {number} when the tea is ready")


def back_up_and_compare(scene, target):
    """The rows that were looked at."""
    rows, sessions = read_home(scene.home)
    asked = len(scene.wrote)
    run(scene, "backup", "create", str(target))
    assert len(scene.wrote) > asked, "nobody wrote meanwhile"

    new = target.with_suffix(".new")
    restore_archive(target, new, new / "workspace", stamp="now")
    restored, said = read_home(new)
    assert not list(find_missing(rows, restored))
    assert not list(find_unsaid(rows, restored, said))
    for name, data in sessions.items():
        assert said[name].startswith(data)
    return rows


@pytest.mark.slow
def test_in_full_traffic_nothing_committed_before_is_missing(tmp_path):
    stop = threading.Event()
    with Scene(tmp_path, TelegramStage()) as scene:
        config = scene.home / "config.toml"
        config.write_text(config.read_text().replace(
            'backend = "none"', 'backend = "sqlite"\nauto_save = true'))
        run(scene, "cron", "add", "--every", "1s", "--command", "true")
        scene.start().wait_ready()
        people = threading.Thread(target=post_until, args=(scene, stop))
        people.start()
        try:
            for number in range(_BACKUPS):
                time.sleep(1)
                rows = back_up_and_compare(scene, tmp_path / f"{number}.tgz")
        finally:
            stop.set()
            people.join()
        for database, tables in _WATCHED.items():
            for table in tables:
                assert rows[database][table], f"{table} was never looked at"
        assert scene.wait_quiet()
        assert not scene.tally().lost
