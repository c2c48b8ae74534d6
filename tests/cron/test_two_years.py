"""Two years of clock changes in six zones, with kills and clocks that jump:
each slot is run once, and told once.

The oracle reads the wall clock of each zone, a quarter of an hour at a time,
and knows nothing of cron expressions.
"""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from claw.core.times import rfc3339
from claw.storage.jobs import store
from claw.storage.jobs.schedule import Schedule
from claw.storage.jobs.settings import SchedulerSettings
from claw.storage.sqlite import connect
from claw.tools.cron.running import Outcome

DAY_S = 86_400
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2028, 1, 1, tzinfo=UTC)
# A time of the day that the zone's clock changes leave out or repeat.
ZONES = {
    "Europe/Berlin": (2, 30), "America/New_York": (2, 30),
    "Australia/Lord_Howe": (2, 15), "Asia/Kathmandu": (2, 30),
    "America/Santiago": (0, 30), "Africa/Casablanca": (2, 30)}
QUARTER = timedelta(minutes=15)


def list_daily(zone, hour, minute):
    """The moments at which it is so late on each day: on the first pass of
    a time that is repeated, at the end of one that is left out."""
    found, wanted = [], None
    moment = BEGIN
    while moment < END:
        local = moment.astimezone(ZoneInfo(zone))
        if wanted is None:
            wanted = local.replace(hour=hour, minute=minute, tzinfo=None)
            if wanted <= local.replace(tzinfo=None) and moment == BEGIN \
                    and wanted != local.replace(tzinfo=None):
                wanted += timedelta(days=1)
        if local.replace(tzinfo=None) >= wanted:
            found.append(rfc3339(moment.timestamp()))
            wanted += timedelta(days=1)
        moment += QUARTER
    return found


class Killed(BaseException):
    """The process is gone: nothing that it would still do happens."""


class Mortal:
    """An object whose calls end the process, after so many, before or
    after they are done."""

    def __init__(self, inner, fate):
        self._inner = inner
        self._fate = fate

    def __getattr__(self, name):
        found = getattr(self._inner, name)
        if not callable(found):
            return found
        if asyncio.iscoroutinefunction(found):
            async def call(*args, **named):
                self._fate.reach()
                result = await found(*args, **named)
                self._fate.reach()
                return result
        else:
            def call(*args, **named):
                self._fate.reach()
                result = found(*args, **named)
                self._fate.reach()
                return result
        return call


class Noting:
    """The store, with all runs that were begun: it keeps but the newest."""

    def __init__(self, jobs):
        self._jobs = jobs
        self.begun = []

    def __getattr__(self, name):
        return getattr(self._jobs, name)

    def begin_run(self, *args):
        run = self._jobs.begin_run(*args)
        if run is not None:
            self.begun.append((run.job_id, run.slot))
        return run


class Fate:
    """Ends the process at the step of this number; None: it lives."""

    def __init__(self, left):
        self.left = left
        self.dead = False

    def reach(self):
        if self.left is not None and not self.dead:
            self.left -= 1
            self.dead = self.left <= 0
        if self.dead:
            raise Killed


class World:
    """Lives of a scheduler, one after another, over the same files."""

    def __init__(self, shift, seed):
        self.random = random.Random(seed)
        self.shift = shift
        self.jobs = Noting(shift.jobs)
        self.kills = 0

    async def live(self, most_steps):
        """One life: until it is killed, or all of the time has passed."""
        shift = self.shift
        fate = Fate(None if most_steps is None
                    else self.random.randint(1, most_steps))
        runner = shift.begin(Mortal(self.jobs, fate),
                             Mortal(shift.outbox, fate))
        try:
            await runner.begin()
            await runner.look()
            while (await self.find_due()) < END.timestamp():
                await runner.wait()
                next_at = await runner.look()
                await runner.wait()
                if fate.dead:
                    raise Killed
                self.move_clock(next_at)
        except Killed:
            self.kills += 1
            # How long nobody runs it: at least until its leases are over.
            shift.now += 61 + self.random.choice((0, 600, DAY_S, 3 * DAY_S))
        finally:
            left = [one.task for one in runner._running.values()]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def find_due(self):
        return self.shift.jobs.find_next_due() or self.shift.now

    def move_clock(self, next_at):
        now = self.shift.now
        if self.random.random() < 0.01:
            # set wrong, by up to two days either way
            self.shift.now = max(BEGIN.timestamp() + 1, now + self.random
                                 .uniform(-2 * DAY_S, 2 * DAY_S))
        elif next_at is not None:
            self.shift.now = max(now, next_at) + self.random.uniform(0, 5)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Neither for the disk nor for threads: no power is cut here."""
    async def call(work, *args, **named):
        return work(*args, **named)
    monkeypatch.setattr(asyncio, "to_thread", call)
    monkeypatch.setattr(store, "connect", lambda path, **more: connect(
        path, **more | {"synchronous": "OFF"} if "synchronous" in more
        else more))


@pytest.fixture
def ran(monkeypatch):
    """The runs that did their work: (job, slot), in order. A run costs
    nothing here but the waiting for others."""
    done = []

    class Quick:
        def __init__(self, parts, around, job, turn, now):
            self._job = job
            self._slot = job.next_run

        async def run(self):
            await asyncio.sleep(0)
            done.append((self._job.id, self._slot))
            return Outcome("ok", self._slot)
    monkeypatch.setattr("claw.cron.work.Work", Quick)
    return done


def add_jobs(shift):
    """Each job's slots."""
    slots = {}
    for zone, (hour, minute) in ZONES.items():
        daily = shift.add(command="ls", missed="all", schedule=Schedule(
            "cron", expr=f"{minute} {hour} * * *", tz=zone))
        slots[daily] = list_daily(zone, hour, minute)
    return slots


@pytest.mark.slow
def test_each_slot_of_two_years_is_run_and_told_once(shift, ran):
    one = shift(scheduler=SchedulerSettings(max_concurrent=8))
    one.now = BEGIN.timestamp() - 0.001
    slots = add_jobs(one)
    keeper = connect(one.path)  # the last one out tidies the file away
    world = World(one, seed=1)

    async def live():
        while await world.find_due() < END.timestamp():
            await world.live(4_000)
        one.now = max(one.now, END.timestamp()) + 120
        runner = one.begin()
        await runner.look()
        await runner.drain(5)
    asyncio.run(live())
    keeper.close()

    assert world.kills > 5
    assert len(ran) == len(set(ran))
    begun = world.jobs.begun
    assert len(begun) == len(set(begun))
    for id, expected in slots.items():
        got = sorted(slot for job, slot in begun if job == id
                     and slot < rfc3339(END.timestamp()))
        assert got == expected
        assert {f"job:{id}:{slot}" for slot in got} <= {*one.outbox.posted}
    # one that was killed is told as interrupted, whether it ran or not
    lost = {*begun} - {*ran}
    assert len(lost) <= 8 * world.kills
