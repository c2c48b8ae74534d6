"""The options of claw cron add and update: what a job is."""

from typing import Annotated

import typer

GROUPS = {
    "When": "--every --at --in --tz --missed --disabled",
    "What": "--prompt --command --session --precheck --model --tools",
    "Where the outcome goes": "--to --must-deliver --dead-man --name --keep",
    "What it may do and cost": "--level --exclude-tools --allow-commands "
                               "--max-actions --max-cost --monthly-limit "
                               "--timeout --yes",
}

ScheduleArgument = Annotated[list[str] | None, typer.Argument(
    metavar="[EXPRESSION]", show_default=False,
    help='A cron expression in quotes: "0 9 * * MON-FRI", or @daily.')]
JobArgument = Annotated[str, typer.Argument(
    metavar="JOB", help="A job's name or id, or how one begins.")]
JobsArgument = Annotated[list[str], typer.Argument(
    metavar="JOB...", help="Names or ids, or how they begin.")]
EveryOption = Annotated[str | None, typer.Option(
    "--every", metavar="SPAN", help="Every so often: 30m, 1h, 1d.")]
AtOption = Annotated[str | None, typer.Option(
    "--at", metavar="TIME",
    help="Once: 2030-01-31T09:00+01:00; without an offset give --tz.")]
InOption = Annotated[str | None, typer.Option(
    "--in", metavar="SPAN", help="Once, so far from now: 2h.")]
ZoneOption = Annotated[str | None, typer.Option(
    "--tz", metavar="ZONE",
    help="Time zone of the expression (default: UTC) or of --at, such as "
         "Europe/Berlin, or local.")]
PromptOption = Annotated[str | None, typer.Option(
    "--prompt", metavar="TEXT",
    help="What the agent is to do; from stdin if - or left out.")]
CommandOption = Annotated[str | None, typer.Option(
    "--command", metavar="TEXT",
    help="A command for the sandbox instead, such as runs unasked.")]
NameOption = Annotated[str | None, typer.Option(
    "--name", metavar="NAME", help="A name to know it by.")]
ToOption = Annotated[str | None, typer.Option(
    "--to", metavar="TARGET",
    help="Send the outcome there, as claw send: telegram:12345.")]
MustDeliverFlag = Annotated[bool | None, typer.Option(
    "--must-deliver/--best-effort",
    help="Count an outcome that can't be sent as a failed run; default: "
         "it is only said.")]
MissedOption = Annotated[str | None, typer.Option(
    "--missed", metavar="skip|once|all",
    help="What becomes of times that pass while claw listen is off (all: "
         "of the last seven days); default once.")]
SessionOption = Annotated[str | None, typer.Option(
    "--session", metavar="own|main|isolated",
    help="Continue the job's own conversation, or that of its chat; "
         "default isolated: each run begins anew.")]
PrecheckOption = Annotated[str | None, typer.Option(
    "--precheck", metavar="COMMAND",
    help="Runs first, in the sandbox; exit 1 to 125 skips the run.")]
JobModelOption = Annotated[str | None, typer.Option(
    "-m", "--model", metavar="MODEL", help="Another model.")]
JobToolsOption = Annotated[str | None, typer.Option(
    "--tools", metavar="LIST",
    help="The only tools of its runs, by comma, or none.")]
LevelOption = Annotated[str | None, typer.Option(
    "--level", metavar="readonly|supervised",
    help="Lower the autonomy of its runs.")]
ExcludeToolsOption = Annotated[str | None, typer.Option(
    "--exclude-tools", metavar="LIST", help="Tools it must not use.")]
AllowCommandsOption = Annotated[str | None, typer.Option(
    "--allow-commands", metavar="LIST",
    help="The only programs that it may start.")]
MaxActionsOption = Annotated[int | None, typer.Option(
    "--max-actions", metavar="N", min=0,
    help="Tool calls that change something, in an hour.")]
MaxCostOption = Annotated[float | None, typer.Option(
    "--max-cost", metavar="USD", min=0.01, max=10_000,
    help="The most that one run may cost, in US dollars.")]
MonthlyOption = Annotated[float | None, typer.Option(
    "--monthly-limit", metavar="USD", min=0, max=10_000,
    help="The most that its runs of a month may cost together; 0 for none.")]
DeadManOption = Annotated[str | None, typer.Option(
    "--dead-man", metavar="SPAN",
    help="Send a notice when it did not succeed for so long: 26h.")]
TimeoutOption = Annotated[str | None, typer.Option(
    "--timeout", metavar="SPAN", help="The longest that a run may take.")]
KeepFlag = Annotated[bool | None, typer.Option(
    "--keep/--no-keep",
    help="Keep a job with --at or --in after it has run.")]
DisabledFlag = Annotated[bool, typer.Option(
    "--disabled", help="Keep it and don't run it yet.")]
YesFlag = Annotated[bool, typer.Option(
    "--yes", help="Enable it also where its forecast is above a limit.")]
CountOption = Annotated[int, typer.Option(
    "-n", "--limit", metavar="N", min=1, max=1000,
    help="How many at most.")]
