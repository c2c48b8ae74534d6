"""Options that several commands share, written once."""

from typing import Annotated

import typer

from claw.core.errors import UsageError


def refuse_blank(parameter: typer.CallbackParam,
                  value: str | None) -> str | None:
    """Refuse "": a variable that is not set must not choose another."""
    if value is not None and not value.strip():
        raise UsageError(f"{parameter.opts[-1]} is empty",
                         hint=f"name one or leave {parameter.opts[-1]} out")
    return value


ModelOption = Annotated[str | None, typer.Option(
    "-m", "--model", metavar="MODEL", callback=refuse_blank,
    help="Model to ask; default the setting default_model, else the "
    "provider's own.")]
ProviderOption = Annotated[str | None, typer.Option(
    "-p", "--provider", metavar="NAME", callback=refuse_blank,
    help="Provider to ask, or custom:URL; default the setting "
    "default_provider, else one whose key is set.")]
# Of commands that work by rule, and ask a model where one is named.
JudgeOption = Annotated[str | None, typer.Option(
    "-m", "--model", metavar="MODEL", callback=refuse_blank,
    help="Model to ask; without -m and -p none is asked.")]
JudgeProviderOption = Annotated[str | None, typer.Option(
    "-p", "--provider", metavar="NAME", callback=refuse_blank,
    help="Provider to ask, or custom:URL.")]
JudgeCostOption = Annotated[float | None, typer.Option(
    "--max-cost", metavar="USD", min=0,
    help="Largest cost of the model's answers, in US dollars.")]
TemperatureOption = Annotated[float | None, typer.Option(
    "-t", "--temperature", metavar="0..2", min=0, max=2,
    help="Sampling temperature; default the setting default_temperature "
    "(0.7).")]
SystemOption = Annotated[str | None, typer.Option(
    "-s", "--system", metavar="TEXT",
    help="System prompt; claw agent puts its own under it.")]
SessionOption = Annotated[str | None, typer.Option(
    "--session", metavar="NAME", callback=refuse_blank,
    help="Continue this session and keep the answer in it.")]
YesFlag = Annotated[bool, typer.Option(
    "--yes", help="Approve tool calls that would ask.")]
RawFlag = Annotated[bool, typer.Option(
    "--raw", help="Print Markdown as it comes, also on a terminal.")]
