"""claw as an MCP server over stdio: memory_recall, memory_store and ask.

The package serves both revisions; the client's first message decides. The
client speaks for the owner, who set it up, but what it stores is text from
elsewhere, and carries the label "mcp". `ask` has no tools.
"""

import asyncio
from collections.abc import Mapping
from contextlib import closing

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    TextContent,
)
from mcp_types import Tool as WireTool

from claw.config.tree import Tree
from claw.core.errors import UsageError
from claw.core.streams import get_stdout, give_stdout_away
from claw.core.tool import (
    Arguments,
    Schema,
    Tool,
    ToolResult,
    closed_object,
    string,
)
from claw.core.turn import TurnContext, current_turn
from claw.security.redact.redactor import Redactor
from claw.tools.offer.checked import CheckedTool
from claw.version import __version__
from claw.wiring.ask.answer import answer
from claw.wiring.ask.question import Question
from claw.wiring.memory import open_on_demand
from claw.wiring.tools.build import build_policy, build_tools
from claw.wiring.workspace.secrets import build_redactor

LABEL = "mcp"
_MEMORY_TOOLS = ("memory_recall", "memory_store")
_TTL_MS = 3_600_000


class Ask(CheckedTool):
    """One question to the model that claw is set up with."""

    name = "ask"
    description = ("Ask the owner's assistant one question. It has the "
                   "owner's memory and no tools, and keeps nothing.")

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def parameters_schema(self) -> Schema:
        return closed_object(prompt=string("The question", minLength=1))

    async def run(self, args: Arguments) -> ToolResult:
        if not args["prompt"].strip():
            raise UsageError("nothing was asked")
        found = await asyncio.to_thread(
            answer, self._tree, Question(args["prompt"], keep=False))
        return ToolResult(output=found["text"])


async def serve(tree: Tree) -> None:
    """Until standard input ends. Standard output is the protocol's."""
    redactor = build_redactor(tree)
    with closing(open_on_demand(tree, lambda _: None, redactor)) as memory:
        policy = build_policy(tree)
        tools = [*build_tools(tree, policy, memory=memory,
                              names=_MEMORY_TOOLS), Ask(tree)]
        server = build_server({tool.name: tool for tool in tools}, redactor)
        own = anyio.wrap_file(get_stdout())
        give_stdout_away()
        async with stdio_server(stdout=own) as (read, write):
            await server.run(read, write,
                             server.create_initialization_options())


def build_server(tools: Mapping[str, Tool], redactor: Redactor
                 ) -> "Server[object]":
    """A server of these tools."""
    listed = [WireTool(name=spec.name, description=spec.description,
                       input_schema=spec.parameters)
              for spec in (tool.spec() for tool in tools.values())]

    async def list_tools(context: object, params: object) -> ListToolsResult:
        return ListToolsResult(tools=listed, ttl_ms=_TTL_MS)

    async def call_tool(context: object, params: CallToolRequestParams
                        ) -> CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            return _as_answer(ToolResult.failure(
                f"no such tool: {params.name}"), redactor)
        current_turn.set(TurnContext("tool", labels={LABEL}))
        return _as_answer(await tool.execute(params.arguments or {}),
                          redactor)
    return Server("claw", version=__version__, on_list_tools=list_tools,
                  on_call_tool=call_tool)


def _as_answer(result: ToolResult, redactor: Redactor) -> CallToolResult:
    text = result.output if result.success else "\n".join(
        filter(None, (result.error, result.output)))
    return CallToolResult(
        content=[TextContent(text=redactor.own(text))],
        is_error=not result.success)
