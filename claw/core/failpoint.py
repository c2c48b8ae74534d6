"""Failpoints: numbered places where a process can be made to die.

`claw prove` runs the same scenario once for each of them. Every commit of
the queue and every network call stands between two. Without a hook,
reaching one costs a function call.
"""

import os
from collections.abc import Callable

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
