"""Settings and parts -> the agent, with policy and approvals around it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from claw.agent.execute import Gate
from claw.agent.settings import (
    AgentSettings,
    PacingSettings,
    QueryClassificationSettings,
)
from claw.agent.turn import Agent
from claw.config.tree import Tree
from claw.core.memory import Memory
from claw.core.provider import Provider
from claw.core.tool import Tool
from claw.core.turn import Approves, TurnContext
from claw.memory.settings import MemorySettings
from claw.providers.settings import ProviderSettings
from claw.security.approval import ApprovalManager, NoApprover, SaysYes
from claw.security.policy import SecurityPolicy
from claw.security.redaction import scrub
from claw.wiring.tools import policy_of, tools_of


@dataclass(frozen=True, slots=True)
class AgentParts:
    """What is open already. `tools` are names, None all that there are;
    `approver` None: nobody can be asked."""

    provider: Provider
    model: str
    tools: Sequence[str] | None = ()
    memory: Memory | None = None
    approver: Approves | None = None
    approve_all: bool = False


def build_agent(tree: Tree, parts: AgentParts,
                policy: SecurityPolicy | None = None) -> Agent:
    """The agent of these settings. Raises ConfigError for an unknown tool
    or a wrong setting."""
    memory = tree.decode("memory", MemorySettings)
    policy = policy or policy_of(tree)
    tools: list[Tool] = []
    if parts.tools is None or parts.tools:
        tools = tools_of(tree, policy, memory=parts.memory,
                         names=parts.tools)
    return Agent(
        provider=parts.provider, tools=tools, memory=parts.memory,
        settings=tree.decode("agent", AgentSettings),
        pacing=tree.decode("pacing", PacingSettings),
        classification=tree.decode("query_classification",
                                   QueryClassificationSettings),
        model=parts.model,
        temperature=tree.decode("", ProviderSettings).default_temperature,
        gate=gate_of(policy, parts), scrub=scrub,
        auto_save=memory.auto_save,
        min_relevance=memory.min_relevance_score)


def gate_of(policy: SecurityPolicy, parts: AgentParts) -> Gate:
    """Approvals in front of every tool call."""
    approver: Approves = parts.approver or NoApprover()
    if parts.approve_all:
        approver = SaysYes()
    manager = ApprovalManager(
        policy, approver, interactive=not isinstance(approver, NoApprover))

    async def gate(tool: Tool, args: Mapping[str, Any],
                   context: TurnContext) -> str | None:
        refusal = await manager.refusal(tool.name, args, context)
        if refusal is None and policy.level != "readonly":
            policy.workspace.mkdir(parents=True, exist_ok=True)
        return refusal
    return gate
