"""Runs a program of the owner's: bounded in time and in what it may say.

It leads a process group of its own, which ends with it: at its end, at the
time limit, at the emergency stop, and when whoever waits is cancelled.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from claw.agent.background import cancel_all
from claw.core.value import Value
from claw.security.estop import EmergencyStop

OUTPUT_BYTES = 1 << 20
_LOOK_S = 0.05
_GRACE_S = 0.5  # for pipes that a child took out of the group
_CHUNK = 65_536


class Done(Value):
    """How a program ended. `failure` says why it was ended, or what was
    too much; "" where it ended by itself."""

    code: int
    stdout: bytes
    stderr: bytes
    failure: str = ""


async def run(argv: Sequence[str], data: bytes, *, env: Mapping[str, str],
              cwd: Path, timeout_s: float, estop: EmergencyStop) -> Done:
    """Run it with this to read. Raises OSError where it can't start."""
    process = await asyncio.create_subprocess_exec(
        *argv, env=env, cwd=cwd, start_new_session=True,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = bytearray(), bytearray()
    full = asyncio.Event()
    pipes = [asyncio.ensure_future(work) for work in (
        _feed(process.stdin, data), _drain(process.stdout, out, full),
        _drain(process.stderr, err, full))]
    ended = asyncio.ensure_future(_wait(process))
    stopped = asyncio.ensure_future(estop.wait())
    flooded = asyncio.ensure_future(full.wait())
    failure = ""
    try:
        await asyncio.wait((ended, stopped, flooded), timeout=timeout_s,
                           return_when=asyncio.FIRST_COMPLETED)
        if not ended.done() and not full.is_set():
            failure = "claw is stopped" if stopped.done() \
                else f"it took longer than {timeout_s:g} s"
    finally:
        _kill(process)
        await cancel_all([ended, stopped, flooded])
        await asyncio.wait(pipes, timeout=_GRACE_S)
        await cancel_all(pipes)
        await _wait(process)
        # A child that left the group may hold pipes open: asyncio would
        # keep our ends until it is gone.
        process._transport.close()  # type: ignore[attr-defined]
    if not failure and full.is_set():
        failure = f"it wrote more than {OUTPUT_BYTES >> 20} MiB"
    return Done(process.returncode or 0, bytes(out), bytes(err), failure)


async def _wait(process: asyncio.subprocess.Process) -> None:
    """Until it has ended. Older Pythons would wait for whoever holds its
    pipes as well."""
    waiting = asyncio.ensure_future(process.wait())
    try:
        while process.returncode is None:
            await asyncio.wait((waiting,), timeout=_LOOK_S)
    finally:
        waiting.cancel()


def _kill(process: asyncio.subprocess.Process) -> None:
    """End all of its group, whatever of it is left."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _feed(pipe: asyncio.StreamWriter, data: bytes) -> None:
    """One that reads nothing of it may end as well."""
    with contextlib.suppress(OSError):
        pipe.write(data)
        await pipe.drain()
        pipe.close()
        await pipe.wait_closed()


async def _drain(pipe: asyncio.StreamReader, kept: bytearray,
                 full: asyncio.Event) -> None:
    """Read to the end; what is more than there may be is not kept."""
    while chunk := await pipe.read(_CHUNK):
        if not full.is_set():
            kept += chunk
        if len(kept) > OUTPUT_BYTES:
            full.set()
