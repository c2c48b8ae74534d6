"""A real `claw listen` between the fakes of several platforms and an instant
model, for benches; what it costs is read from /proc.

The platforms are those of claw.testing.prove.stages: a new one is measured
as soon as it has a row there. A `Relay` stands between claw and a platform
and can be told to refuse, to swallow or to be slow.
"""

import asyncio
import os
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from claw.testing.fake_openai import FakeOpenAI, last_user_text
from claw.testing.prove.child import Child, environment
from claw.testing.prove.stages import (
    PostedStage,
    PreparesHome,
    Stage,
    open_stage,
)

_CHAT = 1001
_CONFIG = """\
default_provider = "custom:{url}"
default_model = "m"
[memory]
backend = "none"
{tables}"""
_GATEWAY = re.compile(r"^\[gateway\]\n(?:.+\n)+", re.M)
_MARK = re.compile(r"\bm\d+x")


def echo(body: dict[str, Any]) -> str:
    """The model: it says the mark of the question."""
    found = _MARK.findall(last_user_text(body))
    return f"answer {found[-1]}" if found else "answer"


class Cost(NamedTuple):
    """Of a process, so far; megabytes, seconds of CPU, and how often one of
    its threads went to sleep of its own will."""

    rss_mb: float
    pss_mb: float
    cpu_s: float
    sleeps: int
    threads: int


def read_cost(pid: int) -> Cost:
    memory = {name: int(kilobytes) / 1024 for name, kilobytes in re.findall(
        r"^(\w+): +(\d+) kB",
        Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)}
    cpu_ns = sleeps = threads = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):
            cpu_ns += int((task / "schedstat").read_text().split()[0])
            sleeps += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", (
                task / "status").read_text(), re.M)[1])  # type: ignore[index]
            threads += 1
    return Cost(memory["Rss"], memory["Pss"], cpu_ns / 1e9, sleeps, threads)


class Relay:
    """Passes bytes on to a port of this machine. `mode` is "well",
    "refuses" (connections are reset), "swallows" (taken, never answered) or
    "slow" (each direction `delay_s` late)."""

    def __init__(self, target: int, delay_s: float) -> None:
        self.mode = "well"
        self._target = target
        self._delay_s = delay_s
        self._pipes: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._run, daemon=True).start()

    def change(self, mode: str) -> None:
        """From now on; connections that are there are cut."""
        def cut() -> None:
            self.mode = mode
            for pipe in self._pipes:
                pipe.transport.abort()
        self._loop.call_soon_threadsafe(cut)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(asyncio.start_server(
            self._serve, sock=self._listener))
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader,
                     writer: asyncio.StreamWriter) -> None:
        if self.mode == "refuses":
            writer.transport.abort()
            return
        self._pipes.add(writer)
        try:
            if self.mode == "swallows":
                while await reader.read(65536):
                    pass
                return
            delay_s = self._delay_s if self.mode == "slow" else 0.0
            there, back = await asyncio.open_connection(
                "127.0.0.1", self._target)
            self._pipes.add(back)
            await asyncio.gather(_pass_on(reader, back, delay_s),
                                 _pass_on(there, writer, delay_s))
            self._pipes.discard(back)
        except OSError:
            writer.transport.abort()
        finally:
            self._pipes.discard(writer)
            writer.close()


async def _pass_on(reader: asyncio.StreamReader,
                   writer: asyncio.StreamWriter, delay_s: float) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            await asyncio.sleep(delay_s)
            writer.write(data)
            await writer.drain()
    writer.close()


class Listening:
    """`claw listen` for these channels. `relays` are those in front of
    each; a server that hands out further addresses is reached there past
    its relay."""

    def __init__(self, names: Sequence[str], *, relayed: Sequence[str] = (),
                 delay_s: float = 0.0, own_polls: bool = False) -> None:
        self.stages: dict[str, Stage] = {n: open_stage(n) for n in names}
        self.relays: dict[str, list[Relay]] = {name: [] for name in names}
        self._relayed = relayed
        self._delay_s = delay_s
        self._own_polls = own_polls
        self._model = FakeOpenAI([echo])
        self._folder = tempfile.TemporaryDirectory(prefix="claw-bench-")
        self._count = 0

    def __enter__(self) -> "Listening":
        home = Path(self._folder.name)
        self._model.__enter__()
        tables = []
        posted = [stage for stage in self.stages.values()
                  if isinstance(stage, PostedStage)]
        for stage in posted:  # one gateway for all
            stage.port = posted[0].port
        for name, stage in self.stages.items():
            stage.open()
            settings = self._relay(name, stage.settings())
            tables.append(_GATEWAY.sub("", settings)
                          if stage in posted[1:] else settings)
            if isinstance(stage, PreparesHome):
                stage.prepare(home)
        config = home / "config.toml"
        config.touch(mode=0o600)
        text = _CONFIG.format(url=self._model.url, tables="\n".join(tables))
        if self._own_polls:  # as long as without a proof's hurry
            text = re.sub(r"^poll_timeout_secs.*\n", "", text, flags=re.M)
        config.write_text(text)
        self.child = Child(home, home / "log.txt", environment(home))
        self.child.wait_ready()
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if error is not None:
            print((Path(self._folder.name) / "log.txt").read_text()[-3000:])
        self.child.stop()
        for stage in self.stages.values():
            stage.close()
        self._model.__exit__(kind, error, trace)
        self._folder.cleanup()

    def _relay(self, name: str, settings: str) -> str:
        """The table with the addresses of relays in the place of those
        where somebody listens."""
        def swap(found: re.Match[str]) -> str:
            port = int(found[2])
            if not _listens(port):
                return found[0]
            self.relays[name].append(Relay(port, self._delay_s))
            return f"{found[1]}{self.relays[name][-1].port}"
        return settings if name not in self._relayed else re.sub(
            r"(127\.0\.0\.1:|port = )(\d{4,5})\b", swap, settings)

    def cost(self) -> Cost:
        return read_cost(self.child.pid)

    def post(self, name: str, chat: int = _CHAT) -> str:
        """A person writes; the mark of the message."""
        self._count += 1
        mark = f"m{self._count}x"
        self.stages[name].post(chat, f"hello {mark}")
        return mark

    def answers(self, name: str) -> set[str]:
        """The marks of the answers that this platform shows."""
        return {mark for got in self.stages[name].got()
                for mark in _MARK.findall(got.text)}

    def wait(self, seen: Callable[[], bool], timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while not seen():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def warm_up(self, name: str, timeout_s: float = 30) -> None:
        """One message, answered: whatever loads late is there."""
        mark = self.post(name)
        if not self.wait(lambda: mark in self.answers(name), timeout_s):
            raise SystemExit(f"{name}: no answer within {timeout_s:g} s")


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def describe_machine() -> str:
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
