"""What the commands of claw cron share: the store, and a job by its name."""

from claw.cli.invocation import Invocation
from claw.core.errors import UnavailableError
from claw.storage.jobs.lookup import find_job
from claw.storage.jobs.model import Job
from claw.storage.jobs.store import SqliteJobs
from claw.wiring.tools.jobs import open_jobs


def open_store(run: Invocation) -> SqliteJobs:
    """Raises UnavailableError where there can't be any."""
    jobs = open_jobs(run.settings)
    if jobs is not None:
        return jobs
    if not run.places.trusted:
        raise UnavailableError(
            "the workspace is not trusted, so its jobs don't count",
            hint="look at it, then add --trust-workspace")
    raise UnavailableError("there are no scheduled jobs here: cron.enabled "
                           "is false", hint="claw config set cron.enabled "
                           "true")


def find(store: SqliteJobs, word: str) -> Job:
    """Raises NotFoundError and UsageError."""
    return find_job(store.list_jobs(), word)
