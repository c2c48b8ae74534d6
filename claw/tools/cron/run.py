"""cron_run: a kept job, at once, within the turn that asks.

The command of a shell job goes the way of the shell tool, with nobody to
ask; the prompt of an agent job is a turn of the agent's own. The run stands
in the job's history, and is paid from its budgets, like any other. Nothing
is delivered: whoever asks has the outcome.
"""

import time
from functools import partial

from claw.core.errors import ClawError, FaultError, UnavailableError
from claw.core.labels import split_origin
from claw.core.times import rfc3339
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    string,
)
from claw.core.turn import RunsTasks, Task, TurnContext, current_turn
from claw.storage.jobs.model import Job
from claw.storage.jobs.store import cut_output
from claw.tools.cron.base import CronTool, use
from claw.tools.cron.running import (
    STOPPED,
    Outcome,
    do_work,
    find_limit_s,
    hold_run,
    judge_error,
    narrow_turn,
)


class CronRun(CronTool):
    """Runs one job and tells what came of it."""

    name = "cron_run"
    description = ("Run a scheduled job now, whenever it is due; the outcome "
                   "is the result and is sent nowhere.")

    def __init__(self, deps: ToolDeps) -> None:
        super().__init__(deps)
        self._tasks: RunsTasks | None = deps.tasks

    def parameters_schema(self) -> Schema:
        return closed_object(job_id=string("The job's id", minLength=1))

    def explain(self, args: Arguments) -> Arguments:
        """What the owner says yes to: an id tells him nothing."""
        try:
            spec = self.find(str(args.get("job_id"))).spec
        except ClawError:
            return {}  # the call says why
        return {spec.job_type: spec.command or spec.prompt}

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        job = await use(self.find, args["job_id"])
        self._check_command(job.spec)
        if job.spec.job_type == "agent" and self._tasks is None:
            raise UnavailableError("no agent runs here to take the prompt")
        turn = current_turn.get() or TurnContext("tool")
        turn.labels |= split_origin(job.spec.origin)
        run = await use(self.jobs.begin_run, job.id, rfc3339(time.time()))
        if run is None:
            raise UnavailableError("a run of this job is under way")
        await use(partial(self.jobs.renew_run, run, turn_id=turn.turn_id))
        before = await use(self._count_cost, turn)
        outcome = Outcome("interrupted", STOPPED)
        try:
            async with hold_run(self.jobs, run, lambda: None):
                outcome = await self._run_job(job, turn, before or 0.0)
        finally:  # not on a thread: it may be cancelled
            cost = self._count_cost(turn)
            self.jobs.end_run(
                run, outcome.text, status=outcome.status,
                turn_id=turn.turn_id, cost_usd=None
                if before is None or cost is None else cost - before)
        text = cut_output(outcome.text)
        return ToolResult(text) if outcome.status == "ok" \
            else ToolResult.failure(text)

    def _count_cost(self, turn: TurnContext) -> float | None:
        return 0.0 if self._tasks is None \
            else self._tasks.turn_cost(turn.turn_id)

    async def _run_job(self, job: Job, turn: TurnContext, spent_usd: float
                       ) -> Outcome:
        """In a turn within `turn`, which cost so much before. Its calls are
        paid by both."""
        inner = turn.hand_over()
        inner.refused = []
        narrow_turn(inner, job, spent_usd)
        limit_s = find_limit_s(job, None)

        async def ask(prompt: str) -> Outcome:
            assert self._tasks is not None
            text = await self._tasks.run_task(prompt, inner, Task(
                model=job.spec.model, tools=job.spec.allowed_tools))
            return Outcome("denied" if inner.refused else "ok", text)
        try:
            return await do_work(job, inner, self._policy, ask, time.time(),
                                 limit_s, spent_usd)
        except FaultError:
            raise
        except (ClawError, TimeoutError) as error:
            return judge_error(error, inner, limit_s)
        finally:
            turn.labels |= inner.labels
            for refusal in inner.refused:
                turn.note_refusal(refusal)
