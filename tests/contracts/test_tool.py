"""Every registered tool keeps the contract."""

import asyncio
from pathlib import Path

import pytest

from claw.core.tool import Tool, ToolResult, closed_object, string
from claw.testing.contracts.tool import (
    ToolContract,
    check_nonsense,
    check_schema,
    check_spec,
)
from claw.tools import REGISTRY


class OverFiles(ToolContract):
    def prepare(self, workspace):
        (workspace / "notes.txt").write_text("milk\neggs\n")


class TestShell(ToolContract):
    name = "shell"
    arguments = {"command": "ls"}
    slow = {"command": "sleep 30"}
    labels = {"command"}


class TestFileRead(OverFiles):
    name = "file_read"
    arguments = {"path": "notes.txt"}
    labels = {"file"}


class TestFileWrite(OverFiles):
    name = "file_write"
    arguments = {"path": "deep/new.txt", "content": "bread\n"}


class TestFileEdit(OverFiles):
    name = "file_edit"
    arguments = {"path": "notes.txt", "old_string": "milk",
                 "new_string": "bread"}


class TestMemoryStore(ToolContract):
    name = "memory_store"
    arguments = {"key": "colour", "content": "Mina likes green"}


class TestMemoryRecall(ToolContract):
    name = "memory_recall"
    arguments = {"query": "green"}
    free = True

    def make(self, deps):
        deps.memory.store("colour", "Mina likes green", "core", None)
        return super().make(deps)


class TestMemoryForget(ToolContract):
    name = "memory_forget"
    arguments = {"key": "colour"}

    def make(self, deps):
        deps.memory.store("colour", "Mina likes green", "core", None)
        return super().make(deps)


@pytest.mark.parametrize("tool", REGISTRY.names())
def test_every_tool_has_its_contract(tool):
    """In this file, or in one beside it (test_tool_*.py)."""
    written = "".join(path.read_text(encoding="utf-8") for path
                      in Path(__file__).parent.glob("test_tool*.py"))

    assert f'\n    name = "{tool}"\n' in written


class Careless(Tool):
    name = "careless"
    description = "Breaks with a wrong argument."

    def parameters_schema(self):
        return closed_object(path=string("A path"))

    async def execute(self, args):
        return ToolResult(output=args["path"].upper())


class BadName(Careless):
    name = "bad name"


class Shared(Careless):
    name = "shared"
    schema = closed_object(path=string("A path"))

    def parameters_schema(self):
        return self.schema


class Endless(Careless):
    async def execute(self, args):
        return ToolResult(output="x" * 2_000_000)


def run_nonsense(tool):
    asyncio.run(check_nonsense(tool))


@pytest.mark.parametrize(("tool", "check", "error"), [
    (Careless, run_nonsense, TypeError),
    (Endless, run_nonsense, AssertionError),
    (BadName, check_spec, AssertionError),
    (Shared, check_schema, AssertionError)])
def test_the_contract_finds_broken_tools(tool, check, error):
    with pytest.raises(error):
        check(tool())
