"""Puts the pieces of the conversation on a terminal together."""

import asyncio

from claw.cli.invocation import Invocation
from claw.cli.line_editor import LineEditor
from claw.cli.repl import HELP, InlineApprover, Repl
from claw.cli.turn_view import TurnView
from claw.core.value import replace
from claw.wiring.talk import Wish, open_talk

HISTORY = "agent_history"


def converse(run: Invocation, wish: Wish) -> None:
    """Talk until the person leaves."""
    asyncio.run(_converse(run, wish))


async def _converse(run: Invocation, wish: Wish) -> None:
    view = TurnView(run.out)
    lines = LineEditor(run.places.workspace / "state" / HISTORY, list(HELP))
    approver = InlineApprover(lines, view)
    wish = replace(wish, notify=view.note)
    if not wish.approve_all:
        wish = replace(wish, approver=approver)
    async with open_talk(run.settings, wish) as talk:
        await Repl(talk, lines, view, approver, run.out).run()
