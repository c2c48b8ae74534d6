"""The table of docs/tools.md: every tool that claw has."""

import re
from pathlib import Path

from claw.core.tool import Tool, ToolDeps
from claw.security.approval import ReadsSometimes, needs_approval
from claw.security.policy import SecurityPolicy
from claw.security.settings import AutonomySettings
from claw.tools import OFFERED, REGISTRY
from claw.wiring.tools.build import BOARD_TOOLS, TABLES


def tools_table() -> str:
    """One row a tool, in the order of the registry."""
    workspace = Path("/nowhere")
    deps = ToolDeps(workspace, SecurityPolicy(
        AutonomySettings(), workspace, home=workspace))
    tools = [REGISTRY.build(name, deps) for name in REGISTRY.names()]
    rows = [f"| `{tool.name}` | {_kind(tool)} | "
            f"{_offer(tool.name)} | "
            f"{_first_sentence(tool.description)} |" for tool in tools]
    return "\n".join(["| tool | | offered | what it does |",
                      "|---|---|---|---|", *rows])


def _kind(tool: Tool) -> str:
    """What a call is, as the settings stand without a config.toml."""
    asks = needs_approval(tool.name, AutonomySettings(), interactive=True,
                          reads=tool.reads)
    if asks is None:
        return "reads" if tool.reads else "acts"
    return "asks, or reads" if isinstance(tool, ReadsSometimes) else "asks"


def _offer(name: str) -> str:
    if name in BOARD_TOOLS:
        return "`peripherals.enabled`"
    if name == "swarm":
        return "`[swarms]`"
    if name in TABLES:
        table, struct = TABLES[name]
        if not getattr(struct(), "enabled", True):
            return f"`{table}.enabled`"
    return "always" if name in OFFERED else "found"


def _first_sentence(text: str) -> str:
    head, dot, _ = text.partition(". ")
    return re.sub(r"([|*])", r"\\\1", (head + dot).strip())
