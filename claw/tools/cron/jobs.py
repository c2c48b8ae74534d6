"""cron_add, cron_list, cron_remove, cron_update, cron_runs."""

from typing import Any

from claw.core.errors import UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolResult,
    boolean,
    closed_object,
    integer,
    optional,
    string,
)
from claw.core.turn import current_turn
from claw.core.value import replace
from claw.storage.jobs.model import (
    DELIVERY_MODES,
    JOB_TYPES,
    MISSED,
    SESSION_TARGETS,
    Delivery,
    JobSpec,
    parse_delivery,
)
from claw.storage.jobs.schedule import KINDS, parse_schedule
from claw.storage.jobs.store import HISTORY
from claw.tools.cron.base import CronTool, answer, sees_less, shorten, use
from claw.tools.offer.checked import check_arguments

_HIDDEN = "(for the owner: claw cron runs)"


class CronAdd(CronTool):
    """Keeps a new job."""

    name = "cron_add"
    description = (
        "Schedule a shell command or a prompt for later: by a cron "
        "expression, once at a time, or every so often. Commands must be "
        "such as run without approval. What comes of it is sent to this "
        "chat, or where you say.")

    def parameters_schema(self) -> Schema:
        return closed_object(
            schedule=_schedule_schema(),
            job_type=optional(string("Default: agent with a prompt, else "
                                     "shell", enum=list(JOB_TYPES))),
            **_fields_schema())

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        fields = _read_fields(args)
        job_type = args.get("job_type") or (
            "agent" if "prompt" in args else "shell")
        if job_type == "agent":
            fields.setdefault("delivery", _answer_here())
        fields.setdefault("delete_after_run", fields["schedule"].kind == "at")
        return await self.add(JobSpec(job_type=job_type, **fields))


class CronList(CronTool):
    """Lists the jobs."""

    name = "cron_list"
    reads = repeatable = True
    description = "List the scheduled jobs, with their ids and next times."

    def parameters_schema(self) -> Schema:
        return closed_object()

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("read")
        return await self.list_jobs()


class CronRemove(CronTool):
    """Forgets a job and its runs."""

    name = "cron_remove"
    description = "Remove a scheduled job and what is kept of its runs."

    def parameters_schema(self) -> Schema:
        return closed_object(job_id=_id_schema())

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        return await self.remove(args["job_id"])


class CronUpdate(CronTool):
    """Changes some fields of a job."""

    name = "cron_update"
    description = ("Change a scheduled job; what the patch does not name "
                   "stays. enabled=false pauses it, true resumes it.")

    def parameters_schema(self) -> Schema:
        return closed_object(
            job_id=_id_schema(),
            patch={**_patch_schema(), "description":
                   "The fields to change, as cron_add takes them"})

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        patch = check_arguments(_patch_schema(), args["patch"])
        if not patch:
            raise UsageError("the patch changes nothing")
        fields = _read_fields(patch)
        await self.check_tools(fields.get("allowed_tools"))
        return await self.update(args["job_id"],
                                 lambda spec: replace(spec, **fields))


class CronRuns(CronTool):
    """Tells what came of a job's runs; that is text from elsewhere."""

    name = "cron_runs"
    reads = repeatable = True
    labels_itself = False
    description = "The last runs of a scheduled job, newest first."

    def parameters_schema(self) -> Schema:
        return closed_object(
            job_id=_id_schema(),
            limit=integer("How many at most", default=10, minimum=1,
                          maximum=HISTORY))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("read")
        job = await use(self.find, args["job_id"])
        hidden = sees_less(job.spec)
        runs = await use(self.jobs.list_runs, args["job_id"], args["limit"])
        if not runs:
            return ToolResult(output="This job has not run yet.")
        return answer({"runs": [{
            "scheduled_for": run.slot, "started_at": run.started_at,
            "finished_at": run.finished_at, "status": run.status,
            "duration_ms": run.duration_ms, "cost_usd": run.cost_usd,
            "output": _HIDDEN if hidden else shorten(run.output)}
            for run in runs]})


def _id_schema() -> Schema:
    return string("The job's id", minLength=1)


def _schedule_schema() -> Schema:
    return {**closed_object(
        kind=string("cron, at (once) or every", enum=list(KINDS)),
        expr=optional(string(
            "cron: minute hour day month weekday (0 is Sunday); 6 fields "
            "begin with seconds, 7 end with the year")),
        tz=optional(string("cron: IANA time zone; UTC without it")),
        at=optional(string("at: RFC 3339 time ahead, with its offset")),
        every_ms=optional(integer("every: milliseconds", minimum=60_000))),
        "description": "When it runs"}


def _fields_schema() -> dict[str, Schema]:
    """What may be said of a new job and changed in one."""
    return {
        "name": optional(string("A name to know it by")),
        "command": optional(string("shell: the command")),
        "prompt": optional(string("agent: what it is to do")),
        "model": optional(string("agent: another model")),
        "session_target": optional(string(
            "agent: a new conversation each time (isolated, the default), "
            "one that goes on from run to run (own), or that of the chat "
            "(main)", enum=list(SESSION_TARGETS))),
        "missed": optional(string(
            "Times that passed while nobody ran: skip them, make up for them "
            "once (the default) or for all", enum=list(MISSED))),
        "precheck": optional(string(
            "A shell command that runs first; exit code 0: go on, and the "
            "agent reads what it said, 1 to 125: skip this run")),
        "max_silence_s": optional(integer(
            "Send a notice after so many seconds without success",
            minimum=1)),
        "timeout_s": optional(integer("Seconds that a run may take",
                                      minimum=1)),
        "monthly_cents": optional({
            "type": "number", "description":
            "agent: cents that its runs may cost in a month"}),
        "allowed_tools": optional({
            "type": "array", "items": {"type": "string"},
            "description": "agent: the only tools it has; [] for none"}),
        "delivery": optional({**closed_object(
            mode=optional(string("Default announce",
                                 enum=list(DELIVERY_MODES))),
            channel=optional(string("A channel that is set up")),
            to=optional(string("The chat")),
            best_effort=optional(boolean("False: a failure to send is one "
                                         "of the run"))),
            "description": "Where the outcome is sent; default: an agent's "
                           "to this chat"}),
        "policy": optional({**closed_object(
            level=optional(string("readonly or supervised",
                                  enum=["readonly", "supervised"])),
            **{name: optional({"type": "array", "items": {"type": "string"},
                               "description": text}) for name, text in (
                ("tools", "The only tools"),
                ("excluded_tools", "Tools it has not"),
                ("allowed_commands", "The only programs"),
                ("always_ask", "Tools that want a yes, which nobody gives"))},
            max_actions_per_hour=optional(integer("Tool calls", minimum=0)),
            max_cost_per_turn_cents=optional(integer("Cents", minimum=1))),
            "description": "What its runs may do less than you; a change "
                           "takes away more"}),
        "delete_after_run": optional(boolean(
            "Remove it once it succeeded and will not come again; default "
            "true for at"))}


def _patch_schema() -> Schema:
    return closed_object(
        schedule=optional(_schedule_schema()),
        enabled=optional(boolean("Whether it runs")), **_fields_schema())


def _read_fields(args: Arguments) -> dict[str, Any]:
    """The arguments as fields of a JobSpec. Raises UsageError."""
    fields = {name: value for name, value in args.items()
              if name not in ("job_type", "schedule")}
    if "schedule" in args:
        fields["schedule"] = parse_schedule(args["schedule"])
    if "delivery" in args:
        fields["delivery"] = parse_delivery(args["delivery"])
    if "allowed_tools" in args:
        if not all(isinstance(name, str) for name in args["allowed_tools"]):
            raise UsageError("'allowed_tools' must be names of tools")
        fields["allowed_tools"] = tuple(args["allowed_tools"])
    return fields


def _answer_here() -> Delivery:
    """To the chat of this turn; nowhere from the terminal."""
    turn = current_turn.get()
    if turn is None or turn.channel is None or not turn.reply_target:
        return Delivery()
    return Delivery("announce", turn.channel.partition(":")[0],
                    turn.reply_target)
