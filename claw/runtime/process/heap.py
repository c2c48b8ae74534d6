"""One heap for all threads of a service.

glibc gives each thread a heap of its own, and each keeps what its thread
once needed: 7 MB that nothing used after 600 replayed messages, 1.5 with
one (bench/week.py). Under the interpreter's lock threads rarely meet in
malloc anyway.
Source: mallopt(3), malloc.h.
"""

import ctypes
import os

_M_ARENA_MAX = -8


def use_one_heap() -> None:
    """Before there are threads. Nothing where the C library knows it not
    (musl, macOS), or MALLOC_ARENA_MAX says otherwise."""
    if "MALLOC_ARENA_MAX" not in os.environ:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_ARENA_MAX, 1)
