"""claw backup verify."""

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
from claw.storage.backup.archive import verify_archive


@examples("claw backup verify claw-20261124T120000Z.tar.gz",
          "claw backup verify claw.backup --passphrase-file ~/.pass --json")
def verify(context: typer.Context,
           file: Annotated[str, typer.Argument(
               metavar="FILE", help="The backup.")],
           passphrase_file: Annotated[str | None, typer.Option(
               "--passphrase-file", metavar="FILE", help=HELP)] = None,
           ) -> None:
    """Read all of a backup and compare it with what it says of itself.

    Every file by its SHA-256, every database of claw's by SQLite's own
    check and the number of rows of each table.
    """
    run = Invocation.of(context)
    path = Path(file)
    passphrase = read_passphrase_for(path, passphrase_file)
    with Progress("files", quiet=run.out.quiet) as progress:
        manifest = verify_archive(path, passphrase, Counted(progress.update))
    run.print_result({**to_json(path, manifest), "ok": True},
                     f"whole: {describe(manifest)}")
