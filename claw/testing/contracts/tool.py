"""What every tool must do, as tests to inherit.

    class TestMine(ToolContract):
        arguments = {"path": "notes.txt"}

        def make(self, deps):
            return MyTool(deps)

        def prepare(self, workspace):
            (workspace / "notes.txt").write_text("milk")

pytest collects the subclass. A tool that talks to a server overrides
`running`, which may start one and say its address in `arguments`.
"""

import asyncio
import hashlib
import json
import math
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema  # type: ignore[import-untyped]

from claw.core.tool import Tool, ToolDeps, ToolResult, ToolSpec
from claw.core.turn import TurnContext, current_turn
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.ephemeral import EphemeralMemory
from claw.providers.schema import CleaningStrategy, tool_parameters
from claw.security.files.paths import OWN_DIRECTORIES
from claw.security.policy import SecurityPolicy
from claw.security.sandbox.sandbox import Sandbox
from claw.security.settings import (
    AutonomySettings,
    ResourceSettings,
    SandboxSettings,
)
from claw.tools import REGISTRY

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_NONSENSE: tuple[Any, ...] = (
    None, True, -1, 10**30, 1.5, math.nan, "", "\0", "\ud800",
    "x" * 70_000, "../../etc/passwd", [], [[]], {}, {"a": {"b": []}})
_NO_OBJECTS: tuple[Any, ...] = (None, True, 7, "x", [], [{}])
_CANCELLED_AFTER_S = (0.0, 0.03, 0.3)
_GRACE_S = 5.0

_Snapshot: TypeAlias = dict[str, str]


class ToolContract:
    """Inherit and give `arguments`, with `make` for a tool that claw has
    not; or `name` for one that it has.

    `arguments` are of a call that works in a workspace that was `prepare`d,
    `slow` of one that takes long (as a rule the same). `labels` are those
    that a tool which `labels_itself` adds in that call, `most_chars` is how
    long its output may be. `free` says that a call uses up nothing of the
    hour's actions.
    """

    name = ""
    arguments: Mapping[str, Any] = {}
    slow: Mapping[str, Any] | None = None
    labels: frozenset[str] = frozenset()
    most_chars = 1_100_000
    free = False

    def make(self, deps: ToolDeps) -> Tool:
        tool: Tool = REGISTRY.build(self.name, deps)
        return tool

    def prepare(self, workspace: Path) -> None:
        """Put there what the call needs."""

    @contextmanager
    def running(self, deps: ToolDeps) -> Iterator[Tool]:
        """The tool, for one test."""
        yield self.make(deps)

    @contextmanager
    def use(self, folder: Path, **autonomy: Any
            ) -> Iterator[tuple[Tool, ToolDeps]]:
        """The tool with what it was made of, in a fresh workspace below
        `folder`, with these settings of [autonomy]."""
        workspace = folder / "ws"
        workspace.mkdir(parents=True)
        sandbox = Sandbox(workspace, SandboxSettings(), ResourceSettings(),
                          os.environ)
        policy = SecurityPolicy(
            AutonomySettings(**{"max_actions_per_hour": 10_000, **autonomy}),
            workspace, home=folder, sandbox=sandbox)
        memory = EphemeralMemory.open(workspace, MemorySettings())
        try:
            self.prepare(workspace)
            deps = ToolDeps(workspace, policy, memory=memory)
            with self.running(deps) as tool:
                yield tool, deps
        finally:
            memory.close()

    # what a model is told

    def test_name_and_description_fit_every_vendor(self, tmp_path: Path
                                                   ) -> None:
        with self.use(tmp_path) as (tool, _):
            check_spec(tool)
            if self.name:
                assert tool.name == self.name
            if tool.name in REGISTRY.names():
                assert type(tool) is REGISTRY.load(tool.name)

    def test_its_schema_is_json_schema(self, tmp_path: Path) -> None:
        with self.use(tmp_path) as (tool, _):
            check_schema(tool)
            if tool.name in REGISTRY.names():
                assert tool.parameters_schema()[
                    "additionalProperties"] is False

    def test_its_schema_survives_every_cleaning(self, tmp_path: Path) -> None:
        with self.use(tmp_path) as (tool, _):
            for strategy in CleaningStrategy:
                check_cleaned(tool, strategy)

    # arguments

    def test_the_sample_call_works(self, tmp_path: Path) -> None:
        with self.use(tmp_path) as (tool, deps):
            context, result = self._call(tool)

            assert result.success, result.error
            assert result.error is None
            assert context.labels == (
                self.labels if tool.labels_itself else set())
            assert len(result.output) <= self.most_chars
            assert _list_drafts(deps.workspace) == []

    def test_bad_arguments_are_answered(self, tmp_path: Path) -> None:
        with self.use(tmp_path) as (tool, deps):
            asyncio.run(check_nonsense(tool, self.most_chars))
            assert os.listdir(tmp_path) == ["ws"]
            assert _list_drafts(deps.workspace) == []

    def test_arguments_that_do_not_fit_are_refused(self, tmp_path: Path
                                                   ) -> None:
        with self.use(tmp_path) as (tool, _):
            for args in misfits(tool, self.arguments):
                result = asyncio.run(tool.execute(args))
                assert not result.success, f"taken: {args!r:.200}"

    # promises

    def test_a_tool_that_reads_changes_nothing(self, tmp_path: Path) -> None:
        with self.use(tmp_path) as (tool, deps):
            if not (tool.reads or tool.repeatable):
                return
            before = _look(deps)
            self._call(tool)
            asyncio.run(check_nonsense(tool, self.most_chars))

            assert _look(deps) == before

    def test_read_only_means_that_nothing_changes(self, tmp_path: Path
                                                  ) -> None:
        with self.use(tmp_path, level="readonly") as (tool, deps):
            before = _look(deps)
            self._call(tool)

            assert _look(deps) == before

    def test_it_stops_when_the_hour_is_used_up(self, tmp_path: Path) -> None:
        with self.use(tmp_path, max_actions_per_hour=0) as (tool, deps):
            if self.free or tool.name not in REGISTRY.names():
                return
            before = _look(deps)
            _, result = self._call(tool)

            assert not result.success
            assert "Rate limit exceeded" in (result.error or "")
            assert _look(deps) == before

    def test_cancelling_leaves_nothing_behind(self, tmp_path: Path) -> None:
        for number, after_s in enumerate(_CANCELLED_AFTER_S):
            children = _list_children()
            folder = tmp_path / str(number)
            with _temporary_folder(folder / "tmp") as tmp, \
                    self.use(folder) as (tool, deps):
                asyncio.run(_cancel(tool, self.slow or self.arguments,
                                    after_s))

                _wait_for_end(children)
                assert os.listdir(tmp) == []
                assert _list_drafts(deps.workspace) == []

    def _call(self, tool: Tool) -> tuple[TurnContext, ToolResult]:
        """The sample call, in a turn of the owner's."""
        context = TurnContext("agent")

        async def execute() -> ToolResult:
            current_turn.set(context)
            return await tool.execute(self.arguments)
        return context, asyncio.run(execute())


def check_spec(tool: Tool) -> None:
    """Name, description and spec() fit every provider's rules."""
    spec = tool.spec()
    assert isinstance(spec, ToolSpec)
    assert _NAME.match(tool.name), f"name: {tool.name!r}"
    assert spec.name == tool.name
    assert spec.description == tool.description
    assert tool.description.strip(), "the description is empty"
    assert len(tool.description) <= 1024, "the description is too long"
    assert spec.parameters == tool.parameters_schema()


def check_schema(tool: Tool) -> None:
    """The schema is an object's, is JSON, and is made anew each time."""
    schema = tool.parameters_schema()
    assert schema.get("type") == "object"
    properties = schema.get("properties")
    assert isinstance(properties, dict)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema.get("required", ())) <= set(properties)
    for name, wanted in properties.items():
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name), name
        assert wanted.get("description", "").strip(), f"{name} says nothing"
    assert json.loads(json.dumps(schema)) == schema
    schema["properties"] = None
    assert tool.parameters_schema()["properties"] is not None, (
        "callers can change the tool's schema")


def check_cleaned(tool: Tool, strategy: CleaningStrategy) -> None:
    """Cleaned for a vendor the schema still asks for the same."""
    schema = tool.parameters_schema()
    cleaned = tool_parameters(schema, strategy)
    jsonschema.Draft202012Validator.check_schema(cleaned)
    assert cleaned["type"] == "object"
    assert cleaned.get("properties", {}).keys() \
        == schema["properties"].keys()
    assert set(cleaned.get("required", ())) == set(schema.get("required", ()))
    for name, wanted in cleaned.get("properties", {}).items():
        assert wanted.get("description"), f"{name}: description lost"
        assert {"type", "anyOf", "oneOf", "enum", "$ref"} & set(wanted), (
            f"{name}: type lost for {strategy.value}")
    assert tool_parameters(cleaned, strategy) == cleaned


async def check_nonsense(tool: Tool, most_chars: int = 1_100_000) -> None:
    """Arguments of any kind give a result: a sentence, no exception."""
    for args in nonsense(tool):
        result = await tool.execute(args)
        assert isinstance(result, ToolResult), args
        assert isinstance(result.output, str)
        assert len(result.output) <= most_chars
        if not result.success:
            assert result.error, f"a failure without a sentence: {args!r}"
            assert len(result.error) <= most_chars


def nonsense(tool: Tool) -> Iterator[Any]:
    """No objects, and missing, wrong, extra and huge arguments for this
    tool's schema."""
    properties = tool.parameters_schema()["properties"]
    yield from _NO_OBJECTS
    yield {}
    yield {"no-such-parameter": 1}
    yield {"": {}}
    for value in _NONSENSE:
        yield dict.fromkeys(properties, value)
    for name in properties:
        for value in _NONSENSE:
            others = {other: "x" for other in properties if other != name}
            yield {**others, name: value}


def misfits(tool: Tool, good: Mapping[str, Any]) -> Iterator[Any]:
    """Arguments that the schema rules out: `good` ones with one missing,
    null, of another type, or one too many."""
    schema = tool.parameters_schema()
    yield from _NO_OBJECTS
    if schema.get("additionalProperties") is False:
        yield {**good, "no-such-parameter": 1}
    for name in schema.get("required", ()):
        yield {other: good[other] for other in good if other != name}
        yield {**good, name: None}
    validator = jsonschema.Draft202012Validator(schema)
    others: tuple[Any, ...] = ({"a": 1}, [[]], True, -1.5, "x")
    for name in schema["properties"]:
        for value in others:
            args = {**good, name: value}
            if not validator.is_valid(args):
                yield args


async def _cancel(tool: Tool, args: Mapping[str, Any], after_s: float
                  ) -> None:
    call = asyncio.ensure_future(tool.execute(args))
    await asyncio.wait([call], timeout=after_s or 0.001)
    call.cancel()
    with suppress(asyncio.CancelledError):
        await call


@contextmanager
def _temporary_folder(folder: Path) -> Iterator[Path]:
    """Where this process makes its temporary files for a while."""
    folder.mkdir(parents=True)
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before


def _list_children() -> set[str]:
    """Processes that this one has started and that still run."""
    found: set[str] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended
            found.update(task.read_text().split())
    return found


def _wait_for_end(before: set[str]) -> None:
    """Until no process runs that did not `before`."""
    end = time.monotonic() + _GRACE_S
    while not _list_children() <= before:
        assert time.monotonic() < end, "a child process is left"
        time.sleep(0.02)


def _list_drafts(workspace: Path) -> list[str]:
    """Files that were written beside the real one and are still there."""
    return [str(path) for path in workspace.rglob(".claw-*.tmp")]


def _look(deps: ToolDeps) -> tuple[_Snapshot, list[Any]]:
    """All that a tool may change: the workspace without what claw keeps
    there for itself, and memory."""
    workspace = deps.workspace
    files = {str(path.relative_to(workspace)): _fingerprint(path)
             for path in sorted(workspace.rglob("*"))
             if path.relative_to(workspace).parts[0] not in OWN_DIRECTORIES}
    return files, [] if deps.memory is None else [
        (entry.key, entry.content) for entry in deps.memory.list()]


def _fingerprint(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return str(path.lstat().st_mode)
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{content} {path.stat().st_mtime_ns}"
