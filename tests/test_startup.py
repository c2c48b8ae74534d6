"""What a local command must not import, by module name."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import closing

import pytest

from claw.memory.settings import MemorySettings
from claw.memory.sqlite import SqliteMemory
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


@pytest.fixture
def with_past(tmp_path):
    """A home whose memory was overwritten, forgotten and superseded."""
    workspace = tmp_path / ".claw" / "workspace"
    memory = SqliteMemory.open(workspace, MemorySettings())
    with closing(memory):
        for text in ("green tea", "black tea"):
            memory.store("key", text, session_id="a")
            memory.store("other", text, session_id="a")
        memory.store("gone", "white tea")
        memory.forget("gone")
        assert memory.supersede("other", "key")
    return tmp_path


@pytest.mark.parametrize("arguments", [
    ["memory", "recall", "tea"],
    ["memory", "recall", "--explain", "tea"],
    ["memory", "recall", "tea", "--as-of", "2126-01-01"],
    ["memory", "store", "key", "mint tea"],
    ["memory", "stats"],
    ["memory", "history", "key"],
    ["memory", "undo", "gone"],
    ["memory", "check"],
    ["memory", "reindex"],
    ["memory", "export"],
    ["memory", "forget", "key"],
])
def test_a_store_with_a_past_loads_no_more(with_past, arguments):
    code, names = modules_after(with_past, *arguments)

    assert code == 0
    assert names & KEPT_OFF == set()
    assert not {name for name in names
                if name.startswith("claw.memory.embeddings")}


@pytest.mark.parametrize("provider", ["none", ""])
def test_vectors_that_nothing_asks_for_load_no_numpy(with_past, provider):
    """A store may hold vectors of a time when they were wanted."""
    path = with_past / ".claw" / "workspace" / "memory" / "brain.db"
    with closing(connect(path)) as brain:
        brain.executescript(
            "INSERT INTO embedding_models VALUES (1, 'toy', 2);"
            "INSERT INTO vectors VALUES (1, 1, x'0000803f0000803f')")
    (with_past / ".claw" / "config.toml").write_text(
        f'[memory]\nembedding_provider = "{provider}"\n')

    for arguments in (["recall", "tea"], ["store", "key", "mint tea"],
                      ["stats"]):
        code, names = modules_after(with_past, "memory", *arguments)

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
