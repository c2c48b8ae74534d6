"""claw backup restore."""

import time
from pathlib import Path
from typing import Annotated

import typer

from claw.cli.commands.backup.common import (
    HELP,
    Counted,
    describe,
    read_passphrase_for,
    to_json,
)
from claw.cli.commands.memory.common import Progress
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import UnavailableError, UsageError
from claw.storage.backup.journal import finish_restore
from claw.storage.backup.restore import restore_archive
from claw.wiring.channels.states import read_gateway, read_running


@examples("claw backup restore claw-20261124T120000Z.tar.gz --yes",
          "CLAW_HOME=/tmp/look claw backup restore claw.backup --yes")
def restore(context: typer.Context,
            file: Annotated[str, typer.Argument(
                metavar="FILE", help="The backup.")],
            passphrase_file: Annotated[str | None, typer.Option(
                "--passphrase-file", metavar="FILE", help=HELP)] = None,
            yes: Annotated[bool, typer.Option(
                "--yes", help="Do it where there is something; what stands "
                              "there is kept under another name.")] = False,
            ) -> None:
    """Put a backup in the place of settings and workspace.

    All of it is checked first. What stood there is renamed, never removed.
    One that is killed is finished or undone by the next one, by claw
    doctor --fix, claw listen and claw gateway serve.
    To look at a backup first restore it elsewhere, with CLAW_HOME; a claw
    that is run there runs the tools, hooks and plug-ins of the backup, so
    look at those of another with ls and cat.
    """
    run = Invocation.of(context)
    path, places = Path(file), run.places
    if not path.is_file():
        raise UsageError(f"there is no file {file}")
    for running in (read_running(places), read_gateway(places)):
        if running is not None:
            raise UnavailableError(
                f"claw {running.command} runs here (pid {running.pid})",
                hint="end it first: what it writes now would be lost")
    if said := finish_restore(places.home, places.workspace):
        run.out.note(said)
    there = [folder for folder in (places.home, places.workspace)
             if folder.is_dir() and any(folder.iterdir())]
    if there and not yes:
        raise UsageError(f"there is something in {there[0]}",
                         hint="--yes renames it and puts the backup there")
    passphrase = read_passphrase_for(path, passphrase_file)
    with Progress("files", quiet=run.out.quiet) as progress:
        done = restore_archive(
            path, places.home, places.workspace,
            stamp=time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()),
            passphrase=passphrase,
            heard=Counted(progress.update))
    for folder in done.kept:
        run.out.note(f"what was there is now {folder}")
    run.print_result(
        {**to_json(path, done.manifest), "kept": [str(one)
                                                  for one in done.kept]},
        f"restored: {describe(done.manifest)}")
