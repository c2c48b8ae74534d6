"""The methods of the protocol, over one connection."""

import asyncio
import itertools
import os
import signal
import uuid
from collections.abc import Callable
from typing import Any

from claw.core.errors import NotFoundError, UsageError
from claw.core.streams import get_stdout, give_stdout_away
from claw.gateway.acp import wire
from claw.gateway.acp.chats import Chats
from claw.gateway.acp.peer import Methods, Peer
from claw.gateway.acp.session import EditorSession
from claw.gateway.acp.stdio import LineWriter, read_lines
from claw.gateway.acp.updates import SpokenMessage
from claw.version import __version__

# How long turns that were cut off have to end.
_END_S = 10.0
_PAGE = 50  # sessions of a list


class Server:
    """One editor. `write` takes a line, `note` what is worth a log."""

    def __init__(self, chats: Chats, write: Callable[[bytes], None],
                 note: Callable[[str], None]) -> None:
        self._chats = chats
        self._note = note
        self._sessions: dict[str, EditorSession] = {}
        self.peer = Peer(self._list_methods(), write, note)

    def _list_methods(self) -> Methods:
        return {
            "initialize": (wire.Initialize, self._initialize),
            "authenticate": (wire.Authenticate, self._authenticate),
            "session/new": (wire.NewSession, self._new),
            "session/load": (wire.LoadSession, self._load),
            "session/resume": (wire.ResumeSession, self._resume),
            "session/list": (wire.ListSessions, self._list),
            "session/close": (wire.OfSession, self._close),
            "session/prompt": (wire.Prompt, self._prompt),
            "session/cancel": (wire.OfSession, self._cancel),
            "session/set_mode": (wire.SetMode, self._set_mode),
        }

    async def close(self) -> None:
        """The editor is gone: turns end as if they were cancelled, and what
        they said is kept."""
        for session in self._sessions.values():
            session.cancel()
        await self.peer.drain(_END_S)
        for session in [*self._sessions.values()]:
            await session.close()

    async def _initialize(self, params: wire.Initialize) -> dict[str, Any]:
        """The version is ours, whichever was asked for: there is one."""
        return {
            "protocolVersion": wire.VERSION,
            "agentInfo": {"name": "claw", "title": "claw",
                          "version": __version__},
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {
                    "image": await asyncio.to_thread(self._chats.sees_images),
                    "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": False, "sse": False},
                "sessionCapabilities": {"list": {}, "resume": {},
                                        "close": {}}},
            "authMethods": []}

    async def _authenticate(self, params: wire.Authenticate) -> None:
        raise UsageError("there is nothing to log in to here", hint="keys of "
                         "models are set with: claw config set api_key")

    async def _new(self, params: wire.NewSession) -> dict[str, Any]:
        name = f"acp-{uuid.uuid4().hex[:12]}"
        return {"sessionId": name, **self._add(
            name, params.cwd, params.mcp_servers, has_title=False)}

    async def _load(self, params: wire.LoadSession) -> dict[str, Any]:
        found, modes = await self._reopen(params)
        self._sessions[params.session_id].updates.replay(found)
        return modes

    async def _resume(self, params: wire.ResumeSession) -> dict[str, Any]:
        return (await self._reopen(params))[1]

    async def _reopen(self, params: wire.ResumeSession
                      ) -> tuple[list[SpokenMessage], dict[str, Any]]:
        """What was said in a kept session, which is open from now on."""
        name = params.session_id
        found = await asyncio.to_thread(self._chats.read_history, name)
        if (open_now := self._sessions.pop(name, None)) is not None:
            await open_now.close()
        return found, self._add(name, params.cwd, params.mcp_servers,
                                has_title=True)

    def _add(self, name: str, cwd: str, servers: list[wire.McpServer], *,
             has_title: bool) -> dict[str, Any]:
        """Raises UsageError for a folder that is no absolute path."""
        if not os.path.isabs(cwd):
            raise UsageError("cwd is no absolute path")
        session = self._sessions[name] = EditorSession(
            name, cwd, [one.name for one in servers], self._chats, self.peer,
            self._note, has_title=has_title)
        # Behind the answer, which names the session to the editor.
        asyncio.get_running_loop().call_later(0, session.announce_commands)
        return {"modes": session.describe_modes()}

    def _find(self, name: str) -> EditorSession:
        try:
            return self._sessions[name]
        except KeyError:
            raise NotFoundError(f"there is no open session {name[:100]!r}",
                                hint="session/new or session/load opens one"
                                ) from None

    async def _list(self, params: wire.ListSessions) -> dict[str, Any]:
        """A page of the kept sessions. Raises UsageError for a cursor that
        is none of ours."""
        cursor = params.cursor or "0"
        if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 9):
            raise UsageError("no such cursor")
        return await asyncio.to_thread(self._read_page, params.cwd,
                                       int(cursor))

    def _read_page(self, cwd: str | None, first: int) -> dict[str, Any]:
        rows = (one for one in self._chats.list_kept()
                if cwd in (None, one.cwd))
        found: dict[str, Any] = {"sessions": [
            {"sessionId": one.name, "cwd": one.cwd, "title": one.title or None,
             "updatedAt": one.updated_at}
            for one in itertools.islice(rows, first, first + _PAGE)]}
        if next(rows, None) is not None:
            found["nextCursor"] = str(first + _PAGE)
        return found

    async def _close(self, params: wire.OfSession) -> dict[str, Any]:
        await self._find(params.session_id).close()
        self._sessions.pop(params.session_id, None)
        return {}

    async def _prompt(self, params: wire.Prompt) -> dict[str, Any]:
        return {"stopReason": await self._find(
            params.session_id).prompt(params.prompt)}

    async def _cancel(self, params: wire.OfSession) -> None:
        self._find(params.session_id).cancel()

    async def _set_mode(self, params: wire.SetMode) -> dict[str, Any]:
        self._find(params.session_id).set_mode(params.mode_id)
        return {}


async def serve(chats: Chats, note: Callable[[str], None]) -> None:
    """Serve standard input and output until the editor is gone or ends
    claw. Whatever else prints goes to standard error."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    out = os.dup(get_stdout().fileno())
    give_stdout_away()

    def hang_up() -> None:
        loop.call_soon_threadsafe(stop.set)
    writer = LineWriter(out, hang_up)
    server = Server(chats, writer.write, note)
    read_lines(0, server.peer.take, stop.set)
    try:
        await stop.wait()
    finally:
        await server.close()
        writer.close()
