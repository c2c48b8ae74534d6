"""claw mcp serve: claw's memory and model for other programs."""

import asyncio

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.tools.mcp.tool import missing_package
from claw.wiring.workspace.trust import require_trust


@examples("claw mcp serve")
def serve(context: typer.Context) -> None:
    """Serve memory_recall, memory_store and ask over MCP, on stdio.

    For the settings of an editor or of another agent: the command is
    claw, its arguments are mcp serve. Ends with standard input.
    """
    run = Invocation.of(context)
    require_trust(run.use_workspace())
    try:
        from claw.wiring.tools.mcp_serve import serve as serve_mcp
    except ModuleNotFoundError as error:
        raise missing_package(error) from error
    asyncio.run(serve_mcp(run.settings))
