"""Two schedulers on one workspace: the lease of a run keeps the other away,
whatever became of who holds it; and what is made up for after nobody ran."""

import asyncio
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from claw.core.times import rfc3339
from claw.storage.jobs.runs import LEASE_S, MADE_UP_S
from claw.storage.jobs.schedule import Schedule

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
         "Asia/Kathmandu", "America/Santiago", "Africa/Casablanca")
DAY_S = 86_400


@pytest.mark.parametrize("jump", [0.0, -3600.0])
def test_a_killed_run_is_taken_over_once_its_lease_is_over(
        shift, go, monkeypatch, jump):
    """A clock that is set back by more than a lease may last ends it."""
    one, ran, begun = shift(), [], asyncio.Event()

    class Hanging:
        def __init__(self, parts, around, job, turn, now):
            self._slot = job.next_run

        async def run(self):
            ran.append(self._slot)
            begun.set()
            await asyncio.Event().wait()
    monkeypatch.setattr("claw.cron.work.Work", Hanging)
    id = one.add(600, command="ls", missed="all")

    async def act():
        one.now += 600
        first = one.begin()
        await first.begin()
        await first.look()
        await begun.wait()
        begun.clear()
        second = one.begin()
        await second.begin()
        one.now += LEASE_S - 1  # the first is gone, and nobody knows yet
        await second.look()
        assert one.statuses(id) == ["running"]
        one.now += jump or 2
        await second.look()
        assert one.statuses(id) == ["interrupted"]
        one.now += 600 - jump
        await second.look()
        await begun.wait()
        for runner in (first, second):
            await runner.drain(0)
    go(act())

    assert len(ran) == len(set(ran)) == 2
    assert one.jobs.list_runs(id)[-1].slot == ran[0]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("missed", ["skip", "once", "all"])
@pytest.mark.parametrize("away_days", [3, 8, 32])
def test_what_was_missed_is_made_up_for_as_the_job_says(
        shift, go, zone, missed, away_days):
    """Over the nights on which the clocks of most of them change."""
    one = shift()
    begin = datetime(2026, 10, 20, 18, tzinfo=UTC)
    one.now = begin.timestamp()
    id = one.add(command="ls", missed=missed, schedule=Schedule(
        "cron", expr="30 2 * * *", tz=zone))
    night = begin.astimezone(ZoneInfo(zone)).replace(hour=2, minute=30)
    slots = [(night + timedelta(days=day)).timestamp() for day in range(99)]
    slots = [slot for slot in slots if slot > one.now]
    one.now += away_days * DAY_S

    async def act():
        for _ in range(12):
            await one.pass_time(1)
    go(act())

    late = [slot for slot in slots if slot < one.now]
    if missed == "all":
        late = [slot for number, slot in enumerate(late) if not number
                or slot > begin.timestamp() + away_days * DAY_S - MADE_UP_S]
    else:
        late = late[:1]
    assert [run.slot for run in reversed(one.jobs.list_runs(id))] \
        == list(map(rfc3339, late))
    assert {*one.statuses(id)} == {"skipped" if missed == "skip" else "ok"}
    assert one.jobs.get(id).next_run == next(
        rfc3339(slot) for slot in slots if slot > one.now)
