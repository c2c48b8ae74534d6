"""Runs a prepared command, with limits on its time and its output."""

import asyncio
import contextlib
import os
import shutil
import signal

from claw.core.value import Value
from claw.security.sandbox import Launch

OUTPUT_BYTES = 1_048_576
_GRACE_SECONDS = 3
_CHUNK = 65_536


class Finished(Value):
    """What a command left. Output is cut at OUTPUT_BYTES (`cut`); a
    command that was stopped has exit code None."""

    code: int | None
    stdout: bytes
    stderr: bytes
    stdout_cut: bool = False
    stderr_cut: bool = False


async def run(launch: Launch, timeout_s: float) -> Finished:
    """Run to the end or the time limit; no process survives either.

    Cancelling ends the command too. Raises OSError where it can't start.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *launch.argv, env=launch.env, cwd=launch.cwd,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, start_new_session=True)
        try:
            return await _collect(process, timeout_s)
        finally:
            await _end(process)
    finally:
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


async def _drain(stream: asyncio.StreamReader, kept: bytearray) -> bool:
    """Read to the end, keep the first OUTPUT_BYTES; whether it was more."""
    more = False
    while chunk := await stream.read(_CHUNK):
        room = OUTPUT_BYTES - len(kept)
        kept += chunk[:room]
        more = more or len(chunk) > room
    return more


async def _end(process: asyncio.subprocess.Process) -> None:
    """Hang up, which makes the launcher end all of the command; then make
    sure of it."""
    if process.stdin is not None:
        process.stdin.close()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
