"""A long session with tools: what each turn costs, and whether every
request is one that its vendor takes.

    python bench/turn.py [--turns 200] [--wires chat,anthropic] [--seed 1]
        [--no-timing]

One conversation of 200 turns for each wire (OpenAI's chat and responses,
Anthropic, Gemini, Ollama), with session file, log, ledger, memory and
sandbox as `claw agent` has them, and closed and resumed in the middle. The
turns are a seeded mix (turns/script.py): plain answers, single, parallel and
failing calls, loops, turns without an end, calls that can't be read, long
results, images, a person who stops while the model speaks or a tool runs,
and models that find the conversation too long. The model is a process of
its own (turns/model.py) that holds each request against the types of the
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
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from turns.script import kind_of
from turns.session import furnish, marks
from turns.wires import find_faults, read

HERE = Path(__file__).parent
PARTS = ("cpu", "memory", "tools", "httpx")
WIRES = ("chat", "responses", "anthropic", "gemini", "ollama")


@contextlib.contextmanager
def model(wire: str, seed: int, folder: str, report: dict[str, Any]
          ) -> Iterator[str]:
    """A model's process and its address; `report` gets what it found."""
    process = subprocess.Popen(
        [sys.executable, "-m", "turns.model", wire, str(seed), folder],
        cwd=HERE, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
        report.update(json.loads(process.communicate(timeout=60)[0]))
    finally:
        process.kill()
        process.wait()


def child(module: str, *words: object) -> Any:
    """What a process of its own prints."""
    return json.loads(subprocess.run(
        [sys.executable, "-m", f"turns.{module}", *map(str, words)],
        check=True, text=True, cwd=HERE, stdout=subprocess.PIPE, env={
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
                ran = child("session", home, turns, seed,
                            *["traced"][:traced])
            if traced:
                found["traced"] = ran["traced"]
                found["wrong"] += ran["wrong"]
            else:
                found |= ran | report
        found["controls"] = break_requests(wire, kept, seed)
        if timing:
            with model(wire, seed, "-", {}) as url:
                found["httpx"] = child("replay", kept,
                                       url.removesuffix("/v1"), turns)
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
    options = parser.parse_args()
    turns, seed = options.turns, options.seed
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
