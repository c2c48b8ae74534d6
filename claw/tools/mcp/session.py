"""One connection to one MCP server, through the `mcp` package.

The package wants a connection opened and closed by the same task, so a task
of its own holds each. Revision 2026-07-28 is tried first, then the
handshake of 2025-11-25 and before. What a server does wrong becomes an
UnavailableError here; nothing of it ends a turn.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

import httpx2
from mcp import MCPError
from mcp.client import Client, ClientRequestContext
from mcp_types import (
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    Implementation,
)
from mcp_types import Tool as WireTool

from claw.core.errors import ClawError, UnavailableError
from claw.core.turn import TurnContext, current_turn
from claw.core.value import Value
from claw.security.sandbox.sandbox import Launch
from claw.tools.mcp.accepted import ListedTool
from claw.tools.mcp.foreign import clean_text
from claw.tools.mcp.http import open_http
from claw.tools.mcp.questions import Questions
from claw.tools.mcp.settings import McpServerSettings
from claw.tools.mcp.stdio import Program
from claw.version import __version__

T = TypeVar("T")
MOST_TOOLS = 256
_PAGES = 32
_DESCRIPTION_CHARS = 16_384
_SCHEMA_CHARS = 65_536
_NAME_CHARS = 128  # the specification's
_ROUNDS = 5
# What a server does wrong is told by us; the package would print it.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
# A task that nobody holds may vanish while it runs.
_running: set[asyncio.Task[None]] = set()


class Listing(Value):
    """The tools of a server, how long the list holds, and who it is."""

    tools: tuple[ListedTool, ...]
    ttl_ms: int
    protocol: str
    server: str


class _Call(Value):
    """Who asked for what is going on."""

    questions: Questions
    turn: TurnContext | None
    limit: asyncio.Timeout


_current_call: ContextVar[_Call | None] = ContextVar(
    "current_call", default=None)


class Session:
    """A connection, open until `stop` or until the server is gone."""

    def __init__(self, server: McpServerSettings,
                 prepare: Callable[[int], Launch]) -> None:
        self.server = server
        self._program = (Program(prepare) if server.transport == "stdio"
                         else None)
        self._task: asyncio.Task[None] | None = None
        self._client: asyncio.Future[Client] = \
            asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        # Tools that were compared with what was accepted.
        self.checked: set[str] = set()
        # The latest: a question of the older revision names no call.
        self._latest: _Call | None = None

    @property
    def is_usable(self) -> bool:
        """Whether it can be called (again)."""
        is_over = (self._stop.is_set()
                   or (self._task is not None and self._task.done())
                   or (self._program is not None
                       and self._program.ended.is_set()))
        return not is_over and self._loop is asyncio.get_running_loop()

    def stop(self) -> None:
        """End it, and a program with all that it started."""
        if not self._stop.is_set():
            self._stop.set()
            # One that is open sees it; a second cancelling would disturb
            # the first in its cleaning up.
            if self._task is not None and not self._client.done():
                self._task.cancel()

    async def close(self) -> None:
        """The same, and wait until nothing is left."""
        self.stop()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def list_tools(self) -> Listing:
        """What the server has. Raises UnavailableError."""
        async with asyncio.timeout(None) as limit:
            return await self._guard(self._list(), limit)

    async def call(self, tool: str, args: dict[str, Any],
                   questions: Questions) -> CallToolResult:
        """Call a tool. Raises UnavailableError; a call that takes too long
        or is cancelled ends the connection."""
        async with asyncio.timeout(None) as limit:
            self._latest = _Call(questions, current_turn.get(), limit)
            _current_call.set(self._latest)
            return await self._guard(self._call(tool, args), limit)

    async def _call(self, tool: str, args: dict[str, Any]) -> CallToolResult:
        client = await self._connect()
        return await client.call_tool(tool, args)

    async def _list(self) -> Listing:
        client = await self._connect()
        tools: list[ListedTool] = []
        cursor, ttls = None, []
        for _ in range(_PAGES):
            page = await client.list_tools(cursor=cursor)
            tools += map(_bound, page.tools)
            ttls.append(page.ttl_ms or 0)
            cursor = page.next_cursor
            if cursor is None or len(tools) > MOST_TOOLS:
                break
        info = client.server_info
        return Listing(
            tuple(tools[:MOST_TOOLS]), min(ttls), client.protocol_version,
            clean_text(f"{info.name} {info.version}", 80) if info else "")

    async def _connect(self) -> Client:
        if self._task is None:
            self._task = asyncio.create_task(self._hold())
            _running.add(self._task)
            self._task.add_done_callback(_running.discard)
        return await asyncio.shield(self._client)

    async def _hold(self) -> None:
        """Open it and keep it until it is stopped or the program ends."""
        transport = (self._program.open() if self._program
                     else open_http(self.server))
        ending = [asyncio.create_task(self._stop.wait())]
        if self._program is not None:
            ending.append(asyncio.create_task(self._program.ended.wait()))
        try:
            async with Client(
                    transport, cache=None, input_required_max_rounds=_ROUNDS,
                    elicitation_callback=self._answer,
                    client_info=Implementation(name="claw",
                                               version=__version__)
                    ) as client:
                self._client.set_result(client)
                await asyncio.wait(ending,
                                   return_when=asyncio.FIRST_COMPLETED)
        except Exception as error:
            self._fail(self._translate(error))
        finally:
            self._fail(UnavailableError(
                f"the MCP server {self.server.name} was stopped"))
            for task in ending:
                task.cancel()

    def _fail(self, error: ClawError) -> None:
        """Tell those who wait for the connection. Never by cancelling:
        that would look as if their turn had been stopped."""
        if not self._client.done():
            self._client.set_exception(error)
            self._client.exception()  # it may be that nobody waits

    async def _guard(self, work: Coroutine[Any, Any, T],
                     limit: asyncio.Timeout) -> T:
        """The work within the server's time, its errors translated."""
        seconds = self.server.tool_timeout_secs
        limit.reschedule(asyncio.get_running_loop().time() + seconds)
        try:
            return await work
        except asyncio.CancelledError:
            self.stop()
            if limit.expired():
                raise UnavailableError(
                    f"the MCP server {self.server.name} did not answer "
                    f"within {seconds} s", hint="tool_timeout_secs of its "
                    "table is the limit") from None
            raise
        except ClawError:
            raise
        except Exception as error:
            raise self._translate(error) from error

    async def _answer(self, context: ClientRequestContext,
                      params: ElicitRequestParams) -> ElicitResult:
        """A question to the owner; the clock stands still meanwhile."""
        call = _current_call.get() or self._latest
        if call is None:
            return ElicitResult(action="decline")
        current_turn.set(call.turn)
        until, loop = call.limit.when(), asyncio.get_running_loop()
        asked_at = loop.time()
        call.limit.reschedule(None)
        try:
            return await call.questions.answer(params)
        finally:
            if until is not None and not self._stop.is_set():
                call.limit.reschedule(until + loop.time() - asked_at)

    def _translate(self, error: BaseException) -> ClawError:
        """What went wrong, in words for the owner and the model."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, ClawError):
            return error
        name, program = self.server.name, self._program
        said = clean_text(str(error), 500) or type(error).__name__
        # Servers use the package's code for a lost connection as well.
        if isinstance(error, MCPError) and said != "Connection closed":
            return UnavailableError(f"the MCP server {name} says: {said}")
        if program is not None and program.ended.is_set():
            why = program.fault or "it ended"
            words = program.last_words
            return UnavailableError(
                f"the MCP server {name} stopped: {why}"
                + (f" ({words})" if words else ""),
                hint=f"try it: claw mcp test {name}")
        if isinstance(error, httpx2.HTTPError):
            return UnavailableError(
                f"the MCP server {name} can't be reached: {said}",
                hint=f"try it: claw mcp test {name}")
        return UnavailableError(f"the MCP server {name} failed: {said}")


def _bound(tool: WireTool) -> ListedTool:
    """The tool as it is kept: of a description the beginning, of a schema
    that no model could be offered nothing. Raises UnavailableError."""
    if not 1 <= len(tool.name) <= _NAME_CHARS:
        raise UnavailableError(
            f"it lists a tool whose name has {len(tool.name)} characters, "
            f"not 1 to {_NAME_CHARS}")
    try:
        unfit = "too large" if len(json.dumps(
            tool.input_schema, allow_nan=False)) > _SCHEMA_CHARS else None
    except ValueError:
        unfit = "no JSON: a number of it is NaN or infinite"
    return ListedTool(
        tool.name, (tool.description or "")[:_DESCRIPTION_CHARS],
        {"type": unfit} if unfit else tool.input_schema)
