"""jobs.db: several processes, killed ones, files that are none."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from claw.core.errors import StorageError
from claw.core.value import replace
from claw.storage.jobs.model import JobSpec
from claw.storage.jobs.schedule import Schedule
from claw.storage.jobs.schema import VERSION
from claw.storage.jobs.store import SqliteJobs
from claw.storage.sqlite import CorruptError

SPEC = JobSpec(Schedule("every", every_ms=60_000), command="ls")
WRITER = """
import sys
from pathlib import Path
from claw.storage.jobs.model import JobSpec
from claw.storage.jobs.schedule import Schedule
from claw.storage.jobs.store import SqliteJobs

store = SqliteJobs(Path(sys.argv[1]))
for number in range(int(sys.argv[2])):
    job = store.add(JobSpec(Schedule("every", every_ms=1), command="ls"))
    print(job.id, flush=True)
"""
CLAIMER = """
import sys
from pathlib import Path
from claw.storage.jobs.store import SqliteJobs

store = SqliteJobs(Path(sys.argv[1]))
for number in map(str, range(20)):
    while all(run.slot != number for run in store.list_runs(sys.argv[2])):
        if (run := store.begin_run(sys.argv[2], number)) is not None:
            print(number, flush=True)
            store.end_run(run, "")
"""


def start(code, *arguments):
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)],
                            stdout=subprocess.PIPE, text=True)


def finish(*processes):
    outputs = [process.communicate()[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * len(outputs)
    return outputs


def test_two_processes_begin_a_file_and_write_to_it(tmp_path):
    path = tmp_path / "state" / "jobs.db"

    first, second = finish(start(WRITER, path, 20), start(WRITER, path, 20))

    assert sorted(job.id for job in SqliteJobs(path).list_jobs()) \
        == sorted(first + second)
    assert path.stat().st_mode & 0o777 == 0o600


def test_two_processes_never_run_a_slot_twice(tmp_path):
    path = tmp_path / "jobs.db"
    job = SqliteJobs(path).add(SPEC)

    first, second = finish(start(CLAIMER, path, job.id),
                           start(CLAIMER, path, job.id))

    assert sorted(map(int, first + second)) == list(range(20))


@pytest.mark.parametrize("lines", [1, 5, 20])
def test_a_killed_process_loses_nothing_that_it_had_kept(tmp_path, lines):
    path = tmp_path / "jobs.db"
    writer = start(WRITER, path, 10_000)
    ids = [writer.stdout.readline().strip() for _ in range(lines)]
    os.kill(writer.pid, signal.SIGKILL)
    ids += writer.communicate()[0].split()

    store = SqliteJobs(path)
    kept = [job.id for job in store.list_jobs()]
    assert kept[:len(ids)] == ids
    assert len(kept) <= len(ids) + 1  # kept, and killed before it said so
    assert store.check() == len(kept)
    store.add(SPEC)


def test_a_removed_job_leaves_no_text_of_its_runs(tmp_path):
    path = tmp_path / "jobs.db"
    store = SqliteJobs(path)
    job = store.add(SPEC)
    store.end_run(store.begin_run(job.id, "slot"), "CANARY")

    store.remove(job.id)

    assert b"CANARY" not in path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(
            "SELECT count(*) FROM cron_runs").fetchone() == (0,)


def test_looking_makes_no_file(tmp_path):
    store = SqliteJobs(tmp_path / "state" / "jobs.db")

    assert store.list_jobs() == store.list_due() == []
    assert store.check() == 0
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_holds_no_jobs(tmp_path):
    path = tmp_path / "jobs.db"
    path.touch()

    assert SqliteJobs(path).list_jobs() == []
    SqliteJobs(path).add(SPEC)


def spoil(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def check_refused(path, kind, message, hint):
    before = path.read_bytes()
    for use in (SqliteJobs.list_jobs, lambda store: store.add(SPEC)):
        with pytest.raises(kind, match=message) as caught:
            use(SqliteJobs(path))
        assert hint in caught.value.hint
    assert path.read_bytes() == before


def test_a_file_of_a_later_version_is_refused(tmp_path):
    path = tmp_path / "jobs.db"
    SqliteJobs(path).add(SPEC)
    spoil(path, f"PRAGMA user_version = {VERSION + 1}")

    check_refused(path, StorageError, "newer version of claw", "install")


def test_a_damaged_file_names_its_remedy(tmp_path):
    path = tmp_path / "jobs.db"
    path.write_bytes(b"no database, whatever its name says " * 99)

    check_refused(path, CorruptError, "is not a database", "mv ")


def test_a_damaged_page_names_its_remedy(tmp_path):
    path = tmp_path / "jobs.db"
    store = SqliteJobs(path)
    for _ in range(50):
        store.add(SPEC)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)

    for use in (store.list_jobs, store.check):
        with pytest.raises(CorruptError) as caught:
            use()
        assert "mv " in caught.value.hint


@pytest.mark.parametrize("column", ["schedule", "delivery"])
def test_a_damaged_row_is_told(tmp_path, column):
    path = tmp_path / "jobs.db"
    SqliteJobs(path).add(SPEC)
    spoil(path, f"UPDATE cron_jobs SET {column} = 'garbage'")

    with pytest.raises(CorruptError, match="can't be read") as caught:
        SqliteJobs(path).list_jobs()
    assert "mv " in caught.value.hint


def test_a_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "jobs.db"
    spoil(path, "CREATE TABLE cron_jobs (id TEXT)")

    check_refused(path, StorageError, "not made by claw", "move it away")


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "jobs.db").symlink_to(tmp_path / "elsewhere.db")

    with pytest.raises(StorageError):
        SqliteJobs(tmp_path / "jobs.db").add(SPEC)
    with pytest.raises(StorageError):
        SqliteJobs(tmp_path / "jobs.db").list_jobs()
    assert not (tmp_path / "elsewhere.db").exists()


# the columns that a version added
ADDED = {
    2: {"cron_jobs": "policy"}, 3: {"cron_jobs": "made_in"},
    4: {"cron_jobs": "missed precheck max_silence_s timeout_s monthly_cents"
                     " begun quiet_since silent month month_usd declared",
        "cron_runs": "cost_usd turn_id lease_until delivery"},
    5: {"cron_runs": "work_hash"}}


def make_older(path, version):
    spoil(path, *(f"DROP INDEX {name}" for name in (
        "cron_runs_open", "cron_runs_owed") if version < 4), *(
        f"ALTER TABLE {table} DROP COLUMN {column}"
        for newer in range(version + 1, VERSION + 1)
        for table, columns in ADDED[newer].items()
        for column in columns.split()), f"PRAGMA user_version = {version}")


def test_a_run_of_a_file_from_before_leases_is_over(tmp_path):
    path = tmp_path / "jobs.db"
    store = SqliteJobs(path)
    job = store.add(SPEC)
    store.begin_run(job.id, "slot")
    make_older(path, 3)

    assert store.get(job.id) == job
    assert [run.status for run in store.list_runs(job.id)] == ["running"]
    assert [run.status for run in store.recover_runs()] == ["interrupted"]
    assert store.get(job.id).quiet_since == job.created_at


def test_a_run_says_what_it_was_to_do(tmp_path):
    path = tmp_path / "jobs.db"
    store = SqliteJobs(path)
    job = store.add(SPEC)
    store.end_run(store.begin_run(job.id, "before"), "")
    make_older(path, 4)
    assert [run.work_hash for run in store.list_runs(job.id)] == [None]
    store.end_run(store.begin_run(job.id, "one"), "")
    other = store.update(job.id, lambda spec: replace(spec, command="pwd"))
    store.begin_run(job.id, "two")

    assert [run.work_hash for run in store.list_runs(job.id)] == [
        other.spec.hash_work(), SPEC.hash_work(), None]
    assert other.spec.hash_work() != SPEC.hash_work()


def test_a_file_from_before_policies_is_read_and_written(tmp_path):
    path = tmp_path / "jobs.db"
    store = SqliteJobs(path)
    job = store.add(SPEC)
    make_older(path, 1)
    before = path.read_bytes()

    assert store.list_jobs() == [job]
    assert path.read_bytes() == before  # looking changes nothing
    narrow = store.add(replace(SPEC, policy={"level": "readonly"}))
    assert [one.spec.policy for one in store.list_jobs()] == [
        None, {"level": "readonly"}]
    assert store.get(narrow.id) == narrow


def test_a_policy_that_can_not_be_read_is_not_taken_for_none(tmp_path):
    path = tmp_path / "jobs.db"
    store = SqliteJobs(path)
    store.add(SPEC)
    spoil(path, "UPDATE cron_jobs SET policy = '[]'")

    with pytest.raises(CorruptError, match="policy"):
        store.list_jobs()


@pytest.mark.parametrize(("table", "column", "value"), [
    ("cron_jobs", "created_at", "never"), ("cron_jobs", "name", b"\xff"),
    ("cron_jobs", "next_run", "tomorrow"), ("cron_jobs", "month_usd", "x"),
    ("cron_jobs", "monthly_cents", "y"), ("cron_jobs", "command", b"ls"),
    ("cron_jobs", "schedule", "{}"), ("cron_jobs", "begun", "x"),
    ("cron_runs", "started_at", "x"), ("cron_runs", "output", b"\xff"),
    ("cron_runs", "cost_usd", "w"), ("cron_runs", "duration_ms", "q")])
def test_a_damaged_row_was_a_fault_of_claw(tmp_path, table, column, value):
    store = SqliteJobs(tmp_path / "jobs.db")
    job = store.add(SPEC)
    store.end_run(store.begin_run(job.id, "now"), "ls")
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
        connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
        connection.commit()

    def read():
        return store.list_jobs(), store.list_runs(job.id)

    with pytest.raises(CorruptError, match="can't be read") as raised:
        read()
    assert "mv " in raised.value.hint


def test_a_zone_that_is_gone_holds_up_no_other_job(tmp_path):
    path, now = tmp_path / "jobs.db", 1_767_225_600.0
    store = SqliteJobs(path, now=lambda: now)
    lost, other = store.add(SPEC), store.add(SPEC)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE cron_jobs SET schedule = ? WHERE id = ?", (
                '{"kind": "cron", "expr": "* * * * *", "tz": "No/Zone"}',
                lost.id))
    store.rewind()
    now += 60
    for job in (lost, other):
        run = store.begin_run(job.id, job.next_run)
        assert run is not None
        store.end_run(run, "")

    assert not store.get(lost.id).spec.enabled
    assert store.get(other.id).next_run == "2026-01-01T00:02:00.000Z"
