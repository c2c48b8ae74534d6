"""claw ask: one answer from a model, for pipes and cron."""

import typer

from claw.cli.attachments.read import (
    STDIN,
    Attached,
    Limits,
    read_attachments,
)
from claw.cli.commands.ask.options import (
    CidOption,
    ContinueFlag,
    DocsOption,
    DryRunFlag,
    ExtractFlag,
    FilesOption,
    ForceFlag,
    MaxCostOption,
    MaxTokensOption,
    NoLogFlag,
    NoMemoryFlag,
    NoStreamFlag,
    OptionsOption,
    ParametersOption,
    PromptArgument,
    SaveOption,
    SchemaMultiOption,
    SchemaOption,
    StdinLimitOption,
    TemplateOption,
    TimeoutOption,
    ToolsOption,
    UsageFlag,
)
from claw.cli.commands.ask.schema import read_schema
from claw.cli.commands.ask.show import show_answer
from claw.cli.commands.ask.templates import (
    parse_parameters,
    read_template,
    save_kept,
)
from claw.cli.interrupt import interrupts_as_errors
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples, option_groups
from claw.cli.options import (
    ModelOption,
    ProviderOption,
    RawFlag,
    SessionOption,
    SystemOption,
    TemperatureOption,
    YesFlag,
)
from claw.cli.prompt import read_prompt, split_names
from claw.cli.stdin import LIMIT_BYTES
from claw.core.errors import UsageError
from claw.providers.wire.options import parse_options
from claw.wiring.ask.answer import describe_request
from claw.wiring.ask.question import Question


@option_groups({
    "Model": "--model --provider --temperature --system --max-tokens "
             "--max-cost --timeout --option",
    "Templates": "--template --parameter --save --force",
    "What goes with the question": "--file --docs --no-memory --continue "
                                   "--session --cid --stdin-limit",
    "Answer": "--schema --schema-multi --extract --raw --no-stream --usage "
              "--dry-run --no-log",
    "Tools": "--tools --yes",
})
@examples('claw ask "what is 6 * 7?"',
          'git log -5 | claw ask "what changed?"',
          'claw ask -f report.txt "who signed it?" --json | jq -r .text',
          'claw ask -f photo.jpg "what is on it?"',
          'claw ask -f contract.pdf -f src/ "what is missing?"',
          'claw ask --docs notes "when is the rent due?"',
          'claw ask --schema "name, born int" "who wrote Faust?"',
          'claw ask -f cv/ --schema-multi "name, skills [string]" "who?"',
          'claw ask -c "and before that?"',
          'git diff --staged | claw ask -T commit',
          'claw ask -T translate -P lang=German < letter.txt',
          'claw ask -o top_p=0.9 "a rhyme on tea"',
          'claw ask --cid 3f2a91 "and for a larger one?"',
          'claw ask --tools file_read,shell "how many tests are there?"')
def ask(
        context: typer.Context,
        prompt: PromptArgument = None,
        model: ModelOption = None,
        provider: ProviderOption = None,
        temperature: TemperatureOption = None,
        system: SystemOption = None,
        file: FilesOption = None,
        docs: DocsOption = None,
        continued: ContinueFlag = False,
        cid: CidOption = None,
        session: SessionOption = None,
        tools: ToolsOption = "",
        yes: YesFlag = False,
        no_memory: NoMemoryFlag = False,
        schema: SchemaOption = None,
        schema_multi: SchemaMultiOption = None,
        extract: ExtractFlag = False,
        max_tokens: MaxTokensOption = None,
        max_cost: MaxCostOption = None,
        timeout: TimeoutOption = None,
        no_log: NoLogFlag = False,
        dry_run: DryRunFlag = False,
        stdin_limit: StdinLimitOption = LIMIT_BYTES,
        template: TemplateOption = None,
        parameter: ParametersOption = None,
        option: OptionsOption = None,
        save: SaveOption = None,
        force: ForceFlag = False,
        raw: RawFlag = False,
        no_stream: NoStreamFlag = False,
        usage: UsageFlag = False,
) -> None:
    """Ask one question; piped text is put under it.

    Only the answer reaches stdout, as it is written; on a terminal its
    Markdown is set, in a pipe nothing is changed. Without a model claw
    answers from the piped text and from memory, and says so. Memories that
    fit the question go with it. With --docs so do the passages of these
    documents that fit best, and each is named on stderr with its place.

    A template is a saved prompt: $input in it is the piped text, or the
    words of the line; $NAME is a parameter, given with -P. A dollar that
    names none stays: $5, $HOME. What the line says goes before the template.

    With --jsonl events come as lines while it answers: text, discard (the
    text so far is no part of the answer), tool_start, tool_end, notice; the
    last is the answer as --json prints it, or the error.
    """
    run = Invocation.of(context)
    if not (no_log or dry_run or save):
        run.use_workspace(asks=True)
    if sum(map(bool, (continued, cid is not None, session))) > 1:
        raise UsageError("--continue, --cid and --session exclude each other",
                         hint="--session NAME and --cid ID go on by "
                              "themselves")
    if cid is not None and not cid.strip():
        raise UsageError("--cid is empty", hint="list ids with: claw log list")
    if parameter and not (template or save):
        raise UsageError("-P gives a value to a template",
                         hint="name the template with -T")
    if schema is not None and schema_multi is not None:
        raise UsageError("--schema and --schema-multi exclude each other",
                         hint="--schema-multi takes the schema of one row")
    if save and schema_multi is not None:
        raise UsageError("a template keeps no --schema-multi",
                         hint="give it with -T, or keep --schema")
    found = read_template(template, run) if template else None
    words, files = prompt or [], file or []
    line = " ".join(word for word in words if word != "-").strip()
    body = found.body if found else ""
    # recordings and addresses take a while
    with interrupts_as_errors(run), \
            run.out.waiting("reading what goes with it"):
        text, piped = (line, Attached([], [])) \
            if save and "-" not in words else read_prompt(
                line or body, Limits(stdin_limit, run.settings),
                wants_stdin="-" in words, spare_stdin=STDIN in files,
                say=run.out.note, example='claw ask "what is 6 * 7?"',
                dry_run=dry_run)
        attached = read_attachments(files, stdin_limit, run.settings,
                                    say=run.out.note, dry_run=dry_run)
    shape = schema if schema_multi is None else schema_multi
    question = Question(
        text if line or not body else "",
        passages=[*piped.passages, *attached.passages],
        images=[*piped.images, *attached.images],
        provider=provider,
        model=model,
        system=system,
        temperature=temperature,
        tools=split_names(tools),
        use_memory=not no_memory,
        session=session,
        continued=continued,
        keep=not no_log,
        schema=None if shape is None else read_schema(shape, run),
        rows=schema_multi is not None,
        stream=not no_stream,
        max_tokens=max_tokens,
        timeout_s=timeout,
        approve_all=yes,
        max_cost_usd=max_cost,
        docs=docs,
        cid=cid,
        options=parse_options(option or []))
    values = parse_parameters(parameter or [])
    no_tools = bool(tools) and not question.tools
    if save is not None:
        from claw.wiring.ask.templated import save_as
        save_kept(run, context, save_as(save, found, values, question,
                                        no_tools=no_tools), force=force)
        return
    if found is not None:
        from claw.wiring.ask.templated import apply_template
        question = apply_template(found, values, question, no_tools=no_tools)
    if dry_run:
        run.out.document(describe_request(run.settings, question))
        return
    show_answer(run, question, extract=extract, raw=raw, usage=usage)
