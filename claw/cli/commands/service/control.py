"""claw service start, stop, status, logs."""

import os
from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import ExitCode, UnavailableError
from claw.wiring.setup.service.manager import find_manager


@examples("claw service start")
def start(context: typer.Context) -> None:
    """Start the service now."""
    run = Invocation.of(context)
    find_manager(run.places).start()
    run.print_result({"started": True}, "started")


@examples("claw service stop")
def stop(context: typer.Context) -> None:
    """Stop the service; running answers may finish."""
    run = Invocation.of(context)
    find_manager(run.places).stop()
    run.print_result({"stopped": True}, "stopped")


@examples("claw service status", "claw service status --json")
def status(context: typer.Context) -> None:
    """Show what the service manager says.

    Exits 1 when it does not run. claw status shows what claw says itself.
    """
    run = Invocation.of(context)
    found = find_manager(run.places).status()
    run.print_result(
        {"installed": found.installed, "enabled": found.enabled,
         "running": found.running, "detail": found.detail,
         "file": found.file},
        f"{found.detail}; {'starts' if found.enabled else 'does not start'} "
        f"at login; {found.file}"
        + ("" if found.installed else " is not there"))
    if not found.running:
        raise typer.Exit(ExitCode.NEGATIVE)


@examples("claw service logs", "claw service logs -f",
          "claw service logs -n 200")
def logs(context: typer.Context,
         count: Annotated[int, typer.Option(
             "-n", "--lines", min=1, max=1_000_000, metavar="COUNT",
             help="Number of lines.")] = 50,
         follow: Annotated[bool, typer.Option(
             "-f", "--follow", help="Go on with what comes.")] = False,
         ) -> None:
    """Print the service's log."""
    command = find_manager(Invocation.of(context).places).follow_log(
        count, follow=follow)
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        raise UnavailableError(f"{command[0]} can't be run: {error.strerror}"
                               ) from error
