"""Jobs and their runs in one SQLite file, <workspace>/state/jobs.db.

Each verb opens the file, does its work in one transaction and closes it
again: jobs are looked at a few times a minute, from tools, commands and a
runner in processes of their own. synchronous=FULL: what a verb returned is
on the disk.

A run is claimed by its slot, the time it was due: `begin_run` gives a slot
to one caller alone and moves the job on to its next time, so that a run that
is killed neither comes twice nor stops its job.
"""

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from claw.core.errors import NotFoundError, StorageError, UsageError
from claw.core.times import rfc3339
from claw.core.value import replace
from claw.storage.jobs import schema
from claw.storage.jobs.model import Job, JobSpec, Run, check_job
from claw.storage.jobs.schedule import next_run
from claw.storage.sqlite import (
    CorruptError,
    connect,
    make_private,
    make_tables,
    read_version,
    translated_with_remedy,
    write,
)

OUTPUT_BYTES = 16 * 1024
HISTORY = 50
_CUT = "\n... [output truncated at 16 KiB]"


class SqliteJobs:
    """The jobs of one workspace; from any thread or process.

    `channels` says where a run may be announced, `now` is Unix time and
    `history` how many runs of a job are kept. Raises StorageError,
    UnavailableError; UsageError for what can't be a job; NotFoundError for
    an id that there is not.
    """

    def __init__(self, path: Path, *,
                 channels: Callable[[], Collection[str]] = tuple,
                 now: Callable[[], float] = time.time,
                 history: int = HISTORY) -> None:
        self._path = path
        self._channels = channels
        self._now = now
        self._history = history

    def add(self, spec: JobSpec) -> Job:
        """Keep a new job. Raises UsageError for one that would never
        run."""
        now = self._now()
        job = self._place(Job(secrets.token_hex(6), spec, rfc3339(now)), now)
        row = schema.encode_job(job)
        with self._writing() as connection:
            connection.execute(
                f"INSERT INTO cron_jobs ({', '.join(row)}) VALUES"
                f" ({', '.join('?' * len(row))})", tuple(row.values()))
        return job

    def get(self, id: str) -> Job:
        with self._reading() as connection:
            return self._find(connection, id)

    def list_jobs(self) -> list[Job]:
        """All jobs, in the order they were made."""
        with self._reading() as connection:
            return self._select(connection, "1 ORDER BY seq")

    def update(self, id: str, change: Callable[[JobSpec], JobSpec]) -> Job:
        """The job as `change` makes it of what is kept. Its next time is
        reckoned anew where the schedule changes or it is resumed."""
        now = self._now()
        with self._writing() as connection:
            job = self._find(connection, id)
            spec = change(job.spec)
            changed = replace(job, spec=spec)
            if spec.schedule != job.spec.schedule \
                    or (spec.enabled and not job.spec.enabled):
                changed = self._place(changed, now)
            else:
                self._check(spec)
            row = schema.encode_job(changed)
            connection.execute(
                f"UPDATE cron_jobs SET {', '.join(f'{n} = ?' for n in row)}"
                " WHERE id = ?", (*row.values(), id))
        return changed

    def remove(self, id: str) -> Job:
        """Forget a job and its runs; returns what it was."""
        with self._writing() as connection:
            job = self._find(connection, id)
            connection.execute("DELETE FROM cron_jobs WHERE id = ?", (id,))
        return job

    def list_runs(self, id: str, limit: int = HISTORY) -> list[Run]:
        """The last runs of a job, the newest first."""
        with self._reading() as connection:
            self._find(connection, id)
            return [schema.decode_run(row) for row in connection.execute(
                f"SELECT {schema.RUN_COLUMNS} FROM cron_runs WHERE job_id = ?"
                " ORDER BY id DESC LIMIT ?", (id, limit))]

    def list_due(self, limit: int = 64) -> list[Job]:
        """Jobs whose time has come, the longest overdue first."""
        with self._reading() as connection:
            return self._select(
                connection, "enabled AND next_run <= ?"
                " ORDER BY next_run, seq LIMIT ?", rfc3339(self._now()),
                limit)

    def begin_run(self, id: str, slot: str) -> Run | None:
        """The run of a job for the time that it was due, and the job moved
        on to its next time; None where there was one for it."""
        now = self._now()
        with self._writing() as connection:
            job = self._find(connection, id)
            # Also where the slot is taken: after a clock that went back it
            # would come up for ever.
            connection.execute(
                "UPDATE cron_jobs SET next_run = ? WHERE id = ?"
                " AND next_run <= ?", (_next_time(job, now), id, slot))
            done = connection.execute(
                "INSERT INTO cron_runs (job_id, slot, started_at, status)"
                " VALUES (?, ?, ?, 'running')"
                " ON CONFLICT (job_id, slot) DO NOTHING",
                (id, slot, rfc3339(now)))
            if done.rowcount == 0:
                return None
            return schema.decode_run(connection.execute(
                f"SELECT {schema.RUN_COLUMNS} FROM cron_runs WHERE id = ?",
                (done.lastrowid,)).fetchone())

    def end_run(self, run: Run, output: str, *, success: bool) -> None:
        """What came of a run. Of a job that is over, one that was to go
        after its run goes if it succeeded, and is switched off if not."""
        now = self._now()
        status = "ok" if success else "error"
        with self._writing() as connection:
            connection.execute(
                "UPDATE cron_runs SET status = ?, finished_at = ?,"
                " output = ?, duration_ms = ? WHERE id = ?",
                (status, rfc3339(now), cut_output(output),
                 max(0, round((now - _seconds(run.started_at)) * 1000)),
                 run.id))
            connection.execute(
                "UPDATE cron_jobs SET last_run = ?, last_status = ?"
                " WHERE id = ?", (run.started_at, status, run.job_id))
            over = "id = ? AND next_run IS NULL"
            if success:
                connection.execute(f"DELETE FROM cron_jobs WHERE {over}"
                                   " AND delete_after_run", (run.job_id,))
            connection.execute("UPDATE cron_jobs SET enabled = 0"
                               f" WHERE {over}", (run.job_id,))
            connection.execute(
                "DELETE FROM cron_runs WHERE job_id = ? AND id NOT IN (SELECT"
                " id FROM cron_runs WHERE job_id = ? ORDER BY id DESC LIMIT"
                " ?)", (run.job_id, run.job_id, self._history))

    def check(self) -> int:
        """How many jobs the file holds. Raises StorageError where it is
        damaged."""
        with self._reading() as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise CorruptError(f"{self._path} is damaged: {found}")
            return len(self._select(connection, "1"))

    def _place(self, job: Job, now: float) -> Job:
        """The job with its next time. Raises UsageError without one."""
        self._check(job.spec)
        moment = _next_time(job, now)
        if moment is None and job.spec.enabled:
            schedule = job.spec.schedule
            raise UsageError(
                f"{schedule.at} has passed; the time must lie ahead"
                if schedule.at else f"{schedule.expr!r} never comes")
        return replace(job, next_run=moment)

    def _check(self, spec: JobSpec) -> None:
        check_job(spec)
        if spec.delivery.mode != "announce" or not spec.enabled:
            return  # a job whose channel is gone can be paused
        known = sorted(self._channels())
        if spec.delivery.channel not in known:
            raise UsageError(
                f"no channel {spec.delivery.channel!r:.80} is set up here; "
                f"known: {', '.join(known) or 'none'}")

    def _find(self, connection: sqlite3.Connection, id: str) -> Job:
        for job in self._select(connection, "id = ?",
                                id.encode(errors="replace").decode()):
            return job
        raise NotFoundError(f"no job {id!r:.80}",
                            hint="cron_list names those there are")

    def _select(self, connection: sqlite3.Connection, where: str,
                *values: object) -> list[Job]:
        try:
            return [schema.decode_job(row) for row in connection.execute(
                f"SELECT {schema.JOB_COLUMNS} FROM cron_jobs WHERE {where}",
                values)]
        except (ValueError, TypeError) as error:
            raise CorruptError(f"{self._path}: a job can't be read: {error}"
                               ) from error

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """The file as it stands; an empty one in memory where there is
        none yet."""
        with translated_with_remedy(self._path), \
                closing(self._open_reader()) as connection:
            yield connection

    def _open_reader(self) -> sqlite3.Connection:
        if os.path.lexists(self._path):
            connection = connect(self._path, readonly=True)
            try:
                version = self._read_version(connection)
                if version == schema.VERSION:
                    return connection
                if version:
                    copy = connect(":memory:")
                    connection.backup(copy)
                    schema.upgrade(copy, version)
                    connection.close()
                    return copy
            except BaseException:
                connection.close()
                raise
            connection.close()
        connection = connect(":memory:")
        make_tables(connection, self._path, schema.TABLES, schema.VERSION)
        return connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        make_private(self._path)
        with translated_with_remedy(self._path), closing(
                connect(self._path, synchronous="FULL")) as connection:
            if self._read_version(connection) == 0:
                make_tables(connection, self._path, schema.TABLES,
                            schema.VERSION)
            connection.execute("PRAGMA secure_delete=ON")
            connection.execute("PRAGMA foreign_keys=ON")
            with write(connection, self._path):
                version = self._read_version(connection)
                if version < schema.VERSION:
                    schema.upgrade(connection, version)
                yield connection

    def _read_version(self, connection: sqlite3.Connection) -> int:
        """The file's version, 0 for an empty one. Raises StorageError for
        one of a newer claw, or of something else."""
        version = read_version(connection, self._path, schema.VERSION)
        # In one look: another process may be making the tables.
        if version == 0 and connection.execute(
                "SELECT 1 FROM sqlite_schema, pragma_user_version"
                " WHERE user_version = 0").fetchone():
            raise StorageError(
                f"{self._path} was not made by claw",
                hint="move it away, and a new one is begun")
        return version


def cut_output(text: str) -> str:
    """A run's output as it is kept: at most 16 KiB of UTF-8, marked where
    it was longer."""
    data = text.encode(errors="replace")
    if len(data) <= OUTPUT_BYTES:
        return data.decode()
    return data[:OUTPUT_BYTES].decode(errors="ignore") + _CUT


def _next_time(job: Job, now: float) -> str | None:
    moment = next_run(job.spec.schedule, datetime.fromtimestamp(now, UTC),
                      datetime.fromisoformat(job.created_at))
    return None if moment is None else rfc3339(moment.timestamp())


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
