"""Threads that work off the jobs of an event loop.

`Worker` hands what waits to `run` in one go and tells the loop of all
results in one call. `commit_together` is the `run` of the writer: one
transaction for all jobs that wait, each undone alone when it fails, so
that a commit's wait for the disk is shared by everyone.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from claw.core.errors import UnavailableError
from claw.core.failpoint import reach
from claw.storage.queue.guard import Guard
from claw.storage.sqlite import translate

Work: TypeAlias = Callable[[sqlite3.Connection], Any]

BATCH = 500


class Job:
    """A piece of work, who waits for it, and what came of it. `light`:
    its loss in a power cut does no harm. `quiet`: nobody has to look
    because of it."""

    __slots__ = ("error", "future", "light", "loop", "quiet", "result",
                 "work")

    def __init__(self, work: Work, light: bool, quiet: bool) -> None:
        self.work = work
        self.light = light
        self.quiet = quiet
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None


class Worker:
    """One thread. `run` notes results and errors in the jobs; `end` is
    called in the thread after the last of them."""

    def __init__(self, name: str, run: Callable[[list[Job]], None],
                 end: Callable[[], None]) -> None:
        self._run = run
        self._end = end
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=name,
                                        daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        return self._closed

    def submit(self, work: Work, *, light: bool = False,
               quiet: bool = False) -> asyncio.Future[Any]:
        """Have work done. It is done even when nobody waits any more."""
        if self._closed:
            raise UnavailableError("the queue is closed")
        job = Job(work, light, quiet)
        self._jobs.put(job)
        return job.future

    async def aclose(self) -> None:
        """Finish what was submitted, then end the thread."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        try:
            while jobs := self._next():
                try:
                    self._run(jobs)
                except BaseException as error:  # handed to the callers
                    for job in jobs:
                        job.error = job.error or error
                _deliver(jobs)
        finally:
            self._end()

    def _next(self) -> list[Job]:
        """What waits, at least one; nothing at the end."""
        jobs: list[Job] = []
        job = self._jobs.get()
        while job is not None:
            jobs.append(job)
            if len(jobs) == BATCH:
                return jobs
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return jobs
        if jobs:
            self._jobs.put(None)  # the end, once more after these
        return jobs


def commit_together(connection: sqlite3.Connection, path: Path,
                    guard: Guard, jobs: list[Job]) -> None:
    """Run jobs in one transaction. A job that raises is undone alone;
    where the transaction fails, all of them have failed."""
    try:
        _synchronous(connection, guard, all(job.light for job in jobs))
        connection.execute("BEGIN IMMEDIATE")
        written = connection.total_changes
        with (guard.quietly(connection) if all(job.quiet for job in jobs)
              else nullcontext()):
            for job in jobs:
                _run_one(connection, path, job, alone=len(jobs) == 1)
            if connection.in_transaction \
                    and connection.total_changes != written:
                reach("queue.commit")
                connection.execute("COMMIT")
                reach("queue.committed")
                guard.check(connection)
    except BaseException as error:  # handed to the callers
        for job in jobs:
            job.error = job.error or _ours(error, path)
    finally:
        # SQLite itself has rolled back after a full disk.
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def read_together(connection: sqlite3.Connection, path: Path,
                  jobs: list[Job]) -> None:
    """Run jobs that only read, on one state of the file."""
    try:
        connection.execute("BEGIN")
        for job in jobs:
            try:
                job.result = job.work(connection)
            except BaseException as error:  # handed to the caller
                job.error = _ours(error, path)
    except BaseException as error:  # handed to the callers
        for job in jobs:
            job.error = job.error or _ours(error, path)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _run_one(connection: sqlite3.Connection, path: Path, job: Job, *,
             alone: bool) -> None:
    try:
        if not alone:
            connection.execute("SAVEPOINT job")
        job.result = job.work(connection)
        if not alone:
            connection.execute("RELEASE job")
    except BaseException as error:  # handed to the caller
        job.error = _ours(error, path)
        if not connection.in_transaction:
            raise  # SQLite undid everything: the disk is full, or failed
        if alone:
            connection.execute("ROLLBACK")
        else:
            connection.execute("ROLLBACK TO job")
            connection.execute("RELEASE job")


def _synchronous(connection: sqlite3.Connection, guard: Guard,
                 light: bool) -> None:
    if guard.light is not light:
        mode = "NORMAL" if light else "FULL"
        connection.execute(f"PRAGMA synchronous={mode}")
        guard.light = light


def _ours(error: BaseException, path: Path) -> BaseException:
    """SQLite's errors as ours; a new one for each who waits."""
    if not isinstance(error, sqlite3.Error):
        return error
    told = translate(error, path)
    told.__cause__ = error
    return told


def _deliver(jobs: list[Job]) -> None:
    for loop in {job.loop for job in jobs}:
        theirs = [job for job in jobs if job.loop is loop]
        with suppress(RuntimeError):  # the loop has ended: nobody waits
            loop.call_soon_threadsafe(_settle, theirs)


def _settle(jobs: list[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # cancelled
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)
