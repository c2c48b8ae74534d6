"""What a streamed answer costs, beside the raw socket and the openai SDK.

    python bench/providers.py [--rounds 9] [--deltas 1000] [--pace 0.3]

A server process on 127.0.0.1 streams Chat Completions, one HTTP chunk for
each delta, as fast as it can ("burst") and with a pause of `pace` ms between
them ("paced", so that every delta wakes its reader). Every round runs every
client once, each in a process of its own, alternately. The table shows
medians of user+system CPU for 1,000 deltas (imports and the first answer
apart), what is above the raw socket, the ratio to the SDK, and how long the
first delta took from the server's write to the reader's hands.

    raw         asyncio's streams; bytes are read and counted
    openai      openai.AsyncOpenAI, chat.completions.create(stream=True)
    claw        the compatible provider alone
    claw-httpx  the same through httpx's own transport, as for other hosts
    claw-ask    with retries, routes and the ledger around it
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

CLIENTS = ("raw", "openai", "claw", "claw-httpx", "claw-ask")
SERVER = r"""
import asyncio, json, sys, time

def openai(deltas):
    for n in range(deltas):
        text = " word%d" % n if n else "t=%r;" % time.monotonic()
        yield {"id": "c1", "object": "chat.completion.chunk", "created": 1,
               "model": "m", "choices": [{"index": 0, "delta":
               {"content": text}, "finish_reason": None}]}
    yield {"id": "c1", "object": "chat.completion.chunk", "created": 1,
           "model": "m", "choices": [{"index": 0, "delta": {},
           "finish_reason": "stop"}]}

def framed(data):
    return b"%x\r\n%s\r\n" % (len(data), data)

async def serve(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = 0
            for line in head.lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    length = int(line[15:])
            body = json.loads(await reader.readexactly(length))
            deltas, pace = map(float, body["messages"][-1]["content"].split())
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"
                         b"\r\nTransfer-Encoding: chunked\r\n\r\n")
            for event in openai(int(deltas)):
                data = b"data: " + json.dumps(event).encode() + b"\n\n"
                writer.write(framed(data))
                if pace:
                    await writer.drain()
                    await asyncio.sleep(pace / 1000)
            writer.write(framed(b"data: [DONE]\n\n") + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""

COMMON = r"""
import asyncio, json, sys, time
PORT, DELTAS, PACE, TIMES = (int(sys.argv[1]), int(sys.argv[2]),
                             float(sys.argv[3]), int(sys.argv[4]))
ASK = "%d %r" % (DELTAS, PACE)
URL = "http://127.0.0.1:%d/v1" % PORT

async def measure(stream):
    # stream() yields the deltas of one answer
    firsts, cpu = [], 0.0
    for number in range(TIMES + 1):
        seen = 0
        before = time.process_time()
        async for delta in stream():
            if not seen:
                now = time.monotonic()
                firsts.append(now - float(delta.split(";")[0][2:]))
            seen += 1
        if number:  # the first one warms up
            cpu += time.process_time() - before
        assert seen == DELTAS, seen
    print(json.dumps({"cpu": cpu / TIMES / DELTAS * 1000 * 1000,
                      "first": sorted(firsts[1:])[len(firsts[1:]) // 2]
                      * 1000}))
"""

SOURCES = {
    "raw": r"""
async def stream():
    reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
    body = json.dumps({"messages": [{"content": ASK}]}).encode()
    writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d"
                 b"\r\n\r\n" % len(body) + body)
    tail, left, first = b"", DELTAS, b""
    while True:
        data = await reader.read(65536)
        if len(first) < 600:
            first += data
            at = first.find(b"t=")
            if at >= 0 and left == DELTAS:
                left -= 1
                yield first[at:].decode()
        if (tail + data).endswith(b"0\r\n\r\n"):
            break
        tail = data[-8:]
    for _ in range(left):
        yield ""
    writer.close()
    await writer.wait_closed()
asyncio.run(measure(stream))
""",
    "openai": r"""
import openai
async def main():
    client = openai.AsyncOpenAI(base_url=URL, api_key="k", max_retries=0)
    async def stream():
        answer = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": ASK}],
            stream=True)
        async for chunk in answer:
            text = chunk.choices[0].delta.content
            if text:
                yield text
    await measure(stream)
    await client.close()
asyncio.run(main())
""",
    "claw": r"""
from claw.core.provider import ChatMessage, ChatRequest
from claw.providers.factory import create_provider
async def main():
    provider = create_provider("custom:" + URL)
    request = ChatRequest([ChatMessage.user(ASK)])
    async def stream():
        async for chunk in provider.stream_chat(request, "m", 0.7):
            if chunk.delta:
                yield chunk.delta
    await measure(stream)
    await provider.aclose()
asyncio.run(main())
""",
    "claw-httpx": r"""
from claw.core.provider import ChatMessage, ChatRequest
from claw.providers.factory import create_provider
import httpx
async def main():
    provider = create_provider("custom:" + URL,
                               transport=httpx.AsyncHTTPTransport())
    request = ChatRequest([ChatMessage.user(ASK)])
    async def stream():
        async for chunk in provider.stream_chat(request, "m", 0.7):
            if chunk.delta:
                yield chunk.delta
    await measure(stream)
    await provider.aclose()
asyncio.run(main())
""",
    "claw-ask": r"""
from pathlib import Path
from claw.config.places import locate
from claw.config.tree import load
from claw.core.provider import ChatMessage, ChatRequest
from claw.wiring.models.ledger import open_ledger
from claw.wiring.models.providers import build_providers
async def main():
    tree = load(locate(sys.argv[5]))
    ledger = open_ledger(tree, lambda text: None)
    provider, choice = await build_providers(
        tree, around=ledger.meter).open("custom:" + URL, "m")
    request = ChatRequest([ChatMessage.user(ASK)])
    async def stream():
        async for chunk in provider.stream_chat(request, "m", 0.7):
            if chunk.delta:
                yield chunk.delta
    await measure(stream)
    await provider.aclose()
    ledger.close()
asyncio.run(main())
""",
}


def run(client: str, port: int, options: argparse.Namespace, pace: float,
        home: str) -> dict[str, float]:
    """One process of one client."""
    done = subprocess.run(
        [sys.executable, "-c", COMMON + SOURCES[client], str(port),
         str(options.deltas), str(pace), str(options.times), home],
        capture_output=True, text=True, check=False, cwd="/",
        env={**os.environ, "CLAW_NO_PROBE": "1"})
    if done.returncode:
        raise SystemExit(f"{client} failed: {done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def table(mode: str, found: dict[str, list[dict[str, float]]]) -> None:
    cpu = {name: statistics.median(r["cpu"] for r in rows)
           for name, rows in found.items()}
    first = {name: statistics.median(r["first"] for r in rows)
             for name, rows in found.items()}
    print(f"\n{mode:<12} {'CPU ms':>8} {'over raw':>9} {'to SDK':>7} "
          f"{'first ms':>9}   (for 1,000 deltas)")
    for name in found:
        over = cpu[name] - cpu["raw"]
        sdk = cpu["openai"] - cpu["raw"]
        ratio = f"{over / sdk:.2f}" if sdk and name != "raw" else "-"
        print(f"{name:<12} {cpu[name]:8.1f} {over:9.1f} {ratio:>7} "
              f"{first[name]:9.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--deltas", type=int, default=1000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--pace", type=float, default=0.3)
    parser.add_argument("--only", default=",".join(CLIENTS))
    options = parser.parse_args()
    clients = [c for c in options.only.split(",") if c]
    if not {"raw", "openai"} <= set(clients) <= set(SOURCES):
        parser.error("--only needs raw and openai; there are "
                     + ", ".join(SOURCES))
    server = subprocess.Popen([sys.executable, "-c", SERVER], text=True,
                              stdout=subprocess.PIPE)
    assert server.stdout
    port = int(server.stdout.readline())
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as home:
            for mode, pace in (("burst", 0.0), ("paced", options.pace)):
                found: dict[str, list[dict[str, float]]] = {
                    name: [] for name in clients}
                for _ in range(options.rounds):
                    for name in clients:
                        found[name].append(run(name, port, options, pace,
                                               home))
                table(mode, found)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    print(f"\n{options.rounds} rounds in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
