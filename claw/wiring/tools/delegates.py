"""[agents.NAME] -> agents that the delegate tool hands tasks to; and tasks
of the agent's own (llm_task, cron_run).

Each is the agent that asks, with another provider, prompt and tools: its
approvals, its hooks, its emergency stop and its ledger stay. A provider is
opened with the first task for it.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from claw.agent.conversation import Conversation
from claw.agent.prompt import PromptContext
from claw.agent.rounds.execute import Gate
from claw.agent.rounds.outcome import TurnOptions
from claw.agent.settings import (
    DelegateSettings,
    NamedAgentSettings,
    QueryClassificationSettings,
)
from claw.agent.turn import Agent
from claw.config.tree import Tree
from claw.core.errors import IncompleteAnswerError, TimeLimitError
from claw.core.provider import Provider
from claw.core.tool import Tool
from claw.core.turn import Task, TurnContext
from claw.core.value import replace
from claw.runtime.turn.budget import Budget

_SCHEMA_S = 1.0  # for one that a model wrote; all other turns wait
# What no agent gets that was itself asked by one.
NEVER = ("delegate", "swarm", "cron_run", "tool_search")


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
        async def find() -> Agent:
            async with self._opening:
                self._agent = self._agent or await self._build()
                return self._agent
        return await _run_in_time(f"the agent {self._name}", self._timeout_s,
                                  self._outer, find, message, context)

    async def _build(self) -> Agent:
        settings, outer = self._settings, self._outer
        tools: Sequence[Tool] = ()
        if settings.agentic:
            tools = [tool for tool in self._build_tools(
                [name for name in settings.allowed_tools
                 if name not in NEVER]) if tool.name not in NEVER]
        provider, model = await self._open_provider(settings)
        agent = _narrow(outer, tools, settings.system_prompt or "",
                        settings.max_iterations)
        return replace(
            agent, provider=provider, model=model, hints=(),
            temperature=(outer.temperature if settings.temperature is None
                         else settings.temperature))


class OwnTasks:
    """core.turn.RunsTasks: the agent itself, with nothing of what it
    knows. `timeouts_s` are those without and with tools."""

    def __init__(self, outer: Agent,
                 open_provider: Callable[[NamedAgentSettings],
                                         Awaitable[tuple[Provider, str]]],
                 build_tools: Callable[[Sequence[str]], Sequence[Tool]],
                 timeouts_s: tuple[float, float],
                 turn_cost: Callable[[str], float | None]) -> None:
        self.turn_cost = turn_cost
        self._outer = outer
        self._open_provider = open_provider
        self._build_tools = build_tools
        self._timeouts_s = timeouts_s

    def list_models(self) -> list[str]:
        return list(self._outer.hints)

    def check_tools(self, names: Sequence[str]) -> None:
        self._build_tools(names)

    async def run_task(self, message: str, context: TurnContext, task: Task
                       ) -> str:
        """One turn. Raises TimeLimitError, and what Agent.turn raises."""
        tools = [tool for tool in (
            self._outer.tools if task.tools is None
            else self._build_tools([name for name in task.tools
                                    if name not in NEVER]))
            if tool.name not in NEVER]
        agent = _narrow(self._outer, tools)
        model = task.model

        async def find() -> Agent:
            if not model or model in agent.hints:
                return agent
            provider, name = await self._open_provider(
                NamedAgentSettings(model=model))
            return replace(agent, provider=provider, model=name)
        schema = task.schema
        if schema is not None:
            from claw.agent.structured.answer import (
                check_answer,
                load_schema,
            )
            from claw.agent.structured.following import limit_time
            with limit_time(_SCHEMA_S):
                load_schema(json.dumps(schema))
        text = await _run_in_time(
            "the model", self._timeouts_s[bool(tools)], self._outer, find,
            message, context, TurnOptions(
                response_schema=schema, temperature=task.temperature,
                model=f"hint:{model}" if model in agent.hints else None))
        if schema is None:
            return text
        with limit_time(_SCHEMA_S):
            return check_answer(text, schema).text


async def _run_in_time(name: str, seconds: float, outer: Agent,
                       find: Callable[[], Awaitable[Agent]], message: str,
                       context: TurnContext,
                       options: TurnOptions | None = None) -> str:
    """The answer of one turn of the agent that `find` gives, asked about as
    `outer` is. Raises TimeLimitError; IncompleteAnswerError for none."""
    budget = Budget(seconds)
    try:
        async with budget.running():
            agent = replace(await find(), hooks=outer.hooks,
                            gate=_pause(outer.gate, budget))
            result = await agent.turn(message, context=context,
                                      conversation=Conversation(),
                                      options=options)
    except TimeoutError as error:
        raise TimeLimitError(
            f"{name} did not answer within {seconds:g} s") from error
    if not result.text.strip():
        raise IncompleteAnswerError(f"{name} gave no answer")
    return result.text


def _narrow(outer: Agent, tools: Sequence[Tool], custom: str = "",
            iterations: int | None = None) -> Agent:
    """The agent that asks, for a task: without its memory and rules, and of
    its prompt where it works, not for whom."""
    prompt = PromptContext(dated=False)
    if tools and outer.prompt is not None:
        prompt = structs.replace(outer.prompt, identity={}, extra=())
    return replace(
        outer, tools=tools, memory=None, auto_save=False,
        classification=QueryClassificationSettings(),
        settings=structs.replace(
            outer.settings, auto_classify=None, max_tool_iterations=(
                iterations or outer.settings.max_tool_iterations)),
        prompt=structs.replace(prompt, custom=custom))


def _pause(gate: Gate, budget: Budget) -> Gate:
    """The gate, with the clock standing while somebody is asked."""
    async def paused(tool: Tool, args: Mapping[str, Any],
                     context: TurnContext) -> str | None:
        with budget.paused():
            return await gate(tool, args, context)
    return paused


def build_own_tasks(tree: Tree, outer: Agent,
                    open_provider: Callable[
                        [NamedAgentSettings], Awaitable[tuple[Provider, str]]],
                    build_tools: Callable[[Sequence[str]], Sequence[Tool]],
                    turn_cost: Callable[[str], float | None]) -> OwnTasks:
    """As long as [delegate] says. Raises ConfigError."""
    usual = tree.decode("delegate", DelegateSettings)
    return OwnTasks(outer, open_provider, build_tools,
                    (usual.timeout_secs, usual.agentic_timeout_secs),
                    turn_cost)


def build_delegates(tree: Tree, outer: Agent,
                    open_provider: Callable[
                        [NamedAgentSettings], Awaitable[tuple[Provider, str]]],
                    build_tools: Callable[[Sequence[str]], Sequence[Tool]]
                    ) -> dict[str, ConfiguredAgent]:
    """The agents by name. Raises ConfigError for a wrong setting."""
    usual = tree.decode("delegate", DelegateSettings)
    agents = {}
    for name in tree.names("agents"):
        own = tree.decode(["agents", name], NamedAgentSettings)
        timeout_s = (own.agentic_timeout_secs or usual.agentic_timeout_secs
                     if own.agentic
                     else own.timeout_secs or usual.timeout_secs)
        agents[name] = ConfiguredAgent(
            name, own, outer, open_provider, build_tools, timeout_s)
    return agents
