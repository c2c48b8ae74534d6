"""Puts the pieces of the conversation on a terminal together."""

import asyncio

from claw.cli.chat.line_editor import LineEditor
from claw.cli.chat.repl import HELP, InlineApprover, Repl
from claw.cli.chat.turn_view import TurnView
from claw.cli.invocation import Invocation
from claw.core.value import replace
from claw.wiring.chat import ChatOptions, open_chat

HISTORY = "agent_history"


def converse(run: Invocation, options: ChatOptions) -> None:
    """Talk until the person leaves."""
    asyncio.run(_converse(run, options))


async def _converse(run: Invocation, options: ChatOptions) -> None:
    view = TurnView(run.out)
    lines = LineEditor(run.places.workspace / "state" / HISTORY, list(HELP))
    approver = InlineApprover(lines, view)
    options = replace(
        options, notify=view.note,
        approver=None if options.approve_all else approver)
    async with open_chat(run.settings, options) as chat:
        await Repl(chat, lines, view, approver, run.out).run()
