"""The bots that bench/runtime.py measures: claw in its variants, nanobot.

Each runs as a process of its own in a home of its own; what it costs is
read from /proc.
"""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")


class Bot(NamedTuple):
    """A bot to measure: its row's name, the interpreter of its
    environment, and what it is."""

    name: str
    python: str
    kind: str = "claw"
    memory: str = "none"
    acks: bool = False
    counted: bool = False

    def start(self, home: Path, telegram: str, token: str, model: str
              ) -> "Running":
        write = _nanobot if self.kind == "nanobot" else _claw
        command = write(self, home, telegram, token, model)
        log = (home / "log.txt").open("wb")
        return Running(subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd=home, env={"PATH": os.environ["PATH"], "HOME": str(home),
                           "XDG_RUNTIME_DIR": str(home)}), home)


def _claw(bot: Bot, home: Path, telegram: str, token: str, model: str
          ) -> list[str]:
    config = home / "config.toml"
    config.write_text(f"""\
default_provider = "custom:{model}"
default_model = "m"
[memory]
backend = "{bot.memory}"
[channels_config]
ack_reactions = {str(bot.acks).lower()}
[channels_config.telegram]
bot_token = "{token}"
allowed_users = {list(range(5000, 10000))}
api_base_url = "{telegram}"
""")
    config.chmod(0o600)
    return [bot.python, *(("-c", _COUNTED) if bot.counted else
                          ("-m", "claw")),
            "--config-dir", str(home), "listen", "-q"]


# claw as it is, and a thread that notes the number of tasks in `tasks`.
_COUNTED = """
import asyncio, pathlib, sys, threading, time
class Policy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self):
        loop = super().new_event_loop()
        threading.Thread(target=count, args=(loop,), daemon=True).start()
        return loop
def count(loop):
    while True:
        time.sleep(5)
        try:
            pathlib.Path("tasks").write_text(str(len(asyncio.all_tasks(loop))))
        except RuntimeError:  # it changed meanwhile
            pass
asyncio.set_event_loop_policy(Policy())
from claw.__main__ import main
sys.argv[0] = "claw"
sys.exit(main())
"""


# nanobot has no setting for the Bot API's address, and the table of its
# tokenizer would be fetched from the network for each message: both are put
# in their places before it starts (the tokenizer as one that costs
# nothing), nothing else is changed. It waits 200 ms after each message for
# more of them.
_NANOBOT = """
import sys
import tiktoken
from telegram.ext import ApplicationBuilder
started = ApplicationBuilder.__init__
address = sys.argv.pop()
def start(self):
    started(self)
    self.base_url(address + "/bot")
ApplicationBuilder.__init__ = start
class Free:
    def encode(self, text, **_):
        return [0] * (len(text) // 4 + 1)
tiktoken.get_encoding = lambda name: Free()
from nanobot.cli.commands import app
sys.argv[0] = "nanobot"
app()
"""


def _nanobot(bot: Bot, home: Path, telegram: str, token: str, model: str
             ) -> list[str]:
    place = home / ".nanobot"
    place.mkdir(exist_ok=True)
    (place / "config.json").write_text(json.dumps({
        "agents": {"defaults": {"workspace": str(place / "workspace"),
                                "model": "m", "provider": "custom"}},
        "tools": {"maxSessionMessagesPerMinute": 1_000_000},
        "providers": {"custom": {"apiKey": "none", "apiBase": model}},
        "channels": {"telegram": {
            "enabled": True, "token": token, "allowFrom": ["*"],
            "reactEmoji": "👀" if bot.acks else "", "streaming": False},
            "websocket": {"enabled": False}}}))
    return [bot.python, "-c", _NANOBOT, "gateway", "--foreground",
            telegram]


class Running:
    """A bot that runs."""

    def __init__(self, process: "subprocess.Popen[bytes]",
                 home: Path) -> None:
        self._process = process
        self.home = home

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def check(self) -> None:
        """Raises SystemExit where it has ended."""
        if self._process.poll() is not None:
            raise SystemExit(
                f"the bot ended with {self._process.returncode}: "
                + (self.home / "log.txt").read_text("utf-8", "replace")
                [-2000:])


class Footprint(NamedTuple):
    """What a process and its files take."""

    rss_mb: float
    fds: int
    threads: int
    tasks: int
    queue_mb: float
    sessions_mb: float


def cpu_s(pid: int) -> float:
    """User and system CPU of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_mb(pid: int) -> float:
    return _status(pid, "VmRSS") / 1024


def footprint(running: Running) -> Footprint:
    pid = running.pid
    return Footprint(
        rss_mb(pid), len(os.listdir(f"/proc/{pid}/fd")),
        _status(pid, "Threads"), _tasks(running.home),
        _size(running.home, "queue.db*"),
        _size(running.home, "*.jsonl"))


def _status(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise KeyError(name)


def _tasks(home: Path) -> int:
    try:
        return int((home / "tasks").read_text() or 0)
    except FileNotFoundError:
        return 0


def _size(home: Path, pattern: str) -> float:
    """MB of files by this name."""
    total = 0
    for path in home.rglob(pattern):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue  # a -wal file that was just removed
    return total / 2**20


def settled_cpu(pid: int, quiet_s: float = 0.5) -> float:
    """CPU so far, once the process has been idle for a moment."""
    before = cpu_s(pid)
    while True:
        time.sleep(quiet_s)
        now = cpu_s(pid)
        if now - before < quiet_s * 0.05:
            return now
        before = now
