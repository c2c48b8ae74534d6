"""A long session with tools: what each turn costs, and whether every
request is one that its vendor takes.

    python bench/turn.py [--turns 200] [--wires chat,anthropic] [--seed 1]
        [--no-timing]

One conversation of 200 turns for each wire (OpenAI's chat and responses,
Anthropic, Gemini, Ollama), with session file, log, ledger, memory and
sandbox as `claw agent` has them, and closed and resumed in the middle. The
turns are a seeded mix (turn_script.py): plain answers, single, parallel and
failing calls, loops, turns without an end, calls that can't be read, long
results, images, a person who stops while the model speaks or a tool runs,
and models that find the conversation too long. The model is a process of
its own (turn_model.py) that holds each request against the types of the
vendor's SDK and against what these do not say: a result for each call and
a call for each result, roles in turns, all words of the person.

    requests, faults   what was looked at and what was wrong
    RSS, traced        megabytes after turns 20, 100 and 200, and the slope
                       of RSS past the first quarter in kB a turn; traced is
                       a run of its own
    claw               CPU of a turn in ms: all threads of the process, not
                       its children (commands); median and 95th percentile
    memory, tools      what of it the memory took (recall and keeping; its
                       own bench is memory.py), and tools while they ran
    httpx              the same for a loop over httpx that sends the same
                       requests and reads the answers' JSON
    own                claw less these three, each turn

Exits 1 when a request was at fault, a word got lost, or a broken request
was not refused.
"""

import argparse
import asyncio
import contextlib
import gc
import json
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import tracemalloc
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from turn_script import kind_of, message
from turn_wires import find_faults, read, write_settings

from claw.agent import recall
from claw.agent.cancel import TurnCancelled
from claw.agent.events import Event, RoundStarted, TextDelta, ToolStarted
from claw.agent.rounds import execute
from claw.config.places import locate
from claw.config.tree import load
from claw.core.errors import (
    BudgetError,
    ClawError,
    ContextOverflowError,
)
from claw.storage.sessions import SessionStore
from claw.wiring.chat import ChatOptions, ChatSession, open_chat

PARTS = ("cpu", "memory", "tools", "httpx")
WIRES = ("chat", "responses", "anthropic", "gemini", "ollama")
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


# The session: claw's side.

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


# The same requests over httpx alone.

async def replay(folder: Path, url: str, turns: int) -> list[float]:
    """CPU in ms of each turn's requests."""
    import httpx
    cpu = [0.0] * turns
    files = sorted(folder.iterdir())  # noqa: ASYNC240  nobody waits
    async with httpx.AsyncClient(timeout=30) as client:
        for file in files:
            _, number, fault = file.name.split("-")
            head, _, raw = file.read_bytes().partition(b"\n")
            request, body = json.loads(head), json.loads(raw)
            headers = {name: value for name, value in
                       request["headers"].items()
                       if name in ("x-api-key", "anthropic-version",
                                   "x-goog-api-key", "authorization")}
            before = time.process_time()
            async with client.stream("POST", f"{url}{request['path']}",
                                     json=body, headers=headers) as answer:
                if fault != "silence":
                    await read_lines(answer, first=fault == "stall")
            cpu[int(number) - 1] += (time.process_time() - before) * 1000
    return cpu


async def read_lines(answer: Any, *, first: bool) -> None:
    """The JSON of a stream, or its first line alone."""
    async for line in answer.aiter_lines():
        if first:
            return
        data = line.removeprefix("data: ")
        if data[:1] == "{":
            json.loads(data)


# Processes and the table.

@contextlib.contextmanager
def model(wire: str, seed: int, folder: str, report: dict[str, Any]
          ) -> Iterator[str]:
    """A model's process and its address; `report` gets what it found."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("turn_model.py")),
         wire, str(seed), folder], text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
        report.update(json.loads(process.communicate(timeout=60)[0]))
    finally:
        process.kill()
        process.wait()


def child(*words: str) -> Any:
    """What a process of this file prints."""
    return json.loads(subprocess.run(
        [sys.executable, __file__, *words], check=True, text=True,
        stdout=subprocess.PIPE, env={
            **{name: value for name, value in os.environ.items()
               if not name.endswith("_API_KEY")}, "CLAW_NO_PROBE": "1"}
        ).stdout)


def measure(wire: str, turns: int, seed: int, *, timing: bool
            ) -> dict[str, Any]:
    """One wire: the session, its memory, and the loop beside it."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as directory:
        kept = Path(directory, "requests")
        kept.mkdir()
        for traced in (False, True)[:1 + timing]:
            home = Path(directory, f"home-{traced}")
            report: dict[str, Any] = {}
            with model(wire, seed, "-" if traced else str(kept),
                       report) as url:
                furnish(home, wire, url)
                ran = child("--session", str(home), "--turns", str(turns),
                            "--seed", str(seed),
                            *(["--traced"] if traced else []))
            if traced:
                found["traced"] = ran["traced"]
                found["wrong"] += ran["wrong"]
            else:
                found |= ran | report
        found["controls"] = break_requests(wire, kept, seed)
        if timing:
            with model(wire, seed, "-", {}) as url:
                root = url.removesuffix("/v1")
                found["httpx"] = child("--replay", str(kept), "--url", root,
                                       "--turns", str(turns))
    return found


def break_requests(wire: str, kept: Path, seed: int) -> list[str]:
    """Breakages of a good request that nothing here finds."""
    for file in sorted(kept.iterdir()):
        number = int(file.name.split("-")[1])
        body = json.loads(file.read_bytes().partition(b"\n")[2])
        if len(said := read(wire, body)) > 3 and said[-1].role == "results":
            break
    key = next(key for key in ("messages", "contents", "input")
               if key in body)
    inside = {"responses": "output", "gemini": "parts"}.get(wire, "content")

    def change(**fields: Any) -> dict[str, Any]:
        last = {name: value for name, value in body[key][-1].items()
                if name != "type"}
        return {**body, key: [*body[key][:-1], {**last, **fields}]}
    broken = {"a number for a text": change(**{inside: 7}),
              "an unknown role": change(role="wizard"),
              "an unknown key": {**body, "mesages": []},
              "a call without its result": {**body, key: body[key][:-1]},
              "a result without its call": {**body, key: [
                  *body[key], body[key][-1]]},
              "a lost message": {**body, key: body[key][1:][
                  body[key][0].get("role") == "system":]}}
    return [name for name, one in broken.items()
            if not find_faults(wire, one, seed, number)]


def show(wire: str, found: dict[str, Any], turns: int) -> None:
    """A row of each table."""
    rss = found["rss"]
    late = list(enumerate(rss))[turns // 4:]
    slope = statistics.linear_regression(*zip(*late, strict=True)).slope
    print(f"{wire:10} {found['requests']:9} {len(found['faults']):7} "
          f"{len(found['wrong']):6} {found['longest']:8}"
          + "".join(f" {rss[at - 1]:6.1f}" for at in marks(turns))
          + f" {slope * 1000:7.1f}"
          + "".join(f" {value:6.2f}"
                    for value in found.get("traced", {}).values()))


def own_cpu(found: dict[str, Any]) -> list[float]:
    return [cpu - sum(others) for cpu, *others in zip(
        found["cpu"], found["memory"], found["tools"], found["httpx"],
        strict=True)]


def show_cpu(found: dict[str, dict[str, Any]]) -> None:
    print(f"\n{'CPU ms':10}" + "".join(
        f"{name:>10} med  p95" for name in (*PARTS, "own")))
    for wire, one in found.items():
        print(f"{wire:10}" + "".join(
            f"{statistics.median(cpu):14.2f} {percentile(cpu, 0.95):4.0f}"
            for cpu in (*(one[part] for part in PARTS), own_cpu(one))))


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))]


def show_kinds(found: dict[str, dict[str, Any]], seed: int) -> None:
    """Own CPU by kind of turn, median over all wires."""
    by_kind: dict[str, list[float]] = defaultdict(list)
    for one in found.values():
        for number, cpu in enumerate(own_cpu(one), 1):
            by_kind[kind_of(seed, number)].append(cpu)
    print("\nown CPU ms by kind of turn, median over the wires")
    for kind, cpu in sorted(by_kind.items()):
        print(f"  {kind:14} {statistics.median(cpu):7.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--wires", default=",".join(WIRES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-timing", action="store_true")
    for hidden in ("--session", "--replay", "--url"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    parser.add_argument("--traced", action="store_true",
                        help=argparse.SUPPRESS)
    options = parser.parse_args()
    turns, seed = options.turns, options.seed
    if options.session:
        print(json.dumps(asyncio.run(run_session(
            Path(options.session), turns, seed, options.traced))))
        return 0
    if options.replay:
        print(json.dumps(asyncio.run(replay(Path(options.replay),
                                            options.url, turns))))
        return 0
    found = {wire: measure(wire, turns, seed, timing=not options.no_timing)
             for wire in options.wires.split(",")}
    at = "".join(f" {f'RSS {mark}':>6}" for mark in marks(turns))
    print(f"{'wire':10}  requests  faults  wrong  longest{at}  kB/turn "
          "traced")
    for wire, one in found.items():
        show(wire, one, turns)
    if not options.no_timing:
        show_cpu(found)
        show_kinds(found, seed)
    trouble = [f"{wire}: {text}" for wire, one in found.items()
               for text in (*one["faults"], *one["wrong"], *(
                   f"not refused: {name}" for name in one["controls"]))]
    print("\n".join(trouble[:40]))
    print(time.strftime("measured %Y-%m-%d"), f"seed {seed}",
          "load {:.1f} {:.1f} {:.1f}".format(*os.getloadavg()))
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main())
