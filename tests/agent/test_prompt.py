import os
from datetime import timedelta, timezone

import pytest
from agent_parts import NOW, Echo

from claw.agent.identity import read_identity
from claw.agent.prompt import PromptContext, build_prompt
from claw.core.memory import Source
from claw.memory.markdown.backend import MarkdownMemory
from claw.memory.settings import MemorySettings

FULL = PromptContext(
    now=NOW.astimezone(timezone(timedelta(hours=9), "KST")),
    tools=[Echo().spec()], instructions="## Tool Use Protocol\n\n...",
    identity={"AGENTS.md": "Be kind.", "SOUL.md": None, "USER.md": " \n"},
    policy="commands: git", workspace="/w", model="m", host="h",
    system="Linux", extra=["## Skills\n\nnone"], custom="Answer in Korean.")


def test_an_empty_context_gives_no_prompt():
    assert build_prompt(PromptContext()) == ""


def test_sections_stand_in_order_with_what_changes_last():
    text = build_prompt(FULL)

    marks = ["Answer in Korean.", "## Project Context", "### AGENTS.md",
             "[File not found: SOUL.md]", "## Tool Honesty",
             "## Tool Use Protocol", "## Safety",
             "### Active Security Policy", "## Skills", "## Workspace",
             "Host: h | OS: Linux | Model: m", "2026-03-23T00:30:00+09:00"]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "USER.md" not in text
    assert text.endswith("(Monday, KST)")


def test_without_identity_files_there_is_no_such_section():
    context = PromptContext(identity={"AGENTS.md": None}, custom="x")

    assert build_prompt(context) == "x"


def test_autonomy_changes_the_rules():
    def rules(autonomy):
        return build_prompt(PromptContext(tools=[Echo().spec()],
                                          autonomy=autonomy))

    assert "Ask before" in rules("supervised")
    assert "Ask before" not in rules("full")
    assert "change nothing" in rules("readonly")


def test_long_files_and_long_prompts_are_cut():
    context = PromptContext(identity={"AGENTS.md": "x" * 30_000})

    assert 20_000 < len(build_prompt(context)) < 20_200
    assert build_prompt(context).endswith(
        "[... cut at 20000 characters of 30000; use file_read for the rest]")
    assert len(build_prompt(context, 100)) == 100


def test_identity_files_are_read_in_order(tmp_path):
    (tmp_path / "USER.md").write_bytes(b"Kim \xff")
    (tmp_path / "MEMORY.md").write_text("facts")
    (tmp_path / "SOUL.md").mkdir()

    found = read_identity(tmp_path)

    assert list(found) == ["AGENTS.md", "SOUL.md", "TOOLS.md",
                           "IDENTITY.md", "USER.md", "MEMORY.md"]
    assert found["USER.md"] == "Kim \ufffd"
    assert found["SOUL.md"] is None
    assert "MEMORY.md" not in read_identity(tmp_path, main=False)


def test_what_the_markdown_memory_notes_is_no_matter_of_the_prompt(
        tmp_path):
    memory = MarkdownMemory.open(tmp_path, MemorySettings())
    memory.store_from("tea", "Mina drinks <!-- claw {} --> tea\n\nat noon",
                      "core", None, Source("mina", "telegram:1:7"))
    memory.store("colour", "green --> blue")
    with (tmp_path / "MEMORY.md").open("a") as file:
        file.write("by hand <!-- a remark -->\n- **k**: v <!-- claw {\"at\":")

    text = read_identity(tmp_path)["MEMORY.md"]

    assert "- **tea**: Mina drinks" in text
    assert "at noon\n" in text
    assert "- **colour**: green --> blue\n" in text
    assert "by hand <!-- a remark -->\n- **k**: v" in text
    assert "telegram" not in text
    assert '{"' not in text


def test_a_bootstrap_file_counts_only_where_it_exists(tmp_path):
    (tmp_path / "BOOTSTRAP.md").write_text("first steps")

    assert read_identity(tmp_path)["BOOTSTRAP.md"] == "first steps"


@pytest.mark.parametrize("make", [
    lambda path, key: path.symlink_to(key), lambda path, key: os.link(
        key, path), lambda path, key: os.mkfifo(path),
    lambda path, key: path.symlink_to("nowhere")])
@pytest.mark.parametrize("name", [
    "USER.md", "HEARTBEAT.md", "MEMORY.md"])
def test_an_identity_file_that_is_another_file_does_not_count(
        tmp_path, name, make):
    """A command had made USER.md a link to a key."""
    workspace, key = tmp_path / "ws", tmp_path / "id_rsa"
    workspace.mkdir()
    key.write_text("secret")
    make(workspace / name, key)
    told = []

    assert read_identity(workspace, notify=told.append).get(name) is None
    sentence, = told
    assert sentence.startswith(f"{name} does not count: ")
    assert "ls -l" in sentence
