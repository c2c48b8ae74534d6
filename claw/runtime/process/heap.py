"""One heap for all threads of a service.

glibc gives each thread a heap of its own, and each keeps what its thread
once needed; with one heap a service is some 6 MB smaller after 600 replayed
messages (bench/week.py). Under the interpreter's lock threads rarely meet in
malloc anyway. What lies free in the heap goes back now and then.
Source: mallopt(3), malloc_trim(3), malloc.h.
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


def give_back() -> None:
    """What lies free, to the system; nothing where the C library can't."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
