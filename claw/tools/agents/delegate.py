"""delegate: a task for one of the agents in [agents.NAME].

The agents come by contract (core.turn.TakesTasks); their turns belong to
the turn that asked: its limit of cost, its owner who is asked, its end. The
reference's background mode is left out: a task that outlives its turn would
have nobody to answer to.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from claw.core.errors import ClawError, ConfigError, FaultError, UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    optional,
    string,
)
from claw.core.turn import (
    TakesTasks,
    TurnContext,
    current_call,
    current_turn,
)
from claw.tools.offer.checked import CheckedTool, check_arguments

# Tasks of one call, and turns under way at the same time for all calls.
MOST_TASKS = 8
TOO_DEEP = "Max delegation depth reached"


class HandsOver(CheckedTool):
    """A tool whose calls are turns of other agents."""

    labels_itself = True

    def __init__(self, deps: ToolDeps) -> None:
        self._policy = deps.policy
        self._agents: Mapping[str, TakesTasks] = deps.agents
        self._at_once = asyncio.Semaphore(MOST_TASKS)

    def _find(self, name: str, turn: TurnContext) -> TakesTasks:
        agent = self._agents.get(name)
        if agent is None:
            known = ", ".join(self._agents)
            raise UsageError(f"Unknown agent '{name[:80]}'; " + (
                f"available: {known}" if known else
                "no agent can be asked here ([agents.NAME] in config.toml)"))
        if turn.depth >= agent.max_depth:
            raise UsageError(TOO_DEEP)
        return agent

    async def _ask_all(self, tasks: Sequence[Mapping[str, Any]],
                       turn: TurnContext) -> ToolResult:
        """All tasks at the same time; their answers in one text."""
        agents = [self._find(task["agent"], turn) for task in tasks]
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(self._ask(agent, task, turn, number))
                       for number, (agent, task)
                       in enumerate(zip(agents, tasks, strict=True))]
        return _join(tasks, [one.result() for one in running])

    async def _ask(self, agent: TakesTasks, task: Mapping[str, Any],
                   turn: TurnContext, number: int = 0) -> ToolResult:
        """One task; what goes wrong with it is its result."""
        message, context = task["task"], task.get("context")
        if context:
            message = f"[Context]\n{context}\n\n[Task]\n{message}"
        token = current_call.set(f"{current_call.get()}.{number}")
        try:
            async with self._at_once:
                return ToolResult(
                    await agent.run_turn(message, turn.hand_over()))
        except FaultError:
            raise
        except ConfigError as error:  # a model can't mend it
            self._policy.notify(f"the agent {task['agent']}: {error.message}"
                                + (f" ({error.hint})" if error.hint else ""))
            return ToolResult.failure(error.message)
        except ClawError as error:
            return ToolResult.failure(error.message)
        finally:
            current_call.reset(token)


class Delegate(HandsOver):
    """Hands over tasks and returns the answers."""

    name = "delegate"
    description = ("Hand a task to another agent and get its answer. It "
                   "knows nothing of this conversation: give it what it "
                   "needs. Tasks in parallel run at the same time.")

    def parameters_schema(self) -> Schema:
        return closed_object(**self._task(), parallel=optional({
            "type": "array", "items": closed_object(**self._task()),
            "description": "Further tasks, for this or other agents, "
                           f"{MOST_TASKS} in all"}))

    def _task(self) -> dict[str, Schema]:
        return {"agent": string("Which agent to delegate to. Available: "
                                + (", ".join(self._agents) or "none"),
                                minLength=1),
                "task": string("The task", minLength=1),
                "context": optional(string("What it has to know for it"))}

    async def execute(self, args: Arguments) -> ToolResult:
        return await super().execute(_rename_prompt(args))

    def problem(self, args: Arguments) -> str | None:
        return super().problem(_rename_prompt(args))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("act")
        turn = current_turn.get() or TurnContext("tool")
        tasks = self._read_tasks(args)
        if len(tasks) == 1:
            return await self._ask(self._find(tasks[0]["agent"], turn),
                                   tasks[0], turn)
        return await self._ask_all(tasks, turn)

    def _read_tasks(self, args: Arguments) -> list[dict[str, Any]]:
        """All tasks of the call. Raises UsageError."""
        more = args.get("parallel", [])
        if len(more) >= MOST_TASKS:
            raise UsageError(f"{len(more) + 1} tasks in one call; at most "
                             f"{MOST_TASKS}")
        schema = closed_object(**self._task())
        return [dict(args), *(check_arguments(schema, _rename_prompt(task))
                              for task in more)]


def _rename_prompt(args: Any) -> Any:
    """The reference calls the task "prompt"."""
    if isinstance(args, Mapping) and "prompt" in args \
            and "task" not in args:
        return {"task" if name == "prompt" else name: value
                for name, value in args.items()}
    return args


def _join(tasks: Sequence[Mapping[str, Any]], results: list[ToolResult]
          ) -> ToolResult:
    """The answers in the order of the tasks; a failure where none came."""
    text = "\n\n".join(
        f"[{number}. {task['agent']}]\n"
        + (result.output if result.success else f"Error: {result.error}")
        for number, (task, result)
        in enumerate(zip(tasks, results, strict=True), 1))
    return (ToolResult(text) if any(r.success for r in results)
            else ToolResult.failure(text))
