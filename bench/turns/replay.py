"""The requests of a session once more, over httpx alone: what they cost
whoever sends them. A process of its own, for bench/turn.py.

    python -m turns.replay FOLDER URL TURNS

Prints the CPU of each turn's requests in ms, as JSON.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import httpx


async def replay(folder: Path, url: str, turns: int) -> list[float]:
    """CPU in ms of each turn's requests."""
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


if __name__ == "__main__":
    folder, url, turns = sys.argv[1:]
    print(json.dumps(asyncio.run(replay(Path(folder), url, int(turns)))))
