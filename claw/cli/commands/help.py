"""claw help, version."""

import platform
from typing import Annotated, Any

import typer

from claw.cli.help import OPTIONS_PAGE, show_global_options
from claw.cli.invocation import Invocation
from claw.cli.lazy import Group, examples
from claw.core.errors import UsageError
from claw.version import __version__


@examples("claw help", "claw help memory recall",
          f"claw help {OPTIONS_PAGE}")
def help_(context: typer.Context,
          command: Annotated[list[str] | None, typer.Argument(
              metavar="[COMMAND]...",
              help="Left out: the page of claw itself.")] = None) -> None:
    """Print the help page of a command.

    It is what the command prints with -h. The options that every command
    takes are on a page of their own: claw help options.
    """
    names = command or []
    root: Any = context.find_root()
    text = show_global_options(root.command, root) \
        if names == [OPTIONS_PAGE] else _find_page(root.command, names)
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
