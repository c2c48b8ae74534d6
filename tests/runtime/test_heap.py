"""The heaps of a process with threads, as glibc tells them."""

import gc
import os
import subprocess
import sys
import weakref

import pytest

from claw.runtime.process.heap import give_back

CODE = """
import ctypes, sys, threading
from claw.runtime.process.heap import use_one_heap
if sys.argv[1] == "one":
    use_one_heap()
libc = ctypes.CDLL(None)
barrier = threading.Barrier(4)
libc.malloc.restype = ctypes.c_void_p
def work():
    barrier.wait()
    libc.malloc(ctypes.c_size_t(100_000))
    barrier.wait()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc.malloc_stats()
"""


@pytest.mark.skipif("CS_GNU_LIBC_VERSION" not in os.confstr_names,
                    reason="another C library")
@pytest.mark.parametrize(("how", "environment", "is_one"), [
    ("one", {}, True), ("as it is", {}, False),
    ("one", {"MALLOC_ARENA_MAX": "4"}, False)])
def test_threads_share_one_heap(how, environment, is_one):
    done = subprocess.run(
        [sys.executable, "-c", CODE, how], capture_output=True, text=True,
        env={"PATH": os.environ["PATH"], **environment}, check=True)
    assert (done.stderr.count("Arena ") == 1) is is_one


def test_garbage_is_looked_for_before_memory_is_given_back():
    class Ring:
        pass
    ring = Ring()
    ring.itself = ring
    left = weakref.ref(ring)
    gc.disable()
    try:
        del ring
        assert left() is not None
        give_back()
    finally:
        gc.enable()

    assert left() is None
