"""Links that a command planted at every name claw opens in its workspace:
nothing behind them is told, sent, kept or changed."""

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from claw.storage.session_place import file_name
from claw.testing.fake_openai import FakeOpenAI
from claw.testing.fake_telegram import FakeTelegram
from claw.testing.reference_brain import reference_brain

TOKEN = "1234567:bot-token"
CANARY = "the-key-of-id_rsa"
SNAPSHOT = f"""# 🧠 claw Memory Snapshot
<!-- claw-snapshot: 1 -->

### 🔑 `{CANARY}`

{CANARY} tea

*Created: 2026-01-01T00:00:00Z | Updated: 2026-01-01T00:00:00Z*

---
"""
SESSION = f'{{"role": "user", "content": "{CANARY}"}}\n'
SESSION_FILE = f"sessions/{file_name('work')}"

TALK = (["agent", "--session", "work", "what tea?"],)
REMEMBER = (["memory", "recall", "tea"], ["memory", "store", "new", "milk"],
            ["memory", "list"], ["memory", "check"],
            ["memory", "forget", "new"])
SNAP = (["memory", "snapshot"], ["memory", "snapshot", "--check"],
        ["memory", "hydrate"], ["memory", "hygiene", "--force"])
SESSIONS = (["session", "list"], ["session", "show", "work"],
            ["session", "export", "work"], ["session", "clear", "work"],
            ["memory", "hygiene", "--force"])
QUEUE = (["queue", "list", "--all"], ["why"],
         ["queue", "purge", "--failed", "--yes"],
         ["listen", "--check"], ["listen", "--channel", "cli"],
         ["send", "telegram:1001", "hi"])
SEND = (["send", "telegram:1001", "-f", "plain.txt", "hi"],
        ["send", "telegram:1001", "[DOCUMENT:outgoing/canary.txt]"])
COST = (["ask", "what tea?"], ["cost"])
STATE = (["provider", "models", "--refresh"], ["provider", "models"],
         ["listen", "--check"], ["memory", "hygiene", "--force"])

SIDES = ("", "-wal", "-shm", "-journal")
FILES = {
    **{f"{name}.md": TALK for name in (
        "AGENTS", "SOUL", "USER", "TOOLS", "IDENTITY", "HEARTBEAT",
        "BOOTSTRAP", "MEMORY")},
    "MEMORY_SNAPSHOT.md": SNAP,
    **{f"memory/brain.db{side}": REMEMBER for side in SIDES},
    **{f"memory/response_cache.db{side}": COST for side in SIDES},
    **{f"state/ledger.db{side}": COST for side in SIDES},
    **{f"state/queue.db{side}": QUEUE for side in SIDES},
    **{f"state/{name}": STATE for name in (
        "listen.json", "models_cache.json", "model_facts.json",
        "memory_hygiene_state.json", "memory_hygiene.lock")},
    SESSION_FILE: TALK + SESSIONS,
    "sessions/work.jsonl": TALK + SESSIONS,
    "sessions/archive/old.jsonl": SESSIONS,
}
FOLDERS = {
    "memory": REMEMBER + SNAP, "state": QUEUE + COST + STATE,
    "sessions": TALK + SESSIONS, "outgoing": SEND,
    "sessions/archive": SESSIONS, "memory/archive": SNAP,
    "memory/migrations": (
        ["memory", "import", "--from", "zeroclaw", "other.db"],),
}


@pytest.fixture
def model():
    with FakeOpenAI(replies=["the answer"]) as fake:
        yield fake


@pytest.fixture
def platform():
    with FakeTelegram(TOKEN) as fake:
        yield fake


@pytest.fixture
def workspace(home, model, platform, claw, tmp_path):
    """One that was used for everything."""
    home.mkdir(mode=0o700)
    config = home / "config.toml"
    config.write_text(
        f'default_provider = "custom:{model.url}"\n'
        'default_model = "fake-model"\n'
        "[memory]\narchive_after_days = 1\nresponse_cache_enabled = true\n"
        f'[channels_config.telegram]\nbot_token = "{TOKEN}"\n'
        f'api_base_url = "{platform.url}"\n')
    config.chmod(0o600)
    folder = home / "workspace"
    for arguments, stdin in (
            (["memory", "store", "k", "green tea"], None),
            (["memory", "snapshot"], None), (["ask", "hello"], None),
            (["agent", "--session", "work", "hello"], None),
            (["memory", "hygiene", "--force"], None),
            (["listen", "--channel", "cli", "-p", "offline"], "6 * 7?\n")):
        done = claw(*arguments, stdin=stdin)
        assert done.code == 0, done
    for name in ("sessions/archive", "memory/archive", "outgoing"):
        (folder / name).mkdir(exist_ok=True)
    (tmp_path / "plain.txt").write_text("plain")
    return folder


@pytest.fixture
def outside(tmp_path, workspace):
    """What is behind the links: a store, sessions and a key of others."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for name in ("memory", "state", "sessions"):
        shutil.copytree(workspace / name, folder, dirs_exist_ok=True)
    reference_brain(tmp_path / "other.db")
    with closing(sqlite3.connect(folder / "brain.db")) as brain:
        brain.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        brain.execute("UPDATE memories SET content = ?",
                      (f"{CANARY} tea",))
        brain.commit()
    for name in ("canary.txt", "2024-01-01.md"):
        (folder / name).write_text(f"{CANARY} tea\n")
    for name in ("work.jsonl", file_name("work")):
        (folder / name).write_text(SESSION)
        os.utime(folder / name, (10 ** 9, 10 ** 9))
    (folder / "snapshot.md").write_text(SNAPSHOT)
    return folder


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.is_symlink()}


def target(outside, name):
    """A file outside that would be believed in the place of `name`."""
    if name.endswith((".jsonl", ".db")):
        found = outside / name.rpartition("/")[2]
        return found if found.exists() else outside / "brain.db"
    return outside / ("snapshot.md" if "SNAPSHOT" in name else "canary.txt")


def put_aside(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def plant_chain(path, end):
    """A link to a link to the end of it."""
    between = path.parent / ".between"
    between.symlink_to(end)
    path.symlink_to(between.name)


def plant_dangling(path, end):
    path.symlink_to(end.parent / "would-be-made")


def run_all(claw, workspace, outside, commands, model, platform):
    """The commands, and that nothing came through."""
    before = contents(outside)
    model.requests.clear()
    said = []
    for command in commands:
        done = claw(*command, stdin="6 * 7?\n" if "cli" in command else None)
        said.append(f"{command} {done}")
        assert done.code != 70, done
        assert "Traceback" not in done.err, done
    assert CANARY not in "".join(said), said
    assert contents(outside) == before, said
    for request in model.requests:
        assert CANARY.encode() not in request.raw, said
    for kept in contents(workspace).values():
        assert CANARY.encode() not in kept, said
    assert CANARY not in str(platform.answers())
    return said


@pytest.mark.parametrize("plant", [plant_chain, plant_dangling])
@pytest.mark.parametrize("name", sorted(FILES))
def test_no_link_in_the_place_of_a_file_is_followed(
        claw, workspace, outside, model, platform, name, plant):
    put_aside(workspace / name)
    plant(workspace / name, target(outside, name))

    run_all(claw, workspace, outside, FILES[name], model, platform)
    assert not (outside / "would-be-made").exists()


@pytest.mark.parametrize("plant", [plant_chain, plant_dangling])
@pytest.mark.parametrize("name", sorted(FOLDERS))
def test_no_link_in_the_place_of_a_folder_is_followed(
        claw, workspace, outside, model, platform, name, plant):
    put_aside(workspace / name)
    plant(workspace / name, outside)

    run_all(claw, workspace, outside, FOLDERS[name], model, platform)
    assert not (outside / "would-be-made").exists()
