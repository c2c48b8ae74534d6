"""A text in the owner's editor."""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from claw.cli.invocation import Invocation
from claw.cli.show.output import is_terminal
from claw.cli.terminal.prompt import confirm, may_ask
from claw.core.errors import ClawError, ConfigError, UsageError


def edit_copy(run: Invocation, name: str, was: bytes,
              find_problem: Callable[[Path], ConfigError | None],
              put: Callable[[bytes], None]) -> bool:
    """Open a copy of a text in $VISUAL or $EDITOR; what was changed and
    has no problem is `put`. Whether there was a change.

    A copy with problems is kept and the error names it.
    """
    copy = Path(tempfile.mkdtemp(prefix="claw-")) / name
    copy.write_bytes(was)
    try:
        _edit_until_good(run, copy, was, find_problem)
        changed = copy.read_bytes() != was
        if changed:
            put(copy.read_bytes())
        else:
            run.out.note("nothing was changed")
    except ClawError as error:
        if copy.exists() and copy.read_bytes() != was:
            hint = f"{error.hint}; " if error.hint else ""
            error.hint = f"{hint}nothing was changed, your copy: {copy}"
        else:
            shutil.rmtree(copy.parent)
        raise
    shutil.rmtree(copy.parent)
    return changed


def _edit_until_good(run: Invocation, copy: Path, was: bytes,
                     find_problem: Callable[[Path], ConfigError | None]
                     ) -> None:
    """Raises ConfigError for the first error that stays in the copy."""
    while True:
        _open_editor(copy)
        if copy.read_bytes() == was or not (problem := find_problem(copy)):
            return
        if not may_ask():
            raise problem
        run.out.error(problem)
        if not confirm(run.out, "Edit again?", default=True):
            raise problem


def _open_editor(copy: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        if not is_terminal(sys.stdin):
            raise UsageError("no editor is set",
                             hint="set VISUAL or EDITOR")
        editor = "vi"
    try:
        done = subprocess.run([*shlex.split(editor), str(copy)], check=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"the editor {editor!r} does not start: {error}",
                         hint="set VISUAL or EDITOR") from error
    if done.returncode:
        raise UsageError(f"the editor ended with code {done.returncode}")
