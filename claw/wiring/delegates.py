"""[agents.NAME] -> agents that the delegate tool hands tasks to.

Each is the agent that asks, with another provider, prompt and tools: its
approvals, its hooks, its emergency stop and its ledger stay. A provider is
opened with the first task for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from claw.agent.prompt import PromptContext
from claw.agent.rounds.execute import Gate
from claw.agent.settings import (
    AgentSettings,
    DelegateSettings,
    NamedAgentSettings,
    QueryClassificationSettings,
)
from claw.agent.turn import Agent
from claw.config.tree import Tree
from claw.core.errors import IncompleteAnswerError, TimeLimitError
from claw.core.provider import Provider
from claw.core.tool import Tool
from claw.core.turn import TurnContext
from claw.core.value import replace
from claw.runtime.turn.budget import Budget

# What no agent gets that was itself asked by one.
NEVER = ("delegate", "swarm", "tool_search")


class ConfiguredAgent:
    """core.turn.TakesTasks for one table. `outer` is the agent that asks;
    `open_provider` gives a provider and the model to ask of it."""

    def __init__(self, name: str, settings: NamedAgentSettings, outer: Agent,
                 open_provider: Callable[[NamedAgentSettings],
                                         Awaitable[tuple[Provider, str]]],
                 build_tools: Callable[[Sequence[str]], Sequence[Tool]],
                 timeout_s: float) -> None:
        self._name = name
        self._settings = settings
        self._outer = outer
        self._open_provider = open_provider
        self._build_tools = build_tools
        self._timeout_s = timeout_s
        self._opening = asyncio.Lock()
        self._agent: Agent | None = None

    @property
    def max_depth(self) -> int:
        return self._settings.max_depth

    async def run_turn(self, message: str, context: TurnContext) -> str:
        """One turn. Raises TimeLimitError, and what Agent.turn raises."""
        budget = Budget(self._timeout_s)
        try:
            async with budget.running():
                async with self._opening:
                    self._agent = self._agent or await self._build()
                agent = replace(
                    self._agent, hooks=self._outer.hooks,
                    gate=_pause(self._outer.gate, budget))
                text = await agent.run_turn(message, context)
        except TimeoutError as error:
            raise TimeLimitError(
                f"the agent {self._name} did not answer within "
                f"{budget.seconds:g} s") from error
        if not text.strip():
            raise IncompleteAnswerError(
                f"the agent {self._name} gave no answer")
        return text

    async def _build(self) -> Agent:
        settings, outer = self._settings, self._outer
        tools: Sequence[Tool] = ()
        if settings.agentic:
            tools = [tool for tool in self._build_tools(
                [name for name in settings.allowed_tools
                 if name not in NEVER]) if tool.name not in NEVER]
        provider, model = await self._open_provider(settings)
        prompt = PromptContext(dated=False)
        if tools and outer.prompt is not None:  # where it works, not for whom
            prompt = structs.replace(outer.prompt, identity={}, extra=())
        return replace(
            outer, provider=provider, model=model, tools=tools, memory=None,
            auto_save=False, hints=(),
            classification=QueryClassificationSettings(),
            settings=structs.replace(
                outer.settings, auto_classify=None,
                max_tool_iterations=settings.max_iterations),
            prompt=structs.replace(prompt,
                                   custom=settings.system_prompt or ""),
            temperature=(outer.temperature if settings.temperature is None
                         else settings.temperature))


def _pause(gate: Gate, budget: Budget) -> Gate:
    """The gate, with the clock standing while somebody is asked."""
    async def paused(tool: Tool, args: Mapping[str, Any],
                     context: TurnContext) -> str | None:
        with budget.paused():
            return await gate(tool, args, context)
    return paused


def build_delegates(tree: Tree, outer: Agent,
                    open_provider: Callable[
                        [NamedAgentSettings], Awaitable[tuple[Provider, str]]],
                    build_tools: Callable[[Sequence[str]], Sequence[Tool]],
                    excluded: Sequence[str]) -> dict[str, ConfiguredAgent]:
    """The agents by name; none of them gets an `excluded` tool. Raises
    ConfigError for a wrong setting."""
    out = {*excluded, *tree.decode("agent", AgentSettings).excluded_tools}
    usual = tree.decode("delegate", DelegateSettings)
    agents = {}
    for name in tree.names("agents"):
        own = tree.decode(["agents", name], NamedAgentSettings)
        timeout_s = (own.agentic_timeout_secs or usual.agentic_timeout_secs
                     if own.agentic
                     else own.timeout_secs or usual.timeout_secs)
        agents[name] = ConfiguredAgent(
            name, own, outer, open_provider,
            lambda names: build_tools([n for n in names if n not in out]),
            timeout_s)
    return agents
