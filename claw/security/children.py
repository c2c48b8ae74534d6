"""Runs a prepared command, with limits on its time and its output."""

import asyncio
import contextlib
import os
import shutil
import signal
import socket

from claw.core.value import Value, replace
from claw.security.sandbox import Launch

OUTPUT_BYTES = 1_048_576
_GRACE_SECONDS = 3
_CHUNK = 65_536


class Finished(Value):
    """What a command left. Output is cut at OUTPUT_BYTES (`cut`); a
    command that was stopped has exit code None, and `excess` where it was
    for what it wrote: "it wrote more than 1024 MiB"."""

    code: int | None
    stdout: bytes
    stderr: bytes
    stdout_cut: bool = False
    stderr_cut: bool = False
    excess: str = ""


async def run(launch: Launch, timeout_s: float) -> Finished:
    """Run to the end or the time limit; no process survives either.

    Cancelling ends the command too. Raises OSError where it can't start.
    """
    # The launcher's standard input: our hanging up ends the command, and
    # the launcher says on it why it ended the command itself.
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *launch.argv, env=launch.env, cwd=launch.cwd,
                stdin=theirs.fileno(), stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, start_new_session=True)
        try:
            done = await _collect(process, timeout_s)
            return _add_excess(done, ours)
        finally:
            ours.close()
            await _end(process)
    finally:
        ours.close()
        await asyncio.to_thread(shutil.rmtree, launch.scratch,
                                ignore_errors=True)


async def _collect(process: asyncio.subprocess.Process, timeout_s: float
                   ) -> Finished:
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = bytearray(), bytearray()
    code: int | None = None
    try:
        async with asyncio.timeout(timeout_s):
            out_cut, err_cut, code = await asyncio.gather(
                _drain(process.stdout, out), _drain(process.stderr, err),
                process.wait())
    except TimeoutError:
        return Finished(None, bytes(out), bytes(err))
    return Finished(code, bytes(out), bytes(err), out_cut, err_cut)


def _add_excess(done: Finished, launcher: socket.socket) -> Finished:
    try:
        excess = launcher.recv(_CHUNK, socket.MSG_DONTWAIT).decode()
    except (BlockingIOError, ConnectionError):
        return done
    return replace(done, code=None, excess=excess) if excess else done


async def _drain(stream: asyncio.StreamReader, kept: bytearray) -> bool:
    """Read to the end, keep the first OUTPUT_BYTES; whether it was more."""
    more = False
    while chunk := await stream.read(_CHUNK):
        room = OUTPUT_BYTES - len(kept)
        kept += chunk[:room]
        more = more or len(chunk) > room
    return more


async def _end(process: asyncio.subprocess.Process) -> None:
    """The launcher, hung up on, ends all of the command; make sure."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
