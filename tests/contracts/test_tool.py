"""Every registered tool keeps the contract."""

import asyncio
import subprocess
import zipfile
from pathlib import Path

import pytest

from claw.core.errors import NotFoundError
from claw.core.sessions import KeptSession, SaidLine
from claw.core.tool import Tool, ToolResult, closed_object, string
from claw.core.value import replace
from claw.testing.contracts.tool import (
    ToolContract,
    check_nonsense,
    check_schema,
    check_spec,
)
from claw.tools import REGISTRY
from claw.tools.files.images import Screenshot

WORD = ("<w:document xmlns:w="
        '"http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        "<w:body><w:p><w:r><w:t>Der Mietvertrag</w:t></w:r></w:p></w:body>"
        "</w:document>")
GIF = b"GIF89a\x01\0\x02\0\x80\0\0"
PNG = r"\211PNG\r\n\032\n\0\0\0\015IHDR\0\0\0\011\0\0\0\011"


class OverFiles(ToolContract):
    def prepare(self, workspace):
        (workspace / "notes.txt").write_text("milk\neggs\n")


class TestToolSearch(ToolContract):
    name = "tool_search"
    arguments = {"query": "words"}
    free = True


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


class TestApplyPatch(OverFiles):
    name = "apply_patch"
    arguments = {"patch": "*** Begin Patch\n*** Update File: notes.txt\n"
                          "-milk\n+bread\n*** End Patch"}


class TestGlobSearch(OverFiles):
    name = "glob_search"
    arguments = {"pattern": "**/*.txt"}
    labels = {"file"}


class TestContentSearch(OverFiles):
    name = "content_search"
    arguments = {"pattern": "m.lk"}
    labels = {"file"}


class TestGit(OverFiles):
    name = "git_operations"
    arguments = {"operation": "status"}
    labels = {"command"}

    def prepare(self, workspace):
        super().prepare(workspace)
        subprocess.run(["git", "init", "-q", workspace], check=True)


class TestCalculator(ToolContract):
    name = "calculator"
    arguments = {"function": "add", "values": [0.1, 0.2]}
    free = True


class TestPdfRead(ToolContract):
    name = "pdf_read"
    arguments = {"path": "rent.docx"}
    labels = {"file"}

    def prepare(self, workspace):
        with zipfile.ZipFile(workspace / "rent.docx", "w") as archive:
            archive.writestr("word/document.xml", WORD)


class TestImageInfo(ToolContract):
    name = "image_info"
    arguments = {"path": "dot.gif"}
    labels = {"file"}

    def prepare(self, workspace):
        (workspace / "dot.gif").write_bytes(GIF)


class TestBackup(OverFiles):
    name = "backup"


class Sessions:
    def list_sessions(self, limit):
        return [KeptSession("main", "Tea", 2, "2026-11-01T00:00:00Z")]

    def read_session(self, key, limit):
        if key != "main":
            raise NotFoundError("no such session")
        return [SaidLine("user", "green or black?")]


    def leave_note(self, key, text, labels):
        return None


class TestSessionsList(ToolContract):
    name = "sessions_list"

    def make(self, deps):
        return super().make(replace(deps, sessions=Sessions()))


class TestSessionsSend(TestSessionsList):
    name = "sessions_send"
    arguments = {"session": "main", "message": "buy tea"}


class TestSessionsHistory(TestSessionsList):
    name = "sessions_history"
    arguments = {"session": "main"}


class TestModelSwitch(ToolContract):
    """Tried as a turn would use it in tests/tools/agents/test_model.py."""

    name = "model_switch"
    arguments = {"action": "list_models"}

    def test_the_sample_call_works(self, tmp_path):
        with self.use(tmp_path) as (tool, _):
            assert self._call(tool)[1].error == "no model is answering here"


class TestScreenshot(ToolContract):
    name = "screenshot"
    arguments = {"region": "0,0,9,9"}

    def make(self, deps):
        programs = deps.workspace / "bin"
        programs.mkdir(exist_ok=True)
        (programs / "scrot").write_text(f"#!/bin/sh\nprintf '{PNG}' > $4\n")
        (programs / "scrot").chmod(0o755)
        return Screenshot(deps, {}, f"{programs}:/usr/bin:/bin")


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


class TestMemoryPurge(ToolContract):
    name = "memory_purge"
    arguments = {"category": "core"}

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
