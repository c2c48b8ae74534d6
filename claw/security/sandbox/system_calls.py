"""The system calls of other processes, as they come from a listener.

Linux 5.5 or later (5.9 to give a process a descriptor); no privilege.
Source: seccomp_unotify(2), uapi/linux/seccomp.h.
"""

import errno
import fcntl
import os
import select
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

_RECEIVE, _SEND = 0xC0502100, 0xC0182101  # ioctls of the listener
_IS_VALID, _ADD = 0x40082102, 0x40182103
_CONTINUE, _IN_PLACE = 1, 1
_CALL = struct.Struct("QIIiIQ6Q")
_ANSWER = struct.Struct("QqiI")
_GIVEN = struct.Struct("QIIII")
_LOOK_MS = 100


class Call(NamedTuple):
    """A call that waits. `thread` is its thread's id."""

    name: str
    thread: int
    args: Sequence[int]
    id: int = 0
    listener: int = -1

    def path(self, descriptor: int) -> str:
        """What is open there. Raises OSError."""
        return os.readlink(f"/proc/{self.thread}/fd/{descriptor}")

    def read(self, address: int, size: int) -> bytes:
        """Of the process's memory. Raises OSError."""
        with open(f"/proc/{self.thread}/mem", "rb", buffering=0) as memory:
            try:
                memory.seek(address)
            except OverflowError as error:
                raise OSError(errno.EFAULT, os.strerror(errno.EFAULT)
                              ) from error
            return memory.read(size)

    def read_path(self, address: int) -> str:
        """The text up to its zero; less at the end of a page. Raises
        OSError."""
        found = b""
        while len(found) < 4096 and b"\0" not in found:
            there = address + len(found)
            found += self.read(there, 4096 - there % 4096)
        return os.fsdecode(found.partition(b"\0")[0])

    def is_waiting(self) -> bool:
        """Whether it still is this very call: what was read of its
        process was read of no other."""
        try:
            fcntl.ioctl(self.listener, _IS_VALID, struct.pack("Q", self.id))
        except OSError:
            return False
        return True

    def give(self, source: int, descriptor: int, flags: int) -> None:
        """Put an open file of ours in the place of one of the process.
        Raises OSError."""
        fcntl.ioctl(self.listener, _ADD, _GIVEN.pack(
            self.id, _IN_PLACE, source, descriptor, flags))

    def answer(self, result: int | None) -> bool:
        """Let the kernel do it (None), or answer in its place: a number,
        an errno below zero. False for one that was killed meanwhile."""
        value = 0 if result is None or result < 0 else result
        error = result if result is not None and result < 0 else 0
        try:
            fcntl.ioctl(self.listener, _SEND, _ANSWER.pack(
                self.id, value, error, _CONTINUE if result is None else 0))
        except FileNotFoundError:
            return False
        return True


def serve(listener: int, numbers: Mapping[str, int],
          hear: Callable[[Call], None], is_over: Callable[[], bool]) -> None:
    """Hand each call to `hear`, which answers it now or later, until all
    processes behind the filter have ended. Closes the listener."""
    names = {number: name for name, number in numbers.items()}
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    try:
        while not is_over():
            events = poll.poll(_LOOK_MS)
            if not events:
                continue
            if not events[0][1] & select.POLLIN:
                return
            buffer = bytearray(_CALL.size)
            try:
                fcntl.ioctl(listener, _RECEIVE, buffer)
            except FileNotFoundError:
                continue  # it was killed meanwhile, and did nothing
            id_, thread, _, number, _, _, *args = _CALL.unpack(buffer)
            hear(Call(names[number], thread, args, id_, listener))
    finally:
        os.close(listener)
