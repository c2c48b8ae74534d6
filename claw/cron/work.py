"""One run of a job, from its precheck to its outcome."""

import asyncio

from claw.agent.narrowed import find_limit_usd
from claw.core.errors import ClawError, describe
from claw.core.failpoint import reach
from claw.core.labels import split_origin
from claw.core.turn import TurnContext
from claw.core.value import replace
from claw.cron.heartbeat import NO_TASKS
from claw.cron.parts import Around, Parts, Sight
from claw.cron.prompt import PromptRun
from claw.storage.jobs.model import Job, Run
from claw.tools.cron.running import (
    Outcome,
    do_work,
    find_limit_s,
    hold_run,
    judge_error,
    narrow_turn,
)

STOPPED = "it was stopped; it may have acted, and is not run again for " \
    "this time"



def build_turn(job: Job, sight: Sight) -> TurnContext:
    """The turn of a run."""
    turn = TurnContext("cron", session_id=sight.session,
                       labels=set(split_origin(job.spec.origin)),
                       channel=sight.channel, reply_target=sight.chat,
                       sessions=sight.others, audience=sight.audience)
    turn.message = f"cron:{job.id}:{turn.turn_id}"
    narrow_turn(turn, job)
    return turn


async def hold_work(parts: Parts, around: Around, job: Job, run: Run,
                    turn: TurnContext, now: float) -> Outcome:
    """What came of a run that was begun; it is ours while it lasts, or
    cancelled."""
    task = asyncio.current_task()
    assert task is not None
    around.log("job", job=job.id, name=job.spec.name, slot=run.slot,
               turn=turn.turn_id)
    await asyncio.to_thread(parts.jobs.renew_run, run, turn_id=turn.turn_id)
    async with hold_run(parts.jobs, run, task.cancel):
        return await Work(parts, around, job, turn, now).run()


def end_run(parts: Parts, around: Around, run: Run, outcome: Outcome, *,
            owed: bool) -> None:
    """Keep what came of it. Not on a thread: it must end though its task
    was cancelled."""
    reach("jobs.ran")
    cost = around.turn_cost(outcome.turn_id) if outcome.turn_id else None
    try:
        parts.jobs.end_run(run, outcome.text, status=outcome.status,
                           cost_usd=cost, turn_id=outcome.turn_id, owed=owed)
    except ClawError as error:  # its lease runs out: interrupted
        around.log("job.unkept", job=run.job_id, slot=run.slot,
                   error=describe(error), text=outcome.text)
        return
    reach("jobs.ended")
    around.log("job.ended", job=run.job_id, slot=run.slot,
               status=outcome.status, turn=outcome.turn_id)


class Work:
    """What a run does. Whatever it meets is an outcome, but for a
    cancel."""

    def __init__(self, parts: Parts, around: Around, job: Job,
                 turn: TurnContext, now: float) -> None:
        self._parts = parts
        self._around = around
        self._job = job
        self._turn = turn
        self._now = now

    async def run(self) -> Outcome:
        limit_s = find_limit_s(self._job, self._parts.turn_s)
        try:
            return await self._run(limit_s)
        except Exception as error:  # one run's fault ends no other
            if not isinstance(error, (ClawError, TimeoutError)):
                self._around.log("job.fault", job=self._job.id,
                                 error=repr(error))
            return judge_error(error, self._turn, limit_s)

    async def _run(self, limit_s: float | None) -> Outcome:
        parts, job, turn = self._parts, self._job, self._turn
        if job.spec.job_type == "agent":
            prompt = await asyncio.to_thread(parts.find_prompt, job)
            if prompt is None:
                return Outcome("skipped", NO_TASKS)
            job = replace(job, spec=replace(job.spec, prompt=prompt))
            limit = find_limit_usd(parts.policy, turn.channel or "",
                                   turn.policy)
            if limit is not None:
                turn.limit_usd = min(limit, turn.limit_usd or limit)
        return await do_work(
            job, turn, parts.policy, PromptRun(
                parts, self._around, job, turn).run, self._now, limit_s)
