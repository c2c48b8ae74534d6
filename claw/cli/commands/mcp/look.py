"""What a server lists; one that nobody has accepted is shown first."""

import asyncio
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from claw.cli.invocation import Invocation
from claw.cli.terminal.prompt import confirm, may_ask
from claw.core.errors import DeniedError
from claw.tools.mcp.accepted import Acceptance
from claw.tools.mcp.pool import Server
from claw.tools.mcp.settings import McpServerSettings
from claw.wiring.tools.mcp import find_server

if TYPE_CHECKING:
    from claw.tools.mcp.session import Listing


def look_at(run: Invocation, name: str, *, asks: bool = False
            ) -> "tuple[Server, Acceptance, Listing]":
    """Connect to a server and ask for its tools. What it is and may do is
    said before, where it was not accepted so; with `asks` a person at the
    terminal may leave it there. Raises ClawError."""
    server = find_server(run.settings, name)
    if not server.accepted.load().tools:
        run.out.report("\n".join(
            line.replace("\n", "\\n") for line in _describe(server.settings)))
        if asks and may_ask() and not confirm(
                run.out, "Connect to it, to see its tools?", default=True):
            raise DeniedError(f"{name} was not connected to",
                              hint="claw config edit changes what it is")
    with run.out.waiting(f"asking {name}"):
        found, listing = asyncio.run(server.look())
    return server, found, listing


def _describe(settings: McpServerSettings) -> Iterator[str]:
    """The program or address, and what it may do beyond the least."""
    if settings.transport == "http":
        yield f"{settings.name}: {settings.url}"
    else:
        yield f"{settings.name} runs: " + shlex.join(
            [settings.command, *settings.args])
        yield f"  network: {settings.network}"
    for what, names in (
            ("may change", settings.folders), ("may read", settings.readable),
            ("sees the variables", list(settings.env)),
            ("gets the headers", list(settings.headers)),
            ("runs unasked", settings.reads)):
        if names:
            yield f"  {what}: {', '.join(names)}"
    if settings.private:
        yield "  may lead to an address inside"
