"""Puts the pieces of the conversation on a terminal together."""

import asyncio

from claw.cli.chat.approver import InlineApprover
from claw.cli.chat.line_editor import LineEditor
from claw.cli.chat.repl import Repl
from claw.cli.chat.turn_view import TurnView
from claw.cli.invocation import Invocation
from claw.core.value import replace
from claw.wiring.chat.session import ChatOptions, open_chat

HISTORY = "agent_history"


def converse(run: Invocation, options: ChatOptions) -> None:
    """Talk until the person leaves."""
    asyncio.run(_converse(run, options))


async def _converse(run: Invocation, options: ChatOptions) -> None:
    view = TurnView(run.out)
    history = run.places.workspace / "state" / HISTORY
    lines = LineEditor(history if options.keep else None)
    lines.notify = view.note
    approver = InlineApprover(lines, view)
    options = replace(
        options, notify=view.note, asks=approver,
        approver=None if options.approve_all else approver)
    async with open_chat(run.settings, options) as chat:
        lines.list_models = chat.list_known_models
        await Repl(chat, lines, view, approver, run.out).run()
