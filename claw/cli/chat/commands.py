"""What the slash commands of `claw agent` do."""

from collections.abc import Awaitable, Callable

from claw.agent.rendering.cut import hint
from claw.agent.rounds.cancel import TurnCancelled
from claw.agent.structured.code_blocks import first_code_block
from claw.cli.chat.approver import ReadsLines
from claw.cli.chat.clipboard import copy_text
from claw.cli.chat.slash import list_help
from claw.cli.chat.transcript import (
    count_tokens,
    find_path,
    replace_file,
    write_new_file,
    write_transcript,
)
from claw.cli.chat.turn_view import TurnView
from claw.cli.show.bars import align
from claw.cli.show.output import Output
from claw.core.errors import ClawError, NotFoundError, UsageError
from claw.core.ledger import dollars
from claw.security.approval import parse_decision
from claw.text.plural import plural
from claw.wiring.chat.session import ChatSession

_MODELS_SHOWN = 40


def name_model(chat: ChatSession) -> str:
    """Provider and model; one word where they are the same."""
    return " ".join(dict.fromkeys(filter(None, (
        chat.choice.shown, chat.model))))


class Commands:
    """`run` runs one by its name. `turns` are the ids of those so far."""

    def __init__(self, chat: ChatSession, view: TurnView, lines: ReadsLines,
                 out: Output, say: Callable[[str], Awaitable[None]]) -> None:
        self.turns: list[str] = []
        self._chat = chat
        self._view = view
        self._lines = lines
        self._out = out
        self._say = say

    async def run(self, name: str, rest: str) -> None:
        """Raises TurnCancelled and ClawError."""
        await getattr(self, "_" + name.removeprefix("/"))(rest)

    async def _help(self, rest: str) -> None:
        for line in list_help(self._out.columns):
            self._view.line(line)

    async def _new(self, rest: str) -> None:
        self._chat.new()
        self._view.line("a new conversation")

    async def _undo(self, rest: str) -> None:
        taken = self._chat.take_back()
        if taken is None:
            raise NotFoundError("nothing was asked yet")
        self._view.line("taken back: " + hint({"query": taken.question}))

    async def _edit(self, rest: str) -> None:
        try:
            text = await self._lines.read(self._last_question())
        except (KeyboardInterrupt, EOFError):
            text = ""
        if not text.strip():
            self._view.line("nothing was changed")
            return
        await self._ask_again(text.strip())

    async def _retry(self, model: str) -> None:
        question, before = self._last_question(), self._chat.model
        if model:
            self._chat.use_model(model)
        try:
            await self._ask_again(question)
        finally:
            if model:
                self._chat.use_model(before)

    def _last_question(self) -> str:
        question = self._chat.find_last_question()
        if question is None:
            raise NotFoundError("nothing was asked yet")
        return question

    async def _ask_again(self, text: str) -> None:
        """Ask this in place of the last question; its answer stays until
        there is another."""
        taken = self._chat.take_back()
        try:
            await self._say(text)
        except (TurnCancelled, ClawError):
            if taken is not None:
                self._chat.put_back(taken)
                self._view.line("what was there before stays")
            raise

    async def _model(self, name: str) -> None:
        if name:
            self._chat.use_model(name)
        self._view.line(name_model(self._chat))

    async def _models(self, rest: str) -> None:
        names = await self._chat.models()
        for name in names[:_MODELS_SHOWN]:
            self._view.line(name)
        if not names:
            self._view.line("the provider does not say")
        elif len(names) > _MODELS_SHOWN:
            self._view.line(f"and {len(names) - _MODELS_SHOWN} more: "
                            f"claw provider models {self._chat.choice.shown}")

    async def _tokens(self, rest: str) -> None:
        found = count_tokens(self._chat.list_spoken())
        rows = [[name, f"{number:,}"] for name, number in found.items()]
        for line in align([*rows, ["about", f"{sum(found.values()):,} "
                                   "tokens"]]):
            self._view.line(line)
        costs = [self._chat.turn_cost(turn) for turn in self.turns]
        known = [cost for cost in costs if cost is not None]
        if costs:
            self._view.line(
                f"{plural(len(costs), 'turn')} since the start, "
                + (dollars(sum(known)) if known else "cost unknown")
                + (", and some without a known price"
                   if known and len(known) < len(costs) else ""))

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

    async def _copy(self, what: str) -> None:
        if what not in ("", "code"):
            raise UsageError(f"/copy {what}: it is /copy or /copy code")
        answers = [message.text for message in self._chat.list_spoken()
                   if message.role == "assistant" and message.text.strip()]
        if not answers:
            raise NotFoundError("nothing was answered yet")
        text = first_code_block(answers[-1]) if what else answers[-1]
        if text is None:
            raise NotFoundError("the last answer holds no block of code",
                                hint="/copy copies it whole")
        self._view.close()
        self._view.line(copy_text(self._out.redact(text), self._out.stdout))

    async def _save(self, name: str) -> None:
        if not name:
            raise UsageError("/save needs the name of a file",
                             hint="try: /save talk.md")
        if not self._chat.messages:
            raise NotFoundError("nothing was said yet")
        path = find_path(name)
        text = self._out.redact(write_transcript(self._chat.list_spoken()))
        if not write_new_file(path, text):
            if not await self._confirm(f"{path} is there. Overwrite it?"):
                self._view.line("nothing was written")
                return
            replace_file(path, text)
        self._view.line(f"written to {path}")

    async def _confirm(self, question: str) -> bool:
        try:
            answer = await self._lines.answer(f"{question} [y]es / [n]o: ")
        except (KeyboardInterrupt, EOFError):
            return False
        return parse_decision(answer, may_remember=False) == "yes"

    async def _stop(self, rest: str) -> None:
        self._view.line("nothing is running; Ctrl-C stops an answer")

    async def _estop(self, rest: str) -> None:
        if self._chat.agent.estop is not None:
            self._chat.agent.estop.set(rest)
        self._view.line("everything is stopped until: claw estop --lift")


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else str(tokens)
