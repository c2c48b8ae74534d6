"""claw mcp accept: the owner's yes to the tools of an MCP server."""

import json
from typing import Annotated

import typer

from claw.cli.commands.mcp.look import look_at
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import visible
from claw.cli.terminal.prompt import confirm, may_ask
from claw.core.errors import DeniedError
from claw.text.plural import plural
from claw.tools.mcp.accepted import Acceptance
from claw.tools.mcp.foreign import UnfitError, clean_schema


@examples("claw mcp accept time", "claw mcp accept time --yes")
def accept(context: typer.Context,
           name: Annotated[str, typer.Argument(
               metavar="NAME", help="A server's name, see claw mcp list.")],
           yes: Annotated[bool, typer.Option(
               "--yes", help="Accept what is shown.")] = False) -> None:
    """Show what is new or changed of a server's tools, and accept it.

    Descriptions and schemas stand in prompts, so they count as they are
    now until the next yes: a tool that changes is not offered. A server
    that was never accepted is shown before it is started. Exits 6 when
    nobody says yes.
    """
    run = Invocation.of(context)
    run.out.show_for_approval()
    server, found, _ = look_at(run, name, asks=not (yes or run.as_json))
    open_ = {tool: state for tool, state in found.states().items()
             if state != "accepted"}
    if not run.as_json:
        for tool, state in open_.items():
            run.out.result("\n".join(_show(found, tool, state)))
    if open_ and not yes and (
            run.as_json or not may_ask() or not confirm(
                run.out, f"Accept {plural(len(open_), 'change')}?",
                default=False)):
        raise DeniedError(f"nothing was accepted of {name}",
                          hint=f"claw mcp accept {name} --yes")
    server.accepted.update(lambda now: now.accept(found))
    if run.as_json:
        run.out.document({"name": name, "accepted": list(open_),
                          "tools": len(found.seen)})
    else:
        tools = f"{plural(len(found.seen), 'tool')} of {name}"
        run.out.note(f"{tools} accepted" if open_ else
                     f"nothing is new: {tools} stay accepted")


def _show(found: Acceptance, tool: str, state: str) -> list[str]:
    """What the owner says yes to."""
    if state == "changed":
        lines = found.diff(tool)
    elif state == "new":
        lines = [visible(line) for line in
                 found.seen[tool].description.strip().splitlines()]
        schema = found.seen[tool].schema
        lines += ["parameters: " + (", ".join(map(
            visible, schema.get("properties", {}))) or "none")]
        # Whole: a model reads every text in it.
        lines += map(visible, json.dumps(
            schema, indent=1, ensure_ascii=False).split("\n"))
        try:
            clean_schema(schema)
        except UnfitError as error:
            lines.append(f"it will not be offered: {error}")
    else:
        lines = ["the server has it no more"]
    return [f"{state}: {visible(tool)}", *(f"    {line}" for line in lines)]
