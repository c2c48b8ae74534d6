"""The scheduled jobs of the workspace."""

from functools import partial

from claw.config.tree import Tree
from claw.storage.jobs.settings import CronSettings
from claw.storage.jobs.store import SqliteJobs
from claw.wiring.channels.names import list_configured
from claw.wiring.workspace.place_names import jobs_path


def open_jobs(tree: Tree) -> SqliteJobs | None:
    """The store; no file is opened before it is used. None where
    cron.enabled is false, or what lies in the workspace does not count."""
    settings = tree.decode("cron", CronSettings)
    if not settings.enabled or not tree.places.trusted:
        return None
    return SqliteJobs(jobs_path(tree.places),
                      channels=partial(list_configured, tree),
                      history=settings.max_run_history)
