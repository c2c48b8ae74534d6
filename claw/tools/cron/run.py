"""cron_run: a kept job, at once, within the turn that asks.

The command of a shell job goes the way of the shell tool, with nobody to
ask; the prompt of an agent job is a turn of the agent's own. The run stands
in the job's history like any other. Nothing is delivered: whoever asks has
the outcome.
"""

import time

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
from claw.security.narrower import ANY, combine, read_policy
from claw.storage.jobs.model import Job
from claw.storage.jobs.store import cut_output
from claw.tools.cron.base import CronTool, use
from claw.tools.settings import ShellToolSettings
from claw.tools.shell import Shell

_STOPPED = "the run was stopped"


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
        if job.spec.job_type == "agent" and self._tasks is None:
            raise UnavailableError("no agent runs here to take the prompt")
        turn = current_turn.get() or TurnContext("tool")
        turn.labels |= split_origin(job.spec.origin)
        started = await use(self.jobs.begin_run, job.id,
                            rfc3339(time.time()))
        if started is None:
            raise UnavailableError("a run of this job has just begun")
        inner = _narrow(turn, job)
        try:
            result = await self._run_job(job, inner)
        except BaseException:  # stopped in the middle: that is its outcome
            self.jobs.end_run(started, _STOPPED,
                              status="interrupted")
            raise
        finally:
            turn.labels |= inner.labels
        text = cut_output(result.output if result.success else "\n".join(
            filter(None, (result.error, result.output))))
        await use(self.jobs.end_run, started, text,
                  status="ok" if result.success else "error")
        return ToolResult(text) if result.success \
            else ToolResult.failure(text)

    async def _run_job(self, job: Job, turn: TurnContext) -> ToolResult:
        spec = job.spec
        if spec.job_type == "shell":
            token = current_turn.set(turn)
            try:
                own = self._policy.settings
                if not own.offers("shell") \
                        or {"shell", ANY}.intersection(own.always_ask):
                    return ToolResult.failure(
                        "this turn may run no shell unasked, and a job's is "
                        "asked about by nobody (see: claw permission show)")
                return await self._shell.execute({"command": spec.command})
            finally:
                current_turn.reset(token)
        assert self._tasks is not None
        try:
            return ToolResult(await self._tasks.run_task(
                " ".join(filter(None, (f"[cron:{job.id}", spec.name)))
                + f"] {spec.prompt}", turn,
                Task(model=spec.model, tools=spec.allowed_tools)))
        except FaultError:
            raise
        except ClawError as error:
            return ToolResult.failure(error.message)


def _narrow(turn: TurnContext, job: Job) -> TurnContext:
    """The turn of a run: what the job's policy takes away is gone from what
    the asking turn may."""
    inner = turn.hand_over()
    own = read_policy(job.spec.policy or {})
    inner.policy = combine(turn.policy, own)
    if own.max_cost_per_turn_cents is not None:
        limits = (turn.limit_usd, own.max_cost_per_turn_cents / 100)
        inner.limit_usd = min(each for each in limits if each is not None)
    return inner
