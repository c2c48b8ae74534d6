"""The far end of a tap that is a program, run once for each message.

It gets the message on stdin. Its exit code 0 says that the message is handled,
and what it prints is the answer. It is the owner's own and runs as such,
outside the sandbox, and in a session of its own: Ctrl-C lets it finish.
"""

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from contextlib import suppress

from claw.runtime.tap.wire import (
    MOST_BYTES,
    NotHandledError,
    Word,
    describe_message,
)
from claw.storage.queue.model import InboxRow


class Program:
    """Runs `command` for each message."""

    drain_s = 25.0

    def __init__(self, command: Sequence[str], *, limit: int = 1) -> None:
        self._command = command
        self.limit = limit

    async def run(self) -> None:
        """A program is there until we end."""
        await asyncio.Event().wait()

    async def handle(self, row: InboxRow) -> Word:
        """Raises NotHandledError."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command, stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, start_new_session=True)
        except OSError as error:
            raise NotHandledError(
                f"{self._command[0]}: {error.strerror}") from error
        try:
            output = await _talk(process, row)
            code = await process.wait()
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            raise
        if code:
            raise NotHandledError(f"{self._command[0]}: exit code {code}")
        return Word(row.turn_id, output.decode("utf-8", "replace").strip("\n"))


async def _talk(process: asyncio.subprocess.Process, row: InboxRow) -> bytes:
    """What it prints. Raises NotHandledError where that is too much."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError, ConnectionResetError):  # it need not read
        process.stdin.write(json.dumps(
            describe_message(row)).encode() + b"\n")
        await process.stdin.drain()
    process.stdin.close()
    output = b""
    while piece := await process.stdout.read(1 << 16):
        output += piece
        if len(output) > MOST_BYTES:
            raise NotHandledError("it printed more than 1 MiB")
    return output
