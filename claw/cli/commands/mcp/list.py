"""claw mcp list: the MCP servers, and which of their tools count."""

from collections import Counter
from typing import Any

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.output import join_lines
from claw.tools.mcp.settings import McpServerSettings
from claw.wiring.tools.mcp import build_server, read_servers


@examples("claw mcp list", "claw mcp list --json | jq '.servers[].tools'")
def list_(context: typer.Context) -> None:
    """List the MCP servers and how their tools stand; none is started."""
    run = Invocation.of(context)
    rows = [_describe(run, each) for each in read_servers(run.settings)]
    if run.print_json_rows("servers", rows):
        return
    run.out.table(list(map(_list_cells, rows)))
    if not rows:
        run.out.note("no MCP server is set up; add one: claw mcp add time "
                     "--network -- uvx mcp-server-time")


def _list_cells(row: dict[str, Any]) -> list[str]:
    counts = Counter(tool["state"] for tool in row["tools"])
    states = ", ".join(f"{n} {state}" for state, n in counts.items())
    return [join_lines(row["name"]), row["transport"],
            states or "nothing accepted yet", join_lines(row["where"])]


def _describe(run: Invocation, settings: McpServerSettings
              ) -> dict[str, Any]:
    found = build_server(run.settings, settings).accepted.load()
    return {"name": settings.name, "transport": settings.transport,
            "where": settings.url if settings.transport == "http"
            else " ".join((settings.command, *settings.args)),
            "tools": [{"name": name, "state": state}
                      for name, state in found.states().items()]}
