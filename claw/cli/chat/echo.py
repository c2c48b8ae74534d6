"""The terminal's own echo, off while an answer is drawn.

Else what is typed meanwhile, and the ^C of Ctrl-C, lands in the answer. It
is not lost: the next prompt reads it.
"""

import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def without_echo() -> Iterator[None]:
    """Keys that are pressed do not show; nothing where stdin is no
    terminal."""
    try:
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
    except (AttributeError, OSError, ValueError, termios.error):
        yield
        return
    quiet = [*before]
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal went away
            termios.tcsetattr(terminal, termios.TCSANOW, before)
