"""Failpoints from the environment, for `claw prove` and tests.

CLAW_FAILPOINT=N ends the process at failpoint N; CLAW_FAILPOINT_LOG=FILE
writes the name of each one that is reached. Both may be given: the last
name is then where it ended.
"""

import os
from collections.abc import Callable, Mapping

from claw.core.errors import UsageError
from claw.core.failpoint import die_at, install, note_in

_Hook = Callable[[str], None]


def from_environment(env: Mapping[str, str] = os.environ) -> None:
    """Install what the environment asks for. Raises UsageError."""
    number, log = env.get("CLAW_FAILPOINT"), env.get("CLAW_FAILPOINT_LOG")
    hooks: list[_Hook] = []
    if log:
        hooks.append(note_in(log))
    if number:
        if not (number.isascii() and number.isdigit()):
            raise UsageError(f"CLAW_FAILPOINT: {number!r} is no number")
        hooks.append(die_at(int(number)))
    if hooks:
        install(_all_of(hooks))


def _all_of(hooks: list[_Hook]) -> _Hook:
    def hook(name: str) -> None:
        for one in hooks:
            one(name)
    return hook
