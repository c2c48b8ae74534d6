"""Runs a prepared command, with limits on its time and its output, or
talks to one for as long as it is needed."""

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from io import FileIO
from pathlib import Path

from claw.core.value import Value
from claw.security.confine import FAILED
from claw.security.sandbox.sandbox import Launch

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

    @property
    def failure(self) -> str:
        """Why the sandbox's launcher ran nothing, "" where it did."""
        said = self.stderr.decode(errors="replace")
        return said if self.code == FAILED \
            and said.startswith("claw sandbox:") else ""


async def run(launch: Launch, timeout_s: float,
              inherited: Sequence[int] = ()) -> Finished:
    """Run to the end or the time limit; no process survives either. It
    has the descriptors `inherited`.

    Cancelling ends the command too. Raises OSError where it can't start.
    """
    async with _running(launch, inherited) as (process, line):
        return await _collect(process, line, timeout_s)


class Talk(Value):
    """A command that runs: what it reads, and what it writes."""

    stdin: asyncio.WriteTransport
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader


@contextlib.asynccontextmanager
async def talk(prepare: Callable[[int], Launch]) -> AsyncIterator[Talk]:
    """A command to talk to; `prepare` gives its launch with this
    descriptor as what it reads. At the end no process of it is left.

    Raises OSError where it can't start, and what `prepare` raises.
    """
    theirs, ours = _open_pipe()
    with theirs, ours:
        # The first one looks for what the kernel offers.
        launch = await asyncio.to_thread(prepare, theirs.fileno())
        async with _running(launch, [theirs.fileno()]) as (process, _):
            theirs.close()
            pipe, _ = await asyncio.get_running_loop().connect_write_pipe(
                asyncio.Protocol, ours)
            try:
                yield Talk(pipe, process.stdout, process.stderr)
            finally:
                if not pipe.is_closing():
                    pipe.abort()


def _open_pipe() -> tuple[FileIO, FileIO]:
    """The end that is read, and the one that is written."""
    source, sink = os.pipe()
    return FileIO(source, "rb"), FileIO(sink, "wb")


@contextlib.asynccontextmanager
async def _running(launch: Launch, inherited: Sequence[int] = ()
                   ) -> "AsyncIterator[tuple[_Child | _Served, _Line]]":
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line = _Line(ours)
    try:
        with theirs:
            process = await _start(launch, line, theirs, inherited)
        try:
            yield process, line
        finally:
            await _end(process, line)
    finally:
        ours.close()
        await asyncio.to_thread(_remove, launch.scratch)


class _Line:
    """Our end of the launcher's standard input. Our hanging up ends the
    command; the launcher says why it ended it itself, and a served one who
    it is and how it ended."""

    def __init__(self, ours: socket.socket) -> None:
        self.socket = ours
        ours.setblocking(False)
        self.excess = ""
        self.numbers: dict[str, int] = {}

    async def listen(self) -> None:
        """Until nothing of the command is left."""
        loop = asyncio.get_running_loop()
        while said := await loop.sock_recv(self.socket, _CHUNK):
            kind, _, text = said.decode().partition(" ")
            if kind == "excess":
                self.excess = text
            else:
                self.numbers[kind] = int(text)

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):  # the other end is gone
            self.socket.shutdown(socket.SHUT_WR)


class _Child:
    """A launcher that is a process of ours."""

    def __init__(self, process: asyncio.subprocess.Process, line: _Line
                 ) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.stdout, self.stderr = process.stdout, process.stderr
        self._process = process
        self._line = line

    async def wait(self) -> int:
        code = await self._process.wait()
        await self._line.listen()
        return code

    def kill(self) -> None:
        if self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Its pipes are asyncio's."""


class _Served:
    """A launcher that the launch server forked."""

    def __init__(self, line: _Line) -> None:
        self.stdout = asyncio.StreamReader()
        self.stderr = asyncio.StreamReader()
        self.pipes: list[asyncio.BaseTransport] = []
        self._line = line

    async def wait(self) -> int:
        await self._line.listen()
        # One that says nothing was killed.
        return self._line.numbers.get("code", -signal.SIGKILL)

    def kill(self) -> None:
        if "pid" in self._line.numbers:
            os.killpg(self._line.numbers["pid"], signal.SIGKILL)

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.close()


async def _start(launch: Launch, line: _Line, theirs: socket.socket,
                 inherited: Sequence[int]) -> _Child | _Served:
    if launch.server is None:
        return _Child(await asyncio.create_subprocess_exec(
            *launch.argv, env=launch.env, cwd=launch.cwd,
            stdin=theirs.fileno(), stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, start_new_session=True,
            pass_fds=inherited), line)
    line.socket.send(launch.encode())
    served = _Served(line)
    with contextlib.ExitStack() as ends:
        handles = [theirs.fileno()]
        for reader in (served.stdout, served.stderr):
            ours, end = os.pipe()
            ends.callback(os.close, end)
            handles.append(end)
            pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
                partial(asyncio.StreamReaderProtocol, reader),
                os.fdopen(ours, "rb", 0))
            served.pipes.append(pipe)
        launch.server.start(*handles)
    return served


async def _collect(process: _Child | _Served, line: _Line, timeout_s: float
                   ) -> Finished:
    out, err = bytearray(), bytearray()
    try:
        async with asyncio.timeout(timeout_s):
            out_cut, err_cut, code = await asyncio.gather(
                _drain(process.stdout, out), _drain(process.stderr, err),
                process.wait())
    except TimeoutError:
        return Finished(None, bytes(out), bytes(err))
    return Finished(None if line.excess else code, bytes(out), bytes(err),
                    out_cut, err_cut, line.excess)


async def _drain(stream: asyncio.StreamReader, kept: bytearray) -> bool:
    """Read to the end, keep the first OUTPUT_BYTES; whether it was more."""
    more = False
    while chunk := await stream.read(_CHUNK):
        room = OUTPUT_BYTES - len(kept)
        kept += chunk[:room]
        more = more or len(chunk) > room
    return more


async def _end(process: _Child | _Served, line: _Line) -> None:
    """The launcher, hung up on, ends all of the command; make sure."""
    line.hang_up()
    try:
        # Read to the end: what nobody reads can keep it from ending.
        await asyncio.wait_for(asyncio.gather(
            process.wait(), _drain(process.stdout, bytearray()),
            _drain(process.stderr, bytearray())), _GRACE_SECONDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    finally:
        process.close()


def _remove(folder: Path) -> None:
    """Whatever the command left there, however deep."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:
        subprocess.run(["rm", "-rf", "--", folder], check=False)
