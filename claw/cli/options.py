"""Options that several commands share, written once."""

from typing import Annotated

import typer

ModelOption = Annotated[str | None, typer.Option(
    "-m", "--model", metavar="MODEL", help="Model to ask.")]
ProviderOption = Annotated[str | None, typer.Option(
    "-p", "--provider", metavar="NAME",
    help="Provider to ask, or custom:URL.")]
TemperatureOption = Annotated[float | None, typer.Option(
    "-t", "--temperature", metavar="0..2", min=0, max=2,
    help="Sampling temperature.")]
SystemOption = Annotated[str | None, typer.Option(
    "-s", "--system", metavar="TEXT",
    help="What the system prompt begins with.")]
SessionOption = Annotated[str | None, typer.Option(
    "--session", metavar="NAME",
    help="Go on in this session and keep the answer there.")]
YesFlag = Annotated[bool, typer.Option(
    "--yes", help="Approve the tool calls that would ask.")]
