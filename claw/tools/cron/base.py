"""What the tools for scheduled jobs share.

claw listen runs jobs when they are due, cron_run runs one at once. A job
runs with nobody to ask: a command that would need the owner's yes is refused
when it is given, and there is no `approved`.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any, ParamSpec, TypeVar

from msgspec import to_builtins

from claw.core.errors import (
    ConfigError,
    DeniedError,
    NotFoundError,
    StorageError,
    UnavailableError,
    UsageError,
)
from claw.core.labels import join_origin, split_origin
from claw.core.tool import Arguments, ToolDeps, ToolResult
from claw.core.turn import current_turn
from claw.core.value import replace
from claw.security.narrower import ANY, combine, read_policy
from claw.security.policy import SecurityPolicy
from claw.storage.jobs.model import Job, JobSpec
from claw.storage.jobs.schedule import list_runs, next_run
from claw.storage.jobs.store import SqliteJobs
from claw.tools.offer.checked import CheckedTool, read_objects

WHO_RUNS = "Jobs run when they are due, while claw listen runs."
OFTEN = ("It comes more often than every five minutes, and each run asks a "
         "model.")
_NO_JOBS = ("blocked by security policy: a run of a job makes and changes "
            "no jobs; it may pause one")
_OFTEN = timedelta(minutes=5)
_LEAST = timedelta(minutes=1)
_SHOWN_CHARS = 500
# What a model may write as the text of a JSON object.
_OBJECTS = ("schedule", "delivery", "patch", "policy")

P = ParamSpec("P")
T = TypeVar("T")


class CronTool(CheckedTool):
    """A tool over the jobs; it labels the turn with what they were made
    of."""

    labels_itself = True

    def __init__(self, deps: ToolDeps) -> None:
        self._policy = deps.policy
        self._deps = deps

    async def execute(self, args: Arguments) -> ToolResult:
        return await super().execute(read_objects(args, _OBJECTS))

    def problem(self, args: Arguments) -> str | None:
        return super().problem(read_objects(args, _OBJECTS))

    @property
    def jobs(self) -> SqliteJobs:
        jobs: SqliteJobs | None = self._deps.jobs
        if jobs is None:
            raise UnavailableError(
                "there are no scheduled jobs here: cron.enabled is false, "
                "or the workspace is not trusted")
        return jobs

    def find(self, id: str) -> Job:
        """A job that the turn may see. Raises NotFoundError."""
        job = self.jobs.get(id)
        _check_own(id, job.spec)
        return job

    async def add(self, spec: JobSpec) -> ToolResult:
        turn = current_turn.get()
        if turn is not None and turn.job is not None:
            raise DeniedError(_NO_JOBS)
        _check_pace(spec)
        self._check_target(spec)
        await self.check_tools(spec.allowed_tools)
        spec = self._check_command(replace(
            spec, made_in=turn.session_id if turn else None,
            origin=join_origin(_list_labels()),
            policy=self._narrow(spec.policy)))
        return _answer_change(await use(self.jobs.add, spec))

    async def update(self, id: str, change: Callable[[JobSpec], JobSpec]
                     ) -> ToolResult:
        labels = _list_labels()

        def make(spec: JobSpec) -> JobSpec:
            _check_own(id, spec)
            changed = change(spec)
            _check_change(id, spec, changed)
            if changed.schedule != spec.schedule:
                _check_pace(changed)
            if changed.delivery != spec.delivery:
                self._check_target(changed)
            if sees_less(spec) or spec.source == "declarative":
                return changed  # it is as its maker wrote it
            changed = replace(
                changed, origin=join_origin(
                    labels | split_origin(spec.origin)),
                policy=self._narrow(spec.policy, changed.policy))
            if changed.enabled or (changed.command, changed.precheck) != (
                    spec.command, spec.precheck):
                self._check_command(changed)
            return changed
        return _answer_change(await use(self.jobs.update, id, make))

    async def remove(self, id: str) -> ToolResult:
        job = await use(self.find, id)
        if sees_less(job.spec) or job.spec.source == "declarative":
            raise DeniedError(f"job {id} is the owner's to remove; it can be "
                              "paused here")
        await use(self.jobs.remove, id)
        return ToolResult(output=f"Removed job {job.id}")

    async def list_jobs(self) -> ToolResult:
        jobs = [job for job in await use(self.jobs.list_jobs)
                if _is_own(job.spec)]
        if not jobs:
            return ToolResult(output="No scheduled jobs.")
        return answer({"jobs": list(map(_describe_whole, jobs)),
                       "note": WHO_RUNS})

    async def get(self, id: str) -> ToolResult:
        job = await use(self.find, id)
        return answer({**_describe_whole(job), "note": WHO_RUNS})

    def _narrow(self, *policies: Mapping[str, Any] | None
                ) -> dict[str, Any] | None:
        """What all of these take away, and the running turn too: a job
        never may more than the turn that makes or changes it."""
        found = None
        for policy in policies:
            if policy is not None:
                found = combine(found, read_policy(policy))
        narrowed = self._policy.narrow_job(found)
        return None if narrowed is None else dict(to_builtins(narrowed))

    def _check_target(self, spec: JobSpec) -> None:
        """Raises DeniedError for a job that tells another chat than the
        turn's, where the turn may not write to others."""
        turn, told = current_turn.get(), spec.delivery
        if turn is None or turn.chat is None or told.mode != "announce" \
                or (told.channel, (told.to or "").partition(":")[0]) \
                == turn.chat:
            return
        own = self._policy.settings
        if not own.offers("message") \
                or {"message", ANY}.intersection(own.always_ask):
            raise DeniedError("blocked by security policy: this chat may "
                              "write to no other, and so may its jobs")

    async def check_tools(self, names: Sequence[str] | None) -> None:
        """Raises UsageError for a name that no tool has."""
        if names and self._deps.tasks is not None:
            try:
                await asyncio.to_thread(self._deps.tasks.check_tools, names)
            except ConfigError as error:
                raise UsageError(f"'allowed_tools': {error.message}" + (
                    f" ({error.hint})" if error.hint else "")) from error

    def _check_command(self, spec: JobSpec) -> JobSpec:
        check_commands(self._policy, spec)
        return spec


def check_commands(policy: SecurityPolicy, spec: JobSpec) -> None:
    """Raises DeniedError for a command of a job that the policy would not
    let run unasked."""
    job = read_policy(spec.policy or {})
    for command in filter(None, (
            spec.precheck,
            spec.command if spec.job_type == "shell" else None)):
        if not policy.find_settings(None, job).offers("shell"):
            raise DeniedError("blocked by security policy: its policy "
                              "leaves it no shell")
        verdict = policy.check_command(command, job=job)
        if verdict.refusal:
            detail = f" ({verdict.detail})" if verdict.detail else ""
            raise DeniedError(
                f"blocked by security policy: {verdict.refusal}{detail}; "
                "a job runs with nobody to ask")


async def use(verb: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """What the store says, on a thread. Its hints stand in the message,
    which is all that a tool hands on."""
    try:
        return await asyncio.to_thread(verb, *args, **named)
    except (StorageError, NotFoundError) as error:
        raise type(error)(f"{error.message}: {error.hint}" if error.hint
                          else error.message) from error


def _is_own(spec: JobSpec) -> bool:
    """What a person has planned is nobody else's concern; the owner sees
    all."""
    turn = current_turn.get()
    return turn is None or turn.session_id is None or spec.made_in in (
        None, turn.session_id, *turn.sessions)


def sees_less(spec: JobSpec) -> bool:
    """Whether the turn is a person's and the job the owner's, whose runs
    see all that is kept."""
    turn = current_turn.get()
    return spec.made_in is None and turn is not None \
        and turn.session_id is not None


def _check_change(id: str, spec: JobSpec, changed: JobSpec) -> None:
    """Raises DeniedError for what only the owner may change."""
    turn = current_turn.get()
    if turn is not None and turn.job is not None \
            and changed != replace(spec, enabled=False):
        raise DeniedError(_NO_JOBS)
    if spec.source == "declarative" \
            and changed != replace(spec, enabled=changed.enabled):
        raise DeniedError(f"job {id} stands in config.toml and is changed "
                          "there; it can be paused and resumed here")
    if sees_less(spec) and changed != replace(spec, enabled=changed.enabled):
        raise DeniedError(
            f"job {id} is the owner's; here it can be paused and resumed, "
            f"and changed at the machine: claw cron update {id}")


def _check_pace(spec: JobSpec) -> None:
    """Raises UsageError for one that would come all the time."""
    now = datetime.now(UTC)
    # Three times: of two in a minute an hour may lie between.
    coming = islice(list_runs(spec.schedule, now, now), 3)
    if any(later - first < _LEAST for first, later in pairwise(coming)):
        raise UsageError("a job that is made here comes once a minute at "
                         "most; the owner can make one that comes more "
                         "often: claw cron add")


def _check_own(id: str, spec: JobSpec) -> None:
    if not _is_own(spec):
        raise NotFoundError(f"no job {id!r:.80}",
                            hint="cron_list names those there are")


def answer(value: Mapping[str, Any]) -> ToolResult:
    return ToolResult(output=json.dumps(value, indent=2, ensure_ascii=False))


def shorten(text: str | None) -> str | None:
    """As much of a text as is shown."""
    if text is None or len(text) <= _SHOWN_CHARS:
        return text
    return text[:_SHOWN_CHARS] + "..."


def _answer_change(job: Job) -> ToolResult:
    often = job.spec.job_type == "agent" and _comes_often(job)
    return answer({**_describe(job), "note": f"{WHO_RUNS} {OFTEN}"
                   if often else WHO_RUNS})


def _describe(job: Job) -> dict[str, Any]:
    """Who reads it reads what the job was made of, too."""
    spec = job.spec
    turn = current_turn.get()
    if turn is not None:
        turn.labels |= split_origin(spec.origin)
    return {"id": job.id, "name": spec.name, "job_type": spec.job_type,
            "schedule": spec.schedule.to_dict(), "next_run": job.next_run,
            "enabled": spec.enabled, "allowed_tools": spec.allowed_tools}


def _describe_whole(job: Job) -> dict[str, Any]:
    """With what else was said of it."""
    spec, delivery = job.spec, job.spec.delivery
    fields = {**_describe(job), "command": shorten(spec.command),
              "prompt": shorten(spec.prompt), "model": spec.model,
              "session_target": spec.session_target,
              "delivery": {"channel": delivery.channel, "to": delivery.to,
                           "best_effort": delivery.best_effort}
              if delivery.mode == "announce" else None,
              "delete_after_run": spec.delete_after_run or None,
              "missed": spec.missed if spec.missed != "once" else None,
              "precheck": shorten(spec.precheck),
              "max_silence_s": spec.max_silence_s,
              "timeout_s": spec.timeout_s,
              "monthly_cents": spec.monthly_cents,
              "policy": spec.policy,
              "created_at": job.created_at, "last_run": job.last_run,
              "last_status": job.last_status}
    return {name: value for name, value in fields.items()
            if value is not None}


def _comes_often(job: Job) -> bool:
    if job.next_run is None:
        return False
    first = datetime.fromisoformat(job.next_run)
    second = next_run(job.spec.schedule, first,
                      datetime.fromisoformat(job.created_at))
    return second is not None and second - first < _OFTEN


def _list_labels() -> frozenset[str]:
    turn = current_turn.get()
    return frozenset(turn.labels) if turn is not None else frozenset()
