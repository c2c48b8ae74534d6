"""The tools for scheduled jobs keep the contract."""

from claw.core.value import replace
from claw.storage.jobs.model import JobSpec
from claw.storage.jobs.schedule import Schedule
from claw.storage.jobs.store import SqliteJobs
from claw.testing.contracts.tool import ToolContract

NOON = {"kind": "cron", "expr": "0 12 * * *", "tz": "Europe/Berlin"}


class OverJobs(ToolContract):
    def make(self, deps):
        jobs = SqliteJobs(deps.workspace / "state" / "jobs.db")
        job = jobs.add(JobSpec(Schedule("every", every_ms=60_000),
                               command="ls"))
        self.arguments = {name: job.id if value == "ID" else value
                          for name, value in type(self).arguments.items()}
        return super().make(replace(deps, jobs=jobs))


class TestCronAdd(OverJobs):
    name = "cron_add"
    arguments = {"schedule": NOON, "command": "ls"}


class TestCronList(OverJobs):
    name = "cron_list"


class TestCronRemove(OverJobs):
    name = "cron_remove"
    arguments = {"job_id": "ID"}


class TestCronUpdate(OverJobs):
    name = "cron_update"
    arguments = {"job_id": "ID", "patch": {"enabled": False}}


class TestCronRuns(OverJobs):
    name = "cron_runs"
    arguments = {"job_id": "ID"}


class TestSchedule(OverJobs):
    name = "schedule"
    arguments = {"action": "create", "expression": "0 9 * * *",
                 "command": "ls"}


class TestCronRun(OverJobs):
    name = "cron_run"
    arguments = {"job_id": "ID"}
    labels = frozenset({"command"})
