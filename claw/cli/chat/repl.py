"""`claw agent` on a terminal: read a line, run a turn, again."""

import asyncio
import re
import signal
from collections.abc import Awaitable, Callable
from typing import Protocol

from claw.agent.cancel import TurnCancelled
from claw.cli.chat.echo import without_echo
from claw.cli.chat.turn_view import TurnView, hint
from claw.cli.output import Output
from claw.core.errors import ClawError
from claw.core.registry import nearest_command
from claw.core.turn import ApprovalRequest, Decision
from claw.security.approval import parse_decision, prompt
from claw.wiring.chat import ChatSession

HELP = {
    "/help": "this list",
    "/new": "begin a new conversation; memories stay",
    "/model": "show the model, or /model NAME to ask another one",
    "/models": "list the models on offer",
    "/stop": "stop the running answer (as does Ctrl-C)",
    "/why": "what the last answer was made of",
    "/quit": "leave (as do /exit and Ctrl-D)",
}
_COMMAND = re.compile(r"/[a-z]+")
_MODELS_SHOWN = 40


def find_slip(text: str) -> tuple[str, str] | None:
    """What is wrong with a line that is like a command and is none, and the
    next step; None for what a model is to read: sentences and paths."""
    word = (text.split(None, 1) or [""])[0]
    near = nearest_command(word, HELP)
    if near is None and not _COMMAND.fullmatch(text):
        return None
    return (f"there is no command {word}",
            f"did you mean {near}?" if near else "/help lists them")


class ReadsLines(Protocol):
    """Where the person's words come from."""

    async def read(self) -> str: ...

    async def answer(self, question: str) -> str: ...


class InlineApprover:
    """Asks for approval between the lines of a running turn."""

    def __init__(self, lines: ReadsLines, view: TurnView) -> None:
        self._lines = lines
        self._view = view
        self.on_interrupt: Callable[[], None] = lambda: None
        self._one_at_a_time = asyncio.Lock()

    def can_ask(self) -> bool:
        return True

    async def approve(self, request: ApprovalRequest) -> Decision:
        async with self._one_at_a_time:
            return await self._ask(request)

    async def _ask(self, request: ApprovalRequest) -> Decision:
        self._view.close()
        *above, last = prompt(request).split("\n")
        for text in above:
            self._view.line(text)
        try:
            answer = await self._lines.answer(last)
        except EOFError:
            return "no"
        except KeyboardInterrupt:
            self.on_interrupt()
            return "no"
        return parse_decision(answer, may_remember=request.may_remember)


class Repl:
    """The loop; `run` returns when the person leaves."""

    def __init__(self, chat: ChatSession, lines: ReadsLines, view: TurnView,
                 approver: InlineApprover, out: Output) -> None:
        self._chat = chat
        self._lines = lines
        self._view = view
        self._approver = approver
        self._out = out
        self._commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "/help": self._help, "/new": self._new, "/clear": self._new,
            "/model": self._model, "/models": self._models,
            "/stop": self._stop, "/why": self._why}

    async def run(self) -> None:
        self._greet()
        while True:
            try:
                text = (await self._lines.read()).strip()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if text in ("/quit", "/exit"):
                return
            if text:
                await self._take(text)

    def _greet(self) -> None:
        chat = self._chat
        self._view.line(f"{self._name_model()}  (/help lists the commands)")
        if chat.choice.provider_name == "offline":
            self._view.line(f"{chat.choice.reason}: answers come from your "
                            "text and memory alone")
        if chat.messages:
            self._view.line(f"going on with {chat.session!r}: "
                            f"{chat.messages} messages")

    async def _take(self, text: str) -> None:
        """A command or a message; errors are said and the loop goes on."""
        word, rest = (*text.split(None, 1), "")[:2]
        command = self._commands.get(word)
        try:
            if command is not None:
                await command(rest.strip())
            elif slip := find_slip(text):
                self._view.line("; ".join(slip))
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
                await self._chat.say(text, self._view.on_event,
                                     live_text=True, cancel=cancel)
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            self._view.close()

    def _name_model(self) -> str:
        """Provider and model; one word where they are the same."""
        return " ".join(dict.fromkeys(filter(None, (
            self._chat.choice.shown, self._chat.model))))

    async def _help(self, rest: str) -> None:
        for name, text in HELP.items():
            self._view.line(f"{name:<8} {text}")
        self._view.line("Alt-Enter begins a new line; /think:high before a "
                        "message asks for more thought")

    async def _new(self, rest: str) -> None:
        self._chat.new()
        self._view.line("a new conversation")

    async def _model(self, name: str) -> None:
        if name:
            self._chat.use_model(name)
        self._view.line(self._name_model())

    async def _models(self, rest: str) -> None:
        names = await self._chat.models()
        for name in names[:_MODELS_SHOWN]:
            self._view.line(name)
        if not names:
            self._view.line("the provider does not say")
        elif len(names) > _MODELS_SHOWN:
            self._view.line(f"and {len(names) - _MODELS_SHOWN} more: "
                            f"claw provider models {self._chat.choice.shown}")

    async def _stop(self, rest: str) -> None:
        self._view.line("nothing is running; Ctrl-C stops an answer")

    async def _why(self, rest: str) -> None:
        last = self._chat.last
        if last is None:
            self._view.line("nothing was answered yet")
            return
        self._view.line(
            f"model {last.model}, calls {last.iterations}, "
            f"tokens in {_count(last.usage.input_tokens)} "
            f"out {_count(last.usage.output_tokens)}")
        for entry in last.recalled:
            score = "" if entry.score is None else f" ({entry.score:.2f})"
            self._view.line(f"recalled {entry.key}{score}")
        for call in last.tool_calls:
            self._view.line(f"tool {call.name} {hint(call.arguments)} "
                            f"{'ok' if call.success else 'failed'}, "
                            f"{call.seconds:.1f} s")


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else str(tokens)
