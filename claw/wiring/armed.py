"""Settings -> tools, with policy and approvals around each call.

Loaded only for turns that have tools: policy, sandbox and approvals cost a
plain question nothing.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from claw.agent.execute import Gate
from claw.config.tree import Tree
from claw.core.memory import Memory
from claw.core.tool import Tool
from claw.core.turn import Approves, TurnContext
from claw.security.approval import ApprovalManager, NoApprover, SaysYes
from claw.security.policy import SecurityPolicy
from claw.security.redaction import scrub
from claw.wiring.tools import policy_of, tools_of

# People whose "always" is remembered.
MANAGERS = 1_000


def arm(tree: Tree, names: Sequence[str] | None, memory: Memory | None,
        approver: Approves | None, *, approve_all: bool,
        policy: SecurityPolicy | None = None
        ) -> tuple[list[Tool], Gate, Callable[[str], str]]:
    """The tools of these names (None: all), their gate, and what cleans
    their output. Raises ConfigError for an unknown tool."""
    policy = policy or policy_of(tree)
    tools = tools_of(tree, policy, memory=memory, names=names)
    return tools, _gate(policy, approver, approve_all=approve_all), scrub


def _gate(policy: SecurityPolicy, approver: Approves | None, *,
          approve_all: bool) -> Gate:
    """Approvals in front of every tool call. An "always" holds for the
    person who said it."""
    asked: Approves = SaysYes() if approve_all else approver or NoApprover()
    managers: OrderedDict[tuple[str | None, str | None],
                          ApprovalManager] = OrderedDict()

    def manager_of(context: TurnContext) -> ApprovalManager:
        who = (context.channel, context.sender)
        if who not in managers:
            managers[who] = ApprovalManager(
                policy, asked, channel=context.channel or "cli",
                interactive=not isinstance(asked, NoApprover))
            while len(managers) > MANAGERS:
                managers.popitem(last=False)
        return managers[who]

    async def gate(tool: Tool, args: Mapping[str, Any],
                   context: TurnContext) -> str | None:
        refusal = await manager_of(context).gate(tool, args, context)
        if refusal is None and policy.level != "readonly":
            policy.workspace.mkdir(parents=True, exist_ok=True)
        return refusal
    return gate
