"""The scheduler: waits until a job is due, and runs it.

It looks at the file when the next job is due, when somebody changed the file
(tools, commands, other processes), and every `poll_s` in any case. A clock
that was set back repeats nothing; one that went on skips what was missed as
each job says.
"""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

from claw.agent.background import cancel_all, wait_within
from claw.core.errors import (
    ClawError,
    NotFoundError,
    describe,
)
from claw.core.failpoint import reach
from claw.core.times import until_tick
from claw.core.value import Value
from claw.cron.notices import Notices
from claw.cron.outcome import is_told
from claw.cron.parts import Parts, Service
from claw.cron.work import STOPPED, build_turn, end_run, hold_work
from claw.storage.jobs.model import Job, Run
from claw.storage.jobs.runs import LEASE_S
from claw.tools.cron.running import Outcome

_LEAST_POLL_S = 5.0
_TICK_S = 1.0
_BACK_S = 1.0  # less is a clock that is being corrected
_AGAIN_S = 2.0


class Running(Value):
    """A run under way."""

    job: Job
    run: Run
    task: asyncio.Task[None]


class Runner:
    """Runs jobs for one term of the leader lease. `parts` gives those in
    force, None while there are no jobs to run; `path` is the jobs' file,
    `now` Unix time."""

    def __init__(self, parts: Callable[[], Parts | None], around: Service,
                 path: Path, *, now: Callable[[], float] = time.time) -> None:
        self._find_parts = parts
        self._around = around
        self._path = path
        self._now = now
        self._notices = Notices(self._parts, around, now)
        self._running: dict[int, Running] = {}
        self._why: dict[int, str] = {}
        self._woken = asyncio.Event()
        self._stopping = False
        self._last = now()
        self._declared: object = None

    def _parts(self) -> Parts:
        parts = self._find_parts()
        assert parts is not None
        return parts

    @property
    def busy(self) -> int:
        """Runs under way."""
        return len(self._running)

    def wake(self) -> None:
        """Something changed."""
        self._woken.set()

    async def run(self) -> None:
        """Until cancelled."""
        begun = False
        while not self._stopping:
            self._woken.clear()
            if self._find_parts() is None:
                await self._woken.wait()
                continue
            seen = self._fingerprint()
            try:
                if not begun:
                    await self.begin()
                    begun = True
                next_at = await self.look()
            except ClawError as error:  # the store: it is tried again
                self._around.note("scheduler", describe(error))
                self._around.log("jobs.error", error=describe(error),
                                 hint=error.hint)
                await wait_within(self._woken, _AGAIN_S)
                continue
            self._around.note("scheduler", None)
            await self._rest(next_at, seen)

    async def begin(self) -> None:
        """What a start does before the first look."""
        parts = self._parts()
        await self._declare()
        await asyncio.to_thread(parts.jobs.rewind)
        if not parts.catches_up:
            await asyncio.to_thread(parts.jobs.skip_missed)

    async def _declare(self) -> None:
        """Take over what config.toml declares, where that is new."""
        parts = self._parts()
        if parts.declared is self._declared:
            return
        wrong = [*parts.wrong, *await asyncio.to_thread(
            parts.jobs.declare, parts.declared)]
        for text in wrong:
            self._around.log("jobs.declared", error=text)
        self._around.note("scheduler:declared", "; ".join(wrong) or None)
        self._declared = parts.declared

    async def look(self) -> float | None:
        """Start what is due and tell what is owed; when the next job is
        due."""
        await self._declare()
        jobs = self._parts().jobs
        before, self._last = self._last, self._now()
        if self._last < before - _BACK_S:
            self._around.log("jobs.clock", text="the clock was set back")
            await asyncio.to_thread(jobs.rewind)
        if not -_BACK_S < self._last - before < LEASE_S / 3:
            for running in list(self._running.values()):
                await asyncio.to_thread(jobs.renew_run, running.run)
        await self._recover()
        await self._notices.tell_all()
        await self._notices.watch_silence(
            await asyncio.to_thread(jobs.list_jobs))
        await self._start_due()
        return await asyncio.to_thread(jobs.find_next_due)

    async def _recover(self) -> None:
        """Runs that ended with their process."""
        jobs = self._parts().jobs
        for run in await asyncio.to_thread(jobs.recover_runs):
            self._around.log("job.interrupted", job=run.job_id,
                             slot=run.slot, turn=run.turn_id)
            cost = None if run.turn_id is None else await asyncio.to_thread(
                self._around.turn_cost, run.turn_id)
            if cost:
                await asyncio.to_thread(jobs.charge, run, cost)

    # -- runs

    async def _start_due(self) -> None:
        parts = self._parts()
        if not parts.scheduler.enabled or self._stopping:
            return
        for job in await asyncio.to_thread(parts.jobs.list_due,
                                           parts.scheduler.max_tasks):
            if len(self._running) >= parts.scheduler.max_concurrent:
                return
            try:
                run = await asyncio.to_thread(
                    parts.jobs.begin_run, job.id, job.next_run or "")
            except NotFoundError:
                continue  # removed meanwhile
            if run is None:
                continue
            reach("jobs.begun")
            self._running[run.id] = Running(job, run, asyncio.ensure_future(
                self._run(parts, job, run)))

    async def _run(self, parts: Parts, job: Job, run: Run) -> None:
        turn = build_turn(job, self._around.talks.find_sight(job))
        outcome = Outcome("interrupted", "", turn.turn_id)
        try:
            outcome = await hold_work(parts, self._around, job, run, turn,
                                      self._now())
        except asyncio.CancelledError:
            outcome = Outcome("interrupted", self._why.get(run.id, STOPPED),
                              turn.turn_id)
        finally:
            self._notices.allow_links(run, outcome.links)
            end_run(parts, self._around, run, outcome, owed=is_told(
                job, outcome.status, outcome.text))
            self._running.pop(run.id, None)
            self._why.pop(run.id, None)
            self._woken.set()

    # -- waiting

    async def _rest(self, next_at: float | None, seen: object) -> None:
        parts = self._parts()
        until = time.monotonic() + max(_LEAST_POLL_S, parts.poll_s)
        full = len(self._running) >= parts.scheduler.max_concurrent \
            or not parts.scheduler.enabled
        while (left := until - time.monotonic()) > 0:
            due_s = None if next_at is None or full \
                else next_at - self._now()
            if (due_s is not None and due_s <= 0) \
                    or seen != self._fingerprint():
                return
            if await wait_within(self._woken, min(
                    left, until_tick(_TICK_S), due_s or left)):
                return

    def _fingerprint(self) -> object:
        """Another value once the file was written."""
        return [_stat(Path(f"{self._path}{end}")) for end in ("", "-wal")]

    # -- the end

    async def wait(self, patience_s: float | None = None) -> None:
        """Wait until the runs under way have ended."""
        if self._running:
            await asyncio.wait([one.task for one in self._running.values()],
                               timeout=patience_s)

    def stop(self, channel: str, chat: str) -> int:
        """/stop in a chat: end the runs that tell it what they came to;
        how many."""
        return self._stop([
            id for id, one in self._running.items()
            if is_told(one.job, "interrupted") and (
                one.job.spec.delivery.channel, one.job.spec.delivery.to) == (
                channel.partition(":")[0], chat)], "/stop ended it")

    def stop_all(self) -> None:
        """Start nothing more, and end all runs."""
        self._stopping = True
        self._stop(list(self._running), "the emergency stop ended it")

    def _stop(self, ids: list[int], why: str) -> int:
        for id in ids:
            self._why[id] = why
            self._running[id].task.cancel()
        return len(ids)

    async def drain(self, patience_s: float) -> None:
        """Start nothing more; let runs end, interrupt those that take
        longer, and tell what came of them."""
        self._stopping = True
        self._woken.set()
        await self.wait(patience_s)
        await cancel_all([one.task for one in self._running.values()])
        if self._find_parts() is not None:
            try:
                await self._notices.tell_all()
            except ClawError as error:  # the next start tells it
                self._around.log("jobs.error", error=describe(error))


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
