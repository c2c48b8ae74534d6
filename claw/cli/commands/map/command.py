"""claw map: one prompt over many lines or files."""

import asyncio
from collections.abc import Callable
from typing import Any

import typer

from claw.cli.commands.ask.options import (
    MaxTokensOption,
    OptionsOption,
    ParametersOption,
    SchemaOption,
    TemplateOption,
    TimeoutOption,
)
from claw.cli.commands.map.inputs import (
    Inputs,
    read_material,
    require_piped,
)
from claw.cli.commands.map.jobs import forget_jobs, list_jobs
from claw.cli.commands.map.options import (
    DryRunFlag,
    FilesFlag,
    ForgetOption,
    FreshFlag,
    LineLimitOption,
    ListFlag,
    MaxCostOption,
    NoLogFlag,
    NulFlag,
    WordsArgument,
    WorkersOption,
)
from claw.cli.commands.map.prompt import build_task, set_options
from claw.cli.commands.map.show import Show
from claw.cli.commands.map.status import Status
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples, option_groups
from claw.cli.options import (
    ModelOption,
    ProviderOption,
    SystemOption,
    TemperatureOption,
)
from claw.cli.terminal.interrupt import interrupt_on_sigterm
from claw.cli.terminal.stdin import LIMIT_BYTES, NAME, describe_bad
from claw.core.value import replace
from claw.providers.catalog.choice import Choice
from claw.wiring.map.dry_run import describe_map
from claw.wiring.map.run import MapWatch, run_map
from claw.wiring.map.task import Task

_TICK_S = 0.2


@option_groups({
    "Model": "--model --provider --temperature --system --max-tokens "
             "--timeout --option --template --parameter",
    "Inputs and answers": "--null --files --stdin-limit --schema",
    "Running it": "--jobs --max-cost --fresh --no-log --dry-run --list "
                  "--forget",
})
@examples('cat names.txt | claw map "translate to German"',
          "claw map -T summarise *.txt",
          "cat lines.txt | claw map -T translate -P lang=de",
          'claw map -j 8 --max-cost 0.50 "a title for: $input" <posts.txt',
          'find . -name "*.py" -print0 | claw map -0 --files --jsonl '
          '"what does it do?"',
          "claw map --list")
def map_(
        context: typer.Context,
        words: WordsArgument = None,
        template: TemplateOption = None,
        parameter: ParametersOption = None,
        model: ModelOption = None,
        provider: ProviderOption = None,
        temperature: TemperatureOption = None,
        system: SystemOption = None,
        jobs: WorkersOption = 4,
        max_cost: MaxCostOption = None,
        max_tokens: MaxTokensOption = None,
        timeout: TimeoutOption = None,
        schema: SchemaOption = None,
        option: OptionsOption = None,
        null: NulFlag = False,
        files: FilesFlag = False,
        fresh: FreshFlag = False,
        no_log: NoLogFlag = False,
        dry_run: DryRunFlag = False,
        stdin_limit: LineLimitOption = LIMIT_BYTES,
        listed: ListFlag = False,
        forget: ForgetOption = None,
) -> None:
    """Ask the same of each line of stdin, or of each file.

    Answers come in the order of the inputs, each on one line: line feeds in
    it become blanks (with -0 or --jsonl it stays as it is), and a blank
    line stays blank. Answers about files stand under their names.

    Each answer is kept as it comes. Killed, interrupted or out of money,
    the same command prints what is known, asks the rest and pays for
    nothing twice; what has failed is asked again. Inputs that are alike are
    asked once. What was not used for 30 days is forgotten.

    --max-cost is never exceeded: before each request the most that it may
    cost is set aside. An answer is then at most --max-tokens long, or
    4,096.
    """
    run = Invocation.of(context)
    if listed or forget is not None:
        if listed:
            list_jobs(run)
        if forget is not None:
            forget_jobs(run, forget)
        return
    keeps = not (no_log or dry_run)
    if keeps:
        keeps = run.use_workspace(asks=True).trusted
    task, names = build_task(run, words or [], template, parameter or [])
    task = set_options(
        run, replace(task, workers=jobs, fresh=fresh), {
            "model": model, "provider": provider, "system": system,
            "temperature": temperature, "max_tokens": max_tokens,
            "max_cost_usd": max_cost, "timeout_s": timeout, "keep": keeps},
        schema, option or [])
    if not names:
        require_piped()
    inputs = Inputs(names, nul=null, are_files=files,
                    limit_bytes=stdin_limit)
    if dry_run:
        run.out.document(asyncio.run(describe_map(
            run.settings, task, inputs.open(),
            lambda one: read_material(one, run.settings, stdin_limit,
                                      run.out.warn, dry_run=True))))
        return
    _run(run, task, inputs, stdin_limit, nul=null)


def _run(run: Invocation, task: Task, inputs: Inputs, limit_bytes: int, *,
         nul: bool) -> None:
    """Run it and show what comes."""
    status = Status(run.out.stderr, lambda: inputs.total,
                    quiet=run.out.quiet)
    show = Show(run, status, nul=nul, are_files=inputs.are_files,
                keeps=task.question.keep)

    def notify(text: str) -> None:
        status.clear()
        run.out.note(text)

    def warn(text: str) -> None:
        status.clear()
        run.out.warn(text)

    def note_choice(choice: Choice) -> None:
        if run.verbose:
            notify(f"{choice.shown} {choice.model or '(model unknown)'} "
                   f"({choice.reason})")
    watch = MapWatch(
        lambda one: read_material(
            one, run.settings, limit_bytes, warn,
            paid=task.question.max_cost_usd is None),
        show.outcome, notify, note_choice, show.begin)
    try:
        with interrupt_on_sigterm():
            stopped_by = asyncio.run(_tick(
                run_map(run.settings, task, inputs.open(), watch),
                lambda: status.update(show)))
    except KeyboardInterrupt:
        show.interrupted()
        raise
    if inputs.bad:
        warn(describe_bad(NAME, inputs.bad))
    show.end(stopped_by)


async def _tick(work: Any, look: Callable[[], None]) -> Any:
    """Do the work, and look how far it is a few times a second."""
    async def again() -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            look()
    looking = asyncio.create_task(again())
    try:
        return await work
    finally:
        looking.cancel()
