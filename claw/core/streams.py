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
    if not isinstance(before, io.TextIOWrapper) or _find_number(before) != 1:
        yield
        return
    with open(os.dup(1), "w", encoding=before.encoding,
              errors=before.errors, newline="\n") as kept:
        sys.stdout = _kept = kept
        try:
            yield
        finally:
            if sys.stdout is not kept:
                _take_back(kept)
            sys.stdout, _kept = before, None


def _find_number(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except OSError:  # it is in memory
        return None


def _take_back(kept: TextIO) -> None:
    """Make descriptor 1 what it was. What C code still holds of its output
    goes out before."""
    import ctypes
    ctypes.CDLL(None).fflush(None)
    os.dup2(kept.fileno(), 1)


def get_stdout() -> TextIO:
    """Where results go; None where standard output is closed."""
    return _kept or sys.stdout


def give_stdout_away() -> None:
    """Descriptor 1 and sys.stdout are standard error from here on, in a
    process that kept its own; that of another program is left alone."""
    if _kept is not None and sys.stdout is _kept:
        os.dup2(2, 1)
        sys.stdout = sys.stderr
