"""claw ask: one answer from a model, for pipes and cron."""

from pathlib import Path
from typing import Annotated, Any

import typer

from claw.agent.events import Event, Notice, TextDelta, ToolFinished
from claw.agent.structured.answer import load_schema
from claw.agent.structured.code_blocks import required_code_block
from claw.cli.attachments.read import Limits, read_attachments
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
from claw.cli.prompt import read_prompt, split_names
from claw.cli.stdin import LIMIT_BYTES, read_past
from claw.core.errors import ClawError, UsageError
from claw.providers.catalog.choice import Choice
from claw.providers.factory import OFFLINE
from claw.wiring.ask import Question, Watch, answer, describe_request


@examples('claw ask "what is 6 * 7?"',
          'git log -5 | claw ask "what changed?"',
          'claw ask -f report.txt "who signed it?" --json | jq -r .text',
          'claw ask -f photo.jpg "what is on it?"',
          'claw ask --docs notes "when is the rent due?"',
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
        docs: Annotated[str | None, typer.Option(
            "--docs", metavar="NAME",
            help="Answer from these documents (claw memory index).")] = None,
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
            help="Give up after this time; default the setting "
                 "provider_timeout_secs (120).")] = None,
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
    fit the question go with it. With --docs so do the passages of these
    documents that fit best, and each is named on stderr with its place.
    """
    run = Invocation.of(context)
    if not (no_log or dry_run):
        run.use_workspace(asks=True)
    if continued and session:
        raise UsageError("--continue and --session exclude each other",
                         hint="--session NAME goes on by itself")
    words = prompt or []
    # recordings and addresses take a while
    with run.out.waiting("reading what goes with it"):
        text, piped = read_prompt(
            " ".join(word for word in words if word != "-").strip(),
            Limits(stdin_limit, run.settings), wants_stdin="-" in words,
            say=run.out.note, example='claw ask "what is 6 * 7?"',
            dry_run=dry_run)
        attached = read_attachments(file or [], stdin_limit, run.settings,
                                    dry_run=dry_run)
    question = Question(
        text, [*piped.passages, *attached.passages],
        [*piped.images, *attached.images], provider, model, system,
        temperature, split_names(tools), not no_memory, session, continued,
        not no_log,
        None if schema is None else _read_schema(schema, run), max_tokens,
        timeout, yes, max_cost, docs)
    if dry_run:
        run.out.document(describe_request(run.settings, question))
        return
    shows_whole = run.as_json or extract or schema is not None
    notes: list[str] = []
    watch = _watch_answer(run, question, notes, shows_whole=shows_whole)
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
    elif shows_whole:
        run.out.result(result["text"])
    else:
        run.out.end()
    if docs is not None and result["provider"] != OFFLINE:
        _name_sources(run, result["sources"])  # offline the answer does
    for note in notes:
        run.out.note(note)


def _name_sources(run: Invocation, sources: list[dict[str, Any]]) -> None:
    """Say which passages went with the question."""
    from claw.cli.commands.memory.common import preview
    for source in sources:
        run.out.note(f"from {source['place']}: {preview(source['text'])}")


def _watch_answer(run: Invocation, question: Question, notes: list[str], *,
                  shows_whole: bool) -> Watch:
    """What is shown while the question runs: the answer piece by piece,
    unless it is to be shown whole, and notes on stderr. `notes` gets what
    is to be said beside an answer only."""
    def show(event: Event) -> None:
        if isinstance(event, TextDelta) and not shows_whole:
            run.out.stream(event.text)
        elif isinstance(event, Notice):
            run.out.warn(event.text)
        elif isinstance(event, ToolFinished) \
                and event.output.startswith("Denied:"):
            run.out.warn(event.output)
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
        from claw.cli.approval import approver_for
        approver = approver_for(run, question.approve_all)
    return Watch(show, note_choice, run.out.note, approver)


def _read_schema(path: Path, run: Invocation) -> dict[str, Any]:
    """The schema in a file. Raises UsageError for what is none; words that
    have no effect are told."""
    problem = ""
    try:
        with path.open("rb") as file:
            data = read_past(file, LIMIT_BYTES)
        text = data.decode("utf-8-sig")
        if len(data) > LIMIT_BYTES:
            problem = f"{path} is longer than {LIMIT_BYTES:,} bytes"
    except OSError as error:
        problem = f"{path}: {error.strerror}"
    except ValueError:
        problem = f"{path}: no UTF-8 text"
    if problem:
        raise UsageError(f"--schema: {problem}",
                         hint="name a file with a JSON Schema")
    schema, unknown = load_schema(text)
    for name in unknown:
        run.out.warn(f"--schema: {name} has no effect")
    return schema
