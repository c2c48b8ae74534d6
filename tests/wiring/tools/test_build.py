"""Policy, tools and the gate in front of them, as the settings say."""

import asyncio
import os
import sys

import pytest

from claw.config.tree import load
from claw.core.errors import DeniedError
from claw.core.turn import TurnContext
from claw.core.value import replace
from claw.security.sandbox.children import run
from claw.wiring.compose import build_agent
from claw.wiring.tools import build as module
from claw.wiring.tools.build import (
    build_gate,
    build_policy,
    build_prompt_context,
    build_tools,
)


class Approver:
    """Says what it is told to, and counts how often it was asked."""

    def __init__(self, word):
        self.word = word
        self.asked = []

    async def approve(self, request):
        self.asked.append(request)
        return self.word


@pytest.fixture
def make_gate(write_settings):
    def make(approver, text="", *, approve_all=False):
        tree = write_settings(text)
        policy = build_policy(tree, {})
        tool, = build_tools(tree, policy, names=["file_write"])
        gate = build_gate(policy, approver, approve_all=approve_all)

        def call(**who):
            return asyncio.run(gate(tool, {"path": "a", "content": "b"},
                                    TurnContext("channel", **who)))
        call.workspace = tree.places.workspace
        return call
    return make


def test_an_always_holds_for_the_person_who_said_it(make_gate):
    approver = Approver("always")
    call = make_gate(approver)
    for who in ("alice", "alice", "bob", "alice"):
        assert call(channel="telegram", sender=who) is None
    assert len(approver.asked) == 2
    assert call(channel="webhook", sender="alice") is None

    assert len(approver.asked) == 3


def test_only_so_many_people_are_remembered(make_gate, monkeypatch):
    monkeypatch.setattr(module, "MANAGERS", 2)
    approver = Approver("always")
    call = make_gate(approver)
    for who in ("alice", "bob", "carol", "bob", "alice"):
        call(channel="telegram", sender=who)

    assert len(approver.asked) == 4  # alice was forgotten, bob was not


def test_where_nobody_can_be_asked_the_answer_is_no(make_gate):
    assert make_gate(None)(channel="telegram", sender="a")
    assert make_gate(Approver("no"))(channel="telegram", sender="a")


def test_yes_to_all_asks_nobody(make_gate):
    approver = Approver("no")
    call = make_gate(approver, approve_all=True)

    assert call(channel="telegram", sender="a") is None
    assert approver.asked == []


@pytest.mark.parametrize(("level", "made"), [
    ("full", True), ("readonly", False)])
def test_the_workspace_is_made_for_a_call_that_may_write(
        make_gate, level, made):
    call = make_gate(Approver("yes"), f'[autonomy]\nlevel = "{level}"\n')
    call.workspace.rmdir()
    call(channel="telegram", sender="a")

    assert call.workspace.is_dir() is made


@pytest.mark.parametrize(("compact", "limit"), [
    ("true", module.COMPACT_FILE_CHARS), ("false", module.FILE_CHARS)])
def test_the_prompt_tells_of_place_and_rules(write_settings, compact, limit):
    tree = write_settings(f"[agent]\ncompact_context = {compact}\n"
                          '[autonomy]\nlevel = "readonly"\n')
    (tree.places.workspace / "SOUL.md").write_text("You are calm.")
    policy = build_policy(tree, {})
    context = build_prompt_context(
        tree, policy, build_agent(tree, None, "m"), "Be brief.")

    assert context.custom == "Be brief."
    assert context.autonomy == "readonly"
    assert context.policy == policy.prompt_summary()
    assert context.workspace == str(tree.places.workspace)
    assert context.model == "m"
    assert context.file_chars == limit
    assert context.host
    assert context.system
    assert "You are calm." in repr(context.identity)


def test_settings_that_are_a_link_into_the_workspace_are_out_of_reach(
        write_settings):
    tree = write_settings()
    real = tree.places.workspace.resolve() / "dotfiles.toml"
    tree.places.config_file.rename(real)
    tree.places.config_file.symlink_to(real)
    policy = build_policy(tree, {"HOME": "/somewhere"})

    assert not policy.paths.reaches(real)
    assert real in policy.sandbox._hidden


def test_the_sandbox_hides_settings_and_keys(write_settings):
    tree = write_settings()
    policy = build_policy(tree, {"HOME": "/somewhere"})
    home = tree.places.home

    assert {home / name for name in (
        "config.toml", "config.toml.bak", "config.history",
        ".config.apply", ".secret_key",
        "active_workspace.toml")} <= set(policy.sandbox._hidden)


def test_what_a_restore_put_aside_is_hidden_as_the_home_is(write_settings):
    """With -w ~ it lies in the workspace, keys and all."""
    places = write_settings().places
    workspace = places.home.parent
    kept = workspace / "home.before-20261128T000000Z"
    (kept / "sub").mkdir(parents=True)
    (kept / "sub/.secret_key").write_text("k3y")
    tree = load(replace(places, workspace=workspace), {})
    policy = build_policy(tree, {"PATH": os.environ["PATH"]})
    done = asyncio.run(run(policy.sandbox.prepare(
        ["sh", "-c", f"cat {kept}/sub/.secret_key; echo x > {kept}/x"]), 30))

    assert "k3y" not in str(done)
    assert not (kept / "x").exists()
    assert not policy.paths.reaches(kept / "sub/.secret_key")
    assert policy.paths.reaches(workspace / "home.txt")


def test_commands_can_not_change_what_claw_itself_runs(
        write_settings, monkeypatch):
    """An editable install in the workspace."""
    tree = write_settings()
    source = tree.places.workspace / "src"
    source.mkdir()
    monkeypatch.syspath_prepend(source)
    box = build_policy(tree, {"PATH": os.environ["PATH"]}).sandbox
    asyncio.run(run(box.prepare(
        ["sh", "-c", "echo x > src/evil.py; echo x > free"]), 30))

    assert not list(source.iterdir())
    assert (tree.places.workspace / "free").exists()


def test_file_tools_can_not_change_what_claw_itself_runs(
        write_settings, monkeypatch):
    """An editable install, and the environment of another one; by a link
    too."""
    tree = write_settings('[autonomy]\nlevel = "full"\n')
    workspace = tree.places.workspace
    for folder in ("src", "venv/bin"):
        (workspace / folder).mkdir(parents=True)
    (workspace / "src/own.py").write_text("own")
    (workspace / "link").symlink_to("src")
    monkeypatch.syspath_prepend(workspace / "src")
    monkeypatch.setattr(sys, "prefix", str(workspace / "venv"))
    policy = build_policy(tree, {"PATH": os.environ["PATH"]})

    for path in ("src/own.py", "src/new.py", "link/own.py", "venv/bin/claw",
                 "src/deep/new.py"):
        with pytest.raises(DeniedError):
            policy.write_beneath(path, b"evil")
    with pytest.raises(DeniedError):
        policy.remove_beneath("src/own.py")
    policy.write_beneath("free.py", b"x")

    assert (workspace / "src/own.py").read_text() == "own"
    assert policy.read_beneath("src/own.py", 9) == b"own"


def test_a_tool_of_a_server_hides_none_of_the_owners(write_settings,
                                                     monkeypatch):
    tree, told = write_settings(), []
    folder = tree.places.home / "tools"
    folder.mkdir(mode=0o700)
    (folder / "greet.py").write_text(
        'def far__greet(name: str) -> str:\n    """Greet."""\n')
    (folder / "greet.py").chmod(0o600)
    foreign = build_tools(tree, build_policy(tree, {}), names=["calculator"])
    foreign[0].name = "far__greet"
    monkeypatch.setattr(module, "build_served", lambda *_: list(foreign))

    tools = build_tools(tree, build_policy(tree, {}), notify=told.append)
    search, = (tool for tool in tools if tool.name == "tool_search")

    assert [type(tool).__name__ for tool in tools
            if tool.name == "far__greet"] == ["FunctionTool"]
    assert "far__greet" not in search.shelf.names
    assert told == ["the MCP tool far__greet is left out: there is another "
                    "tool of this name"]
