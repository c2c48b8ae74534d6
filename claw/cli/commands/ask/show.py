"""Ask, and show the answer: piece by piece or whole."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from claw.agent.rounds.events import (
    CallRefused,
    Event,
    Notice,
    RoundDiscarded,
    TextDelta,
    ToolFinished,
)
from claw.agent.rounds.outcome import RECEIPT
from claw.agent.structured.code_blocks import required_code_block
from claw.cli.invocation import Invocation
from claw.cli.show.output import error_json, hold_back
from claw.cli.terminal.interrupt import interrupts_as_errors
from claw.core.errors import ClawError, ExitCode
from claw.core.ledger import dollars
from claw.providers.catalog.choice import Choice
from claw.providers.factory import OFFLINE
from claw.security.redact.redactor import Redactor
from claw.wiring.ask.answer import answer
from claw.wiring.ask.question import Question, Watch

if TYPE_CHECKING:
    from claw.wiring.chat.events import EventLines


class TextSoFar:
    """What has come of an answer, without secrets."""

    def __init__(self, redactor: Redactor | None) -> None:
        self._held = hold_back(redactor)
        self._pieces: list[str] = []

    def take(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._pieces.append(self._held.feed(event.text))
        elif isinstance(event, RoundDiscarded):
            self._held.end()
            self._pieces.clear()

    def end(self) -> str:
        """All of it; nothing more comes."""
        return "".join([*self._pieces, self._held.end()])


def show_answer(run: Invocation, question: Question, *,
                extract: bool, raw: bool, usage: bool = False) -> None:
    """Run the question and print what comes; `extract` prints the first
    code block only, `raw` Markdown as it is, `usage` what it took."""
    shows_whole = run.as_json or extract or question.schema is not None
    if not (shows_whole or raw):
        run.out.render_markdown()
    notes: list[str] = []
    text = TextSoFar(run.out.redactor)
    lines = _open_lines(run)
    watch = _watch_answer(run, question, notes, text, lines,
                          shows_whole=shows_whole)
    try:
        with interrupts_as_errors(run), \
                run.out.waiting("waiting for the answer"):
            result = answer(run.settings, question, watch)
        if extract:
            result["text"] = required_code_block(
                result["text"], "ask for one, or leave out -x" + (
                    "; the answer: claw log show --last"
                    if question.keep else ""))
    except (ClawError, KeyboardInterrupt) as error:
        run.out.end()  # what was printed is whole lines
        if isinstance(error, ClawError) and run.as_json:
            error.text = text.end()
            if lines is not None:
                lines.end()
                run.out.document({"type": "error", **error_json(error)})
        raise
    if lines is not None:
        lines.end()
        run.out.document({"type": "answer", **result})
    elif run.as_json:
        run.out.document(result)
    elif shows_whole:
        run.out.result(result["text"])
    else:
        run.out.end()
    if question.docs is not None and result["provider"] != OFFLINE:
        _name_sources(run, result["sources"])  # offline the answer does
    for note in notes:
        run.out.note(note)
    if usage:
        run.out.report(_format_usage(result["usage"], result["cost"]))
    end_answer(run, result)


def end_answer(run: Invocation, result: Mapping[str, Any]) -> None:
    """What is to be said under an answer. Exits 6 where a call wanted a
    yes that nobody gave: that was said when it happened."""
    if result["unsupported"]:
        run.out.warn(RECEIPT)
    if result["refused"]:
        raise typer.Exit(ExitCode.DENIED)


def _open_lines(run: Invocation) -> "EventLines | None":
    """Events go out as lines under --jsonl."""
    if not run.jsonl or run.json:
        return None
    from claw.wiring.chat.events import EventLines
    return EventLines(run.out.redactor, run.out.document)


def _format_usage(usage: dict[str, int | None], cost: float | None) -> str:
    """Tokens and money of an answer in a line."""
    def count(name: str) -> str:
        number = usage[f"{name}_tokens"]
        return "?" if number is None else f"{number:,}"
    cached = f" ({count('cached_input')} cached)" \
        if usage["cached_input_tokens"] else ""
    return (f"tokens: {count('input')} in{cached}, {count('output')} out; "
            f"cost: {'unknown' if cost is None else dollars(cost)}")


def _name_sources(run: Invocation, sources: list[dict[str, Any]]) -> None:
    """Say which passages went with the question."""
    from claw.cli.commands.memory.common import preview
    for source in sources:
        run.out.note(f"from {source['place']}: {preview(source['text'])}")


def _watch_answer(run: Invocation, question: Question, notes: list[str],
                  text: "TextSoFar", lines: "EventLines | None", *,
                  shows_whole: bool) -> Watch:
    """What is shown while the question runs: the answer piece by piece,
    unless it is to be shown whole, and notes on stderr. `notes` gets what
    is to be said beside an answer only, `text` what is not shown."""
    def show(event: Event) -> None:
        if run.as_json:
            text.take(event)
        if lines is not None:
            lines.take(event)
        if isinstance(event, TextDelta) and not shows_whole:
            run.out.stream(event.text)
        elif isinstance(event, Notice):
            run.out.warn(event.text)
        elif isinstance(event, CallRefused):
            run.out.warn(event.refusal.remark)
        elif isinstance(event, ToolFinished) and run.verbose:
            run.out.note(f"{event.name}: {'ok' if event.success else 'failed'}"
                         f" ({event.seconds:.1f} s)")

    def note_choice(choice: Choice) -> None:
        if choice.provider_name == OFFLINE and not question.provider:
            from claw.providers.offline import NOTE
            notes.append(NOTE if NOTE.startswith(choice.reason)
                         else f"{choice.reason}; {NOTE}")
        elif run.verbose:
            run.out.note(f"{choice.shown} {choice.model or '(model unknown)'} "
                         f"({choice.reason})")

    approver = None
    if question.tools:
        # asking for approval needs the security wing
        from claw.cli.terminal.approval import approver_for
        approver = approver_for(run, question.approve_all)
    return Watch(show, note_choice, run.out.note, approver,
                 run.adopt_workspace)
