"""A tool of an MCP server, as the agent sees it.

What a model is told of it is what the owner has accepted, whatever the
server says now. A call counts as an action that may carry something out of
the turn, so it is asked about as such, unless the owner's settings say
that this tool only reads: what the server says of itself (annotations) is
no grant. The answer is foreign text of the origin "mcp:NAME".
"""

import copy
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from claw.core.errors import (
    ClawError,
    DeniedError,
    FaultError,
    MissingPartError,
)
from claw.core.installed import install_command
from claw.core.tool import Arguments, Schema, Tool, ToolResult
from claw.core.turn import current_turn
from claw.security.policy import SecurityPolicy
from claw.tools.mcp.accepted import ListedTool
from claw.tools.mcp.foreign import clean_schema, clean_text
from claw.tools.mcp.names import name_file
from claw.tools.offer.checked import Denial

if TYPE_CHECKING:
    from claw.tools.mcp.pool import Server


class McpTool(Tool):
    """One tool of a server, called `name` towards the model. Raises
    UnfitError where no model can be offered its schema."""

    name = "mcp"
    description = "A tool of an MCP server."
    labels_itself = True

    def __init__(self, name: str, listed: ListedTool, server: "Server",
                 policy: SecurityPolicy) -> None:
        self.name = name
        self.listed = listed
        self.description = (clean_text(listed.description)
                            or f"{listed.name} of {server.settings.name}")
        self._schema = clean_schema(listed.schema)
        self._server = server
        self._policy = policy
        self.reads = any(fnmatchcase(listed.name, pattern)
                         for pattern in server.settings.reads)
        self.is_sink = not self.reads
        self.withdrawn = False

    def parameters_schema(self) -> Schema:
        return copy.deepcopy(self._schema)

    async def execute(self, args: Arguments) -> ToolResult:
        turn = current_turn.get()
        if turn is not None:
            turn.labels.add(f"mcp:{name_file(self._server.settings.name)}")
        try:
            self._policy.enforce("read" if self.reads else "act")
            if not isinstance(args, Mapping):
                return ToolResult.failure("the arguments must be an object")
            return await self._server.call(
                self, self._leave_out(args), self._policy)
        except FaultError:
            raise
        except DeniedError as error:
            return Denial.failure(error.message)
        except ClawError as error:
            return ToolResult.failure(error.message)

    def _leave_out(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments without what models add to them: `approved`, and
        null for what they leave out."""
        known = self._schema["properties"]
        required = self._schema.get("required", ())
        return {name: value for name, value in args.items()
                if (name in known or name != "approved")
                and (value is not None or name in required)}


def missing_package(error: ModuleNotFoundError) -> MissingPartError:
    """What to say where the package `mcp` is not there. Raises the error
    itself where it is about something of claw's own."""
    if (error.name or "").partition(".")[0] == "claw":
        raise error
    return MissingPartError(
        f"MCP needs {error.name}, which is not installed",
        hint=install_command("mcp"))
