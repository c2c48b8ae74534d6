"""claw hook list, test: what runs at which place, and what it answers."""

import asyncio
import json
import shlex
from typing import Annotated, Any

import typer

from claw.agent.hooks.commands.events import EVENTS, read_event
from claw.agent.hooks.commands.hook import CommandHook
from claw.agent.hooks.commands.trial import Tried, try_hooks
from claw.agent.hooks.runner import HookRunner, name_hook
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.terminal.stdin import is_piped, read_text
from claw.core.errors import ExitCode, UsageError
from claw.core.hooks import Hooks
from claw.core.log import silent
from claw.core.registry import nearest
from claw.security.visible import visible
from claw.wiring.tools.hooks import build_hooks


@examples("claw hook list", "claw hook list --json | jq '.hooks'")
def list_(context: typer.Context) -> None:
    """List the hooks and where they stand.

    A line each: event, hook, matcher, what a failure does, command.
    """
    run = Invocation.of(context)
    hooks = build_hooks(run.settings, silent)
    rows = [_to_json(event, hook) for event in EVENTS
            for hook in hooks.find(event)]
    if not run.print_json_rows("hooks", rows):
        run.out.table([[row["event"], visible(row["hook"]),
                        row["matcher"] or "", row["on_failure"] or "",
                        visible(shlex.join(row["command"] or ()))]
                       for row in rows])
        if not rows:
            run.out.note("no hooks are set; docs/hooks.md shows how")


@examples("claw hook test before_tool_call",
          """echo '{"tool_name": "shell", "tool_input": {"command": "ls"}}' """
          "| claw hook test before_tool_call")
def test(context: typer.Context,
         event: Annotated[str, typer.Argument(
             metavar="EVENT", help="Where the hooks stand, such as "
             "before_tool_call; see claw hook list.")]) -> None:
    """Run the hooks of one event and show what each answers.

    They run as they do in a turn, on a sample of the event; fields of it
    come from stdin as JSON. Exits 1 when a hook failed, or there is none.
    """
    run = Invocation.of(context)
    if event not in EVENTS:
        near = nearest(event, EVENTS)
        raise UsageError(f"there is no event {event!r}",
                         hint=f'did you mean "{near}"?' if near
                         else "there are: " + ", ".join(EVENTS))
    hooks = build_hooks(run.settings, silent)
    tried = asyncio.run(try_hooks(hooks, event, _read_arguments(run, event)))
    _print(run, hooks, event, tried)
    if not tried or any(one.outcome == "failed" for one in tried):
        raise typer.Exit(ExitCode.NEGATIVE)


def _read_arguments(run: Invocation, event: str) -> tuple[Any, ...]:
    """Those of the sample, with what is piped in. Raises UsageError."""
    text = read_text(say=run.out.note) if is_piped() else ""
    try:
        fields = json.loads(text) if text.strip() else {}
        if not isinstance(fields, dict):
            raise ValueError("it is no JSON object")
        return read_event(event, fields)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"stdin: {error}", hint="pipe the fields in as a "
                         "JSON object, or nothing") from error


def _print(run: Invocation, hooks: HookRunner, event: str,
           tried: list[Tried]) -> None:
    if run.json:
        run.out.document({"event": event,
                          "hooks": [one.to_json() for one in tried]})
        return
    if run.print_json_rows("hooks", [one.to_json() for one in tried]):
        return
    run.out.table([[visible(one.hook), one.outcome, visible(
        one.reason or (json.dumps(one.changed, ensure_ascii=False)
                       if one.changed else "")), f"{one.duration_ms} ms"]
        for one in tried])
    if not tried:
        run.out.warn(f"no hook stands at {event}" + (
            "" if hooks.hooks else ": none are set, or hooks.enabled is "
                                   "false"))


def _to_json(event: str, hook: Hooks) -> dict[str, Any]:
    own = hook.settings if isinstance(hook, CommandHook) else None
    return {"event": event, "hook": name_hook(hook),
            "priority": hook.priority,
            "command": own and list(hook.argv),  # type: ignore[attr-defined]
            "matcher": own and own.matcher,
            "timeout_secs": own and own.timeout_secs,
            "on_failure": own and own.on_failure}
