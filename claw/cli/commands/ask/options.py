"""The options of claw ask; one a name, so that others can take them."""

from typing import Annotated

import typer

from claw.cli.options import refuse_blank

PromptArgument = Annotated[list[str] | None, typer.Argument(
    metavar="[PROMPT]...", show_default=False,
    help="The question; - or nothing: take it from stdin.")]
FilesOption = Annotated[list[str] | None, typer.Option(
    "-f", "--file", metavar="FILE",
    help="File, folder or web address to attach: text, PDF, office document, "
         "image, recording; - is stdin; repeatable.")]
DocsOption = Annotated[str | None, typer.Option(
    "--docs", metavar="NAME",
    help="Answer from these documents (claw memory index).")]
ContinueFlag = Annotated[bool, typer.Option(
    "-c", "--continue",
    help="Continue from the last question.")]
CidOption = Annotated[str | None, typer.Option(
    "--cid", metavar="ID",
    help="Continue from this entry of the log (claw log list).")]
ToolsOption = Annotated[str, typer.Option(
    "--tools", metavar="LIST",
    help="Tools the model may call, separated by commas (default none).")]
NoMemoryFlag = Annotated[bool, typer.Option(
    "--no-memory", help="Do not look into memory.")]
SchemaOption = Annotated[str | None, typer.Option(
    "--schema", metavar="FILE|JSON|FIELDS",
    help="Shape of the answer: a file with a JSON Schema, the schema itself, "
         'or fields: "name, age int, tags [string]".')]
SchemaMultiOption = Annotated[str | None, typer.Option(
    "--schema-multi", metavar="FILE|JSON|FIELDS",
    help="As --schema, for any number of answers: JSON, one a line.")]
ExtractFlag = Annotated[bool, typer.Option(
    "-x", "--extract",
    help="Print only the first code block.")]
MaxTokensOption = Annotated[int | None, typer.Option(
    "--max-tokens", metavar="N", min=1,
    help="Longest answer, in tokens.")]
MaxCostOption = Annotated[float | None, typer.Option(
    "--max-cost", metavar="USD", min=0,
    help="Largest cost of the answer, in US dollars.")]
TimeoutOption = Annotated[float | None, typer.Option(
    "--timeout", metavar="SECONDS", min=0.01,
    help="Seconds to wait for the answer; default the setting "
         "provider_timeout_secs (120).")]
TemplateOption = Annotated[str | None, typer.Option(
    "-T", "--template", metavar="NAME", callback=refuse_blank,
    help="Ask with a template (claw template list), or with a file, named "
         "with a / in it.")]
ParametersOption = Annotated[list[str] | None, typer.Option(
    "-P", "--parameter", metavar="KEY=VALUE",
    help="A value for $KEY in the template; repeatable.")]
SaveOption = Annotated[str | None, typer.Option(
    "--save", metavar="NAME", callback=refuse_blank,
    help="Keep prompt and options as a template; nothing is asked.")]
ForceFlag = Annotated[bool, typer.Option(
    "--force", help="With --save: replace a template of this name.")]
OptionsOption = Annotated[list[str] | None, typer.Option(
    "-o", "--option", metavar="KEY=VALUE",
    help="An option of the vendor's own, sent as it is: top_p=0.9; "
         "repeatable.")]
NoStreamFlag = Annotated[bool, typer.Option(
    "--no-stream", help="Ask for the answer whole, not piece by piece.")]
UsageFlag = Annotated[bool, typer.Option(
    "-u", "--usage",
    help="Print tokens and cost on stderr after the answer, also with -q.")]
NoLogFlag = Annotated[bool, typer.Option(
    "--no-log", help="Keep no text of this question and its answer.")]
DryRunFlag = Annotated[bool, typer.Option(
    "--dry-run", help="Print the request and send nothing.")]
StdinLimitOption = Annotated[int, typer.Option(
    "--stdin-limit", metavar="BYTES", min=1,
    help="Largest input read from stdin, in bytes.")]
