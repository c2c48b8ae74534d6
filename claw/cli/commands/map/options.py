"""The options of claw map that claw ask does not have."""

from typing import Annotated

import typer

WordsArgument = Annotated[list[str] | None, typer.Argument(
    metavar="[PROMPT] [FILE]...", show_default=False,
    help="What to ask of each input, with $input where its text stands, "
         "else above it; with -T only files.")]
WorkersOption = Annotated[int, typer.Option(
    "-j", "--jobs", metavar="N", min=1, max=256,
    help="Requests under way at once.")]
MaxCostOption = Annotated[float | None, typer.Option(
    "--max-cost", metavar="USD", min=0,
    help="The most that it may cost, in US dollars; runs that were broken "
         "off count too.")]
NulFlag = Annotated[bool, typer.Option(
    "-0", "--null",
    help="Inputs and answers end with NUL, not with a line feed.")]
FilesFlag = Annotated[bool, typer.Option(
    "--files", help="What stdin holds are names of files.")]
FreshFlag = Annotated[bool, typer.Option(
    "--fresh", help="Forget what was answered before, and ask anew.")]
NoLogFlag = Annotated[bool, typer.Option(
    "--no-log", help="Keep no answer: nothing can be gone on with.")]
DryRunFlag = Annotated[bool, typer.Option(
    "--dry-run",
    help="Print the first request, how many there are and the most that "
         "they may cost; send nothing.")]
ListFlag = Annotated[bool, typer.Option(
    "--list", help="List what answers are kept of.")]
ForgetOption = Annotated[str | None, typer.Option(
    "--forget", metavar="ID",
    help="Forget the answers of a job of the list, or of all.")]
LineLimitOption = Annotated[int, typer.Option(
    "--stdin-limit", metavar="BYTES", min=1,
    help="Longest input.")]
