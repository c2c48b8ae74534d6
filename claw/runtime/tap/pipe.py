"""The far end of a tap that reads stdout and says on stdin what it handled.

A line is written in pieces that a pipe takes at once (PIPE_BUF, pipe(7)), each
when there is room: a reader that is slow holds up the messages, which wait in
the queue, and nothing else. The descriptors stay blocking, since they are
shared with other programs.
"""

import asyncio
import json
import os
import select
import stat

from claw.core.errors import UsageError
from claw.core.log import Log
from claw.runtime.tap.wire import (
    MOST_BYTES,
    NotHandledError,
    Word,
    describe_message,
    read_word,
)
from claw.storage.queue.model import InboxRow


class Pipe:
    """`out` and `back` are descriptors; without `back` a message counts as
    handled once its line is written."""

    drain_s = 1.0
    limit = 64

    def __init__(self, out: int, back: int | None, log: Log) -> None:
        self._out = out
        self._back = back
        self._log = log
        self._writing = asyncio.Lock()
        self._open: dict[str, asyncio.Future[Word]] = {}

    async def run(self) -> None:
        """Until the reader is gone, or has said all it has to say. Raises
        UsageError for what it says that can't be understood."""
        gone = asyncio.ensure_future(self._wait_for_reader())
        said = asyncio.ensure_future(self._read_words())
        try:
            done, _ = await asyncio.wait(
                (gone, said), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            gone.cancel()
            said.cancel()
            for answer in self._open.values():  # nobody will say more
                if not answer.done():
                    answer.set_exception(BrokenPipeError())

    async def handle(self, row: InboxRow) -> Word:
        """Raises NotHandledError, and BrokenPipeError once the reader is
        gone."""
        line = json.dumps(describe_message(row)).encode() + b"\n"
        if self._back is None:
            await self._write(line)
            return Word(row.turn_id)
        answer: asyncio.Future[Word] = \
            asyncio.get_running_loop().create_future()
        self._open[row.turn_id] = answer
        try:
            await self._write(line)
            word = await answer
        finally:
            answer.cancel()
            del self._open[row.turn_id]
        if word.error is not None:
            raise NotHandledError(word.error)
        return word

    async def _write(self, data: bytes) -> None:
        async with self._writing:
            while data:
                await _until_ready(self._out, writes=True)
                written = os.write(self._out, data[:select.PIPE_BUF])
                data = data[written:]

    async def _wait_for_reader(self) -> None:
        """Until nobody reads any more; for ever where that can't be
        seen."""
        if stat.S_ISFIFO(os.fstat(self._out).st_mode):
            await _until_ready(self._out)  # a pipe's end has no other news
        else:
            await asyncio.Event().wait()

    async def _read_words(self) -> None:
        if self._back is None:
            await asyncio.Event().wait()
        assert self._back is not None
        rest, has_spoken = b"", False
        while True:
            await _until_ready(self._back)
            piece = os.read(self._back, 1 << 16)
            *lines, rest = (rest + piece).split(b"\n")
            if not piece:
                lines, rest = [rest], b""
            if len(rest) > MOST_BYTES:
                raise UsageError("stdin: a line is longer than 1 MiB")
            for line in lines:
                word = read_word(line.decode("utf-8", "replace"))
                if word is not None:
                    has_spoken = True
                    self._hear(word)
            if not piece:
                break
        if not has_spoken:
            raise UsageError(
                "stdin ended before it acknowledged anything",
                hint="write back the id of each message that is handled, or "
                     "say --auto, or: claw tap CHANNEL -- COMMAND")

    def _hear(self, word: Word) -> None:
        answer = self._open.get(word.id)
        if answer is None or answer.done():
            self._log("tap.unknown", id=word.id[:80], error="no message with "
                      "this id is open; it may have been handled before")
        else:
            answer.set_result(word)


async def _until_ready(descriptor: int, *, writes: bool = False) -> None:
    """Until it can be read (or written); at once for a file, which always
    can."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    add, remove = ((loop.add_writer, loop.remove_writer) if writes
                   else (loop.add_reader, loop.remove_reader))

    def note() -> None:
        if not ready.done():
            ready.set_result(None)
    try:
        add(descriptor, note)
    except PermissionError:  # epoll(7) takes no plain files
        return
    try:
        await ready
    finally:
        remove(descriptor)
