"""Completion scripts for bash, zsh and fish, made of the catalog.

Words of commands and options stand in the script, so that completing them
costs no process; values are asked of `claw __complete` (claw.cli.complete).
"""

from collections.abc import Sequence

from claw.cli.docs.catalog import CommandInfo
from claw.cli.docs.completions import bash, fish, zsh

_SCRIPTS = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}
SHELLS = tuple(_SCRIPTS)


def script(shell: str, commands: Sequence[CommandInfo]) -> str:
    """The script of one shell."""
    return _SCRIPTS[shell](commands)
