"""The tables [cron], [[cron.jobs]] and [scheduler] of config.toml."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1)]


class CronSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[cron]

    enabled: whether there are scheduled jobs; without them the cron tools
        refuse
    catch_up_on_startup: whether claw listen makes up for times that passed
        while it did not run, as each job says (missed); false: for none
    max_run_history: runs that are kept of each job
    """

    enabled: bool = True
    catch_up_on_startup: bool = True
    max_run_history: Count = 50


class SchedulerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[scheduler]: how claw listen runs the jobs.

    enabled: whether it does
    max_tasks: due jobs that are looked at together
    max_concurrent: jobs that run at the same time
    """

    enabled: bool = True
    max_tasks: Count = 64
    max_concurrent: Count = 4


class DeclaredDelivery(msgspec.Struct, frozen=True, kw_only=True,
                       omit_defaults=True):
    """The delivery of one of [[cron.jobs]].

    mode: none or announce; announce where a channel is named
    channel: the channel that tells what came of a run
    to: the chat
    best_effort: false: a failure to send is one of the run
    """

    mode: str | None = None
    channel: str | None = None
    to: str | None = None
    best_effort: bool = True


class DeclaredSchedule(msgspec.Struct, frozen=True, kw_only=True,
                       omit_defaults=True):
    """The schedule of one of [[cron.jobs]].

    kind: cron, at or every
    expr: cron: minute hour day month weekday, also with seconds in front
        and years at the end
    tz: cron: an IANA time zone; left out, UTC
    at: at: a time of RFC 3339
    every_ms: every: milliseconds
    """

    kind: str = "cron"
    expr: str | None = None
    tz: str | None = None
    at: str | None = None
    every_ms: int | None = None


class DeclaredJob(msgspec.Struct, frozen=True, kw_only=True,
                  omit_defaults=True):
    """[[cron.jobs]]: a job that stands in config.toml.

    id: what it is known by
    name: its name for people
    job_type: shell or agent; left out, agent where there is a prompt
    schedule: when it runs
    command: shell: the command
    prompt: agent: what it is to do
    enabled: whether it runs
    model: agent: another model
    allowed_tools: agent: the only tools it has
    session_target: agent: isolated, own (it goes on from run to run) or
        main (the delivery chat's conversation)
    delivery: where what came of a run is sent
    missed: what becomes of times that passed while nobody ran: skip, once
        or all
    precheck: a command that runs first: exit 0 goes on, 1 to 125 skips the
        run
    max_silence_s: seconds without success after which a notice is sent
    timeout_s: seconds that a run may take
    monthly_cents: agent: what its runs may cost in a month together
    policy: what its runs may not do, as [autonomy.channels.<name>] says it
    """

    id: str = ""
    name: str | None = None
    job_type: str | None = None
    schedule: DeclaredSchedule = DeclaredSchedule()
    command: str | None = None
    prompt: str | None = None
    enabled: bool = True
    model: str | None = None
    allowed_tools: tuple[str, ...] | None = None
    session_target: str = "isolated"
    delivery: DeclaredDelivery = DeclaredDelivery()
    missed: str = "once"
    precheck: str | None = None
    max_silence_s: int | None = None
    timeout_s: int | None = None
    monthly_cents: float | None = None
    policy: Mapping[str, Any] | None = None
