"""claw config edit: config.toml in the owner's editor."""

from pathlib import Path

import typer

from claw.cli.commands.config.changes import say_applied
from claw.cli.commands.config.unfinished import take_back_unfinished
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.terminal.editor import edit_copy
from claw.config.parse import decode_text, parse
from claw.config.places import Places
from claw.config.store import current
from claw.config.tree import Tree
from claw.core.errors import ConfigError
from claw.wiring.checks.config import check_settings
from claw.wiring.config.apply import apply_text

_START = b"""\
# Settings of claw; every key is optional.
# What is in force: claw config show    All there are: claw config schema

"""


@examples("claw config edit", "VISUAL='code --wait' claw config edit")
def edit(context: typer.Context) -> None:
    """Open config.toml in an editor and check it before it counts.

    $VISUAL, else $EDITOR, gets a copy. A copy with errors is kept and
    replaces nothing (exit 3), and so is one that a running claw listen
    refuses; no server is asked. Secrets typed in plain are encrypted. The
    earlier text is kept: claw config undo.
    """
    run = Invocation.of(context)
    take_back_unfinished(run)
    before = current(run.places)

    def put(data: bytes) -> None:
        say_applied(run, apply_text(run.places, data, expected=before))
    changed = edit_copy(run, "config.toml",
                        _START if before is None else before,
                        lambda copy: _find_problem(run.places, copy), put)
    if run.as_json:
        run.out.document({"path": str(run.places.config_file),
                          "changed": changed})


def _find_problem(places: Places, copy: Path) -> ConfigError | None:
    """The first error of the edited text, None when it may count."""
    try:
        text = decode_text(copy.read_bytes(), copy)
        tree = Tree(places, parse(text, str(copy)), text)
    except ConfigError as error:
        return error
    found = [f for f in check_settings(tree) if f.level == "error"]
    if not found:
        return None
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return ConfigError(found[0].text + more, hint=found[0].hint)
