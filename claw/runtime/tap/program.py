"""The far end of a tap that is a program, run once for each message.

It gets the message on stdin. Its exit code 0 says that the message is handled,
and what it prints is the answer. It is the owner's own and runs as such,
outside the sandbox, and in a session of its own: Ctrl-C lets it finish.
"""

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import Sequence
from contextlib import suppress

from claw.agent.background import cancel_all
from claw.runtime.tap.wire import (
    MOST_BYTES,
    NotHandledError,
    Word,
    describe_message,
)
from claw.storage.queue.model import InboxRow

_LOOK_S = 0.5  # whether it has ended, and for what it printed last


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
        """Raises NotHandledError. The message is whole in a file without a
        name before the program starts, though claw be killed just then."""
        try:
            with tempfile.TemporaryFile() as line:
                line.write(json.dumps(describe_message(row)).encode() + b"\n")
                line.seek(0)
                process = await asyncio.create_subprocess_exec(
                    *self._command, stdin=line,
                    stdout=asyncio.subprocess.PIPE, start_new_session=True)
        except OSError as error:
            raise NotHandledError(
                f"{self._command[0]}: {error.strerror}") from error
        try:
            output = await _listen_to(process)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            # asyncio would wait for whoever else holds its pipes.
            process._transport.close()  # type: ignore[attr-defined]
            code = await process.wait()
        if code:
            raise NotHandledError(f"{self._command[0]}: exit code {code}")
        return Word(row.turn_id, output.decode("utf-8", "replace").strip("\n"))


async def _listen_to(process: asyncio.subprocess.Process) -> bytes:
    """What it prints until its end; what it leaves running may hold its
    output open. Raises NotHandledError where it prints too much."""
    assert process.stdout is not None
    output = bytearray()
    tasks = [asyncio.ensure_future(work) for work in (
        process.wait(), _read(process.stdout, output))]
    try:
        waiting, has_ended = set(tasks), False
        while waiting and not has_ended:
            has_ended = process.returncode is not None
            done, waiting = await asyncio.wait(
                waiting, timeout=_LOOK_S,
                return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
    finally:
        await cancel_all(tasks)
    return bytes(output)


async def _read(pipe: asyncio.StreamReader, output: bytearray) -> None:
    while piece := await pipe.read(1 << 16):
        output += piece
        if len(output) > MOST_BYTES:
            raise NotHandledError("it printed more than 1 MiB")
