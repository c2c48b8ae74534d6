"""claw service install, uninstall."""

from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.wiring.setup.service.manager import find_manager
from claw.wiring.workspace.trust import require_trust


@examples("claw service install", "claw service install --print",
          "claw service install --no-start")
def install(context: typer.Context,
            print_: Annotated[bool, typer.Option(
                "--print", help="Print the file, change nothing.")] = False,
            no_start: Annotated[bool, typer.Option(
                "--no-start", help="Leave the start to the next login.")
            ] = False) -> None:
    """Have claw listen started at login, and again after a failure.

    A service of your own account: systemd's user manager, or launchd on a
    Mac (untried). It knows this command's folders and PATH, and none of the
    keys in your environment: keep those with `claw config set`.
    """
    run = Invocation.of(context)
    manager = find_manager(run.places)
    text = manager.render()
    if print_:
        run.print_result({"file": str(manager.file), "text": text},
                         text.rstrip("\n"))
        return
    require_trust(run.use_workspace(asks=True))
    manager.install(start=not no_start)
    run.out.note("it ends when you log out, unless: loginctl enable-linger")
    run.print_result({"file": str(manager.file), "started": not no_start},
                     str(manager.file))


@examples("claw service uninstall")
def uninstall(context: typer.Context) -> None:
    """Stop the service and remove its file."""
    run = Invocation.of(context)
    manager = find_manager(run.places)
    manager.uninstall()
    run.print_result({"file": str(manager.file), "removed": True},
                     f"removed {manager.file}")
