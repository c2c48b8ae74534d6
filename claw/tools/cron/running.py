"""What every run of a job has, whoever starts it: the scheduler, cron_run.

A command goes the way of the shell tool, with nobody to ask. A run may what
its job may and no more, and is held by its lease while it lasts.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from claw.core.errors import (
    BudgetError,
    ClawError,
    DeniedError,
    IterationLimitError,
    StorageError,
    UnavailableError,
    describe,
)
from claw.core.ledger import dollars
from claw.core.refusal import write_remarks
from claw.core.tool import ToolDeps, ToolResult
from claw.core.turn import TurnContext, current_turn
from claw.core.value import Value
from claw.security.narrower import ANY, combine, read_policy
from claw.security.policy import SecurityPolicy
from claw.security.sandbox import children
from claw.storage.jobs.model import Job, Run
from claw.storage.jobs.runs import LEASE_S
from claw.storage.jobs.store import SqliteJobs
from claw.text.addresses import drop_controls
from claw.tools.settings import ShellToolSettings
from claw.tools.shell import Shell

# 126 and 127 say that there was no such program, more that it was killed.
_SKIPS = 125
COMMAND_S = 120
GRACE_S = 5.0  # a command is ended by its own limit
STOPPED = "the run was stopped"
_CENT = 1e-9  # sums of floats: less is no difference
_NO_COMMANDS = DeniedError(
    "no commands run here: this machine has only the fallback sandbox",
    hint="claw doctor prints the steps to a whole one")


class Outcome(Value):
    """How a run ended. `links` are the only addresses in its text that may
    be links (None: all may)."""

    status: str
    text: str
    turn_id: str | None = None
    links: tuple[str, ...] | None = ()


def narrow_turn(turn: TurnContext, job: Job, spent_usd: float = 0.0) -> None:
    """Make a turn one of the job's run, and take from it what the job's
    policy takes away. `spent_usd` is what the turn cost before."""
    turn.job = job.id
    own = read_policy(job.spec.policy or {})
    turn.policy = combine(turn.policy, own)
    if own.max_cost_per_turn_cents is not None:
        limits = (turn.limit_usd,
                  spent_usd + own.max_cost_per_turn_cents / 100)
        turn.limit_usd = min(each for each in limits if each is not None)


def reserve(job: Job, turn: TurnContext, now: float, spent_usd: float = 0.0
            ) -> None:
    """Leave a turn what its job may still cost this month. Raises
    BudgetError where that may be less than the run costs."""
    if job.spec.monthly_cents is None:
        return
    most, spent = job.spec.monthly_cents / 100, job.count_month_usd(now)
    own = None if turn.limit_usd is None \
        else max(0.0, turn.limit_usd - spent_usd)
    if spent >= most or spent + (own or 0.0) > most + _CENT:
        held = f", and a run may cost {dollars(own)}" if own else ""
        raise BudgetError(
            f"Budget exceeded: {dollars(spent)} of {dollars(most)} of this "
            f"job's month is spent{held}",
            hint="next month it runs again, or raise its monthly_cents")
    if own is None:
        turn.limit_usd = spent_usd + most - spent


async def do_work(job: Job, turn: TurnContext, policy: SecurityPolicy,
                  ask: Callable[[str], Awaitable[Outcome]], now: float,
                  limit_s: float | None, spent_usd: float = 0.0) -> Outcome:
    """A run from its budget to its outcome; `ask` has the agent answer its
    prompt. `spent_usd` is what the turn cost before. Raises ClawError and
    TimeoutError."""
    spec, before = job.spec, ""
    async with asyncio.timeout(limit_s and limit_s + GRACE_S):
        if spec.job_type == "agent":
            reserve(job, turn, now, spent_usd)
        if spec.precheck is not None:
            done, result = await run_command(job, policy, spec.precheck,
                                             turn)
            status, before = judge_precheck(done, result)
            if status != "ok":
                return Outcome(status, drop_controls(before))
        if spec.job_type == "shell":
            _, result = await run_command(job, policy, spec.command or "",
                                          turn)
            return Outcome("ok" if result.success else "error",
                           drop_controls(write_output(result)))
        return await ask(write_prompt(job, before))


def find_limit_s(job: Job, turn_s: float | None) -> float | None:
    """How long a run may take; `turn_s` is the limit of a turn."""
    return job.spec.timeout_s or (
        COMMAND_S if job.spec.job_type == "shell" else turn_s)


def judge_error(error: Exception, turn: TurnContext, limit_s: float | None
                ) -> Outcome:
    """What an error of a run comes to. Money that was not there before
    anything ran is no fault of the run."""
    if isinstance(error, DeniedError):
        return Outcome("denied", describe_whole(error), turn.turn_id)
    remarks = write_remarks(turn.refused)
    if isinstance(error, ClawError):
        text = describe_whole(error)
    elif isinstance(error, TimeoutError):
        text = f"it did not end within {limit_s:g} s"
    else:
        text = describe(error)
    denied = remarks or (isinstance(error, BudgetError)
                         and not isinstance(error, IterationLimitError))
    return Outcome("denied" if denied else "error",
                   "\n\n".join([text, *remarks]), turn.turn_id)


def write_prompt(job: Job, before: str = "") -> str:
    """What the agent is asked: it reads that nobody wrote this now, and
    what the precheck said."""
    prompt = " ".join(filter(None, (
        f"[cron:{job.id}", job.spec.name))) + f"] {job.spec.prompt}"
    return f"{prompt}\n\nOutput of `{job.spec.precheck}`:\n{before}" \
        if before.strip() else prompt


def judge_precheck(done: children.Finished, result: ToolResult
                   ) -> tuple[str, str]:
    """Whether a run goes on ("ok"), is skipped, or failed; and what the
    precheck said."""
    if done.code is not None and 1 <= done.code <= _SKIPS and not done.excess:
        return "skipped", write_output(result)
    return "ok" if result.success else "error", write_output(result)


def write_output(result: ToolResult) -> str:
    """What a command said: of one that failed its complaint first."""
    return result.output if result.success else "\n".join(
        filter(None, (result.error, result.output)))


def describe_whole(error: ClawError) -> str:
    """An error with its next step."""
    return error.message + (f" ({error.hint})" if error.hint else "")


async def run_command(job: Job, policy: SecurityPolicy, command: str,
                      turn: TurnContext
                      ) -> tuple[children.Finished, ToolResult]:
    """A command of a job within its turn. Raises DeniedError for one that
    wants a yes, and where it would see the machine's own tree."""
    if policy.sandbox is not None and (await asyncio.to_thread(
            policy.sandbox.shelter)).is_fallback:
        raise _NO_COMMANDS
    shell = Shell(ToolDeps(policy.workspace, policy), ShellToolSettings(
        timeout_secs=job.spec.timeout_s or COMMAND_S))
    token = current_turn.set(turn)
    try:
        own = policy.settings
        if not own.offers("shell") \
                or {"shell", ANY}.intersection(own.always_ask):
            raise DeniedError(
                "this turn may run no shell unasked, and a job's is asked "
                "about by nobody", hint="see: claw permission show")
        verdict = policy.check_command(command)
        if verdict.asks:
            raise DeniedError(
                f"{command!r:.200} wants a yes ({verdict.risk}-risk "
                "operation), and a job is asked about by nobody",
                hint="to let commands of this risk run unasked: claw config "
                     "set autonomy.require_approval_for_medium_risk false"
                if verdict.risk == "medium" else None)
        return await shell.run_command(command)
    finally:
        current_turn.reset(token)


@asynccontextmanager
async def hold_run(jobs: SqliteJobs, run: Run, lose: Callable[[], object]
                   ) -> AsyncIterator[None]:
    """The run is ours inside; `lose` is called where it is not any
    more. A store that can't be written for a moment is no reason."""
    async def renew() -> None:
        while True:
            await asyncio.sleep(LEASE_S / 3)
            try:
                if not await asyncio.to_thread(jobs.renew_run, run):
                    lose()
                    return
            except (StorageError, UnavailableError):
                continue
    renewing = asyncio.ensure_future(renew())
    try:
        yield
    finally:
        renewing.cancel()
