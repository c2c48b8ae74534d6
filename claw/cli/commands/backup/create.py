"""claw backup create."""

import re
import stat
import time
from pathlib import Path
from typing import Annotated

import typer

from claw.cli.commands.backup.common import (
    HELP,
    Counted,
    describe,
    read_passphrase,
    say_each,
    say_skipped,
    to_json,
)
from claw.cli.commands.memory.common import Progress
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import NotFoundError, UsageError
from claw.core.times import rfc3339
from claw.storage.backup.archive import verify_archive, write_archive
from claw.storage.backup.collect import collect
from claw.storage.backup.seal import is_backup
from claw.version import __version__

_FORM = "claw-YYYYMMDDTHHMMSSZ"
_DAY_S = 86_400  # a disk may keep local times
_NAME = re.compile(r"claw-\d{8}T\d{6}Z(\.backup|\.tar\.gz)")


@examples("claw backup create", "claw backup create /mnt/usb/claw.tar.gz",
          "claw backup create --encrypt claw.backup",
          "claw backup create --keep 7 /mnt/usb")
def create(context: typer.Context,
           file: Annotated[str | None, typer.Argument(
               metavar="[FILE]", help="Where to; default a new file with the "
                                      "time in its name, here.")] = None,
           encrypt: Annotated[bool, typer.Option(
               "--encrypt", help="Encrypt it with a passphrase.")] = False,
           passphrase_file: Annotated[str | None, typer.Option(
               "--passphrase-file", metavar="FILE", help=HELP)] = None,
           keep: Annotated[int | None, typer.Option(
               "--keep", metavar="N", min=1,
               help="FILE is a folder: a new file in it, and of those made "
                    "so the N newest stay, this one among them.")] = None,
           ) -> None:
    """Copy settings, keys and the workspace into one file.

    Its own databases are copied as SQLite does it, so claw may go on
    working meanwhile. The file is read again and compared. It holds your
    keys: keep it where only you can read it, or encrypt it.
    """
    run = Invocation.of(context)
    places, now = run.places, time.time()
    passphrase = read_passphrase(
        passphrase_file, asks=encrypt, twice=True) \
        if encrypt or passphrase_file else None
    name = time.strftime(
        f"claw-%Y%m%dT%H%M%SZ{'.backup' if passphrase else '.tar.gz'}",
        time.gmtime(now))
    target = Path(*([file or "", name] if keep else [file or name])
                  ).absolute()
    for folder in (places.home, places.workspace):
        if target.is_relative_to(folder):
            raise UsageError(f"{target} lies in {folder}, which is copied",
                             hint="name a place outside, best another disk")
    sources, skipped = collect(places.home, places.workspace)
    if not sources:
        raise NotFoundError(f"there is nothing in {places.home} yet")
    with Progress("files", 2 * len(sources), quiet=run.out.quiet) as progress:
        heard = Counted(progress.update)
        manifest = write_archive(
            target, sources, skipped, made_at=rfc3339(now),
            version=__version__, passphrase=passphrase, heard=heard)
        verify_archive(target, passphrase, heard)
    say_skipped(run, manifest)
    say_each(run, "a database that is not claw's, copied as it lies there",
             [one.name for one in sources if one.is_foreign])
    run.out.note(describe(manifest))
    for old in _find_old(run, target, keep) if keep else ():
        old.unlink(missing_ok=True)
        run.out.note(f"removed {old}: {keep} are kept")
    run.print_result(to_json(target, manifest), str(target))


def _find_old(run: Invocation, made: Path, keep: int) -> list[Path]:
    """Those beside the one just made that are older than the newest so
    many. What does not begin as a backup, and what another user wrote, is
    none; one of a day to come says nothing of its age, and is named."""
    mine = made.stat()
    found: list[tuple[float, Path]] = []
    for path in sorted(made.parent.iterdir()):
        status = path.lstat()
        if path == made or not _NAME.fullmatch(path.name) \
                or status.st_uid != mine.st_uid \
                or not stat.S_ISREG(status.st_mode):
            continue
        with path.open("rb") as file:
            if not is_backup(file):
                continue
        if path.name[:len(_FORM)] > made.name[:len(_FORM)] \
                or status.st_mtime > mine.st_mtime + _DAY_S:
            run.out.warn(f"{path} has a date in the future: it is not "
                         "counted, and stays")
            continue
        found.append((status.st_mtime, path))
    return [path for _, path in sorted(found)[:max(0, len(found) - keep + 1)]]
