"""What is known of a command line before its owner runs it himself.

The gate's tables are used (commands, risk, effects), nothing is refused:
what they can't tell is said to be unknown. There is no sandbox here, so what
they call harmless has to be so without one (unconfined).
"""

import os
import re
from typing import Literal

from claw.core.value import Value
from claw.security.shell.commands import (
    GateRules,
    is_interpreter,
    judge,
    list_paths,
)
from claw.security.shell.risk import find_high
from claw.security.shell.unconfined import find_reason

_POSIX = frozenset(("sh", "bash", "zsh", "dash", "ksh", "ash"))
_WRITES = re.compile(r"(?<!<)>>?\|?(?!&\d)&?\s*(?!/dev/null\b)([^\s;&|<>()]+)")


class Rated(Value):
    """`risk` "unknown" is that of what no table has. `writes` None: nobody
    knows. `why` names what made it more than low."""

    risk: Literal["low", "high", "unknown"]
    writes: bool | None
    paths: tuple[str, ...]
    why: str | None = None

    @property
    def reads(self) -> bool:
        """Whether it is known to do no more than read."""
        return self.writes is False

    def needs_word(self, *, untrusted: bool) -> bool:
        """Whether a key is not enough: for what is dangerous, and, where a
        text from elsewhere was read, for all that may do more than read."""
        return self.risk == "high" or (untrusted and not self.reads)


def rate_proposed(command: str, *, shell: str, home: str, cwd: str,
                  search: str = os.defpath) -> Rated:
    """Rate one command line for this shell (its name, "zsh"), which looks
    for programs in `search`, its PATH."""
    rules = GateRules("full", ("*",), ask_medium=False, block_high=False,
                      home=home, workspace=cwd)
    verdict = judge(command, rules, lambda _: True)
    written = _WRITES.findall(command)
    paths = tuple(dict.fromkeys([*list_paths(command, rules), *written]))
    high = find_high(command) \
        if verdict.refusal or verdict.risk == "high" else None
    piped = next((name for name, segment in zip(
        verdict.executables, verdict.segments, strict=False)
        if segment.after.startswith("|") and is_interpreter(name)), None) \
        if verdict.risk != "low" else None
    if verdict.risk == "high" or high or piped:
        return Rated("high", None, paths, high or verdict.why
                     or (f"what comes is run by {piped}" if piped else None))
    if verdict.refusal or shell not in _POSIX:
        # what the gate adds for the agent, behind a colon, is left out
        return Rated("unknown", True if written else None, paths,
                     (verdict.detail or "").partition(": ")[0]
                     or f"{shell} reads it in its own way")
    why = verdict.why if verdict.risk != "low" else find_reason(
        command, verdict.segments, search=search, home=home, cwd=cwd)
    if why is not None:
        return Rated("unknown", None, paths, why)
    return Rated("low", not verdict.reads, paths)
