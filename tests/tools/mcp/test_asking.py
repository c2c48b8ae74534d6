"""A call of a server's tool asks as any acting tool does."""

import asyncio

import pytest
from mcp_desk import Approver

from claw.agent.rounds.tool_filter import select_tools
from claw.agent.settings import ToolFilterGroup
from claw.core.turn import TurnContext
from claw.security.approval import ApprovalManager, NoApprover
from claw.security.policy import SecurityPolicy
from claw.security.settings import AutonomySettings
from claw.tools.mcp.accepted import ListedTool
from claw.tools.mcp.pool import Server
from claw.tools.mcp.settings import McpServerSettings
from claw.tools.mcp.tool import McpTool
from claw.tools.offer.checked import Denial


def build(tmp_path, reads=(), **autonomy):
    policy = SecurityPolicy(AutonomySettings(**autonomy), tmp_path,
                            home=tmp_path)
    settings = McpServerSettings(name="t", command="c", reads=list(reads))
    listed = ListedTool("get_time", "Tell the time.", {"type": "object"})
    return policy, McpTool("t__get_time", listed,
                           Server(settings, None, None), policy)


def ask(policy, tool, approver, labels=()):
    manager = ApprovalManager(
        policy, approver, interactive=not isinstance(approver, NoApprover))
    return asyncio.run(manager.gate(
        tool, {}, TurnContext("agent", labels=set(labels))))


@pytest.mark.parametrize(("settings", "labels", "asked"), [
    ({}, (), True),
    ({"auto_approve": ["t__get_time"]}, (), False),
    # what was read may have told it what to send
    ({"auto_approve": ["t__get_time"]}, ("web",), True),
    ({"auto_approve": ["t__get_time"]}, ("mcp:t",), True),
    ({"reads": ["get_time"]}, (), False),
    ({"reads": ["get_*"]}, ("web",), False),
    ({"reads": ["set_*"]}, (), True),
    ({"reads": ["get_*"], "always_ask": ["t__get_time"]}, (), True),
    ({"level": "full"}, ("web",), False),
])
def test_who_is_asked_is_the_owners_setting(tmp_path, settings, labels,
                                            asked):
    policy, tool = build(tmp_path, **settings)
    approver = Approver("yes")

    assert ask(policy, tool, approver, labels) is None
    assert bool(approver.asked) is asked


def test_where_nobody_can_be_asked_it_is_not_called(tmp_path):
    policy, tool = build(tmp_path)

    refusal = ask(policy, tool, NoApprover())

    assert "nobody can be asked here" in refusal


def test_a_read_only_agent_calls_what_reads_alone(tmp_path):
    _, tool = build(tmp_path, level="readonly")

    denied = asyncio.run(tool.execute({}))

    assert isinstance(denied, Denial)
    assert "read-only mode" in denied.error


@pytest.mark.parametrize(("glob", "shown"), [
    ("mcp_t__*", True), ("t__get_time", True), ("mcp_other__*", False)])
def test_filter_groups_know_the_tools_of_servers(tmp_path, glob, shown):
    _, tool = build(tmp_path)
    group = ToolFilterGroup(mode="always", tools=(glob,))

    assert select_tools([tool], [group], "hello") == [tool][:shown]


def test_a_tool_that_was_withdrawn_is_not_offered(tmp_path):
    _, tool = build(tmp_path)
    tool.withdrawn = True

    assert select_tools([tool], [], "hello") == []
