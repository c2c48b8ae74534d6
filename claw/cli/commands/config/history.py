"""claw config history, undo: what config.toml was, and back to it."""

from typing import Annotated

import typer

from claw.cli.commands.config.apply import DRY_RUN, NO_PROBE, put
from claw.cli.commands.config.changes import format_changes, record_change
from claw.cli.commands.config.unfinished import take_back_unfinished
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.config.history import (
    Version,
    find_version,
    list_versions,
    read_version,
    read_written,
)
from claw.config.places import Places
from claw.config.store import current
from claw.config.tree import Tree
from claw.core.errors import ConfigError, NotFoundError
from claw.core.times import rfc3339
from claw.text.plural import plural
from claw.wiring.config.apply import Change, list_changes, read_tree

_NUMBER = "Its number (1 is the newest) or its id."


@examples("claw config history", "claw config history 1",
          "claw config history --json | jq -r '.versions[].id'")
def history(context: typer.Context,
            number: Annotated[str, typer.Argument(
                metavar="[N]", help=_NUMBER, show_default=False)] = "",
            ) -> None:
    """List earlier versions of config.toml, or show what changed after one.

    Each line is a command and the version that it replaced: history N
    shows what that command changed, secrets masked, and undo N brings back
    what stood there before it. The newest 50 are kept, in
    config.history beside config.toml; one with a secret in plain is
    encrypted whole. Exits 1 when there is none.
    """
    run = Invocation.of(context)
    if number:
        _show_one(run, find_version(run.places, number))
        return
    versions = list_versions(run.places)
    if not versions and not run.as_json:
        raise NotFoundError("no earlier version of "
                            f"{run.places.config_file} is kept")
    rows = [(n, version, _describe(run.places, versions, n))
            for n, version in enumerate(versions, 1)]
    if not run.print_json_rows("versions", (
            {**_record(version), "number": n} for n, version, _ in rows)):
        run.out.table([(str(n), _second(version), _name(version), what)
                       for n, version, what in rows],
                      head=("N", "UNTIL", "REPLACED BY", "CHANGED"))


@examples("claw config undo", "claw config undo 3",
          "claw config undo 3 --dry-run")
def undo(context: typer.Context,
         number: Annotated[str, typer.Argument(
             metavar="[N]", help=_NUMBER, show_default=False)] = "",
         dry_run: DRY_RUN = False, no_probe: NO_PROBE = False,
         force: Annotated[bool, typer.Option(
             "--force", help="Bring it back though checks fail; they are "
                             "told.")] = False) -> None:
    """Bring an earlier version of config.toml back.

    Without N the one before the last change; where config.toml was broken
    since, what claw had written. It is tried as claw config apply tries a
    text, and what stands there now is kept: undo takes itself back. Exits
    1 when there is no such version.
    """
    run = Invocation.of(context)
    take_back_unfinished(run)
    data = None if number else _find_written(run.places)
    name = "what claw wrote last"
    if data is None:
        data, name = _read_whole(run.places, number or "1")
    raise typer.Exit(put(run, data, name, dry_run=dry_run,
                         no_probe=no_probe, forced=force))


def _find_written(places: Places) -> bytes | None:
    """What claw wrote last, where it can be read and what stands there
    can't."""
    if _is_toml(places, current(places) or b""):
        return None
    data = read_written(places)
    return data if data is not None and _is_toml(places, data) else None


def _read_whole(places: Places, number: str) -> tuple[bytes, str]:
    """The text of a version, and its name. Raises ConfigError for one that
    is no TOML."""
    version = find_version(places, number)
    versions = list_versions(places)
    place = [each.id for each in versions].index(version.id) + 1
    data, name = read_version(places, version), f"version {place}"
    try:
        read_tree(places, data, name)
    except ConfigError as error:
        whole = next((n for n, each in enumerate(versions, 1)
                      if n > place and _is_toml(places, read_version(
                          places, each))), None)
        raise ConfigError(
            error.message, hint="claw config history lists all" if whole
            is None else f"one that can be read: claw config undo {whole}; "
            "all: claw config history") from error
    return data, name


def _is_toml(places: Places, data: bytes) -> bool:
    try:
        read_tree(places, data)
    except ConfigError:
        return False
    return True


def _show_one(run: Invocation, version: Version) -> None:
    versions = list_versions(run.places)
    number = [v.id for v in versions].index(version.id) + 1
    changes = _list_changes(run.places, versions, number)
    run.print_result(
        {**_record(version), "number": number, "total": len(changes),
         "changes": list(map(record_change, changes))},
        "\n".join(format_changes(changes)))
    run.out.note(f"{_second(version)}, {_name(version)}: "
                 f"{plural(len(changes), 'setting')} changed; what stood "
                 f"there before: claw config undo {number}")


def _list_changes(places: Places, versions: list[Version], number: int
                  ) -> list[Change]:
    """What the command that replaced this version changed."""
    after = (current(places) or b"" if number == 1
             else read_version(places, versions[number - 2]))
    return list(list_changes(
        _read(places, read_version(places, versions[number - 1])),
        _read(places, after)))


def _read(places: Places, data: bytes) -> Tree:
    """The settings of a text; none of one that is no TOML."""
    try:
        return read_tree(places, data)
    except ConfigError:
        return Tree(places)


def _describe(places: Places, versions: list[Version], number: int) -> str:
    try:
        changes = _list_changes(places, versions, number)
    except ConfigError as error:
        return error.message
    keys = [change.key for change in changes]
    more = f" and {len(keys) - 2} more" if len(keys) > 2 else ""
    return ", ".join(keys[:2]) + more if keys else "no setting"


def _record(version: Version) -> dict[str, str | int]:
    return {"id": version.id, "until": _second(version),
            "replaced_by": _name(version), "size": version.size}


def _name(version: Version) -> str:
    return f"claw {version.command}".strip()


def _second(version: Version) -> str:
    return rfc3339(version.time.timestamp()).partition(".")[0] + "Z"
