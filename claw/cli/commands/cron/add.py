"""claw cron add, update: a job of what the line says."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import typer

from claw.cli.commands.cron import options as o
from claw.cli.commands.cron.common import find, open_store
from claw.cli.commands.cron.enable import (
    check_name,
    confirm_cost,
    foresee,
    say_when,
)
from claw.cli.commands.cron.fields import (
    check_tools,
    read_fields,
    read_policy_fields,
)
from claw.cli.commands.cron.times import read_schedule
from claw.cli.commands.cron.view import job_json
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples, option_groups
from claw.cli.terminal.stdin import LIMIT_BYTES, is_piped, read_text
from claw.core.errors import ClawError, UsageError
from claw.core.value import replace
from claw.storage.jobs.model import Job, JobSpec, check_job
from claw.tools.cron.base import check_commands
from claw.wiring.tools.build import build_policy
from claw.wiring.workspace.trust import require_trust


# What the parameters say is read from context.params, by their names.
@option_groups(o.GROUPS)
@examples('claw cron add "0 9 * * MON-FRI" --tz local --prompt "What is due '
          'today?" --to telegram:12345',
          'claw cron add --every 1h --command "df -h ." --dead-man 3h',
          'claw cron add --in 2h --prompt "Remind me of the oven" --to '
          'telegram:12345',
          'claw cron add @daily --name digest --session own --monthly-limit '
          "2 < prompt.txt")
def add(context: typer.Context, words: o.ScheduleArgument = None,
        every: o.EveryOption = None, at: o.AtOption = None,
        in_: o.InOption = None, tz: o.ZoneOption = None,
        missed: o.MissedOption = None, disabled: o.DisabledFlag = False,
        prompt: o.PromptOption = None, command: o.CommandOption = None,
        session: o.SessionOption = None, precheck: o.PrecheckOption = None,
        model: o.JobModelOption = None, tools: o.JobToolsOption = None,
        to: o.ToOption = None, must_deliver: o.MustDeliverFlag = None,
        dead_man: o.DeadManOption = None, name: o.NameOption = None,
        keep: o.KeepFlag = None, level: o.LevelOption = None,
        exclude_tools: o.ExcludeToolsOption = None,
        allow_commands: o.AllowCommandsOption = None,
        max_actions: o.MaxActionsOption = None,
        max_cost: o.MaxCostOption = None,
        monthly_limit: o.MonthlyOption = None,
        timeout: o.TimeoutOption = None, yes: o.YesFlag = False) -> None:
    """Schedule a prompt for the agent, or a shell command.

    Prints the job's id. When it comes and what a month of it will cost is
    said on stderr; where that is above a limit you are asked (--yes: not).
    A job runs while claw listen does, with nobody to ask: a call that
    needs your yes is refused.
    """
    run = Invocation.of(context)
    given = context.params
    if must_deliver is not None and to is None:
        raise UsageError("--must-deliver and --best-effort go with --to")
    schedule = read_schedule(given, now=datetime.now(UTC))
    if schedule is None:
        raise UsageError(
            "nothing says when it runs", hint='an expression such as "0 9 * '
            '* MON-FRI", or --every 1h, --at TIME, --in 2h')
    spec = JobSpec(schedule, **_read_work(run, given), enabled=not disabled,
                   policy=read_policy_fields(given) or None,
                   **{"delete_after_run": schedule.kind == "at",
                      **read_fields(given, run.settings)})
    _check(run, spec, given)
    require_trust(run.use_workspace(asks=True))
    store = open_store(run)
    check_name(store, spec.name, _fail_taken)
    forecast = foresee(run, spec)
    if spec.enabled:
        confirm_cost(run, forecast, yes=yes)
    job = store.add(spec)
    run.print_result(job_json(job, forecast=forecast.to_json()), job.id)
    say_when(run, job)


@option_groups(o.GROUPS)
@examples("claw cron update digest --tz local", 'claw cron update digest "0 '
          '8 * * *" --to none', "claw cron update digest --monthly-limit 5")
def update(context: typer.Context, job: o.JobArgument,
           words: o.ScheduleArgument = None,
           every: o.EveryOption = None, at: o.AtOption = None,
           in_: o.InOption = None, tz: o.ZoneOption = None,
           missed: o.MissedOption = None,
           prompt: o.PromptOption = None, command: o.CommandOption = None,
           session: o.SessionOption = None,
           precheck: o.PrecheckOption = None,
           model: o.JobModelOption = None, tools: o.JobToolsOption = None,
           to: o.ToOption = None, must_deliver: o.MustDeliverFlag = None,
           dead_man: o.DeadManOption = None, name: o.NameOption = None,
           keep: o.KeepFlag = None, level: o.LevelOption = None,
           exclude_tools: o.ExcludeToolsOption = None,
           allow_commands: o.AllowCommandsOption = None,
           max_actions: o.MaxActionsOption = None,
           max_cost: o.MaxCostOption = None,
           monthly_limit: o.MonthlyOption = None,
           timeout: o.TimeoutOption = None, yes: o.YesFlag = False) -> None:
    """Change a job; what is not named stays.

    "none" takes away what --to, --name, --precheck, --model, --dead-man or
    --timeout says. What a job was denied by the turn that made it is given
    back by nothing: remove it and make it anew.
    """
    run = Invocation.of(context)
    given = context.params
    store = open_store(run)
    found = find(store, job)
    if found.spec.source == "declarative":
        raise UsageError(f"{found.spec.name or found.id} stands in "
                         "config.toml", hint="change it there: claw config "
                         "edit")
    spec = _change(run, found, given)
    if spec == found.spec:
        raise UsageError("that changes nothing", hint="name what is to be "
                         "another: claw help cron update")
    _check(run, spec, given)
    check_name(store, spec.name, _fail_taken, found.id)
    require_trust(run.use_workspace(asks=True))
    forecast = foresee(run, spec, store.list_runs(found.id),
                       found.created_at)
    if spec.enabled and (spec.schedule, spec.model, spec.monthly_cents) != (
            found.spec.schedule, found.spec.model, found.spec.monthly_cents):
        confirm_cost(run, forecast, yes=yes)
    changed = store.update(found.id, lambda now: spec)
    run.print_result(job_json(changed, forecast=forecast.to_json()),
                     changed.id)
    say_when(run, changed)


def _read_work(run: Invocation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Type, and command or prompt. Raises UsageError."""
    prompt, command = given["prompt"], given["command"]
    if prompt is not None and command is not None:
        raise UsageError("--prompt and --command exclude each other",
                         hint="two jobs can do both")
    if command is not None:
        return {"job_type": "shell", "command": command}
    if prompt == "-" or (prompt is None and is_piped()):
        prompt = read_text(LIMIT_BYTES, say=run.out.note).strip()
    if not (prompt or "").strip():
        raise UsageError("nothing says what is to be done",
                         hint='--prompt "TEXT" for the agent, --command '
                              '"TEXT" for the shell, or pipe a prompt in')
    return {"job_type": "agent", "prompt": prompt}


def _change(run: Invocation, job: Job, given: Mapping[str, Any]) -> JobSpec:
    """The job as the line has it. Raises UsageError."""
    spec = job.spec
    fields = read_fields(given, run.settings)
    if given["prompt"] is not None or given["command"] is not None:
        fields |= {"prompt": None, "command": None,
                   **_read_work(run, given)}
    if fields.get("name") is None and given["name"] is not None:
        fields["name"] = None
    if given["must_deliver"] is not None and given["to"] is None:
        if spec.delivery.mode != "announce":
            raise UsageError("its outcome is sent nowhere",
                             hint="say where: --to CHANNEL:RECIPIENT")
        fields["delivery"] = replace(spec.delivery,
                                     best_effort=not given["must_deliver"])
    schedule = read_schedule(given, now=datetime.now(UTC),
                             zone=spec.schedule.tz)
    if schedule is None and given["tz"]:
        if spec.schedule.expr is None:
            raise UsageError("--tz is of a cron expression, and the job has "
                             "none")
        schedule = read_schedule({**given, "words": [spec.schedule.expr]},
                                 now=datetime.now(UTC))
    if schedule is not None:
        fields["schedule"] = schedule
    if policy := read_policy_fields(given):
        fields["policy"] = {**(spec.policy or {}), **policy}
    return replace(spec, **fields)


def _check(run: Invocation, spec: JobSpec, given: Mapping[str, Any]) -> None:
    """Raises UsageError for a job that can't be, ConfigError for a tool that
    there is not, DeniedError for a command that would need a yes."""
    check_job(spec)
    policy = build_policy(run.settings)
    check_tools(given, run.settings, policy)
    check_commands(policy, spec)


def _fail_taken(job: Job) -> ClawError:
    return UsageError(f"there is a job {job.spec.name!r} already ({job.id})",
                      hint="choose another --name, or change it: claw cron "
                           f"update {job.id}")
