"""One run of a job, from its precheck to its outcome."""

import asyncio

from claw.core.errors import ClawError, DeniedError, describe
from claw.core.failpoint import reach
from claw.core.labels import split_origin
from claw.core.tool import ToolDeps, ToolResult
from claw.core.turn import TurnContext
from claw.core.value import replace
from claw.cron.heartbeat import NO_TASKS
from claw.cron.outcome import Outcome
from claw.cron.parts import Around, Parts, Sight
from claw.cron.prompt import PromptRun, judge_error, reserve
from claw.security.sandbox import children
from claw.storage.jobs.model import Job, Run
from claw.text.addresses import drop_controls
from claw.tools.cron.running import (
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

COMMAND_S = 120
STOPPED = "it was stopped; it may have acted, and is not run again for " \
    "this time"
_NO_COMMANDS = DeniedError(
    "no commands run here: this machine has only the fallback sandbox",
    hint="claw doctor prints the steps to a whole one")


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

    @property
    def _limit_s(self) -> float:
        spec = self._job.spec
        return spec.timeout_s or (COMMAND_S if spec.job_type == "shell"
                                  else self._parts.turn_s)

    async def run(self) -> Outcome:
        try:
            async with asyncio.timeout(self._limit_s + 5):
                return await self._run()
        except DeniedError as error:
            return Outcome("denied", describe_whole(error),
                           self._turn.turn_id)
        except Exception as error:  # one run's fault ends no other
            if not isinstance(error, (ClawError, TimeoutError)):
                self._around.log("job.fault", job=self._job.id,
                                 error=repr(error))
            return judge_error(error, self._turn, self._limit_s)

    async def _run(self) -> Outcome:
        spec, before = self._job.spec, ""
        if spec.job_type == "agent":
            prompt = await asyncio.to_thread(self._parts.find_prompt,
                                             self._job)
            if prompt is None:
                return Outcome("skipped", NO_TASKS)
            self._job = replace(self._job, spec=replace(spec, prompt=prompt))
            reserve(self._job, self._turn, self._parts, self._now)
        if spec.precheck is not None:
            done, result = await self._command(spec.precheck)
            status, before = judge_precheck(done, result)
            if status != "ok":
                return Outcome(status, drop_controls(before))
        if spec.job_type == "shell":
            _, result = await self._command(spec.command or "")
            return Outcome("ok" if result.success else "error",
                           drop_controls(write_output(result)))
        return await PromptRun(self._parts, self._around, self._job,
                               self._turn).run(
            write_prompt(self._job, before))

    async def _command(self, command: str
                       ) -> tuple[children.Finished, ToolResult]:
        policy = self._parts.policy
        if not self._parts.runs_commands:
            raise _NO_COMMANDS
        limit_s = self._job.spec.timeout_s or COMMAND_S
        shell = Shell(ToolDeps(policy.workspace, policy),
                      ShellToolSettings(timeout_secs=limit_s))
        return await run_command(shell, policy, command, self._turn)
