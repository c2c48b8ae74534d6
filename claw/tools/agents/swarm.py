"""swarm: a task for several agents of [agents.NAME], as [swarms.NAME] says.

One after the other (each gets the answer of the one before), at the same
time, or the one whom a model chooses. The turns are those of delegate; all
of a call together have one time.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from claw.core.errors import UnavailableError, UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    optional,
    string,
)
from claw.core.turn import RunsTasks, Task, TurnContext, current_turn
from claw.tools.agents.delegate import MOST_TASKS, HandsOver
from claw.tools.settings import SwarmSettings

AgentTask: TypeAlias = Mapping[str, str | None]

_ROUTE = ("Which of these agents is to do the task?")


class Swarm(HandsOver):
    """Runs one swarm and returns what its agents answered."""

    name = "swarm"
    description = "Have a task done by several agents."

    def __init__(self, deps: ToolDeps,
                 swarms: Mapping[str, SwarmSettings] | None = None) -> None:
        super().__init__(deps)
        self._tasks: RunsTasks | None = deps.tasks
        self._swarms = swarms or {}
        self.description += "".join(
            f" {name}: {one.description}" for name, one
            in self._swarms.items() if one.description)[:800]

    def parameters_schema(self) -> Schema:
        return closed_object(
            swarm=string("Which swarm. Available: "
                         + (", ".join(self._swarms) or "none"), minLength=1),
            prompt=string("The task", minLength=1),
            context=optional(string("What they have to know for it")))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        turn = current_turn.get() or TurnContext("tool")
        swarm = self._swarms.get(args["swarm"])
        if swarm is None:
            raise UsageError(
                f"Unknown swarm '{args['swarm'][:80]}'; available: "
                + (", ".join(self._swarms) or "none"))
        tasks: list[AgentTask] = [
            {"agent": agent, "task": args["prompt"],
             "context": args.get("context")} for agent in swarm.agents]
        if not 0 < len(tasks) <= MOST_TASKS:
            raise UsageError(f"the swarm {args['swarm']} has {len(tasks)} "
                             f"agents, not 1 to {MOST_TASKS}")
        try:
            async with asyncio.timeout(swarm.timeout_secs):
                if swarm.strategy == "parallel":
                    return await self._ask_all(tasks, turn)
                if swarm.strategy == "router":
                    tasks = [await self._choose(swarm, tasks, turn)]
                return await self._ask_in_turn(tasks, turn)
        except TimeoutError:
            raise UnavailableError(
                f"the swarm {args['swarm']} did not answer within "
                f"{swarm.timeout_secs} s") from None

    async def _ask_in_turn(self, tasks: Sequence[AgentTask],
                           turn: TurnContext) -> ToolResult:
        """The answer of the last one; each knows that of the one before.
        Where one fails the next ones are not asked."""
        agents = [self._find(str(task["agent"]), turn) for task in tasks]
        result, given = ToolResult(), tasks[0]["context"]
        for number, (agent, task) in enumerate(
                zip(agents, tasks, strict=True)):
            result = await self._ask(agent, {**task, "context": given}, turn,
                                     number)
            if not result.success:
                return ToolResult.failure(
                    f"{task['agent']} failed: {result.error}")
            given = "\n\n".join(filter(None, (
                tasks[0]["context"],
                f"[Answer of {task['agent']}]\n{result.output}")))
        return result

    async def _choose(self, swarm: SwarmSettings, tasks: Sequence[AgentTask],
                      turn: TurnContext) -> AgentTask:
        """The task of the agent whom a model names."""
        if self._tasks is None:
            raise UnavailableError("there is no model here to choose with")
        names = list(swarm.agents)
        answer = await self._tasks.run_task(
            "\n\n".join((swarm.router_prompt or _ROUTE,
                         "Agents: " + ", ".join(names),
                         f"[Task]\n{tasks[0]['task']}")),
            turn.hand_over(), Task(schema={
                "type": "object", "required": ["agent"], "properties": {
                    "agent": {"type": "string", "enum": names}}}))
        return tasks[names.index(json.loads(answer)["agent"])]
