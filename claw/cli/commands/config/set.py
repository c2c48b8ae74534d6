"""claw config set, unset: one setting of config.toml."""

import getpass
import sys
from typing import Annotated

import typer

from claw.cli.commands.config.show import format_row, resolve_key
from claw.cli.commands.config.unfinished import take_back_unfinished
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.terminal.prompt import ending_the_line
from claw.cli.terminal.stdin import is_piped, read_text
from claw.config.edit import set_value, unset_value
from claw.config.keys import Path as KeyPath
from claw.config.keys import is_secret, join_key, split_key
from claw.config.known import real_path
from claw.config.tree import Tree, lay_over, load
from claw.core.errors import UsageError
from claw.wiring.checks.config import check_change
from claw.wiring.config.sections import validate
from claw.wiring.config.view import row, rows


@examples("claw config set memory.backend none",
          "claw config set autonomy.allowed_commands '[\"git\", \"ls\"]'",
          "claw config set api_key < key.txt",
          "claw config set model_routes.0.hint fast")
def set_(context: typer.Context,
         key: Annotated[str, typer.Argument(
             metavar="KEY", help="A dotted name: memory.backend.")],
         value: Annotated[str, typer.Argument(
             metavar="[VALUE]", help="TOML or plain text; - or nothing: "
                                     "standard input.", show_default=False
         )] = "-") -> None:
    """Change one setting in config.toml.

    The value is checked first. Comments and order stay, and the earlier
    text is kept: claw config undo. Secrets are stored encrypted; without
    VALUE they are asked for, or read from a pipe, so that no shell history
    keeps them.
    """
    run = Invocation.of(context)
    path = real_path(split_key(key))
    if value == "-":
        value = _read_value(join_key(path), is_secret(path))
    take_back_unfinished(run)
    tree = lay_over(set_value(run.places, path, value, _validate))
    entry = row(tree, path)
    for found in check_change(tree, tree, path):
        hint = f" ({found.hint})" if found.hint else ""
        run.out.warn(f"{found.key}: {found.message}{hint}")
    if entry.variable:
        run.out.note(f"{entry.variable} is set and wins over it")
    _print(run, tree, key)


def _validate(before: Tree, after: Tree, path: KeyPath) -> None:
    """Raise SettingError for what `config check` would call an error, and
    for a name that is a known one misspelt. Another that is only warned of
    may be defined later."""
    validate(before, after, path)
    for found in check_change(before, after, path):
        if found.level == "error" or (found.hint or "").startswith(
                "did you mean"):
            raise after.wrong(split_key(found.key), found.message,
                              found.hint)


@examples("claw config unset memory.backend",
          "claw config unset channels_config.telegram")
def unset(context: typer.Context,
          key: Annotated[str, typer.Argument(
              metavar="KEY", help="A dotted name, or a whole table.")]
          ) -> None:
    """Remove a setting or a table from config.toml.

    Prints the value now in force, and on stderr what was removed. Exits 1
    when it was not set.
    """
    run = Invocation.of(context)
    take_back_unfinished(run)
    before = load(run.places, env={})
    path = resolve_key(before, key)
    left = lay_over(unset_value(run.places, split_key(key)))
    for entry in rows(before, path):
        if entry.origin == "config":
            run.out.note(f"removed: {format_row(entry)}")
    _print(run, left, key)


def _read_value(name: str, secret: bool) -> str:
    """The value from a pipe, or from a person who types it."""
    if is_piped():
        text = read_text().rstrip("\r\n")
        if not text:
            raise UsageError(f"no value for {name}",
                             hint=f"claw config set {name} VALUE")
        return text
    with ending_the_line():
        if secret:
            return getpass.getpass(f"{name}: ")
        sys.stderr.write(f"{name}: ")
        sys.stderr.flush()
        return sys.stdin.readline().rstrip("\n")


def _print(run: Invocation, tree: Tree, key: str) -> None:
    """What is in force after a change."""
    entry = row(tree, real_path(split_key(key)))
    run.print_result(
        entry.to_json(), f"# {entry.key} is not set"
        if entry.value is None else format_row(entry, origin=True))
