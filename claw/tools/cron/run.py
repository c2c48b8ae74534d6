"""cron_run: a kept job, at once, within the turn that asks.

The command of a shell job goes the way of the shell tool, with nobody to
ask; the prompt of an agent job is a turn of the agent's own. The run stands
in the job's history like any other. Nothing is delivered: whoever asks has
the outcome.
"""

import time
from functools import partial

from claw.core.errors import (
    BudgetError,
    ClawError,
    DeniedError,
    FaultError,
    UnavailableError,
)
from claw.core.labels import split_origin
from claw.core.ledger import dollars
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
    describe_whole,
    hold_run,
    judge_precheck,
    narrow_turn,
    run_command,
    write_output,
    write_prompt,
)
from claw.tools.settings import ShellToolSettings
from claw.tools.shell import Shell


def _check_month(job: Job) -> None:
    """Raises BudgetError where nothing is left of the job's month."""
    most = (job.spec.monthly_cents or 0) / 100
    if most and job.count_month_usd(time.time()) >= most:
        raise BudgetError(f"Budget exceeded: the {dollars(most)} of this "
                          "job's month are spent")


class CronRun(CronTool):
    """Runs one job and tells what came of it."""

    name = "cron_run"
    description = ("Run a scheduled job now, whenever it is due; the outcome "
                   "is the result and is sent nowhere.")

    def __init__(self, deps: ToolDeps,
                 shell: ShellToolSettings | None = None) -> None:
        super().__init__(deps)
        self._shell = Shell(deps, shell)
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
        _check_month(job)
        if job.spec.job_type == "agent" and self._tasks is None:
            raise UnavailableError("no agent runs here to take the prompt")
        turn = current_turn.get() or TurnContext("tool")
        turn.labels |= split_origin(job.spec.origin)
        started = await use(self.jobs.begin_run, job.id,
                            rfc3339(time.time()))
        if started is None:
            raise UnavailableError("a run of this job is under way")
        inner = turn.hand_over()
        narrow_turn(inner, job)
        try:
            async with hold_run(self.jobs, started, lambda: None):
                status, text = await self._run_job(job, inner)
        except BaseException:  # stopped in the middle: that is its outcome
            self.jobs.end_run(started, STOPPED, status="interrupted")
            raise
        finally:
            turn.labels |= inner.labels
        text = cut_output(text)
        await use(partial(self.jobs.end_run, started, text, status=status,
                          turn_id=turn.turn_id))
        return ToolResult(text) if status == "ok" \
            else ToolResult.failure(text)

    async def _run_job(self, job: Job, turn: TurnContext
                       ) -> tuple[str, str]:
        """How it ended, and what it said."""
        spec, before = job.spec, ""
        try:
            if spec.precheck is not None:
                done, result = await run_command(
                    self._shell, self._policy, spec.precheck, turn)
                status, before = judge_precheck(done, result)
                if status != "ok":
                    return status, before
            if spec.job_type == "shell":
                _, result = await run_command(
                    self._shell, self._policy, spec.command or "", turn)
                return "ok" if result.success else "error", write_output(
                    result)
            assert self._tasks is not None
            return "ok", await self._tasks.run_task(
                write_prompt(job, before), turn,
                Task(model=spec.model, tools=spec.allowed_tools))
        except DeniedError as error:
            return "denied", describe_whole(error)
        except FaultError:
            raise
        except ClawError as error:
            return "error", describe_whole(error)
