"""claw mcp test: whether an MCP server answers, and what it has."""

import time
from typing import Annotated

import typer

from claw.cli.commands.mcp.look import look_at
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import visible
from claw.text.plural import plural


@examples("claw mcp test time", "claw mcp test time --json")
def probe(context: typer.Context,
          name: Annotated[str, typer.Argument(
              metavar="NAME", help="A server's name, see claw mcp list.")]
          ) -> None:
    """Connect to an MCP server and list its tools; nothing is accepted.

    Prints the revision of the protocol, the server's own name, the time
    it took, and each tool with how it stands. Exits 5 when the server
    can't be had.
    """
    run = Invocation.of(context)
    started = time.monotonic()
    _, found, listing = look_at(run, name)
    took_ms = round((time.monotonic() - started) * 1000)
    states = found.states()
    lines = [f"{visible(name)}: {visible(listing.server) or 'no name'}, "
             f"revision {listing.protocol}, "
             f"{plural(len(listing.tools), 'tool')}, {took_ms} ms"]
    lines += [f"  {state:<9} {visible(tool)}"
              for tool, state in states.items()]
    run.print_result(
        {"name": name, "server": listing.server,
         "protocol": listing.protocol, "ms": took_ms,
         "tools": [{"name": tool, "state": state}
                   for tool, state in states.items()]}, "\n".join(lines))
    if set(states.values()) - {"accepted"}:
        run.out.note(f"look at what is new or changed: claw mcp accept "
                     f"{name}")
