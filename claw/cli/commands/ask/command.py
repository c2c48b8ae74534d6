"""claw ask: one answer from a model, for pipes and cron."""

import typer

from claw.cli.commands.ask.line import build_question, refuse_conflicts
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
from claw.cli.commands.ask.show import show_answer
from claw.cli.commands.ask.templates import (
    parse_parameters,
    read_template,
    save_kept,
)
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
from claw.cli.terminal.stdin import LIMIT_BYTES
from claw.providers.wire.options import require_unpaid
from claw.wiring.ask.answer import describe_request


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

    --max-cost is never exceeded: before each request the most that it may
    cost is set aside, and an answer is no longer than what is left pays
    for. What can't be known beforehand is refused.

    With --jsonl events come as lines while it answers: text, discard (the
    text so far is no part of the answer), tool_start, tool_end, notice; the
    last is the answer as --json prints it, or the error.
    """
    run, line = Invocation.of(context), context.params
    refuse_conflicts(line)
    if not (no_log or dry_run or save):
        # a tool may write there before anything is kept
        run.use_workspace(asks=True, adopts=bool(tools))
    found = read_template(template, run) if template else None
    question = build_question(run, line, found.body if found else "")
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
    if max_cost is not None:
        require_unpaid(question.options)
    if dry_run:
        request = describe_request(run.settings, question)
        run.out.document(request)
        if request["provider"] == "offline":
            run.out.note("no model is configured, so this would be sent to "
                         "nobody (name one with -p or -m)")
    else:
        show_answer(run, question, extract=extract, raw=raw, usage=usage)
