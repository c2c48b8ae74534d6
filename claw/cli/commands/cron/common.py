"""What the commands of claw cron share: the store, and a job by its name."""

from claw.cli.invocation import Invocation
from claw.config.keys import join_key
from claw.core.errors import StorageError, UnavailableError
from claw.storage.jobs.lookup import find_job
from claw.storage.jobs.model import Job
from claw.storage.jobs.store import SqliteJobs
from claw.wiring.channels.states import read_running
from claw.wiring.jobs.declared import read_jobs
from claw.wiring.tools.jobs import open_jobs


def open_store(run: Invocation) -> SqliteJobs:
    """What config.toml declares is among them. Raises UnavailableError
    where there can't be any, ConfigError for a table that can't be read."""
    jobs = open_jobs(run.settings)
    if jobs is not None:
        _declare(run, jobs)
        return jobs
    if not run.places.trusted:
        raise UnavailableError(
            "the workspace is not trusted, so its jobs don't count",
            hint="look at it, then add --trust-workspace")
    raise UnavailableError("there are no scheduled jobs here: cron.enabled "
                           "is false", hint="claw config set cron.enabled "
                           "true")


def _declare(run: Invocation, jobs: SqliteJobs) -> None:
    """As claw listen does at its start; one that runs has done it, with the
    settings that it goes by."""
    if read_running(run.places) is not None:
        return
    declared, wrong = read_jobs(run.settings)
    told = [f"{join_key(path)}: {text}" for path, text in wrong]
    try:
        told += jobs.declare(declared)
    except StorageError as error:  # what stands there can be read
        told.append(f"the jobs of config.toml are not all here: "
                    f"{error.message}")
    for text in told:
        run.out.warn(text)


def find(store: SqliteJobs, word: str) -> Job:
    """Raises NotFoundError and UsageError."""
    return find_job(store.list_jobs(), word)


def say_idle(run: Invocation) -> None:
    """Say so where nothing runs the jobs."""
    if read_running(run.places) is None:
        run.out.note("claw listen runs jobs, and does not run now (claw "
                     "service install keeps it running)")
