"""Failpoints from the environment, for `claw prove` and tests.

CLAW_FAILPOINT=N ends the process at failpoint N; CLAW_FAILPOINT_LOG=FILE
writes the name of each one that is passed.
"""

import os
from collections.abc import Mapping

from claw.core.errors import UsageError
from claw.core.failpoint import die_at, install, note_in


def from_environment(env: Mapping[str, str] = os.environ) -> None:
    """Install what the environment asks for. Raises UsageError."""
    number, log = env.get("CLAW_FAILPOINT"), env.get("CLAW_FAILPOINT_LOG")
    if number:
        if not number.isdigit():
            raise UsageError(f"CLAW_FAILPOINT: {number!r} is no number")
        install(die_at(int(number)))
    elif log:
        install(note_in(log))
