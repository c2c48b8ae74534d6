"""Which MCP tools a message is offered (agent.tool_filter_groups)."""

from collections.abc import Iterable, Sequence

from claw.agent.settings import ToolFilterGroup
from claw.core.tool import OfServer, Tool

_PREFIX = "mcp_"


def select_tools(tools: Iterable[Tool], groups: Sequence[ToolFilterGroup],
                 message: str) -> list[Tool]:
    """The tools for this message.

    Those of MCP servers alone are filtered, and only where groups are set:
    such a tool needs one group that counts now and has a matching glob. The
    reference's globs begin with "mcp_", which is added where a name has
    none. What its server took back is left out.
    """
    tools = [tool for tool in tools
             if not (isinstance(tool, OfServer) and tool.withdrawn)]
    if not groups:
        return tools
    lowered = message.lower()
    globs = [glob for group in groups
             if group.mode == "always" or any(
                 word.lower() in lowered for word in group.keywords)
             for glob in group.tools]
    return [tool for tool in tools if not _is_mcp(tool)
            or any(_matches(glob, name) for glob in globs
                   for name in (tool.name, _PREFIX + tool.name))]


def _is_mcp(tool: Tool) -> bool:
    return tool.name.startswith(_PREFIX) or isinstance(tool, OfServer)


def _matches(glob: str, name: str) -> bool:
    """One "*" stands for any text."""
    head, star, tail = glob.partition("*")
    if not star:
        return glob == name
    return (len(name) >= len(head) + len(tail) and name.startswith(head)
            and name.endswith(tail))
