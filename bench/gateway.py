"""The gateway beside litellm's proxy: what a streamed answer costs on its way.

    python bench/gateway.py [--turns 200] [--idle 1000] [--litellm DIR]

A model's server (a process of its own) gives 40 pieces as fast as they are
read. Each turn is asked of it directly, through claw and through litellm's
proxy, one after the other in the same run, over kept connections.

    p50, p99     milliseconds to the last byte, above those of the direct way
    CPU          milliseconds of a proxy's process (user and system) a turn
    idle         streams that wait for a word: megabytes of RSS before, with
                 them, and after they have left

litellm is installed into a venv of its own in DIR (a folder that goes again
where none is named); where that can't be done, or it does not start, the
table says why.
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

MODEL = r"""
import asyncio, json, sys
def event(delta, reason=None, usage=None):
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1,
            "model": "m", "choices": [{"index": 0, "delta": delta,
            "finish_reason": reason}]}
    if usage:
        body = {**body, "choices": [], "usage": usage}
    data = b"data: " + json.dumps(body).encode() + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(data), data)
HEAD = (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
        b"transfer-encoding: chunked\r\n\r\n")
END = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if head.startswith(b"get"):
                body = b'{"object": "list", "data": [{"id": "m"}]}'
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n"
                             b"content-type: application/json\r\n\r\n"
                             % len(body) + body)
                continue
            size = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            asked = json.loads(await reader.readexactly(size))
            writer.write(HEAD + event({"role": "assistant", "content": ""}))
            if asked["model"] == "idle":
                writer.write(event({"content": "wait"}))
                await writer.drain()
                await asyncio.sleep(3600)
            for number in range(40):
                writer.write(event({"content": f"word {number} "}))
                await writer.drain()
            writer.write(event({}, "stop") + event({}, usage={
                "prompt_tokens": 9, "completion_tokens": 80,
                "total_tokens": 89}) + END)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


class Way(NamedTuple):
    """Somebody who answers: at which port, with what key, in which
    process (0: nobody's CPU is counted)."""

    name: str
    port: int
    key: str
    model: str
    process: int


class Client:
    """One kept connection."""

    def __init__(self, way: Way, model: str = "") -> None:
        body = json.dumps({
            "model": model or way.model, "stream": True,
            "stream_options": {"include_usage": True},
            "messages": [{"role": "user", "content": "Count to forty."}],
        }).encode()
        self._raw = (f"POST /v1/chat/completions HTTP/1.1\r\n"
                     f"Host: localhost\r\nAuthorization: Bearer {way.key}\r\n"
                     f"Content-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n").encode() + body
        self._way = way
        self._reader: asyncio.StreamReader | None = None

    async def ask(self, until: bytes = b"[DONE]") -> float:
        """Milliseconds to the end of an answer."""
        if self._reader is None:
            self._reader, self._writer = await asyncio.open_connection(
                "127.0.0.1", self._way.port)
        began = time.perf_counter()
        self._writer.write(self._raw)
        seen = b""
        while until not in seen:
            got = await self._reader.read(65536)
            if not got:
                raise ConnectionError(f"{self._way.name}: {seen[:300]!r}")
            seen = seen[-8000:] + got
        ms = (time.perf_counter() - began) * 1000
        if until == b"[DONE]" and not seen.endswith(b"0\r\n\r\n"):
            await self._reader.readuntil(b"0\r\n\r\n")
        if b" 200 " not in seen[:20] and b"word 39" not in seen \
                and until == b"[DONE]":
            raise ConnectionError(f"{self._way.name}: {seen[:300]!r}")
        return ms

    def close(self) -> None:
        if self._reader is not None:
            self._writer.transport.abort()


def cpu_ms(process: int) -> float:
    """CPU of a process and its children so far."""
    ticks = 0
    for pid in [process, *children(process)]:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
        ticks += sum(map(int, fields.split()[11:13]))
    return ticks * 1000 / os.sysconf("SC_CLK_TCK")


def children(process: int) -> list[int]:
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(pid) for pid in path.read_text().split()]


def rss_mb(process: int) -> float:
    text = Path(f"/proc/{process}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) / 1024


@contextmanager
def running(command: list[str], env: dict[str, str], log: Path
            ) -> Iterator[subprocess.Popen[str]]:
    with log.open("w") as out:
        process = subprocess.Popen(command, env=env, text=True, stderr=out,
                                   stdout=subprocess.PIPE)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)
            assert process.stdout is not None
            process.stdout.close()


def wait_until_up(url: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def free_port() -> int:
    import socket
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@contextmanager
def claw(folder: Path, model: int) -> Iterator[Way]:
    port, home = free_port(), folder / "claw"
    home.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(home),
           "CLAW_HOME": str(home / ".claw"), "CLAW_NO_PROBE": "1"}
    (home / ".claw").mkdir(mode=0o700)
    config = home / ".claw" / "config.toml"
    config.write_text(
        f'default_provider = "custom:http://127.0.0.1:{model}/v1"\n'
        'default_model = "m"\n[model_aliases]\nfast = "m"\nidle = "idle"\n'
        f"[gateway]\nport = {port}\nrate_limit_per_minute = 0\n")
    config.chmod(0o600)
    run = [sys.executable, "-m", "claw"]
    key = subprocess.run([*run, "gateway", "token", "add", "bench"], env=env,
                         check=True, text=True, capture_output=True)
    with running([*run, "gateway"], env, folder / "claw.log") as process:
        wait_until_up(f"http://127.0.0.1:{port}/health", 30)
        yield Way("claw", port, key.stdout.split()[-1], "fast", process.pid)


@contextmanager
def litellm(folder: Path, venv: Path, model: int) -> Iterator[Way]:
    """Raises OSError or CalledProcessError where it can't be had."""
    if not (venv / "bin" / "litellm").exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        subprocess.run([str(venv / "bin" / "pip"), "install", "-q",
                        "litellm[proxy]"], check=True, timeout=900,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    config = folder / "litellm.yaml"
    config.write_text(json.dumps({"model_list": [{
        "model_name": "fast", "litellm_params": {
            "model": "openai/m", "api_key": "x",
            "api_base": f"http://127.0.0.1:{model}/v1"}}],
        "general_settings": {"master_key": "sk-bench"}}))
    port = free_port()
    env = {"PATH": f"{venv / 'bin'}:{os.environ['PATH']}",
           "HOME": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True",
           "NO_DOCS": "True"}
    with running([str(venv / "bin" / "litellm"), "--config", str(config),
                  "--port", str(port), "--host", "127.0.0.1"], env,
                 folder / "litellm.log") as process:
        wait_until_up(f"http://127.0.0.1:{port}/health/liveliness", 90)
        yield Way("litellm", port, "sk-bench", "fast", process.pid)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


async def measure(ways: list[Way], turns: int) -> None:
    clients = {way: Client(way) for way in ways}
    for client in clients.values():
        for _ in range(20):  # warm
            await client.ask()
    took: dict[Way, list[float]] = {way: [] for way in ways}
    spent = dict.fromkeys(ways, 0.0)
    for _ in range(turns // 20):
        for way in ways:
            before = cpu_ms(way.process) if way.process else 0.0
            for _ in range(20):
                took[way].append(await clients[way].ask())
            if way.process:
                spent[way] += cpu_ms(way.process) - before
    for client in clients.values():
        client.close()
    base = took[ways[0]]
    print(f"{'':10}{'p50 ms':>9}{'p99 ms':>9}{'CPU ms':>9}")
    print(f"{'direct':10}{statistics.median(base):9.2f}"
          f"{percentile(base, 0.99):9.2f}{'':>9}")
    for way in ways[1:]:
        print(f"+ {way.name:8}"
              f"{statistics.median(took[way]) - statistics.median(base):9.2f}"
              f"{percentile(took[way], 0.99) - percentile(base, 0.99):9.2f}"
              f"{spent[way] / len(took[way]):9.2f}")


async def hold(way: Way, count: int) -> None:
    before = rss_mb(way.process)
    clients = [Client(way, "idle") for _ in range(count)]
    for start in range(0, count, 20):
        await asyncio.gather(*(client.ask(b"wait") for client in
                               clients[start:start + 20]))
    during = rss_mb(way.process)
    began = cpu_ms(way.process)
    await asyncio.sleep(5)
    cpu = (cpu_ms(way.process) - began) / 5
    for client in clients:
        client.close()
    await asyncio.sleep(2)
    print(f"{count} idle streams: {before:.0f} MB before, {during:.0f} MB "
          f"with them ({(during - before) * 1024 / count:.0f} kB each), "
          f"{rss_mb(way.process):.0f} MB after; {cpu:.1f} ms of CPU a second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--idle", type=int, default=1000)
    parser.add_argument("--litellm", type=Path)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as name, running(
            [sys.executable, "-c", MODEL], dict(os.environ),
            Path(name) / "model.log") as model:
        assert model.stdout is not None
        folder, port = Path(name), int(model.stdout.readline())
        with claw(folder, port) as own:
            ways = [Way("direct", port, "x", "m", 0), own]
            try:
                with litellm(folder, options.litellm or folder / "venv",
                             port) as other:
                    asyncio.run(measure([*ways, other], options.turns))
            except (OSError, subprocess.SubprocessError) as error:
                print(f"without litellm: {error}")
                asyncio.run(measure(ways, options.turns))
            asyncio.run(hold(own, options.idle))


if __name__ == "__main__":
    main()
