"""What the commands of claw backup share: passphrase, progress, a line."""

import getpass
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from claw.cli.invocation import Invocation
from claw.cli.show.output import join_lines
from claw.cli.terminal.prompt import ending_the_line, may_ask
from claw.core.errors import StorageError, UsageError
from claw.storage.backup.archive import Manifest
from claw.storage.backup.seal import is_sealed
from claw.text.plural import plural

VARIABLE = "CLAW_BACKUP_PASSPHRASE"
HELP = f"File with the passphrase, in its first line; default {VARIABLE}."


def read_passphrase(file: str | None, *, asks: bool, twice: bool = False
                    ) -> str | None:
    """The passphrase of the file, the environment or, with `asks`, of who
    sits at the terminal; None for none. Raises UsageError."""
    if file is not None:
        try:
            lines = Path(file).read_text("utf-8", "surrogateescape"
                                         ).splitlines()
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror}") from error
        return _check(lines[0] if lines else "")
    if given := os.environ.get(VARIABLE):
        return given
    if not asks:
        return None
    if not may_ask():
        raise UsageError("a passphrase is needed, and nobody can be asked",
                         hint=f"--passphrase-file FILE, or {VARIABLE}")
    with ending_the_line():
        passphrase = _check(getpass.getpass("Passphrase: "))
        if twice and getpass.getpass("Once more: ") != passphrase:
            raise UsageError("the two are not the same")
    return passphrase


def read_passphrase_for(path: Path, file: str | None) -> str | None:
    """As `read_passphrase`, for a backup that is there; it is asked for
    where that is encrypted. Raises UsageError, StorageError too."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    try:
        with path.open("rb") as backup:
            sealed = is_sealed(backup)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from error
    return read_passphrase(file, asks=sealed)


def _check(passphrase: str) -> str:
    if not passphrase:
        raise UsageError("the passphrase is empty")
    return passphrase


class Counted:
    """Counts members as they pass; for a line of progress."""

    def __init__(self, update: Callable[[int], object]) -> None:
        self._update = update
        self._count = 0

    def __call__(self, name: str, size: int) -> None:
        self._count += 1
        self._update(self._count)


def to_json(path: Path, manifest: Manifest) -> dict[str, Any]:
    return {"file": str(path), "made_at": manifest.made_at,
            "version": manifest.version, "files": len(manifest.members),
            "bytes": manifest.total_bytes,
            "databases": [{"name": one.name, "rows": one.rows}
                          for one in manifest.databases],
            "skipped": [{"name": name, "why": why}
                        for name, why in manifest.skipped]}


def describe(manifest: Manifest) -> str:
    """What is in it, in one line."""
    return (f"{plural(len(manifest.members), 'file')} "
            f"({plural(len(manifest.databases), 'database')}), "
            f"{manifest.total_bytes / 1e6:,.1f} MB, made at "
            f"{join_lines(manifest.made_at)}")


def say_skipped(run: Invocation, manifest: Manifest) -> None:
    say_each(run, "not in it",
             [f"{name} ({why})" for name, why in manifest.skipped])


def say_each(run: Invocation, what: str, found: Sequence[str]) -> None:
    for one in found[:5]:
        run.out.note(f"{what}: {join_lines(one)}")
    if len(found) > 5:
        run.out.note(f"and {len(found) - 5} more")
