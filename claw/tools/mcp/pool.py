"""The MCP servers of this process: what is accepted, and who is connected.

A server's program is started by the first call and serves one conversation
alone, so that what one chat leaves there no other finds. It ends with
claw, after a call that failed half way, or when nobody has called it for a
while. `mcp` is imported by the first call.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from claw.core.errors import UnavailableError
from claw.core.tool import ToolResult
from claw.core.turn import current_turn
from claw.security.policy import SecurityPolicy
from claw.security.sandbox.sandbox import Launch
from claw.security.watched.watch import watch
from claw.tools.mcp.accepted import Acceptance, AcceptedTools
from claw.tools.mcp.settings import McpServerSettings
from claw.tools.mcp.tool import McpTool, missing_package

if TYPE_CHECKING:
    from claw.tools.mcp.session import Listing, Session

IDLE_S = 300.0
_MOST = 8  # connections to one server
_Chat: TypeAlias = tuple[str, str] | None
Prepare: TypeAlias = Callable[[int, _Chat], Launch]


class Server:
    """One configured server. `prepare` gives the confined form of its
    program for a chat, with the descriptor that it reads. With
    `in_workspace` it may change files there: they are watched."""

    def __init__(self, settings: McpServerSettings, accepted: AcceptedTools,
                 prepare: Prepare, *, in_workspace: bool = False,
                 idle_s: float = IDLE_S) -> None:
        self.settings = settings
        self.accepted = accepted
        self._prepare = prepare
        self._in_workspace = in_workspace
        self._idle_s = idle_s
        self._held: dict[_Chat, _Held] = {}

    async def call(self, tool: McpTool, args: dict[str, Any],
                   policy: SecurityPolicy) -> ToolResult:
        """Call one of its tools. Raises ClawError."""
        try:
            from claw.tools.mcp.questions import Questions
            from claw.tools.mcp.results import read_result
        except ModuleNotFoundError as error:
            raise missing_package(error) from error
        questions = Questions(self.settings.name, tool.name, policy)
        async with AsyncExitStack() as stack:
            session = stack.enter_context(self._borrow())
            await self._check(session, tool)
            seen = await stack.enter_async_context(watch(policy)) \
                if self._in_workspace else None
            done = await session.call(tool.listed.name, args, questions)
        result = read_result(done, questions.asked)
        return result if seen is None else seen.add_notes(result)

    async def look(self) -> "tuple[Acceptance, Listing]":
        """What it lists now, kept beside what is accepted. Raises
        ClawError."""
        session = self._new(None)
        try:
            listing = await session.list_tools()
        finally:
            await session.close()
        return self._keep(listing), listing

    def _keep(self, listing: "Listing") -> Acceptance:
        return self.accepted.update(lambda found: found.note(
            listing.tools, listing.ttl_ms, self.accepted.clock()))

    async def _check(self, session: "Session", tool: McpTool) -> None:
        """That the tool still is what was accepted. Raises
        UnavailableError."""
        if tool.listed.name in session.checked:
            return
        found = await asyncio.to_thread(self.accepted.load)
        if not found.is_current(self.accepted.clock()):
            listing = await session.list_tools()
            found = await asyncio.to_thread(self._keep, listing)
        now = found.seen.get(tool.listed.name)
        if now is None or now.digest != tool.listed.digest:
            tool.withdrawn = True
            raise UnavailableError(
                f"{tool.name} was not called: the MCP server "
                f"{self.settings.name} "
                + ("has no such tool any more" if now is None else
                   "has changed it since it was accepted"),
                hint=f"look at it: claw mcp accept {self.settings.name}")
        session.checked.add(tool.listed.name)

    @contextmanager
    def _borrow(self) -> "Iterator[Session]":
        """The connection of this conversation; left open afterwards."""
        turn = current_turn.get()
        chat = turn.chat if turn else None
        held = self._held.get(chat)
        if held is None or not held.session.is_usable:
            self._make_room()
            held = self._held[chat] = _Held(self._new(chat))
        held.users += 1
        if held.ending is not None:
            held.ending.cancel()
        try:
            yield held.session
        finally:
            held.users -= 1
            if not held.users:
                held.ending = asyncio.get_running_loop().call_later(
                    self._idle_s, held.session.stop)

    def _make_room(self) -> None:
        """Let connections go that are of no use, and the one that waits
        longest where there are too many. Raises UnavailableError."""
        self._held = {chat: held for chat, held in self._held.items()
                      if held.session.is_usable}
        if len(self._held) < _MOST:
            return
        for chat, held in self._held.items():
            if not held.users:
                held.session.stop()
                del self._held[chat]
                return
        raise UnavailableError(
            f"the MCP server {self.settings.name} serves {_MOST} "
            "conversations already", hint="try again later")

    def _new(self, chat: _Chat) -> "Session":
        try:
            from claw.tools.mcp.session import Session
        except ModuleNotFoundError as error:
            raise missing_package(error) from error
        return Session(self.settings,
                       lambda stdin: self._prepare(stdin, chat))


@dataclass(slots=True)
class _Held:
    """A connection, and how many calls use it now."""

    session: "Session"
    users: int = 0
    ending: asyncio.TimerHandle | None = None
