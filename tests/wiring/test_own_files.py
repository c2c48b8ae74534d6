"""What claw keeps of people lies in the workspace: no tool of a chat's turn
reads it out to somebody else."""

import asyncio
from contextlib import closing

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.core.memory import CONVERSATION, CORE
from claw.core.turn import TurnContext, current_turn
from claw.memory.markdown.backend import MarkdownMemory
from claw.memory.settings import MemorySettings
from claw.memory.snapshot.file import export_snapshot
from claw.memory.sqlite.backend import SqliteMemory
from claw.storage.sessions import SessionStore
from claw.tools.files.files import FileEdit, FileRead, FileWrite
from claw.tools.shell import Shell
from claw.wiring.channels.build import build_deps
from claw.wiring.tools.build import build_policy, build_tools

BOB = "telegram_1_bob"
CANARY = "Zanzibarbob"


@pytest.fixture
def house(tmp_path):
    """A home where every store holds what bob said, and files of it."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(
        '[autonomy]\nlevel = "full"\nallowed_commands = ["cat", "grep", '
        '"find", "ls", "mv", "cp"]\n')
    (home / "config.toml").chmod(0o600)
    tree = load(locate(str(home), None, {}))
    workspace = tree.places.workspace
    fill(workspace)
    return tree


def fill(workspace):
    with closing(SqliteMemory.open(workspace, MemorySettings())) as memory:
        memory.store("tea", f"bob's tea is {CANARY}", CORE, BOB)
        export_snapshot(memory, workspace / "MEMORY_SNAPSHOT.md")
    markdown = MarkdownMemory.open(workspace, MemorySettings())
    markdown.store("tea", f"bob's tea is {CANARY}", CORE, BOB)
    markdown.store("said", f"bob said {CANARY}", CONVERSATION, BOB)
    for folder in ("memory", "sessions"):
        archive = workspace / folder / "archive"
        archive.mkdir(parents=True)
        (archive / "2026-01-01.md").write_text(f"bob said {CANARY}")
    SessionStore(workspace / "sessions").append(BOB, [{"text": CANARY}])


def files(workspace):
    """Where the canary stands."""
    return sorted(str(path.relative_to(workspace))
                  for path in workspace.rglob("*") if path.is_file()
                  and CANARY.encode() in path.read_bytes())


def tool(tree, kind):
    return next(tool for tool in build_tools(tree, build_policy(tree))
                if isinstance(tool, kind))


def call(found, **arguments):
    async def execute():
        current_turn.set(TurnContext(
            "channel", session_id="telegram_2_ann", sender="ann"))
        return await found.execute(arguments)
    return asyncio.run(execute())


def test_the_canary_is_where_it_is_looked_for(house):
    kinds = {name.partition("/")[0] if "archive" not in name else
             name.rpartition("/")[0] for name in files(house.places.workspace)}

    assert kinds == {"MEMORY_SNAPSHOT.md", "memory", "memory/archive",
                     "sessions", "sessions/archive"}


def test_no_file_tool_reads_or_changes_them(house):
    workspace = house.places.workspace
    (workspace / "link.md").symlink_to("MEMORY_SNAPSHOT.md")
    before = {name: (workspace / name).read_bytes()
              for name in files(workspace)}
    for name in [*before, "./MEMORY_SNAPSHOT.md", "link.md",
                 str(workspace / "MEMORY_SNAPSHOT.md")]:
        for result in (
                call(tool(house, FileRead), path=name),
                call(tool(house, FileWrite), path=name, content="x"),
                call(tool(house, FileEdit), path=name, old_string=CANARY,
                     new_string="x")):
            assert not result.success, name
            assert CANARY not in f"{result.output} {result.error}"

    assert before == {name: (workspace / name).read_bytes()
                      for name in before}


def test_no_answer_carries_them_away(house):
    workspace = house.places.workspace.resolve()
    may_send = build_deps(house, "telegram", lambda *_, **__: None).may_send

    assert not any(may_send(workspace / name) for name in files(workspace))


def test_no_command_reads_them(house):
    shell = tool(house, Shell)
    if shell._policy.sandbox.shelter().strategy not in ("namespaces",
                                                        "bubblewrap"):
        pytest.skip("no file tree of its own for commands on this machine")
    (house.places.workspace / "notes.md").write_text("a green canary")
    seen = ""
    for command in ("grep -r canary .", f"grep -ri {CANARY[:8]} .",
                    "cat MEMORY_SNAPSHOT.md", "cat memory/SESSIONS.md",
                    "cp MEMORY_SNAPSHOT.md copy.md && cat copy.md",
                    "cat MEMORY_SNAPSHOT.md memory/archive/2026-01-01.md",
                    "find memory sessions"):
        result = call(shell, command=command)
        seen += f"{result.output} {result.error}"

    assert "a green canary" in seen  # or nothing was proved
    assert CANARY.lower() not in seen.lower().replace(
        f"grep -ri {CANARY[:8]}".lower(), "")
