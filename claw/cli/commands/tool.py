"""claw tool list, run: the agent's tools from the shell."""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from claw.agent.settings import AgentSettings
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import Output, join_lines
from claw.cli.terminal import stdin
from claw.cli.terminal.approval import approver_for
from claw.core.errors import (
    ClawError,
    DeniedError,
    NotFoundError,
    UsageError,
)
from claw.core.folders import make_private
from claw.core.memory import Memory
from claw.core.tool import Tool, ToolResult, end_turn
from claw.core.turn import Approves, TurnContext, current_turn
from claw.memory.none import NoneMemory
from claw.security.approval import ApprovalManager, ChecksArguments, NoApprover
from claw.security.estop import EmergencyStop
from claw.security.policy import SecurityPolicy
from claw.tools import REGISTRY
from claw.tools.offer.checked import Denial
from claw.wiring.memory import open_backend
from claw.wiring.tools.build import build_policy, build_tools


@examples("claw tool list", "claw tool list --json | jq '.tools[0]'")
def list_(context: typer.Context) -> None:
    """List the agent's tools and what they do."""
    run = Invocation.of(context)
    excluded = run.settings.decode("agent", AgentSettings).excluded_tools
    policy = build_policy(run.settings)
    tools = build_tools(run.settings, policy, memory=NoneMemory(),
                        notify=run.out.warn)
    named = {tool.name for tool in tools}
    tools += build_tools(
        run.settings, policy, memory=NoneMemory(), notify=run.out.warn,
        names=[name for name in REGISTRY.names() if name not in named])
    specs = [tool.spec() for tool in tools if tool.name not in excluded]
    rows = [{"name": s.name, "description": s.description,
             "parameters": s.parameters} for s in specs]
    if not run.print_json_rows("tools", rows):
        run.out.table([(s.name, join_lines(s.description))
                       for s in specs])


@examples('claw tool run file_read \'{"path": "notes.txt", "limit": 5}\'',
          'claw tool run shell \'{"command": "git status"}\' --yes',
          'jq -n \'{query: "tea"}\' | claw tool run memory_recall')
def run(context: typer.Context,
        name: Annotated[str, typer.Argument(
            metavar="NAME", help="A tool's name (claw tool list).")],
        arguments: Annotated[str, typer.Argument(
            metavar="[JSON]", help="Its arguments as a JSON object; from "
                                   "standard input if left out or -."
        )] = "",
        yes: Annotated[bool, typer.Option(
            "--yes", help="Approve this one call.")] = False) -> None:
    """Run one tool under the same policy as the agent's.

    Prints the tool's output. Exits 1 when the tool fails, 6 when policy or
    a missing approval stops it.
    """
    invocation = Invocation.of(context)
    args = _read_arguments(arguments)
    result, hint = _run(invocation, name, args, yes=yes)
    _report(invocation, name, result, hint)


def _read_arguments(text: str) -> Mapping[str, Any]:
    if text == "-" or (not text and stdin.is_piped()):
        text = stdin.read_text()
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"the arguments are no JSON: {error}",
                         hint='such as \'{"path": "notes.txt"}\'') from error
    except RecursionError:
        raise UsageError("the arguments are nested too deeply") from None
    if not isinstance(value, dict):
        raise UsageError("the arguments must be a JSON object",
                         hint='such as \'{"path": "notes.txt"}\'')
    return value


def _run(invocation: Invocation, name: str, args: Mapping[str, Any], *,
         yes: bool) -> tuple[ToolResult, str | None]:
    """What the tool says, and a hint where the arguments do not fit."""
    tree = invocation.settings
    EmergencyStop(tree.places.home).check()
    policy = build_policy(tree)
    policy.approver = approver_for(invocation, yes)
    policy.notify = invocation.out.note
    with contextlib.ExitStack() as stack:
        memory: Memory | None = None
        if name.startswith(("memory_", "cron_", "schedule")):
            invocation.use_workspace()
        if name.startswith("memory_"):
            memory = stack.enter_context(open_backend(
                tree, readonly=name == "memory_recall",
                notify=invocation.out.note))
        tool = build_tools(tree, policy, memory=memory, names=[name])[0]
        result = asyncio.run(_call(tool, args, policy, policy.approver))
        return result, _explain_arguments(tool, args)


def _explain_arguments(tool: Tool, args: Mapping[str, Any]) -> str | None:
    if not (isinstance(tool, ChecksArguments) and tool.problem(args)):
        return None
    known = ", ".join(tool.parameters_schema().get("properties", {}))
    return f"its arguments: {known or 'none'}; see: claw tool list --json"


async def _call(tool: Tool, args: Mapping[str, Any], policy: SecurityPolicy,
                approver: Approves) -> ToolResult:
    manager = ApprovalManager(
        policy, approver,
        interactive=not isinstance(approver, NoApprover))
    turn = TurnContext(origin="tool")
    current_turn.set(turn)
    refusal = await manager.gate(tool, args, turn)
    if refusal is not None:
        return Denial.failure(refusal)
    if policy.level != "readonly":
        make_private(policy.workspace)
    try:
        return await tool.execute(args)
    except ClawError:
        raise
    except Exception as error:  # foreign code may raise anything
        if tool.name in REGISTRY.names():
            raise
        return ToolResult.failure(
            f"{tool.name}: {type(error).__name__}: {error}")
    finally:
        await end_turn([tool], turn)


def _report(run: Invocation, name: str, result: ToolResult,
            hint: str | None) -> None:
    """Print the result; a failure ends the command."""
    out = run.out
    run.print_result({"name": name, "success": result.success,
                      "output": result.output, "error": result.error},
                     result.output)
    if result.success:
        if result.error:
            out.note(result.error.rstrip("\n"))
        return
    text = (result.error or "the tool failed").rstrip("\n")
    error = DeniedError(text) if isinstance(result, Denial) \
        else NotFoundError(text, hint=hint)
    if not run.as_json:
        raise error
    Output(json_notes=out.json_notes, stderr=out.stderr,
           redactor=out.redactor).error(error)
    raise typer.Exit(error.exit_code)
