"""Start-up in CPU time, beside bare Python and `llm`, in one run.

    python bench/startup.py [--rounds 15] [--llm PATH]

Every round runs every command once, alternately. The table shows medians of
user+system CPU and their ratio to `python -c pass`. The model is a server on
127.0.0.1 that answers at once; it runs in a process of its own. The row over
https needs `openssl`, for a certificate.
"""

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = 10_000

SERVER = r"""
import json, socket, sys
server = socket.create_server(("127.0.0.1", 0))
if sys.argv[1:]:
    import ssl
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*sys.argv[1:])
    server = context.wrap_socket(server, server_side=True)
print(server.getsockname()[1], flush=True)
def event(delta, finish=None):
    return "data: " + json.dumps({"id": "1", "object":
        "chat.completion.chunk", "created": 0, "model": "m", "choices": [
        {"index": 0, "delta": delta, "finish_reason": finish}]}) + "\n\n"
while True:
    peer, _ = server.accept()
    data = b""
    while b"\r\n\r\n" not in data:
        more = peer.recv(65536)
        if not more: break
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"): length = int(line[15:])
    while len(body) < length: body += peer.recv(65536)
    if b'"stream":true' in body.replace(b" ", b""):
        out = (event({"role": "assistant", "content": "hello"})
               + event({}, "stop") + "data: [DONE]\n\n").encode()
        kind = b"text/event-stream"
    else:
        out = json.dumps({"id": "1", "object": "chat.completion",
            "created": 0, "model": "m", "choices": [{"index": 0,
            "message": {"role": "assistant", "content": "hello"},
            "finish_reason": "stop"}], "usage": {"prompt_tokens": 1,
            "completion_tokens": 1, "total_tokens": 2}}).encode()
        kind = b"application/json"
    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: " + kind
        + b"\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(out)
        + out)
    peer.close()
"""


def run(command: list[str], env: dict[str, str]) -> tuple[float, int]:
    """CPU milliseconds and peak memory in kB of one process."""
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    said = process.stderr.read() if process.stderr else b""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}: "
                         f"{said.decode()}")
    return (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss


def fill(claw: str, env: dict[str, str]) -> None:
    """A brain of ROWS memories, twelve words each, the words as frequent
    as in natural text (Zipf's law over 3,000 of them)."""
    rng = random.Random(7)
    parts = ["ka", "lo", "mi", "ne", "ru", "so", "ta", "vi", "wen", "dor",
             "hal", "bis", "pra", "ster", "ing"]
    words = ["tea", "green", "harbour", "ticket", "Oslo", "budget"] + [
        "".join(rng.choices(parts, k=3)) for _ in range(3000)]
    rng.shuffle(words)
    shares = [1 / (rank + 10) for rank in range(len(words))]
    lines = "\n".join(json.dumps({
        "key": f"note-{n}", "content": " ".join(
            rng.choices(words, shares, k=12)) + " in the"})
        for n in range(ROWS))
    subprocess.run([claw, "memory", "import", "-"], input=lines, text=True,
                   env=env, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--llm", default=shutil.which("llm"))
    options = parser.parse_args()
    claw = str(Path(sys.executable).with_name("claw"))
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        server, url = serve()
        env = {"PATH": os.environ["PATH"], "HOME": directory,
               "CLAW_HOME": str(home / "claw"), "LLM_USER_PATH": str(home),
               "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-bench"}
        servers = [server]
        try:
            cases = list_cases(claw, url)
            if shutil.which("openssl"):
                secure, address = serve(*make_certificate(home))
                servers.append(secure)
                env["SSL_CERT_FILE"] = str(home / "cert.pem")
                cases["claw ask -p openai, over https"] = [
                    "env", f"OPENAI_BASE_URL={address}",
                    *cases["claw ask -p openai"]]
            measure(options, cases, claw, home, env, url)
        finally:
            for server in servers:
                server.kill()


def serve(*certificate: str) -> tuple[subprocess.Popen[str], str]:
    """A model server, and its address."""
    server = subprocess.Popen([sys.executable, "-c", SERVER, *certificate],
                              text=True, stdout=subprocess.PIPE)
    assert server.stdout
    port = server.stdout.readline().strip()
    return server, f"http{'s' * bool(certificate)}://127.0.0.1:{port}/v1"


def make_certificate(home: Path) -> tuple[str, str]:
    """The files of a certificate for 127.0.0.1 and of its key."""
    cert, key = str(home / "cert.pem"), str(home / "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
         "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


def list_cases(claw: str, url: str) -> dict[str, list[str]]:
    """What is measured: name -> command. A row more is a line more."""
    question = "three word question"
    asked = ["-p", f"custom:{url}", "-m", "m"]
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "claw --version": [claw, "--version"],
        f"claw memory recall, {ROWS:,} rows": [
            claw, "memory", "recall", "green tea in Oslo"],
        "claw memory store": [claw, "memory", "store", "bench", "green tea"],
        "claw log list": [claw, "log", "list"],
        "claw map, all answers kept": [
            claw, "map", *asked, "how long?", __file__],
        "claw ask, with the log": [claw, "ask", *asked, question],
        "claw ask --no-log": [claw, "ask", *asked, "--no-log", question],
        "claw ask -T": [claw, "ask", *asked, "-T", "translate",
                        "-P", "lang=German", "hello"],
        "claw ask -p openai": [
            claw, "ask", "-p", "openai", "-m", "m", question],
        f"a Tab: memory keys, {ROWS:,} rows": [
            claw, "__complete", "fish", "memory-key", "note-", "--",
            "memory", "get"],
        "a Tab: providers": [claw, "__complete", "fish", "provider", "",
                             "--", "ask", "-p"],
        "claw ask, offline": [claw, "ask", "-p", "offline", "what is 6 * 7?"],
    }


def measure(options: argparse.Namespace, cases: dict[str, list[str]],
            claw: str, home: Path, env: dict[str, str], url: str) -> None:
    """Fill, run the rounds, print the table."""
    fill(claw, env)
    if options.llm:
        (home / "extra-openai-models.yaml").write_text(
            f'- model_id: bench\n  model_name: m\n  api_base: "{url}"\n'
            "  api_key_name: bench\n")
        (home / "keys.json").write_text('{"bench": "none"}')
        cases["llm, local server"] = [
            options.llm, "-m", "bench", "three word question"]
    seen: dict[str, list[float]] = {name: [] for name in cases}
    memory: dict[str, int] = dict.fromkeys(cases, 0)
    for command in cases.values():
        run(command, env)
    for _ in range(options.rounds):
        for name, command in cases.items():
            cpu, peak = run(command, env)
            seen[name].append(cpu)
            memory[name] = max(memory[name], peak)
    bare = statistics.median(seen["python -c pass"])
    print(f"{'command':36} {'CPU ms':>8} {'ratio':>7} {'peak MB':>8}")
    for name, values in seen.items():
        middle = statistics.median(values)
        print(f"{name:36} {middle:8.1f} {middle / bare:6.1f}x "
              f"{memory[name] / 1024:8.1f}")
    print(time.strftime("measured %Y-%m-%d"), f"rounds {options.rounds}",
          "page size", resource.getpagesize(),
          "load {:.1f} {:.1f} {:.1f}".format(*os.getloadavg()))


if __name__ == "__main__":
    main()
