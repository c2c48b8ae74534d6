"""Checks of MCP servers: is each there, and are its tools what was
accepted?"""

import asyncio
from collections.abc import Iterator

from claw.config.tree import Tree
from claw.core.errors import ClawError
from claw.text.plural import plural
from claw.tools.mcp.settings import McpServerSettings, McpSettings
from claw.wiring.checks.check import Check, Group
from claw.wiring.tools.mcp import build_server, read_servers

_REACH_S = 20.0
MCP = Group("mcp")


@MCP.check
def check_servers(tree: Tree) -> Iterator[Check]:
    """Each accepted server is connected to, and asked for its tools; one
    that nobody accepted, or that has become another, is not started."""
    servers = read_servers(tree)
    if servers and not tree.decode("mcp", McpSettings).enabled:
        yield Check("mcp.enabled", "skip", "mcp.enabled is false: no server "
                    "is used", "claw config set mcp.enabled true")
    elif servers:
        yield from asyncio.run(_look_at_all(tree, servers))


async def _look_at_all(tree: Tree, servers: list[McpServerSettings]
                       ) -> list[Check]:
    return list(await asyncio.gather(*(_look(tree, each)
                                       for each in servers)))


async def _look(tree: Tree, settings: McpServerSettings) -> Check:
    check_id, name = f"mcp.{settings.name}", settings.name
    try:
        server = build_server(tree, settings)
        if not server.accepted.load().tools:
            return Check(check_id, "warn", "not accepted yet, so not started",
                         f"claw mcp accept {name}")
        async with asyncio.timeout(_REACH_S):
            found, listing = await server.look()
    except TimeoutError:
        return Check(check_id, "fail", f"no answer within {_REACH_S:g} s",
                     f"claw mcp test {name}")
    except ClawError as error:
        return Check(check_id, "fail", error.message,
                     error.hint or f"claw mcp test {name}")
    waiting = [tool for tool, state in found.states().items()
               if state != "accepted"]
    if waiting:
        return Check(check_id, "warn",
                     f"{plural(len(waiting), 'tool')} new or changed, so "
                     "not offered: " + ", ".join(waiting[:8]),
                     f"claw mcp accept {name}")
    return Check(check_id, "ok", f"{plural(len(listing.tools), 'tool')}, "
                 f"revision {listing.protocol}")
