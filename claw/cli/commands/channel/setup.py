"""claw channel setup: how a channel is set up."""

from typing import Annotated, Any

import typer

from claw.channels import REGISTRY
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.channel_page import write_page
from claw.cli.show.output import join_lines
from claw.core.installed import install_command, list_missing
from claw.wiring.channels.manual import Manual, list_manuals, read_manual
from claw.wiring.channels.names import CONSOLE, list_configured
from claw.wiring.channels.owned import find_owned


@examples("claw channel setup", "claw channel setup telegram",
          "claw channel setup webhook --json | jq '.settings[].key'")
def setup(context: typer.Context,
          name: Annotated[str | None, typer.Argument(
              metavar="[NAME]", help="Channel; none: list them.")] = None
          ) -> None:
    """Show how a channel is set up: what to make, which keys to set.

    What to create on the platform, every setting with its default, what
    the platform can do, and the command to begin with. Nothing is changed
    and nobody asked.
    """
    run = Invocation.of(context)
    find_owned(run.places)
    if name is None:
        _list(run)
        return
    manual = read_manual(name)
    missing = list_missing(name) if name in REGISTRY.names() else []
    if missing:
        use = f" for {manual.extra_for}" if manual.extra_for else ""
        run.out.warn(f"{name} needs {', '.join(missing)}{use}, not "
                     f"installed here: {install_command(name)}")
    if run.as_json:
        run.out.document({**manual.to_json(), **_tell_missing(name, missing)})
        return
    run.out.render_markdown()
    run.out.stream(write_page(manual))
    run.out.end()


def _list(run: Invocation) -> None:
    """The channels with a line on each."""
    configured = {CONSOLE, *list_configured(run.settings)}
    manuals = list(list_manuals())
    if not run.print_json_rows("channels", (
            _describe(found, configured) for found in manuals)):
        run.out.table([_write_cells(found, configured)
                       for found in manuals])


def _describe(found: Any, configured: set[str]) -> dict[str, Any]:
    if not isinstance(found, Manual):
        return {"name": found[0], "configured": found[0] in configured,
                "error": found[1].message}
    return {"name": found.name, "configured": found.name in configured,
            "line": found.line, "first": found.first}


def _write_cells(found: Any, configured: set[str]) -> list[str]:
    name, line = ((found.name, found.line) if isinstance(found, Manual)
                  else (found[0], found[1].message))
    return [name, "set up" if name in configured else "-", join_lines(line)]


def _tell_missing(name: str, missing: list[str]) -> dict[str, Any]:
    return {"missing": missing,
            "install": install_command(name) if missing else None}
