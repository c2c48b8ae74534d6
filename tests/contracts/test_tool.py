"""Every registered tool keeps the contract."""

import asyncio
import os

import jsonschema
import pytest

from claw.core.tool import Tool, ToolDeps, ToolResult, closed_object, string
from claw.memory.settings import MemorySettings
from claw.memory.sqlite.ephemeral import EphemeralMemory
from claw.security.policy import SecurityPolicy
from claw.security.sandbox import Sandbox
from claw.security.settings import (
    AutonomySettings,
    ResourceSettings,
    SandboxSettings,
)
from claw.storage.jobs.store import SqliteJobs
from claw.testing.contracts.tool import check_tool
from claw.tools import REGISTRY
from claw.tools.assemble import all_tools

OPENED = []
# Tools that use up nothing of the hour: they read, and change nothing.
FREE = {"memory_recall"}
# Arguments that are more than a word.
OBJECTS = {"cron_add": {"schedule": {"kind": "every", "every_ms": 1}},
           "cron_update": {"patch": {"enabled": True}},
           "schedule": {"action": "list"}}


@pytest.fixture(autouse=True)
def _close():
    yield
    while OPENED:
        OPENED.pop().close()


def build(name, workspace, **settings):
    return build_with_policy(name, workspace, **settings)[0]


def build_with_policy(name, workspace, **settings):
    workspace.mkdir(exist_ok=True)
    sandbox = Sandbox(workspace, SandboxSettings(), ResourceSettings(),
                      os.environ)
    policy = SecurityPolicy(
        AutonomySettings(max_actions_per_hour=10_000, **settings),
        workspace, home=workspace.parent, sandbox=sandbox)
    memory = EphemeralMemory.open(workspace, MemorySettings())
    OPENED.append(memory)
    jobs = SqliteJobs(workspace / "state" / "jobs.db")
    deps = ToolDeps(workspace, policy, memory=memory, jobs=jobs)
    return all_tools(deps, [name])[0], policy


@pytest.mark.parametrize("name", REGISTRY.names())
def test_a_tool_keeps_its_promises(name, tmp_path):
    tool = build(name, tmp_path / "ws")

    assert tool.name == name
    check_tool(tool)
    assert os.listdir(tmp_path) == ["ws"]


@pytest.mark.parametrize("name", REGISTRY.names())
def test_a_schema_is_json_schema(name, tmp_path):
    schema = build(name, tmp_path / "ws").parameters_schema()

    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("name", sorted({*REGISTRY.names()} - FREE))
def test_a_tool_refuses_when_the_hour_is_used_up(name, tmp_path):
    tool, policy = build_with_policy(name, tmp_path / "ws")
    schema = tool.parameters_schema()
    args = dict.fromkeys(schema.get("required", ()), "ls") \
        | OBJECTS.get(name, {})
    while policy.record():
        pass

    result = asyncio.run(tool.execute(args))

    assert not result.success
    assert "Rate limit exceeded" in result.error


class Careless(Tool):
    name = "careless"
    description = "Breaks with a wrong argument."

    def parameters_schema(self):
        return closed_object(path=string("A path"))

    async def execute(self, args):
        return ToolResult(output=args["path"].upper())


class BadName(Careless):
    name = "bad name"

    async def execute(self, args):
        return ToolResult.failure("no")


class Shared(BadName):
    name = "shared"
    schema = closed_object(path=string("A path"))

    def parameters_schema(self):
        return self.schema


@pytest.mark.parametrize(("tool", "error"), [
    (Careless, KeyError), (BadName, AssertionError),
    (Shared, AssertionError)])
def test_the_contract_finds_broken_tools(tool, error):
    with pytest.raises(error):
        check_tool(tool())
