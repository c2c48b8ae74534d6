"""claw help, version."""

import platform
from typing import Annotated, Any

import typer

from claw.cli.help import (
    CODES_PAGE,
    OPTIONS_PAGE,
    show_exit_codes,
    show_global_options,
)
from claw.cli.invocation import Invocation
from claw.cli.lazy import Group, examples
from claw.core.errors import ExitCode, UsageError
from claw.version import __version__

EXIT_TEXT: dict[int, str] = {
    ExitCode.DONE: "done",
    ExitCode.NEGATIVE: "a negative answer: nothing found, or unhealthy",
    ExitCode.USAGE: "wrong usage, or what a command names is not there: a "
                    "file, provider, channel or tool",
    ExitCode.CONFIG: "configuration, or what it names is not there",
    ExitCode.AUTH: "key or token refused",
    ExitCode.UNAVAILABLE: "unavailable or timed out; worth trying later",
    ExitCode.DENIED: "denied by policy or by the owner",
    ExitCode.MISSING_PART: "an optional part is not installed",
    ExitCode.BUDGET: "budget exhausted",
    ExitCode.FAULT: "a fault of claw",
    ExitCode.STORAGE: "disk full, or a store unreadable or corrupt",
    ExitCode.INTERRUPTED: "interrupted",
}


@examples("claw help", "claw help memory recall",
          f"claw help {OPTIONS_PAGE}", f"claw help {CODES_PAGE}")
def help_(context: typer.Context,
          command: Annotated[list[str] | None, typer.Argument(
              metavar="[COMMAND]...",
              help="Left out: the page of claw itself.")] = None) -> None:
    """Print the help page of a command.

    It is what the command prints with -h. The options that every command
    takes are on a page of their own, claw help options, and so is what
    the exit codes mean: claw help exit-codes.
    """
    names = command or []
    root: Any = context.find_root()
    match names:
        case [page] if page == OPTIONS_PAGE:
            text = show_global_options(root.command, root)
        case [page] if page == CODES_PAGE:
            text = show_exit_codes(EXIT_TEXT)
        case _:
            text = _find_page(root.command, names)
    Invocation.of(context).print_result(
        {"command": " ".join(["claw", *names]), "help": text}, text)


def _find_page(command: Any, names: list[str]) -> str:
    """The page of the command that these words name. Raises UsageError,
    with the nearest, for none."""
    context = command.make_context("claw", [], resilient_parsing=True)
    while names:
        if not isinstance(command, Group):
            raise UsageError(f'no such command: "{context.command_path} '
                             f'{names[0]}"',
                             hint=f"see: {context.command_path} --help")
        name, found, names = command.resolve_command(context, names)
        command = found
        context = command.make_context(name, [], parent=context,
                                       resilient_parsing=True)
    return str(command.get_help(context))


@examples("claw version", "claw version --json | jq -r .version")
def version(context: typer.Context) -> None:
    """Print the version."""
    Invocation.of(context).print_result(
        {"version": __version__, "python": platform.python_version()},
        f"claw {__version__}")
