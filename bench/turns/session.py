"""One session of bench/turn.py, claw's side of it, in a process of its own.

    python -m turns.session HOME TURNS SEED [traced]

HOME holds what `furnish` put there. Prints what each turn cost, how much
memory the process had and what went wrong, as JSON.
"""

import asyncio
import gc
import json
import os
import random
import struct
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from turns.script import kind_of, message
from turns.wires import write_settings

from claw.agent.memory import recall
from claw.agent.rounds import execute
from claw.agent.rounds.cancel import TurnCancelled
from claw.agent.rounds.events import (
    Event,
    RoundStarted,
    TextDelta,
    ToolStarted,
)
from claw.config.places import locate
from claw.config.tree import load
from claw.core.errors import (
    BudgetError,
    ClawError,
    ContextOverflowError,
)
from claw.storage.sessions import SessionStore
from claw.wiring.chat.session import ChatOptions, ChatSession, open_chat

SESSION = "bench"
SETTINGS = """
[agent]
parallel_tools = true
[autonomy]
level = "full"
max_actions_per_hour = 100000
max_cost_per_day_cents = 100000000
allowed_commands = ["echo", "seq", "sleep", "ls"]
"""
ENDS = {"stop_stream": TurnCancelled, "stop_tool": TurnCancelled,
        "loop": BudgetError, "endless": BudgetError}


def furnish(home: Path, wire: str, url: str) -> Path:
    """Settings and a workspace; returns the workspace."""
    workspace = home / "claw" / "workspace"
    workspace.mkdir(parents=True, mode=0o700)
    (home / "claw").chmod(0o700)
    settings = home / "claw" / "config.toml"
    head, table, rest = write_settings(wire, url).partition("[model")
    settings.write_text(head + SETTINGS + table + rest)
    settings.chmod(0o600)
    (workspace / "notes.txt").write_text("tea in the harbour\n" * 20)
    (workspace / "counter.txt").write_text("one\n")
    (workspace / "long.txt").write_text("a long line of text\n" * 4000)
    (workspace / "picture.png").write_bytes(draw_png(64))
    return workspace


def draw_png(size: int) -> bytes:
    rng = random.Random(size)
    rows = b"".join(b"\0" + rng.randbytes(size * 3) for _ in range(size))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
        ">IIBBBBB", size, size, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Meter:
    """CPU in ms of the running turn that is not the turn's own."""

    def __init__(self) -> None:
        self.memory = self.tools = 0.0
        self._running, self._since = 0, 0.0

    def install(self) -> None:
        """Stand around each call of the memory and of a tool."""
        on_thread, outcome = recall.on_thread, execute.outcome

        async def metered_thread(call: Callable[[], Any]) -> Any:
            def timed() -> Any:
                before = time.thread_time()
                try:
                    return call()
                finally:
                    self.memory += (time.thread_time() - before) * 1000
            return await on_thread(timed)

        async def metered_outcome(*given: Any) -> Any:
            if not self._running:
                self._since = time.process_time()
            self._running += 1
            try:
                return await outcome(*given)
            finally:
                self._running -= 1
                if not self._running:
                    self.tools += (time.process_time() - self._since) * 1000
        recall.on_thread = metered_thread
        execute.outcome = metered_outcome

    def take(self) -> tuple[float, float]:
        """Memory and tools since the last time."""
        found = self.memory, self.tools
        self.memory = self.tools = 0.0
        return found


async def run_session(home: Path, turns: int, seed: int, traced: bool
                      ) -> dict[str, Any]:
    """Half of the turns, a restart, the other half."""
    places = locate(str(home / "claw"), None, {})
    found: dict[str, Any] = {"cpu": [], "memory": [], "tools": [], "rss": [],
                             "traced": {}, "wrong": []}
    meter = Meter()
    meter.install()
    if traced:
        tracemalloc.start()
    for part in (range(1, turns // 2 + 1), range(turns // 2 + 1, turns + 1)):
        async with open_chat(load(places, {}), ChatOptions(
                tools=None, session=SESSION, approve_all=True)) as chat:
            for number in part:
                before = time.process_time()
                ended = await run_turn(chat, seed, number)
                found["cpu"].append((time.process_time() - before) * 1000)
                memory, tools = meter.take()
                found["memory"].append(memory)
                found["tools"].append(tools)
                found["rss"].append(read_rss())
                if trouble := judge_end(ended, kind_of(seed, number)):
                    found["wrong"].append(f"turn {number}: {trouble}")
                if traced and number in marks(turns):
                    gc.collect()
                    found["traced"][number] = \
                        tracemalloc.get_traced_memory()[0] / 1e6
    found["wrong"] += find_missing(places.workspace, turns, seed)
    return found


async def run_turn(chat: ChatSession, seed: int, number: int) -> str:
    """One turn; the name of the error that ended it, or ""."""
    kind = kind_of(seed, number)
    cancel = asyncio.Event()

    def watch(event: Event) -> None:
        if kind == "stop_stream" and isinstance(
                event, TextDelta if number % 2 else RoundStarted):
            asyncio.get_running_loop().call_later(0.02, cancel.set)
        elif kind == "stop_tool" and isinstance(event, ToolStarted) \
                and event.name == "shell":
            asyncio.get_running_loop().call_later(0.1, cancel.set)
    try:
        await chat.say(message(seed, number), watch, cancel=cancel,
                       live_text=True)
    except (ClawError, TurnCancelled) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def judge_end(ended: str, kind: str) -> str:
    """What is wrong with how a turn ended; a conversation that can't be
    made shorter may end in its overflow."""
    wanted = ENDS.get(kind)
    if ended.startswith(ContextOverflowError.__name__) \
            and "overflow" in kind:
        return ""
    if (wanted.__name__ if wanted else "") == ended.partition(":")[0]:
        return ""
    return f"{kind} ended with {ended or 'an answer'}"


def find_missing(workspace: Path, turns: int, seed: int) -> list[str]:
    """What the person said and the session file does not hold."""
    kept = SessionStore(workspace / "sessions").load(SESSION)
    said = [str(one["data"]["content"]) for one in kept
            if one["type"] == "Chat" and one["data"]["role"] == "user"]
    lost = [number for number in range(1, turns + 1)
            if not any(message(seed, number).split("[IMAGE")[0] in text
                       for text in said)]
    return [f"not in the session file: turns {lost}"] if lost else []


def read_rss() -> float:
    """Megabytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def marks(turns: int) -> tuple[int, int, int]:
    return turns // 10, turns // 2, turns


if __name__ == "__main__":
    home, turns, seed, *traced = sys.argv[1:]
    print(json.dumps(asyncio.run(run_session(
        Path(home), int(turns), int(seed), bool(traced)))))
