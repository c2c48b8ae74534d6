"""`claw doctor`: what is wrong with scheduled jobs."""

import json
import os
import time

import pytest

from claw.core.times import rfc3339
from claw.core.value import replace
from claw.storage.jobs.model import Delivery, JobSpec
from claw.storage.jobs.schedule import Schedule
from claw.storage.jobs.store import SqliteJobs
from claw.wiring.checks.check import run_groups
from claw.wiring.checks.schedule import SCHEDULE
from claw.wiring.workspace.place_names import jobs_path, state_path

HOURLY = JobSpec(Schedule("every", every_ms=3_600_000), name="look",
                 command="ls")
TELEGRAM = '[channels_config.telegram]\nbot_token = "1:a"\n'


@pytest.fixture
def look(write_settings):
    """look(toml): findings by what they are about."""
    places = write_settings().places

    def look(text=""):
        tree = write_settings(text)
        found = run_groups([SCHEDULE], tree.places, tree)
        return {check.id.split(".")[1]: check for check in found}

    def store(ago_s=0.0):
        return SqliteJobs(jobs_path(places),
                          channels=lambda: ["telegram"],
                          now=lambda: time.time() - ago_s)
    look.store, look.places = store, places
    return look


def test_without_jobs_nothing_is_said(look):
    assert look() == {}


def test_jobs_that_run_well_are_one_line(look):
    look.store().add(HOURLY)
    look.store().add(replace(HOURLY, name="off", enabled=False))

    (found,) = look().values()
    assert (found.status, found.detail.startswith(
        "2 jobs, 1 of them on; next: look (")) == ("ok", True)


def test_a_file_that_is_none_is_a_failure_with_the_way_out(look):
    look.store().add(HOURLY)
    jobs_path(look.places).write_bytes(b"no database" * 1000)

    found = look()["jobs"]
    assert found.status == "fail"
    assert found.hint


def test_jobs_that_are_switched_off_are_not_looked_at(look):
    look.store().add(HOURLY)
    assert look("[cron]\nenabled = false\n")["jobs"].status == "skip"


@pytest.mark.parametrize("runs", [False, True])
def test_what_should_have_run_is_told(look, runs):
    look.store(7200).add(HOURLY)
    if runs:
        state_path(look.places).write_text(json.dumps({
            "pid": os.getpid(), "written_at": rfc3339(time.time()),
            "components": {}, "uptime_seconds": 9}))

    found = look()
    assert ("late" in found, "listen" in found) == (runs, not runs)
    assert found["late" if runs else "listen"].status == "warn"


def test_what_failed_again_and_again_is_told(look):
    store = look.store()
    job = store.add(HOURLY)
    for slot, status in (("0", "ok"), ("1", "error"), ("2", "denied"),
                         ("3", "skipped")):
        store.end_run(store.begin_run(job.id, slot), "", status=status)
    assert "failing" not in look()

    store.end_run(store.begin_run(job.id, "4"), "", status="interrupted")
    assert "its last 3 runs ended with interrupted" in look()[
        "failing"].detail


def test_a_run_that_ended_with_its_process_is_told(look):
    store = look.store(7200)
    job = store.add(HOURLY)
    store.begin_run(job.id, "slot")

    assert "ended with its process" in look()["wedged"].detail


def test_a_channel_that_is_gone_is_told(look):
    look.store().add(replace(HOURLY, delivery=Delivery(
        "announce", "telegram", "7")))

    assert "channel" not in look(TELEGRAM)
    assert "--to" in look()["channel"].hint


def test_a_command_that_is_refused_by_now_is_told(look):
    look.store().add(HOURLY)
    found = look('[autonomy]\nallowed_commands = ["git"]\n')
    assert "not allowed" in found["refused"].detail


def test_one_that_was_switched_off_for_failing_is_told(look):
    store = look.store()
    job = store.add(replace(HOURLY, schedule=Schedule(
        "at", at=rfc3339(time.time() + 1)), delete_after_run=True))
    late = look.store(-5)
    late.end_run(late.begin_run(job.id, job.next_run), "", status="error")

    assert "switched off" in look()["off"].detail


def test_silence_is_told(look):
    store = look.store()
    job = store.add(replace(HOURLY, max_silence_s=60))
    store.mark_silent(job.id, True)

    assert "no success since" in look()["silent"].detail
