"""Places -> the same places, with whether the workspace counts.

The default workspace always does: claw made it. See security/trust.py.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from claw.config.places import Places
from claw.core.errors import DeniedError, StorageError
from claw.core.value import replace

if TYPE_CHECKING:
    from claw.security.trust import Standing

FLAG = "--trust-workspace"


def settle_trust(places: Places, *, trusts: bool = False,
                 adopts: bool = False,
                 ask: "Callable[[Standing], bool | None] | None" = None,
                 notify: Callable[[str], None] = lambda _: None) -> Places:
    """Look up or decide whether the workspace counts.

    `trusts` is the owner's yes beforehand, `ask` asks him where nothing is
    known yet (it gives None where nobody can be asked). With `adopts` claw
    is about to work there and keeps that in mind; `notify` hears of that,
    and of a workspace that does not count. Raises StorageError.
    """
    if places.workspace_origin.startswith("default"):
        return places
    from claw.security.trust import (
        adopt_workspace,
        decide_workspace,
        judge_workspace,
    )
    home, workspace = places.home, places.workspace
    standing = judge_workspace(home, workspace)
    if standing.is_trusted:
        if adopts:
            try:
                if adopt_workspace(home, workspace):
                    notify(f"{workspace} is a workspace from now on: what "
                           "claw keeps (memory, sessions, state) lies there")
            except StorageError as error:
                notify(f"what is kept in {workspace} will not count next "
                       f"time: {error.message}")
        return places
    answer = (True if trusts else False if standing.answer is False
              else ask(standing) if ask else None)
    if answer is not None and (answer or standing.answer is None):
        decide_workspace(home, workspace, answer)
    if answer:
        _tell_jobs(places, notify)
        return places
    if ask or adopts:
        notify(f"{describe_untrusted(places, standing)}; {FLAG} changes "
               "that")
    return replace(places, trusted=False)


def _tell_jobs(places: Places, notify: Callable[[str], None]) -> None:
    """Jobs count from now on too, and nobody has to come for them to run."""
    from claw.storage.jobs.store import SqliteJobs
    from claw.wiring.workspace.place_names import jobs_path
    if not jobs_path(places).exists():
        return
    try:
        jobs = [job for job in SqliteJobs(jobs_path(places)).list_jobs()
                if job.spec.enabled]
    except StorageError as error:
        notify(f"its jobs can't be read: {error.message}")
        return
    if jobs:
        notify(f"{len(jobs)} of its jobs are on, and claw listen would run "
               "them there: look at them with claw cron list")


def require_trust(places: Places) -> None:
    """For what can't do without the workspace: a queue from elsewhere may
    hold answers and approvals that nobody gave. Raises DeniedError."""
    if not places.trusted:
        raise DeniedError(
            f"{places.workspace} was not made by claw: its queue, sessions "
            "and memories do not count",
            hint=f"if they are yours, add {FLAG} once")


def describe_untrusted(places: Places, standing: "Standing") -> str:
    """One sentence for people."""
    held = f" ({', '.join(standing.found)})" if standing.found else ""
    return (f"{places.workspace} was not made by claw: what lies there"
            f"{held} does not count")
