"""claw permission allow, list, revoke: what the agent may do again unasked."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.config.edit import unset_value
from claw.core.errors import DeniedError, ExitCode, UsageError
from claw.core.minutes import format_minute
from claw.memory import times
from claw.memory.none import NoneMemory
from claw.security.permissions import (
    ANY,
    SHELL,
    PermissionSettings,
    read_words,
)
from claw.security.settings import AutonomySettings
from claw.security.visible import visible
from claw.text.plural import plural
from claw.wiring.channels.names import check_channel
from claw.wiring.tools.build import build_policy, build_tools, keep_permission

_TABLE = ("autonomy", "permissions")


@examples('claw permission allow shell "git push origin main" --for 7d',
          'claw permission allow shell "git commit -m *"',
          "claw permission allow http_request method=POST "
          "'url=https://tasks.example.com/*' 'body=*' --for 30d")
def allow(context: typer.Context,
          tool: Annotated[str, typer.Argument(
              metavar="TOOL", help="A tool's name, see claw tool list.")],
          shape: Annotated[list[str] | None, typer.Argument(
              metavar="SHAPE...", show_default=False,
              help="For shell the command; else each argument as "
                   "name=value. * stands for one word that is no option, "
                   "or for any text in an argument.")] = None,
          lasts: Annotated[str, typer.Option(
              "--for", metavar="AGE", help="How long: 12h, 7d, 4w.")] = "7d",
          channel: Annotated[str, typer.Option(
              "--channel", metavar="NAME",
              help="For turns that come through this channel, instead of "
                   "your own.")] = "") -> None:
    """Let calls of one shape run unasked, in this workspace, for a while.

    It holds for your own turns: ask, agent, jobs. Shells and interpreters
    can't be allowed, and after foreign text a call asks all the same.
    Prints the id.
    """
    run = Invocation.of(context)
    command, arguments = _read_shape(tool, shape or [])
    if channel:
        check_channel(channel)
    try:
        made = PermissionSettings(
            tool=tool, command=command, arguments=arguments, channel=channel,
            workspace=str(build_policy(run.settings).workspace),
            until=_read_end(lasts))
    except ValueError as error:
        raise UsageError(f"{tool}: {error}") from error
    if tool == SHELL:
        _check_command(run, command)
    else:
        _check_arguments(run, tool, arguments)
    keep_permission(run.places, made)
    run.print_result(_to_json(made.id, made), made.id)
    run.out.note(f"{made.shape}: runs unasked in {made.workspace} until "
                 f"{format_minute(made.until)}")


@examples("claw permission list", "claw permission list --json")
def list_(context: typer.Context) -> None:
    """List what may run unasked: id, end, shape, folder, channel."""
    run = Invocation.of(context)
    rows = [_to_json(name, one) for name, one in _read(run).items()]
    if not run.print_json_rows("permissions", rows):
        run.out.table([[row["id"], format_minute(row["until"]) + (
            " (over)" if row["over"] else ""), visible(row["shape"]),
            row["workspace"], row["channel"] or ""] for row in rows])
        if not rows:
            run.out.note("nothing runs unasked by a permission (claw "
                         "permission allow gives one)")


@examples("claw permission revoke 3f2a91c0", "claw permission revoke --all")
def revoke(context: typer.Context,
           ids: Annotated[list[str] | None, typer.Argument(
               metavar="ID...", show_default=False,
               help="Ids as claw permission list shows them.")] = None,
           every: Annotated[bool, typer.Option(
               "--all", help="All of them.")] = False) -> None:
    """Take permissions back. Exits 1 when one is not there."""
    run = Invocation.of(context)
    if bool(ids) is every:
        raise UsageError("say which: ids or --all",
                         hint="list ids with: claw permission list")
    # by their names: one that can't be read is taken back as well
    kept = run.settings.node_or(_TABLE)
    standing = list(kept) if isinstance(kept, dict) else []
    wanted = standing if every else list(dict.fromkeys(ids or ()))
    gone = [name for name in wanted if name in standing]
    for name in gone:
        unset_value(run.places, (*_TABLE, name))
    if run.as_json:
        run.out.document({"revoked": gone})
    else:
        run.out.note(f"{plural(len(gone), 'permission')} taken back")
    for name in wanted:
        if name not in standing:
            run.out.warn(f"no such permission: {name}")
    if len(gone) < len(wanted):
        raise typer.Exit(ExitCode.NEGATIVE)


def _read(run: Invocation) -> dict[str, PermissionSettings]:
    return run.settings.decode("autonomy", AutonomySettings).permissions


def _read_shape(tool: str, shape: list[str]) -> tuple[str, dict[str, str]]:
    """The command, or the arguments, of a shape. Raises UsageError."""
    if tool == SHELL:
        if not shape:
            raise UsageError("no command is given", hint="try: claw "
                             'permission allow shell "git push origin main"')
        return " ".join(shape), {}
    arguments: dict[str, str] = {}
    for text in shape:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{text}: no name=value",
                             hint="each argument of the call, as in "
                                  "'url=https://example.com/*'")
        arguments[name] = value
    return "", arguments


def _read_end(lasts: str) -> str:
    """The time that lies so far ahead. Raises UsageError."""
    now = datetime.now(UTC)
    try:
        back = datetime.fromisoformat(times.before(lasts, now))
    except ValueError as error:
        raise UsageError(f"--for: {lasts!r} is no length of time",
                         hint="write 12h, 7d or 4w") from error
    end = now + (now - back) if back <= now else back
    if end <= now:
        raise UsageError(f"--for: {lasts!r} is over at once",
                         hint="write 12h, 7d or 4w")
    return end.isoformat(timespec="seconds")


def _check_command(run: Invocation, command: str) -> None:
    """Raises UsageError and DeniedError for what can't be allowed."""
    if read_words(command) is None:
        raise UsageError("a permission is for one simple command",
                         hint="without pipes, ; or variables")
    verdict = build_policy(run.settings).check_command(
        command.replace(ANY, "x"))
    if not verdict.rememberable:
        raise DeniedError(
            "shells and interpreters can't be allowed for later: the same "
            "words need not do the same thing again")
    if verdict.refusal and not verdict.asks:
        raise DeniedError(verdict.refusal, hint=verdict.detail)


def _check_arguments(run: Invocation, tool: str, named: dict[str, str]
                     ) -> None:
    """A permission covers the calls with just these arguments: one that
    no call could have would never apply. Raises UsageError, ConfigError."""
    made = build_tools(run.settings, build_policy(run.settings),
                       memory=NoneMemory(), names=[tool])[0]
    schema = made.parameters_schema()
    known = schema.get("properties", {})
    strange = [name for name in named if name not in known]
    missing = [name for name in schema.get("required", ())
               if name not in named]
    if strange and schema.get("additionalProperties") is False:
        raise UsageError(
            f"{tool} has no argument {strange[0]!r:.80}",
            hint=f"its arguments: {', '.join(known) or 'none'}")
    if missing:
        raise UsageError(
            f"no call of {tool} comes without {' and '.join(missing)}",
            hint="for any text add: " + " ".join(
                f"'{name}=*'" for name in missing))


def _to_json(name: str, one: PermissionSettings) -> dict[str, Any]:
    return {"id": name, "tool": one.tool, "shape": one.shape,
            "command": one.command or None,
            "arguments": dict(one.arguments), "channel": one.channel or None,
            "workspace": one.workspace, "until": one.until,
            "over": one.is_over(datetime.now(UTC))}
