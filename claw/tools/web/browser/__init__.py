"""browser: a Chromium that the agent drives, one for each turn.

Playwright, an extra, drives the Chromium that is installed. Every
connection of it goes through a tunnel of ours (net/tunnel.py), so that no
page, part of a page, script or redirect reaches an address inside. The
first call of a turn starts it, the end of the turn ends it.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from claw.core.errors import UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    integer,
    optional,
    string,
)
from claw.core.turn import TurnContext, current_turn
from claw.tools.web.browser.actions import ACTIONS, FINDERS, READING, Action
from claw.tools.web.browser.session import NO_PAGE, Session
from claw.tools.web.foreign import WebTool, add_label, build_rules
from claw.tools.web.settings import BrowserSettings

_MOST_MS = 30_000


class Browser(WebTool):
    """Opens pages of allowed hosts and acts in them."""

    name = "browser"
    table = "browser"
    description = (
        "Drive a web browser: open a url first, then snapshot to see the "
        "page; its [ref=e1] marks, CSS, text=... or role=button[name=\"...\"]"
        " are selectors. Only allowed hosts.")

    def __init__(self, deps: ToolDeps,
                 settings: BrowserSettings | None = None) -> None:
        super().__init__(deps)
        self._settings = settings or BrowserSettings()
        self._sessions: dict[str, Session] = {}

    def parameters_schema(self) -> Schema:
        return closed_object(
            action=string("What to do", enum=list(ACTIONS)),
            url=optional(string("For open")),
            selector=optional(string("Which element")),
            value=optional(string(
                "Text to fill or type, key to press (Enter), words to find, "
                "file name of a screenshot")),
            by=string("What find looks at", enum=list(FINDERS),
                      default="text"),
            direction=string("Of scroll", enum=["down", "up"],
                             default="down"),
            milliseconds=optional(integer(
                "How long to wait, if not for a selector", minimum=0,
                maximum=_MOST_MS)))

    def only_reads(self, args: Mapping[str, Any]) -> bool:
        """What looks at the page that is open, and no more."""
        return args.get("action") in READING

    async def run(self, args: Arguments) -> ToolResult:
        self._refuse_unless(self._settings.enabled)
        name = args["action"]
        action = ACTIONS[name]
        action.check(args)
        rules = build_rules(
            self.table, self._settings.allowed_domains,
            private=self._settings.allowed_private_hosts)
        if name == "open":
            rules.check(args["url"])
        if name == "screenshot" \
                and not _name_file(args).lower().endswith(".png"):
            raise UsageError("'value' must be the name of a .png file")
        self._policy.enforce("read" if name in READING else "act")
        key = _find_key()
        if name == "close":
            await self._close(key)
            return ToolResult(output="The browser is closed")
        session = self._sessions.get(key)
        if session is None:
            if name != "open":
                raise UsageError(NO_PAGE)
            session = self._sessions[key] = Session(
                self._settings, rules, self._http)
        add_label()
        return await self._act(session, key, action, args)

    async def _act(self, session: Session, key: str, action: Action,
                   args: Arguments) -> ToolResult:
        """One action at a time. Whatever stops it for good ends the
        browser."""
        try:
            async with session.lock:
                output = await session.act(action, args)
        except asyncio.CancelledError:
            await self._close(key)
            raise
        except Exception:
            if not session.is_alive:
                await self._close(key)
            raise
        if isinstance(output, bytes):
            path = _name_file(args)
            await asyncio.to_thread(self._policy.write_beneath, path, output)
            output = f"Saved {path} ({len(output)} bytes)"
        return ToolResult(output=output)

    async def end_turn(self, turn: TurnContext) -> None:
        await self._close(turn.turn_id)

    async def _close(self, key: str) -> None:
        """Not left half done by a second cancelling."""
        session = self._sessions.pop(key, None)
        if session is not None:
            await asyncio.shield(asyncio.ensure_future(session.close()))


def _name_file(args: Arguments) -> str:
    path: str = args.get("value") or "screenshot.png"
    return path


def _find_key() -> str:
    turn = current_turn.get()
    return turn.turn_id if turn else ""
