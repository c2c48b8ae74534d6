"""A scheduled job at once, in this process: claw cron run.

It goes the way of the scheduler's runs (claw.cron.work), beside the
schedule: what came of it is kept, and sent nowhere.
"""

import time
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from functools import cache
from typing import Any

from claw.agent.settings import PacingSettings
from claw.config.tree import Tree
from claw.core.errors import UnavailableError
from claw.core.provider import Provider
from claw.core.times import rfc3339
from claw.core.value import replace
from claw.cron.parts import Around, Parts
from claw.cron.work import STOPPED, build_turn, end_run, hold_work
from claw.providers.factory import OFFLINE
from claw.runtime.live import reckon_budget_s
from claw.runtime.settings import ChannelsSettings
from claw.runtime.turn.histories import Histories
from claw.storage.forgotten import set_stamp
from claw.storage.jobs.model import Job, Run
from claw.storage.jobs.store import cut_output
from claw.storage.queue.sqlite import SqliteQueue
from claw.tools.cron.running import Outcome
from claw.wiring.channels.people import open_people
from claw.wiring.compose import AgentOptions, open_parts
from claw.wiring.listen.jobs import JobTalks, build_parts
from claw.wiring.tools.build import build_policy
from claw.wiring.tools.effective import list_excluded
from claw.wiring.workspace.log import ChannelLog, open_log
from claw.wiring.workspace.place_names import queue_path
from claw.wiring.workspace.sessions import open_sessions


async def run_job(tree: Tree, job: Job, notify: Callable[[str], None]) -> Run:
    """The run, ended. Raises ClawError where it can't be begun."""
    async with AsyncExitStack() as stack:
        parts, around = await _open(tree, job, notify, stack)
        run = parts.jobs.begin_run(job.id, rfc3339(time.time()))
        if run is None:
            raise UnavailableError("a run of this job is under way")
        turn = build_turn(job, around.talks.find_sight(job))
        begun = time.time()
        outcome = Outcome("interrupted", STOPPED, turn.turn_id)
        try:
            outcome = await hold_work(parts, around, job, run, turn, begun)
        finally:
            end_run(parts, around, run, outcome, owed=False)
        ended = time.time()  # a job that is over has gone with its runs
        return replace(
            run, status=outcome.status, output=cut_output(outcome.text),
            turn_id=turn.turn_id, cost_usd=around.turn_cost(turn.turn_id),
            finished_at=rfc3339(ended),
            duration_ms=round((ended - begun) * 1000))


async def _open(tree: Tree, job: Job, notify: Callable[[str], None],
                stack: AsyncExitStack) -> tuple[Parts, Around]:
    """What claw listen would hand to the run. A command needs no model."""
    sandbox = build_policy(tree).sandbox
    commands = sandbox is None or not sandbox.shelter().is_fallback
    is_agent = job.spec.job_type == "agent"
    opened = await stack.enter_async_context(open_parts(tree, AgentOptions(
        None if is_agent else OFFLINE, tools=None if is_agent else (),
        excluded_tools=list_excluded(tree), commands=commands,
        use_memory=is_agent, notify=notify)))

    async def open_model(name: str) -> tuple[Provider, str]:
        provider, choice = await opened.providers.open(None, name)
        stack.push_async_callback(provider.aclose)
        return provider, choice.model or ""

    @cache
    def open_histories() -> Histories:
        queue = SqliteQueue(queue_path(tree.places))
        stack.push_async_callback(queue.aclose)
        # a claw listen that runs reads its conversations anew
        stack.callback(set_stamp, tree.places.workspace)
        return Histories(queue, store, log)

    def log(event: str, **fields: Any) -> None:
        if trouble := fields.get("error") or fields.get("text"):
            notify(f"{event}: {trouble}")
    store = open_sessions(tree.places, opened.redactor)
    people = open_people(tree, log)
    writer = open_log(tree, opened.redactor)
    if writer is not None:
        stack.enter_context(closing(writer))
    parts = build_parts(
        tree, opened, open_model, log, turn_s=reckon_budget_s(
            tree.decode("channels_config", ChannelsSettings),
            opened.agent.settings, tree.decode(
                "pacing", PacingSettings).message_timeout_scale_max))
    if parts is None:  # the caller has opened the store
        raise UnavailableError("there are no scheduled jobs here")
    return parts, Around(
        JobTalks(open_histories, store, notify, lambda: people), log,
        opened.ledger.turn_cost, ChannelLog(lambda: writer, notify).write)
