"""What came of runs, on its way to the delivery targets; and jobs that are
silent for too long.

Jobs and outbox are two files. A run ends with its outcome owed; then it is
posted, which the outbox does once for each run, and then it is no longer
owed. Whatever is killed in between, the message is neither lost nor doubled.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime

from claw.core.channel import SendMessage
from claw.core.errors import (
    ClawError,
    NotFoundError,
    StorageError,
    UnavailableError,
    describe,
)
from claw.core.failpoint import reach
from claw.cron.outcome import name_job, name_source, write_message
from claw.cron.parts import Parts, Service
from claw.storage.jobs.model import Job, Run


class Notices:
    """Tells for one term of the leader lease; `parts` are those in force,
    `now` is Unix time."""

    def __init__(self, parts: Callable[[], Parts], around: Service,
                 now: Callable[[], float]) -> None:
        self._parts = parts
        self._around = around
        self._now = now
        self._links: dict[int, tuple[str, ...] | None] = {}
        self._telling = asyncio.Lock()

    def allow_links(self, run: Run, links: tuple[str, ...] | None) -> None:
        """What may be a link in the message of this run; of one that is
        told after a restart nothing may."""
        self._links[run.id] = links

    async def tell_all(self) -> None:
        """Post what is owed, and look for what is awaited. What can't be
        done now stays owed."""
        async with self._telling:
            for run in await asyncio.to_thread(self._parts().jobs.list_owed):
                try:
                    await self._tell(run)
                except (StorageError, UnavailableError) as error:
                    self._around.log("job.untold", job=run.job_id,
                                     error=describe(error))

    async def _tell(self, run: Run) -> None:
        parts, source = self._parts(), name_source(run)
        try:
            job = await asyncio.to_thread(parts.jobs.get, run.job_id)
        except NotFoundError:
            return  # removed, and its runs with it
        strict = not job.spec.delivery.best_effort
        if run.delivery == "owed":
            try:
                await self._around.posts.post(
                    source, job.spec.delivery.channel or "", write_message(
                        job, run, self._links.pop(run.id, ()),
                        tuple(parts.secrets)))
            except (StorageError, UnavailableError):
                raise
            except ClawError as error:
                await self._fail(job, run, describe(error))
                return
            reach("jobs.posted")
            await self._mark(run, "awaited" if strict else "posted")
        elif strict:
            state, why = await self._around.posts.find_state(source)
            if state == "sent":
                await self._mark(run, "sent")
            elif state == "failed":
                await self._fail(job, run, why or "no reason is known")
        else:  # it need not be waited for any more
            await self._mark(run, "posted")

    async def _fail(self, job: Job, run: Run, why: str) -> None:
        error = f"not delivered: {why}"
        self._around.log("job.undelivered", job=job.id, error=why)
        await self._mark(run, "failed", None if job.spec.delivery.best_effort
                         else error)

    async def _mark(self, run: Run, state: str, error: str | None = None
                    ) -> None:
        await asyncio.to_thread(self._parts().jobs.mark_delivery, run, state,
                                error)

    # -- silence

    async def watch_silence(self, jobs: list[Job]) -> None:
        """Tell once of a job without a success for so long, and once when
        it is back."""
        now = self._now()
        for job in jobs:
            most, since = job.spec.max_silence_s, job.quiet_since
            if most is None or since is None or not job.spec.enabled:
                continue
            silent = now - datetime.fromisoformat(since).timestamp() > most
            if silent and not job.silent:
                await self._say(job, "silent", f"⚠️ Job {name_job(job)} has "
                                f"had no success since {since}.")
            elif job.silent and not silent:
                await self._say(job, "back",
                                f"Job {name_job(job)} succeeds again.")
            elif silent:
                self._around.note(*_name_silence(job))

    async def _say(self, job: Job, what: str, text: str) -> None:
        self._around.log(f"job.{what}", job=job.id, name=job.spec.name,
                         text=text)
        name, trouble = _name_silence(job)
        self._around.note(name, trouble if what == "silent" else None)
        delivery = job.spec.delivery
        try:
            if delivery.mode == "announce":
                await self._around.posts.post(
                    f"job:{job.id}:{what}:{job.quiet_since}",
                    delivery.channel or "",
                    SendMessage(text, delivery.to or "", files=False))
        except (StorageError, UnavailableError) as error:
            self._around.log("job.untold", job=job.id, error=describe(error))
            return
        except ClawError as error:  # no such channel any more: it is logged
            self._around.log("job.undelivered", job=job.id,
                             error=describe(error))
        await asyncio.to_thread(self._parts().jobs.mark_silent, job.id,
                                what == "silent")


def _name_silence(job: Job) -> tuple[str, str]:
    return f"job:{name_job(job)}", f"no success since {job.quiet_since}"
