"""Jobs and their runs in one SQLite file, <workspace>/state/jobs.db.

Each verb opens the file, does its work in one transaction and closes it
again: jobs are looked at a few times a minute, from tools, commands and a
runner in processes of their own. synchronous=FULL: what a verb returned is
on the disk.

A run is claimed by its slot, the time it was due: `begin_run` gives a slot
to one caller alone and moves the job on to its next time. It holds the run
by a lease, so that one that is killed neither comes twice nor stops its job.
"""

import os
import secrets
import sqlite3
import time
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from claw.core.errors import NotFoundError, StorageError, UsageError
from claw.core.times import rfc3339
from claw.core.value import replace
from claw.storage.jobs import runs, schema
from claw.storage.jobs.model import Job, JobSpec, Run, check_job
from claw.storage.jobs.schedule import Schedule
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
_NOTHING = JobSpec(Schedule("every", every_ms=1))
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
        job, = self.add_all([spec])
        return job

    def add_all(self, specs: Iterable[JobSpec]) -> list[Job]:
        """Keep new jobs, all or none."""
        now = self._now()
        jobs = [self._make(spec, now) for spec in specs]
        with self._writing() as connection:
            for job in jobs:
                self._put(connection, job)
        return jobs

    def check_new(self, spec: JobSpec) -> None:
        """Raise UsageError for what can't be a new job."""
        self._make(spec, self._now())

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
            resumed = spec.enabled and not job.spec.enabled
            if resumed:
                changed = replace(changed, quiet_since=rfc3339(now),
                                  silent=False)
            if resumed or spec.schedule != job.spec.schedule:
                changed = self._place(changed, now)
            else:
                self._check(spec)
            self._put(connection, changed)
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
        """Jobs whose time has come and that do not run, the longest overdue
        first."""
        now = self._now()
        with self._reading() as connection:
            return self._select(
                connection, f"enabled AND next_run <= ? AND {runs.FREE}"
                " ORDER BY next_run, seq LIMIT ?", rfc3339(now),
                *runs.reckon_alive(now), limit)

    def begin_run(self, id: str, slot: str, lease_s: float = runs.LEASE_S
                  ) -> Run | None:
        """The run of a job for `slot`, ours for so long unless it is
        renewed; None where there was one for it, or where the job runs.

        A slot that is the job's next time moves it on, as its `missed`
        says; one that came too late under "skip" is noted as skipped, and
        None. Any other slot is a run beside the schedule, which stays."""
        now = self._now()
        with self._writing() as connection:
            return runs.begin(connection, self._find(connection, id), slot,
                              now, lease_s)

    def renew_run(self, run: Run, lease_s: float = runs.LEASE_S, *,
                  turn_id: str | None = None) -> bool:
        """Hold a run longer; False where it is not ours any more. Its turn
        is noted, once it is known."""
        with self._writing() as connection:
            return runs.renew(connection, run, self._now(), lease_s, turn_id)

    def recover_runs(self) -> list[Run]:
        """Runs whose lease is over are interrupted from now on, and their
        jobs free; these."""
        now = self._now()
        with self._reading() as connection:
            if not runs.list_lost(connection, now):
                return []
        with self._writing() as connection:
            return runs.recover(connection, now)

    def end_run(self, run: Run, output: str, *, status: str = "ok",
                cost_usd: float | None = None, turn_id: str | None = None,
                owed: bool = False) -> bool:
        """What came of a run; False where it has ended already, which
        stands. Where its outcome is `owed` to the job's delivery target it
        is kept until `mark_delivery`. Of a job that is over, one that was
        to go after its run goes if it succeeded, and is switched off if
        not."""
        with self._writing() as connection:
            ended = runs.end(
                connection, run, cut_output(output), status, self._now(),
                cost_usd=cost_usd, turn_id=turn_id, owed=owed)
            runs.prune(connection, run.job_id, self._history)
        return ended

    def list_owed(self) -> list[Run]:
        """Runs whose outcome is owed to a delivery target, or awaited
        there; the oldest first."""
        with self._reading() as connection:
            return runs.read(connection, "delivery IN ('owed', 'awaited')")

    def mark_delivery(self, run: Run, state: str, error: str | None = None
                      ) -> None:
        """What became of an outcome that was owed. With an `error` the run
        has failed."""
        with self._writing() as connection:
            runs.mark_delivery(connection, run, state, error)

    def find_next_due(self) -> float | None:
        """When the next job that does not run is due, or the lease of one
        that does ends (Unix time); None where nothing will be."""
        with self._reading() as connection:
            found = [text for text, in connection.execute(
                "SELECT MIN(next_run) FROM cron_jobs WHERE enabled AND "
                f"{runs.FREE} UNION ALL SELECT MIN(lease_until) FROM"
                " cron_runs WHERE status = 'running'",
                runs.reckon_alive(self._now())) if text is not None]
        return min(map(_seconds, found), default=None)

    def rewind(self) -> None:
        """After the clock went back: times that come again and were never
        run are due again."""
        now = self._now()
        with self._reading() as connection:
            sooner = [(moment, job.id) for job in self._select(
                connection, "enabled") if (moment := runs.find_next(
                    job, now)) is not None and moment < (job.next_run or "~")]
        if not sooner:
            return
        with self._writing() as connection:
            connection.executemany(
                "UPDATE cron_jobs SET next_run = ?1 WHERE id = ?2"
                " AND (next_run IS NULL OR next_run > ?1)", sooner)

    def skip_missed(self) -> None:
        """What was missed is not made up for, whatever the jobs say."""
        now = self._now()
        if all(job.next_run is None or _seconds(job.next_run)
               >= now - runs.LATE_S for job in self.list_due()):
            return
        with self._writing() as connection:
            for job in self._select(connection, "enabled AND next_run < ?",
                                    rfc3339(now - runs.LATE_S)):
                runs.skip(connection, job, now)

    def rekey(self, channel: str, key: Callable[[str], str | None],
              address: Callable[[str], str | None]) -> int:
        """Bring jobs under the ids that people have now; how many. `key`
        names the conversation they were made in anew, `address` the private
        chat of this channel that they tell; None: as it was."""
        def move(spec: JobSpec) -> JobSpec:
            told = spec.delivery
            if told.channel == channel and told.to is not None:
                told = replace(told, to=address(told.to) or told.to)
            return replace(spec, delivery=told, made_in=spec.made_in
                           and (key(spec.made_in) or spec.made_in))
        if all(move(job.spec) == job.spec for job in self.list_jobs()):
            return 0
        with self._writing() as connection:
            moved = [replace(job, spec=move(job.spec))
                     for job in self._select(connection, "1")
                     if move(job.spec) != job.spec]
            for job in moved:
                self._put(connection, job)
        return len(moved)

    def charge(self, run: Run, cost_usd: float) -> None:
        """Count what an interrupted run cost."""
        with self._writing() as connection:
            connection.execute("UPDATE cron_runs SET cost_usd = ?"
                               " WHERE id = ?", (cost_usd, run.id))
            runs.charge(connection, run.job_id, cost_usd, self._now())

    def declare(self, wanted: Mapping[str, tuple[str, JobSpec | None]]
                ) -> list[str]:
        """Make the declared jobs those that are wanted: by id, the text
        that declares one and what it says (None: that is wrong, and what
        is kept stays). One whose text is the same is left as it is. What
        could not be done, in sentences."""
        now, wrong = self._now(), []
        if {id: text for id, (text, _) in wanted.items()} == {
                job.id: job.declared for job in self.list_jobs()
                if job.spec.source == "declarative"}:
            return []
        with self._writing() as connection:
            kept = {job.id: job for job in self._select(connection, "1")}
            for id, job in kept.items():
                if job.spec.source == "declarative" and id not in wanted:
                    connection.execute("DELETE FROM cron_jobs WHERE id = ?",
                                       (id,))
            for id, (text, spec) in wanted.items():
                job = kept.get(id, Job(id, spec or _NOTHING, rfc3339(now),
                                       quiet_since=rfc3339(now)))
                if spec is None or job.declared == text:
                    continue
                try:
                    if id in kept and job.spec.source != "declarative":
                        raise UsageError("another job has this id")
                    self._put(connection, self._place(replace(
                        job, spec=spec, declared=text), now))
                except UsageError as error:
                    wrong.append(f"cron.jobs {id!r}: {error.message}")
        return wrong

    def _put(self, connection: sqlite3.Connection, job: Job) -> None:
        row = schema.encode_job(job)
        connection.execute(
            f"INSERT INTO cron_jobs ({', '.join(row)}) VALUES"
            f" ({', '.join('?' * len(row))}) ON CONFLICT (id) DO UPDATE SET "
            + ", ".join(f"{name} = excluded.{name}" for name in row),
            tuple(row.values()))

    def mark_silent(self, id: str, silent: bool) -> None:
        """Whether the notice of a job's silence went out."""
        with self._writing() as connection:
            connection.execute("UPDATE cron_jobs SET silent = ?"
                               " WHERE id = ?", (silent, id))

    def check(self) -> int:
        """How many jobs the file holds. Raises StorageError where it is
        damaged."""
        with self._reading() as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise CorruptError(f"{self._path} is damaged: {found}")
            return len(self._select(connection, "1"))

    def _make(self, spec: JobSpec, now: float) -> Job:
        return self._place(Job(secrets.token_hex(6), spec, rfc3339(now),
                               quiet_since=rfc3339(now)), now)

    def _place(self, job: Job, now: float) -> Job:
        """The job with its next time. Raises UsageError without one."""
        self._check(job.spec)
        moment = runs.find_next(job, now)
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
        return [schema.decode_job(row) for row in connection.execute(
            f"SELECT {schema.JOB_COLUMNS} FROM cron_jobs WHERE {where}",
            values)]

    @contextmanager
    def _translating(self) -> Iterator[None]:
        with translated_with_remedy(self._path):
            try:
                yield
            except schema.DamagedRowError as error:
                raise CorruptError(f"{self._path}: {error}") from error

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """The file as it stands; an empty one in memory where there is
        none yet."""
        with self._translating(), \
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
        with self._translating(), closing(
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


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
