"""One heap for all threads of a service.

glibc gives each thread a heap of its own, and each keeps what its thread
once needed; with one heap a service is some 6 MB smaller after 600 replayed
messages (bench/week.py). Under the interpreter's lock threads rarely meet in
malloc anyway. What lies free in the heap goes back now and then.
Source: mallopt(3), malloc_trim(3), malloc.h.
"""

import ctypes
import gc
import os

_M_ARENA_MAX = -8
_libc = ctypes.CDLL(None)


def use_one_heap() -> None:
    """Before there are threads. Nothing where the C library knows it not
    (musl, macOS), or MALLOC_ARENA_MAX says otherwise."""
    if "MALLOC_ARENA_MAX" not in os.environ:
        mallopt = getattr(_libc, "mallopt", None)
        if mallopt is not None:
            mallopt(_M_ARENA_MAX, 1)


def give_back() -> None:
    """Look for garbage (claw's threshold, made for commands, may wait for
    thousands of messages), and give what lies free to the system where the
    C library can."""
    gc.collect()
    malloc_trim = getattr(_libc, "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
