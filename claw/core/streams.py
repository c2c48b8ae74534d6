"""claw's standard output is the result's, whoever else runs in its process.

The commands print on a copy of descriptor 1. Before code that is not claw's
is run, the descriptor itself is made standard error: what that code, its
threads and the programs it starts print is no part of a result.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_kept: TextIO | None = None


@contextmanager
def keep_stdout() -> Iterator[None]:
    """Have sys.stdout on a descriptor of its own meanwhile."""
    global _kept
    before = sys.stdout
    if not isinstance(before, io.TextIOWrapper) or before.fileno() != 1:
        yield
        return
    with open(os.dup(1), "w", encoding=before.encoding,
              errors=before.errors, newline="\n") as _kept:
        sys.stdout = _kept
        try:
            yield
        finally:
            sys.stdout, _kept = before, None


def get_stdout() -> TextIO:
    """Where results go; None where standard output is closed."""
    return _kept or sys.stdout


def give_stdout_away() -> None:
    """Descriptor 1 and sys.stdout are standard error from here on, in a
    process that kept its own; that of another program is left alone."""
    if _kept is not None and sys.stdout is _kept:
        os.dup2(2, 1)
        sys.stdout = sys.stderr
