"""claw log rm."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from claw.cli.commands.log.common import IdsArgument
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import ExitCode, NotFoundError, UsageError
from claw.memory import times
from claw.storage.log.reader import open_reader
from claw.storage.log.removal import Which, remove_for_good
from claw.text.plural import plural
from claw.wiring.workspace.place_names import log_path


@examples("claw log rm 3f2a91c0", "claw log rm --session work",
          "claw log rm --older-than 90d", "claw log rm --all --yes")
def rm(
        context: typer.Context,
        ids: IdsArgument = None,
        session: Annotated[str | None, typer.Option(
            "--session", metavar="NAME",
            help="All of this session.")] = None,
        older_than: Annotated[str | None, typer.Option(
            "--older-than", metavar="AGE",
            help="All that are older: 30d, 12h, or a time.")] = None,
        every: Annotated[bool, typer.Option(
            "--all", help="The whole log; needs --yes.")] = False,
        yes: Annotated[bool, typer.Option(
            "--yes", help="Do not ask.")] = False,
) -> None:
    """Remove entries for good.

    Exits 1 when an id or a session has none; an age that nothing has
    reached is no fault. Nothing of them is left in the file. Sessions and
    memories are no part of the log: claw session clear, claw memory forget.
    """
    run = Invocation.of(context)
    ways = [bool(ids), session is not None, older_than is not None, every]
    if sum(ways) != 1:
        raise UsageError("say which: ids, --session, --older-than or --all",
                         hint="list ids with: claw log list")
    if every and not yes:
        raise UsageError("--all removes the whole log",
                         hint="say so with --yes")
    before = None if older_than is None else _read_age(older_than)
    found: list[str] = []
    missing: list[NotFoundError] = []
    gone = 0
    try:
        found, missing = _find(log_path(run.places), ids or ())
        if found or not ids:
            gone = remove_for_good(log_path(run.places), Which(
                tuple(found), session, before, every))
    except NotFoundError:
        if ids or session is not None:
            raise  # no log yet: else nothing in it is too old
    if run.as_json:
        run.out.document({"removed": gone, "missing": len(missing)})
    else:
        run.out.note(f"{plural(gone, 'entry', 'entries')} removed")
    for gap in missing:
        run.out.warn(f"{gap.message} ({gap.hint})")
    if missing or (session is not None and not gone):
        raise typer.Exit(ExitCode.NEGATIVE)


def _find(path: Path, ids: Iterable[str]
          ) -> tuple[list[str], list[NotFoundError]]:
    """The whole ids of entries that are there, and what is not. Raises
    NotFoundError where there is no log yet."""
    found: list[str] = []
    missing: list[NotFoundError] = []
    with open_reader(path) as reader:
        for start in ids:
            try:
                found.append(reader.get(start).id)
            except NotFoundError as error:
                missing.append(error)
    return found, missing


def _read_age(text: str) -> str:
    try:
        return times.before(text, datetime.now(UTC))
    except ValueError as error:
        raise UsageError(f"--older-than: {text!r} is no age",
                         hint="write 30d, 12h, 2w or 2026-11-20") from error
