"""What every run of a job has, whoever starts it: the scheduler, cron_run.

A command goes the way of the shell tool, with nobody to ask. A run may what
its job may and no more, and is held by its lease while it lasts.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from claw.core.errors import (
    ClawError,
    DeniedError,
    StorageError,
    UnavailableError,
)
from claw.core.tool import ToolResult
from claw.core.turn import TurnContext, current_turn
from claw.security.narrower import ANY, combine, read_policy
from claw.security.policy import SecurityPolicy
from claw.security.sandbox import children
from claw.storage.jobs.model import Job, Run
from claw.storage.jobs.runs import LEASE_S
from claw.storage.jobs.store import SqliteJobs
from claw.tools.shell import Shell

# 126 and 127 say that there was no such program, more that it was killed.
_SKIPS = 125
STOPPED = "the run was stopped"


def narrow_turn(turn: TurnContext, job: Job) -> None:
    """Make a turn one of the job's run, and take from it what the job's
    policy takes away."""
    turn.job = job.id
    own = read_policy(job.spec.policy or {})
    turn.policy = combine(turn.policy, own)
    if own.max_cost_per_turn_cents is not None:
        limits = (turn.limit_usd, own.max_cost_per_turn_cents / 100)
        turn.limit_usd = min(each for each in limits if each is not None)


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


async def run_command(shell: Shell, policy: SecurityPolicy, command: str,
                      turn: TurnContext
                      ) -> tuple[children.Finished, ToolResult]:
    """A command of a job within its turn. Raises DeniedError for one that
    wants a yes."""
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
