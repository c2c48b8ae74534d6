"""Failpoints: numbered places where a process can be made to die.

`claw prove` runs the same scenario once for each of them. Every commit of
the queue and every network call stands between two. Without a hook,
reaching one costs a function call.

CLAW_FAILPOINT=N ends the process at failpoint N; CLAW_FAILPOINT_LOG=FILE
writes the name of each one that is reached. Both may be given: the last
name is then where it ended.
"""

import os
from collections.abc import Callable, Mapping

from claw.core.errors import UsageError

# The exit code of a process that ended at a failpoint: that of SIGKILL.
KILLED = 137

_hook: Callable[[str], None] | None = None


def reach(name: str) -> None:
    """The process is at the place of this name."""
    if _hook is not None:
        _hook(name)


def install(hook: Callable[[str], None] | None) -> None:
    """Call `hook` at every failpoint from now on; None: no more."""
    global _hook
    _hook = hook


def die_at(number: int, leave: Callable[[int], object] = os._exit
           ) -> Callable[[str], None]:
    """A hook that ends the process, nothing flushed, when failpoint
    `number` (from 1) is reached."""
    reached = 0

    def hook(name: str) -> None:
        nonlocal reached
        reached += 1
        if reached == number:
            leave(KILLED)
    return hook


def note_in(path: str) -> Callable[[str], None]:
    """A hook that writes each name as a line of a file, for counting."""
    file = open(path, "a", encoding="utf-8", buffering=1)  # noqa: SIM115

    def hook(name: str) -> None:
        file.write(name + "\n")
    return hook


def install_from_environment(env: Mapping[str, str] = os.environ) -> None:
    """Install what the environment asks for. Raises UsageError."""
    number, log = env.get("CLAW_FAILPOINT"), env.get("CLAW_FAILPOINT_LOG")
    hooks: list[Callable[[str], None]] = []
    if log:
        hooks.append(note_in(log))
    if number:
        if not (number.isascii() and number.isdigit()):
            raise UsageError(f"CLAW_FAILPOINT: {number!r} is no number")
        hooks.append(die_at(int(number)))

    def run_all(name: str) -> None:
        for hook in hooks:
            hook(name)
    if hooks:
        install(run_all)
