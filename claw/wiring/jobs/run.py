"""A scheduled job at once, in this process: claw cron run.

It goes the way of the agent's tool cron_run, with nobody to ask: what would
be refused at night is refused here.
"""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

from claw.config.tree import Tree
from claw.core.errors import DeniedError, NotFoundError
from claw.core.log import silent
from claw.core.tool import Tool, ToolResult, end_turn
from claw.core.turn import TurnContext, current_turn
from claw.cron.heartbeat import NO_TASKS
from claw.security.estop import EmergencyStop
from claw.storage.jobs.model import Job
from claw.tools.offer.shelf import ToolSearch
from claw.wiring.compose import AgentOptions, open_parts
from claw.wiring.jobs.heartbeat import find_prompt
from claw.wiring.tools.build import build_policy, build_tools

_TOOL = "cron_run"


async def run_job(tree: Tree, job: Job, notify: Callable[[str], None]
                  ) -> tuple[ToolResult, str, float | None]:
    """What came of it, its turn, and what that cost (None: not known).
    Raises ClawError where it can't be begun."""
    EmergencyStop(tree.places.home).check()
    if find_prompt(tree, silent, job) is None and job.spec.prompt:
        raise NotFoundError(NO_TASKS)
    turn = TurnContext("cron")
    token = current_turn.set(turn)
    async with AsyncExitStack() as stack:
        stack.callback(current_turn.reset, token)
        if job.spec.job_type == "shell":
            policy = build_policy(tree)
            policy.notify = notify
            tool = build_tools(tree, policy, names=[_TOOL])[0]
            return await _call(tool, job, turn), turn.turn_id, 0.0
        parts = await stack.enter_async_context(open_parts(
            tree, AgentOptions(tools=None, notify=notify)))
        result = await _call(_find_tool(parts.agent.tools), job, turn)
        return (result, turn.turn_id,
                parts.ledger.turn_cost(turn.turn_id))


async def _call(tool: Tool, job: Job, turn: TurnContext) -> ToolResult:
    try:
        return await tool.execute({"job_id": job.id})
    finally:
        await end_turn([tool], turn)


def _find_tool(tools: Sequence[Tool]) -> Tool:
    """It stands on the shelf of tool_search, unless the settings offer
    it."""
    for tool in tools:
        if tool.name == _TOOL:
            return tool
        if isinstance(tool, ToolSearch):
            found = tool.shelf.find(_TOOL)
            if found is not None:
                return found
    raise DeniedError("the agent may run no jobs: agent.excluded_tools "
                      "leaves out cron_run or tool_search")
