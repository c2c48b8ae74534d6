"""schedule: shell commands for later, in one small tool."""

import re
from datetime import UTC, datetime, timedelta
from functools import partial

from claw.core.errors import UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolResult,
    closed_object,
    optional,
    string,
)
from claw.core.value import replace
from claw.storage.jobs.model import JobSpec
from claw.storage.jobs.schedule import parse_schedule
from claw.tools.cron.base import CronTool

_ACTIONS = ("create", "add", "once", "list", "get", "cancel", "remove",
            "pause", "resume")
_DELAY = re.compile(r"(\d{1,9})([smhd]?)", re.ASCII)
_UNITS_S = {"s": 1, "": 60, "m": 60, "h": 3600, "d": 86_400}


class ScheduleTool(CronTool):
    """Makes, shows, pauses and removes jobs of the shell."""

    name = "schedule"
    description = (
        "Schedule shell commands. create (or add) takes expression and "
        "command, once takes command and either delay or run_at; get, "
        "cancel, remove, pause and resume take id.")

    def parameters_schema(self) -> Schema:
        return closed_object(
            action=string("What to do", enum=list(_ACTIONS)),
            expression=optional(string("Cron expression, in UTC")),
            delay=optional(string("30m, 2h, 1d, 10s; a number is minutes")),
            run_at=optional(string("RFC 3339 time ahead, with its offset")),
            command=optional(string("The shell command")),
            id=optional(string("The job's id")))

    def only_reads(self, args: Arguments) -> bool:
        return args.get("action") in ("list", "get")

    async def run(self, args: Arguments) -> ToolResult:
        action = args["action"]
        self._policy.enforce("read" if self.only_reads(args) else "act")
        if action == "list":
            return await self.list_jobs()
        if action in ("create", "add"):
            return await self.add(_make_repeated(args))
        if action == "once":
            return await self.add(_make_once(args))
        id = _need(args, "id")
        if action == "get":
            return await self.get(id)
        if action in ("cancel", "remove"):
            return await self.remove(id)
        return await self.update(id, partial(replace,
                                             enabled=action == "resume"))


def _make_repeated(args: Arguments) -> JobSpec:
    return JobSpec(parse_schedule(
        {"kind": "cron", "expr": _need(args, "expression")}),
        command=_need(args, "command"))


def _make_once(args: Arguments) -> JobSpec:
    delay, moment = args.get("delay"), args.get("run_at")
    if (delay is None) == (moment is None):
        raise UsageError("once takes either 'delay' or 'run_at'")
    if delay is not None:
        moment = _add_delay(delay)
    return JobSpec(parse_schedule({"kind": "at", "at": moment}),
                   command=_need(args, "command"), delete_after_run=True)


def _add_delay(text: str) -> str:
    """The moment so far from now."""
    found = _DELAY.fullmatch(text.strip().lower())
    try:
        if found is not None:
            return (datetime.now(UTC) + timedelta(
                seconds=int(found[1]) * _UNITS_S[found[2]])).isoformat()
    except OverflowError:
        pass  # past the year 9999
    raise UsageError(f"{text!r:.80} is no delay; write 30m, 2h, 1d or 10s")


def _need(args: Arguments, name: str) -> str:
    value: str = args.get(name) or ""
    if not value.strip():
        raise UsageError(f"{args['action']} needs {name!r}")
    return value
