"""claw ask: one answer from a model, for pipes and cron."""

from pathlib import Path
from typing import Annotated, Any

import typer

from claw.agent.code_blocks import required_code_block
from claw.agent.events import Event, Notice, TextDelta, ToolFinished
from claw.agent.schema_answer import load_schema
from claw.cli.attachments import Attached, read_attachments
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.options import (
    ModelOption,
    ProviderOption,
    SessionOption,
    SystemOption,
    TemperatureOption,
    YesFlag,
)
from claw.cli.stdin import LIMIT_BYTES, is_piped, read_past, read_text
from claw.core.errors import ClawError, UsageError
from claw.core.provider import Passage
from claw.core.registry import load_dotted
from claw.providers.choice import Choice
from claw.wiring.ask import Question, Watch, answer, rehearse

# Asking for approval needs the security wing; a plain question does not.
_LATE = {"approver": "claw.cli.approval:approver_for",
         "no model": "claw.providers.offline:NOTE"}


@examples('claw ask "what is 6 * 7?"',
          'git log -5 | claw ask "what changed?"',
          'claw ask -f report.txt "who signed it?" --json | jq -r .text',
          'claw ask -f photo.jpg "what is on it?"',
          'claw ask -c "and before that?"',
          'claw ask --tools file_read,shell "how many tests are there?"')
def ask(
        context: typer.Context,
        prompt: Annotated[list[str] | None, typer.Argument(
            metavar="[PROMPT]...", show_default=False,
            help="The question; - or nothing: take it from stdin.")] = None,
        model: ModelOption = None,
        provider: ProviderOption = None,
        temperature: TemperatureOption = None,
        system: SystemOption = None,
        file: Annotated[list[str] | None, typer.Option(
            "-f", "--file", metavar="FILE",
            help="Text, image, recording or web address to put under the "
                 "question; repeatable.")] = None,
        continued: Annotated[bool, typer.Option(
            "-c", "--continue",
            help="Go on from the last question.")] = False,
        session: SessionOption = None,
        tools: Annotated[str, typer.Option(
            "--tools", metavar="LIST",
            help="Tools the model may call, by comma; default none.")] = "",
        yes: YesFlag = False,
        no_memory: Annotated[bool, typer.Option(
            "--no-memory", help="Do not look into memory.")] = False,
        schema: Annotated[Path | None, typer.Option(
            "--schema", metavar="FILE",
            help="JSON Schema that the answer must fit.")] = None,
        extract: Annotated[bool, typer.Option(
            "-x", "--extract",
            help="Print only the first code block.")] = False,
        max_tokens: Annotated[int | None, typer.Option(
            "--max-tokens", metavar="N", min=1,
            help="Longest answer, in tokens.")] = None,
        max_cost: Annotated[float | None, typer.Option(
            "--max-cost", metavar="USD", min=0,
            help="The most that the answer may cost, in US dollars.")] = None,
        timeout: Annotated[float | None, typer.Option(
            "--timeout", metavar="SECONDS", min=0.01,
            help="Give up after this time.")] = None,
        no_log: Annotated[bool, typer.Option(
            "--no-log", help="Keep nothing of this question.")] = False,
        dry_run: Annotated[bool, typer.Option(
            "--dry-run", help="Print the request and send nothing.")] = False,
        stdin_limit: Annotated[int, typer.Option(
            "--stdin-limit", metavar="BYTES", min=1,
            help="Most that is taken from stdin.")] = LIMIT_BYTES,
) -> None:
    """Ask one question; piped text is put under it.

    Only the answer reaches stdout, as it is written. Without a model claw
    answers from the piped text and from memory, and says so. Memories that
    fit the question go with it.
    """
    run = Invocation.of(context)
    if continued and session:
        raise UsageError("--continue and --session exclude each other",
                         hint="--session NAME goes on by itself")
    text, passages = _asked(prompt or [], stdin_limit, run)
    attached = _attached(file or [], stdin_limit, run, dry_run=dry_run)
    question = Question(
        text, [*passages, *attached.passages], attached.images, provider,
        model, system, temperature, _names(tools), not no_memory, session,
        continued, not no_log, _schema(schema, run), max_tokens, timeout,
        yes, max_cost)
    if dry_run:
        run.out.document(rehearse(run.settings, question))
        return
    _print_answer(run, question, extract=extract)


def _print_answer(run: Invocation, question: Question, *,
                  extract: bool) -> None:
    whole = run.as_json or extract or question.schema is not None

    def heard(event: Event) -> None:
        if isinstance(event, TextDelta) and not whole:
            run.out.piece(event.text)
        elif isinstance(event, Notice):
            run.out.warn(event.text)
        elif isinstance(event, ToolFinished) \
                and event.output.startswith("Denied:"):
            run.out.warn(event.output)
        elif isinstance(event, ToolFinished) and run.verbose:
            run.out.note(f"{event.name}: {'ok' if event.success else 'failed'}"
                         f" ({event.seconds:.1f} s)")

    def chosen(choice: Choice) -> None:
        if choice.provider_name == "offline" and not question.provider:
            note = load_dotted(_LATE["no model"])
            run.out.note(note if note.startswith(choice.reason)
                         else f"{choice.reason}; {note}")
        elif run.verbose:
            run.out.note(f"{choice.shown} {choice.model} "
                         f"({choice.reason})")

    approver = load_dotted(_LATE["approver"])(run, question.approve_all) \
        if question.tools else None
    watch = Watch(heard, chosen, run.out.note, approver)
    try:
        with run.out.waiting("waiting for the answer"):
            result = answer(run.settings, question, watch)
    except (ClawError, KeyboardInterrupt):
        run.out.end()  # what was printed is whole lines
        raise
    if extract:
        result["text"] = required_code_block(result["text"])
    if run.as_json:
        run.out.document(result)
    elif whole:
        run.out.result(result["text"])
    else:
        run.out.end()


def _asked(words: list[str], limit: int,
           run: Invocation) -> tuple[str, list[Passage]]:
    """The prompt, and what was piped beside it."""
    named = "-" in words
    prompt = " ".join(word for word in words if word != "-").strip()
    piped = ""
    if named or is_piped():
        piped = read_text(limit, say=run.out.note)
    if prompt:
        return prompt, [Passage("stdin", piped)] if piped.strip() else []
    if not piped.strip():
        raise UsageError("nothing was asked",
                         hint='try: claw ask "what is 6 * 7?"')
    return piped.strip(), []


def _attached(names: list[str], limit: int, run: Invocation, *,
              dry_run: bool) -> Attached:
    """What -f names. Recordings and addresses take a while."""
    if not names:
        return Attached([], [])
    with run.out.waiting("reading what goes with it"):
        return read_attachments(names, limit, run.settings, dry_run=dry_run)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    return [] if names == ["none"] else names


def _schema(path: Path | None, run: Invocation) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            data = read_past(file, LIMIT_BYTES)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"--schema: {path}: {error.strerror}",
                         hint="name a file with a JSON Schema") from error
    except ValueError as error:
        raise UsageError(f"--schema: {path}: no UTF-8 text",
                         hint="name a file with a JSON Schema") from error
    if len(data) > LIMIT_BYTES:
        raise UsageError(f"--schema: {path} is longer than "
                         f"{LIMIT_BYTES:,} bytes",
                         hint="name a file with a JSON Schema")
    schema, unknown = load_schema(text)
    for name in unknown:
        run.out.warn(f"--schema: {name} has no effect")
    return schema
