"""A scheduler with a clock that stands still, over a real file."""

import asyncio
import os

import pytest

from claw.agent.turn import Agent
from claw.core.errors import ConfigError
from claw.core.value import replace
from claw.cron.parts import Parts, Service, Sight
from claw.cron.runner import Runner
from claw.security.policy import SecurityPolicy
from claw.security.sandbox.sandbox import Sandbox
from claw.security.settings import (
    AutonomySettings,
    ResourceSettings,
    SandboxSettings,
)
from claw.storage.jobs.model import Delivery, JobSpec
from claw.storage.jobs.schedule import Schedule
from claw.storage.jobs.settings import SchedulerSettings
from claw.storage.jobs.store import SqliteJobs
from claw.testing.scripted import ScriptedProvider
from claw.wiring.tools.build import build_gate

START = 1_767_225_600.0  # 2026-01-01T00:00:00Z
CHAT = Delivery("announce", "telegram", "7")


class Outbox:
    """claw.cron.parts.Posts: what was posted, once for each source."""

    def __init__(self):
        self.posted = {}
        self.failed = {}
        self.state = "sent"
        self.channels = ["telegram"]

    @property
    def texts(self):
        return [message.content for _, message in self.posted.values()]

    async def post(self, source, channel, message):
        if channel not in self.channels:
            raise ConfigError(f"channel {channel!r} is not set up")
        self.posted.setdefault(source, (channel, message))

    async def find_state(self, source):
        return self.state, self.failed.get(source)


class Talks:
    """claw.cron.parts.Talks: a conversation for each job that has one."""

    def __init__(self):
        self.said = {}

    def find_sight(self, job):
        return Sight(job.spec.made_in)

    def find_key(self, job):
        return None if job.spec.session_target == "isolated" else job.id

    async def load(self, key):
        return self.said.get(key, [])

    async def keep(self, key, turn_id, said, labels):
        self.said.setdefault(key, []).extend(said)


class Shift:
    """One workspace's scheduler; `now` is what its clock says. A scheduler
    that `begin` makes is one more life of the process."""

    def __init__(self, folder, script=(), *, tools=(), history=50,
                 scheduler=None, sandbox=True, autonomy=None, **more):
        self.now = START
        self.folder = folder
        self.workspace = folder / "ws"
        self.workspace.mkdir(exist_ok=True)
        self.path = folder / "jobs.db"
        self.jobs = SqliteJobs(self.path, now=lambda: self.now,
                               channels=lambda: ["telegram"],
                               history=history)
        self.provider = ScriptedProvider(script)
        settings = AutonomySettings(**{
            "max_actions_per_hour": 10**6, **(autonomy or {})})
        policy = SecurityPolicy(
            settings, self.workspace, home=folder, sandbox=Sandbox(
                self.workspace, SandboxSettings(), ResourceSettings(),
                {**os.environ}, commands=()) if sandbox else None)
        agent = Agent(self.provider, tools, model="m1", gate=build_gate(
            policy, None, approve_all=False))
        self.costs = {}
        self.events = []
        self.notes = {}
        self.turns = []
        self.outbox, self.talks = Outbox(), Talks()
        self.parts = Parts(self.jobs, scheduler or SchedulerSettings(),
                           agent, policy, self._open_model, "scripted",
                           backoff_s=0.001, **more)
        self.runner = None

    async def _open_model(self, name):
        return self.provider, name

    def log(self, event, /, **fields):
        self.events.append((event, fields))

    def cost(self, turn_id):
        return self.costs.get("any")

    async def log_turn(self, turn_id, entry):
        self.turns.append((turn_id, entry))

    def begin(self, jobs=None, outbox=None):
        parts = self.parts if jobs is None else replace(self.parts, jobs=jobs)
        self.runner = Runner(
            lambda: parts, Service(
                self.talks, self.log, self.cost, self.log_turn,
                outbox or self.outbox, self.notes.__setitem__),
            self.path, now=lambda: self.now)
        return self.runner

    def add(self, seconds=60, **spec):
        spec.setdefault("delivery", CHAT)
        if "command" not in spec:
            spec = {"job_type": "agent", "prompt": "hello", **spec}
        schedule = spec.pop("schedule", None) or Schedule(
            "every", every_ms=seconds * 1000)
        return self.jobs.add(JobSpec(schedule, **spec)).id

    async def pass_time(self, seconds=60):
        """So much later: what is due then has run, and is told."""
        self.now += seconds
        if self.runner is None:
            await self.begin().begin()
        await self.runner.look()
        await self.runner.wait()
        await self.runner.look()

    def runs(self, id):
        """What became of the runs, oldest first."""
        return [(run.status, run.output) for run
                in reversed(self.jobs.list_runs(id))]

    def statuses(self, id):
        return [status for status, _ in self.runs(id)]


@pytest.fixture
def shift(tmp_path):
    """shift(script, ...) -> Shift; made again it is on the same files."""
    def make(script=(), **more):
        return Shift(tmp_path, script, **more)
    return make


@pytest.fixture
def go():
    """Run a coroutine of the test's to its end."""
    def run(work, timeout_s=30):
        async def within():
            async with asyncio.timeout(timeout_s):
                return await work
        return asyncio.run(within())
    return run
