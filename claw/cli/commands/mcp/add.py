"""claw mcp add: one more MCP server in config.toml."""

from pathlib import Path
from typing import Annotated, Any

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.config.edit import set_value
from claw.core.errors import UsageError
from claw.wiring.config.sections import validate
from claw.wiring.tools.mcp import read_servers


@examples("claw mcp add time --network -- uvx mcp-server-time",
          "claw mcp add files --folder ~/notes -- mcp-server-filesystem "
          "~/notes",
          "claw mcp add wiki --url https://mcp.example.org/mcp")
def add(context: typer.Context,
        name: Annotated[str, typer.Argument(
            metavar="NAME", help="What claw calls the server.")],
        command: Annotated[list[str] | None, typer.Argument(
            metavar="[-- COMMAND [ARG]...]", show_default=False,
            help="The program that serves, and its arguments.")] = None,
        url: Annotated[str | None, typer.Option(
            "--url", metavar="URL", help="The server's address instead."
        )] = None,
        network: Annotated[bool, typer.Option(
            "--network", help="Let the program use the network.")] = False,
        folder: Annotated[list[Path] | None, typer.Option(
            "--folder", metavar="DIR", show_default=False,
            help="A folder that the program may read and change.")] = None,
        readable: Annotated[list[Path] | None, typer.Option(
            "--readable", metavar="DIR", show_default=False,
            help="A folder that the program may read.")] = None,
        env: Annotated[list[str] | None, typer.Option(
            "--env", metavar="NAME=VALUE", show_default=False,
            help="A variable for the program.")] = None,
        header: Annotated[list[str] | None, typer.Option(
            "--header", metavar="NAME=VALUE", show_default=False,
            help="A header of each request to --url.")] = None) -> None:
    """Add an MCP server to config.toml; nothing is started yet.

    A program runs in claw's sandbox: without network, and with no file
    but its own folder and those that are named. Secrets are stored
    encrypted.
    """
    run = Invocation.of(context)
    there = read_servers(run.settings)
    if any(each.name.lower() == name.lower() for each in there):
        raise UsageError(f"there is an MCP server {name!r} already",
                         hint="claw config edit changes it")
    if bool(command) == bool(url):
        raise UsageError("either a command or --url says what the server is",
                         hint=f"claw mcp add {name} -- COMMAND")
    entry: dict[str, Any] = {"name": name}
    if command:
        entry.update(command=command[0], args=command[1:])
    else:
        entry.update(transport="http", url=url)
    entry.update({key: value for key, value in {
        "network": "on" if network else None,
        "folders": [str(path.absolute()) for path in folder or []],
        "readable": [str(path.absolute()) for path in readable or []],
        "env": _split(env, "--env"),
        "headers": _split(header, "--header")}.items() if value})
    set_value(run.places, ("mcp", "servers", str(len(there))), entry,
              validate)
    run.print_result({"name": name, "added": True}, name)
    run.out.note(f"look at its tools and accept them: claw mcp accept {name}")


def _split(pairs: list[str] | None, option: str) -> dict[str, str]:
    found = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{option} is NAME=VALUE, not {name!r}")
        found[name.strip()] = value
    return found
