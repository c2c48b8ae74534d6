"""`claw agent` on a terminal: read a line, run a turn, again."""

import asyncio
import signal

from claw.agent.rounds.cancel import TurnCancelled
from claw.agent.rounds.outcome import RECEIPT
from claw.cli.chat.approver import InlineApprover, ReadsLines
from claw.cli.chat.commands import Commands, name_model
from claw.cli.chat.echo import without_echo
from claw.cli.chat.slash import COMMANDS, explain_unknown, read_line
from claw.cli.chat.turn_view import TurnView
from claw.cli.show.output import Output
from claw.core.errors import ClawError
from claw.text.plural import plural
from claw.wiring.chat.session import ChatSession


class Repl:
    """The loop; `run` returns when the person leaves."""

    def __init__(self, chat: ChatSession, lines: ReadsLines, view: TurnView,
                 approver: InlineApprover, out: Output) -> None:
        self._chat = chat
        self._lines = lines
        self._view = view
        self._approver = approver
        self._out = out
        self._commands = Commands(chat, view, lines, out, self._say)

    async def run(self) -> None:
        self._greet()
        while True:
            try:
                word, text = read_line(await self._lines.read())
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if word == "/quit":
                return
            if word or text:
                await self._take(word, text)

    def _greet(self) -> None:
        chat = self._chat
        self._view.line(f"{name_model(chat)}  (/help lists the commands)")
        if chat.choice.provider_name == "offline":
            self._view.line(f"{chat.choice.reason}: answers come from your "
                            "text and memory alone (to add a model: claw "
                            "onboard)")
        if chat.messages:
            self._view.line(f"going on with {chat.session!r}: "
                            + plural(chat.messages, "message"))

    async def _take(self, word: str, text: str) -> None:
        """A command or a message; errors are said and the loop goes on."""
        try:
            if word in COMMANDS:
                await self._commands.run(word, text)
            elif word:
                self._view.line("; ".join(explain_unknown(word)))
            else:
                await self._say(text)
        except TurnCancelled:
            self._view.line("stopped")
        except ClawError as error:
            self._view.close()
            self._out.error(error)

    async def _say(self, text: str) -> None:
        cancel = asyncio.Event()
        self._approver.on_interrupt = cancel.set
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, cancel.set)
        try:
            with without_echo(), self._out.waiting("thinking"):
                result = await self._chat.say(
                    text, self._view.on_event, live_text=True,
                    cancel=cancel)
                self._commands.turns.append(result.turn_id)
            if result.unsupported:
                self._view.note(RECEIPT)
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            self._view.close()
