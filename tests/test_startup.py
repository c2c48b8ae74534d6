"""What a local command must not import, by module name."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import closing

import pytest

from claw.storage.queue.sqlite import SqliteQueue
from claw.storage.sqlite import connect

KEPT_OFF = {"numpy", "httpx", "rich", "asyncio", "questionary",
            "sqlite_utils", "openai", "cryptography", "importlib.metadata",
            "prompt_toolkit", "watchfiles", "pydantic", "tomlkit", "logging"}

RUN = """
import json, sys
from claw.cli.app import run
code = run(sys.argv[1:])
sys.stderr.write("\\n" + json.dumps([code, sorted(sys.modules)]))
"""


def modules_after(tmp_path, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True,
        stdin=subprocess.DEVNULL, check=True, text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path),
             "CLAW_NO_PROBE": "1"})
    code, names = json.loads(done.stderr.rsplit("\n", 1)[1])
    return code, set(names)


@pytest.mark.parametrize("arguments", [
    ["--help"],
    ["memory", "--help"],
    ["memory", "store", "key", "green tea"],
    ["memory", "recall", "tea"],
    ["memory", "get", "key"],
    ["memory", "list"],
    ["memory", "count"],
    ["memory", "forget", "key"],
    ["channel", "list"],
    ["config", "path"],
    ["config", "get", "memory.backend"],
])
def test_local_command_stays_light(tmp_path, arguments):
    (tmp_path / ".claw").mkdir()
    (tmp_path / ".claw" / "config.toml").write_text(
        "[memory]\nauto_save = true\n")
    modules_after(tmp_path, "memory", "store", "key", "green tea")

    code, names = modules_after(tmp_path, *arguments)

    assert code == 0
    assert names & KEPT_OFF == set()


@pytest.mark.parametrize("arguments", [
    ["queue", "list", "--all"],
    ["why"],
])
def test_looking_at_the_queue_stays_light(tmp_path, arguments):
    with closing(connect_queue(tmp_path / ".claw" / "workspace")):
        code, names = modules_after(tmp_path, *arguments)

    assert code == 1
    assert names & KEPT_OFF == set()


def connect_queue(workspace):
    """An empty queue, as claw listen leaves it."""
    async def made():
        queue = SqliteQueue(workspace / "state" / "queue.db")
        await queue.aclose()
    asyncio.run(made())
    return connect(workspace / "state" / "queue.db", readonly=True)


def test_ask_imports_no_sdk(tmp_path):
    code, names = modules_after(tmp_path, "ask", "-p", "offline", "6 * 7?")

    assert code == 0
    assert names & {"openai", "numpy", "rich", "sqlite_utils", "pydantic",
                    "prompt_toolkit", "questionary", "cryptography",
                    "importlib.metadata", "httpx"} == set()
