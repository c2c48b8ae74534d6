"""Which MCP tools a message is offered (agent.tool_filter_groups)."""

from collections.abc import Iterable, Sequence

from claw.agent.settings import ToolFilterGroup
from claw.core.tool import Tool

_PREFIX = "mcp_"


def select_tools(tools: Iterable[Tool], groups: Sequence[ToolFilterGroup],
                 message: str) -> list[Tool]:
    """The tools for this message.

    Only names starting "mcp_" are filtered, and only where groups are set:
    such a tool needs one group that counts now and has a matching glob.
    """
    if not groups:
        return list(tools)
    lowered = message.lower()
    globs = [glob for group in groups
             if group.mode == "always" or any(
                 word.lower() in lowered for word in group.keywords)
             for glob in group.tools]
    return [tool for tool in tools if not tool.name.startswith(_PREFIX)
            or any(_matches(glob, tool.name) for glob in globs)]


def _matches(glob: str, name: str) -> bool:
    """One "*" stands for any text."""
    head, star, tail = glob.partition("*")
    if not star:
        return glob == name
    return (len(name) >= len(head) + len(tail) and name.startswith(head)
            and name.endswith(tail))
