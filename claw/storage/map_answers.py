"""Answers of `claw map`, in <workspace>/state/map.db.

A job is all that its inputs have in common: prompt, model, options. An
answer stands under its job and the hash of what was asked, so that the same
command, with more inputs or in another order, asks only what it has no
answer to. Inputs are not kept. A job that was not run for 30 days goes.

An answer was paid for: synchronous=FULL, it is on the disk before it is
shown. `Job.spending` is the name that the job's calls have in the ledger,
another one after each run that came to its end.
"""

import fcntl
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from claw.core.errors import StorageError
from claw.core.times import rfc3339
from claw.core.value import Value
from claw.security.files import nofollow
from claw.storage.sqlite import (
    CorruptError,
    connect,
    make_private,
    make_tables,
    read_version,
    translated_with_remedy,
    write,
)

KEPT_DAYS = 30
VERSION = 1
_LOCK = "state/map.lock"

TABLES = (
    """
CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    spending TEXT NOT NULL,
    title TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    created_at TEXT NOT NULL,
    used_at TEXT NOT NULL
)""",
    """
CREATE TABLE map_answers (
    number INTEGER PRIMARY KEY,
    job TEXT NOT NULL,
    key BLOB NOT NULL,
    text TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cost_usd REAL,
    answered_at TEXT NOT NULL,
    UNIQUE (job, key)
)""")


class KeptAnswer(Value):
    """An answer; tokens and `cost_usd` are None where nobody knows."""

    text: str
    provider: str
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class Job(Value):
    """A job of the list. `answers` are kept, for `cost_usd` together.
    Times are RFC 3339."""

    id: str
    spending: str
    title: str
    provider: str
    model: str
    created_at: str
    used_at: str
    answers: int = 0
    cost_usd: float = 0.0


class MapAnswers:
    """The file, or with `path` None as much in memory, gone at the end.

    Raises StorageError and UnavailableError. One thread at a time.
    """

    def __init__(self, path: Path | None, *,
                 now: Callable[[], float] = time.time) -> None:
        self._path: str | Path = path or ":memory:"
        self._now = now
        if path is not None:
            make_private(path)
        with translated_with_remedy(self._path):
            self._connection = connect(self._path, synchronous="FULL")
        self._connection.text_factory = _decode
        try:
            if read_version(self._connection, Path(self._path),
                            VERSION) != VERSION:
                make_tables(self._connection, Path(self._path), TABLES,
                            VERSION)
            self._connection.execute("PRAGMA secure_delete=ON")
            self._remove("used_at < ?",
                         rfc3339(now() - KEPT_DAYS * 86400))
        except BaseException:
            self._connection.close()
            raise

    def open_job(self, id: str, title: str, provider: str,
                 model: str) -> Job:
        """The job of this id, made where there is none."""
        now = rfc3339(self._now())
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (id) DO UPDATE SET used_at = excluded.used_at",
                (id, _name_spending(id), title, provider, model, now, now))
        (found,) = self.list_jobs(id)
        return found

    def end_job(self, id: str) -> None:
        """A run came to its end: what the next one spends is its own."""
        with self._writing() as connection:
            connection.execute("UPDATE jobs SET spending = ? WHERE id = ?",
                               (_name_spending(id), id))

    def get(self, job: str, key: bytes) -> KeptAnswer | None:
        with translated_with_remedy(self._path):
            row = self._connection.execute(
                "SELECT text, provider, model, input_tokens, output_tokens,"
                " cost_usd FROM map_answers WHERE job = ? AND key = ?",
                (job, key)).fetchone()
        return None if row is None else KeptAnswer(*row)

    def put(self, job: str, key: bytes, answer: KeptAnswer) -> None:
        """Keep an answer in the place of an older one; on the disk when
        this returns."""
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO map_answers (job, key, text, provider, model,"
                " input_tokens, output_tokens, cost_usd, answered_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (job, key) DO UPDATE SET text = excluded.text,"
                " provider = excluded.provider, model = excluded.model,"
                " input_tokens = excluded.input_tokens,"
                " output_tokens = excluded.output_tokens,"
                " cost_usd = excluded.cost_usd,"
                " answered_at = excluded.answered_at",
                (job, key, answer.text.encode("utf-8", "replace").decode(),
                 answer.provider, answer.model, answer.input_tokens,
                 answer.output_tokens, answer.cost_usd,
                 rfc3339(self._now())))

    def list_jobs(self, prefix: str = "") -> list[Job]:
        """The jobs whose ids begin so, the last used first."""
        with translated_with_remedy(self._path):
            rows = self._connection.execute(
                "SELECT jobs.*, COUNT(number), TOTAL(cost_usd) FROM jobs"
                " LEFT JOIN map_answers ON job = id"
                " WHERE substr(id, 1, ?) = ?"
                " GROUP BY id ORDER BY used_at DESC, id",
                (len(prefix), prefix)).fetchall()
        return [Job(*row) for row in rows]

    def forget(self, id: str) -> None:
        """Remove a job and its answers, to the last byte."""
        self._remove("id = ?", id)
        with translated_with_remedy(self._path):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._connection.close()

    def _remove(self, where: str, value: str) -> None:
        with translated_with_remedy(self._path):
            found = self._connection.execute(
                f"SELECT 1 FROM jobs WHERE {where} LIMIT 1",
                (value,)).fetchone()
        if not found:
            return
        with self._writing() as connection:
            connection.execute(
                "DELETE FROM map_answers WHERE job IN"
                f" (SELECT id FROM jobs WHERE {where})", (value,))
            connection.execute(f"DELETE FROM jobs WHERE {where}", (value,))

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with translated_with_remedy(self._path), \
                write(self._connection, self._path) as connection:
            yield connection


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def check_answers(path: Path) -> int:
    """How many answers a file holds. Raises StorageError where it is
    damaged."""
    with translated_with_remedy(path), \
            closing(connect(path, readonly=True)) as connection:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise CorruptError(f"{path} is damaged: {found}")
        return int(connection.execute(
            "SELECT count(*) FROM map_answers").fetchone()[0])


def _name_spending(id: str) -> str:
    return f"map:{id}:{secrets.token_hex(4)}"


class JobLock:
    """One process at a time runs a job; the system lets go of it when the
    process ends, however that is. A byte of one file stands for a job."""

    def __init__(self, workspace: Path, id: str) -> None:
        try:
            self._file = nofollow.open_file(workspace, _LOCK,
                                            os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise StorageError(
                f"{workspace / _LOCK} can't be made: {error.strerror}",
                hint="check the workspace (claw config path), or keep "
                     "nothing with --no-log") from error
        self._place = int(id[:8], 16)

    def take(self) -> bool:
        """Whether it is ours now."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1,
                        self._place)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def close(self) -> None:
        os.close(self._file)
