"""Lines of standard input, and lines to standard output.

Each side has a thread of its own: a pipe, a file and a terminal are read
alike, and an editor that does not read holds up no turn. The threads work
on bare descriptors, so that the end of the process waits for no lock.
"""

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Iterator
from typing import TypeAlias

CHUNK_BYTES = 1 << 16
MAX_LINE_BYTES = 32 << 20  # a prompt with its images
# What an editor has not read yet; past that it is taken for gone.
MAX_UNREAD_BYTES = 64 << 20
_AHEAD = 8  # lines that are read before they are wanted
_FLUSH_S = 5.0

# None: a line that was too long, and is lost.
Line: TypeAlias = bytes | None


class Splitter:
    """Lines out of chunks; of one over `limit` bytes no more is kept."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._open = bytearray()
        self._is_lost = False

    def feed(self, chunk: bytes) -> Iterator[Line]:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._add(part)
            yield self._end()
        self._add(rest)

    def end(self) -> Iterator[Line]:
        """What stands behind the last newline."""
        if self._open or self._is_lost:
            yield self._end()

    def _add(self, part: bytes) -> None:
        if self._is_lost or len(self._open) + len(part) > self._limit:
            self._is_lost = True
            self._open.clear()
        else:
            self._open += part

    def _end(self) -> Line:
        line = None if self._is_lost else bytes(self._open)
        self._open.clear()
        self._is_lost = False
        return line


def read_lines(number: int, take: Callable[[Line], None],
               end: Callable[[], None]) -> None:
    """Read a descriptor on a thread and hand each line to the running loop;
    `end` is called once, after the last one."""
    loop = asyncio.get_running_loop()
    room = threading.Semaphore(_AHEAD)

    def hand_over(line: Line) -> None:
        room.release()
        take(line)

    def call(function: Callable[..., None], *arguments: Line) -> bool:
        try:
            loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:  # the loop has ended
            return False
        return True

    def read() -> None:
        lines = Splitter()
        while chunk := _read_chunk(number):
            for line in lines.feed(chunk):
                room.acquire()
                if not call(hand_over, line):
                    return
        for line in lines.end():
            call(take, line)
        call(end)
    threading.Thread(target=read, name="acp-in", daemon=True).start()


def _read_chunk(number: int) -> bytes:
    """What has come; nothing at the end, and where it can't be read."""
    try:
        return os.read(number, CHUNK_BYTES)
    except OSError:
        return b""


class LineWriter:
    """Writes lines to a descriptor on a thread. `on_gone` is called on that
    thread, once, when nobody reads them any more."""

    def __init__(self, number: int, on_gone: Callable[[], None]) -> None:
        self._number = number
        self._on_gone = on_gone
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unread = 0
        self._lock = threading.Lock()
        self._is_gone = False
        self._thread = threading.Thread(target=self._run, name="acp-out",
                                        daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Put a line out; it does not wait."""
        with self._lock:
            self._unread += len(line)
            is_full = self._unread > MAX_UNREAD_BYTES
        if is_full:
            self._give_up()
        else:
            self._lines.put(line + b"\n")

    def close(self) -> None:
        """Wait until everything is out, or for five seconds."""
        self._lines.put(None)
        if not self._is_gone:
            self._thread.join(_FLUSH_S)

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            if self._is_gone:
                continue
            try:
                _write_all(self._number, line)
            except OSError:
                self._give_up()
            with self._lock:
                self._unread -= len(line) - 1

    def _give_up(self) -> None:
        with self._lock:
            was_gone, self._is_gone = self._is_gone, True
        if not was_gone:
            self._on_gone()


def _write_all(number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(number, view):]
