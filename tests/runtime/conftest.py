"""A stage for the runtime: a real queue, a channel in memory, and the
provider that a test brings. Tests here may be coroutines."""

import asyncio
import inspect

import pytest

from claw.agent.hooks.runner import HookRunner
from claw.agent.turn import Agent
from claw.core.errors import ConfigError
from claw.core.tool import Tool, ToolResult
from claw.runtime.dispatcher import Dispatcher, in_flight_limit
from claw.runtime.inbox import BUS_SIZE, DurableInbox
from claw.runtime.live import Live, LiveChannel, Route
from claw.runtime.outbox import Sender
from claw.runtime.people.approvals import ChannelApprover
from claw.runtime.process.health import Health
from claw.runtime.settings import ChannelOptions, ChannelsSettings
from claw.runtime.turn.desk import Desk
from claw.runtime.turn.histories import Histories
from claw.security.estop import EmergencyStop
from claw.storage.queue.sqlite import SqliteQueue
from claw.storage.sessions import SessionStore
from claw.testing.memory_channel import MemoryChannel
from claw.testing.scripted import ScriptedProvider


@pytest.fixture(autouse=True)
def drafts_begin_at_once(monkeypatch):
    monkeypatch.setattr("claw.runtime.turn.drafts.BEGIN_AFTER_S", 0)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    test = pyfuncitem.obj
    if not inspect.iscoroutinefunction(test):
        return None
    names = pyfuncitem._fixtureinfo.argnames

    async def run():
        async with asyncio.timeout(20):
            await test(**{n: pyfuncitem.funcargs[n] for n in names})
    asyncio.run(run())
    return True


class Slow(ScriptedProvider):
    """Answers each request only once the test lets it: `begun` holds the
    last words of those that wait, `let()` frees the oldest."""

    def __init__(self, *args, **named):
        super().__init__(*args, **named)
        self.begun = []
        self._gates = []

    async def _wait(self, request):
        self.begun.append(request.messages[-1].content)
        gate = asyncio.Event()
        self._gates.append(gate)
        await gate.wait()

    def let(self, count=1):
        for _ in range(count):
            self._gates.pop(0).set()

    def let_all(self):
        self.let(len(self._gates))

    async def chat(self, request, model, temperature):
        await self._wait(request)
        return await super().chat(request, model, temperature)

    async def stream_chat(self, request, model, temperature):
        await self._wait(request)
        async for chunk in super().stream_chat(request, model, temperature):
            yield chunk


class Probe(Tool):
    """A tool that counts its runs."""

    name = "probe"
    description = "counts"

    def __init__(self, work=None):
        self.runs = []
        self._work = work

    def parameters_schema(self):
        return {"type": "object", "properties": {}}

    async def execute(self, args):
        self.runs.append(dict(args))
        if self._work is not None:
            await self._work()
        return ToolResult(output=f"probed {len(self.runs)}")


class Flaky:
    """A queue of which some verbs fail so many times:
    Flaky(queue, complete=1)."""

    def __init__(self, queue, error, **times):
        self._queue = queue
        self._error = error
        self.times = times

    def __getattr__(self, name):
        verb = getattr(self._queue, name)
        if name not in self.times:
            return verb

        async def wrapped(*args, **named):
            if self.times[name] > 0:
                self.times[name] -= 1
                raise self._error
            return await verb(*args, **named)
        return wrapped


class Stage:
    """One term of office, as the service builds it, without signals,
    supervisors and settings files."""

    Slow, Probe, Flaky = Slow, Probe, Flaky

    def __init__(self, folder, provider=None, *, channels=None,
                 options=None, settings=None, tools=(), gate=None,
                 hooks=(), memory=None, auto_save=False, store=True,
                 limit=None, flaky=None, valid_s=900.0, listen=True,
                 agent=None, now=None, **live):
        self.folder = folder
        self.provider = provider or ScriptedProvider()
        self.rooms = {c.name: LiveChannel(c, options or ChannelOptions())
                      for c in channels or [MemoryChannel()]}
        self.channel = next(iter(self.rooms.values())).channel
        self.events = []
        self.logged = asyncio.Event()
        self.limit = limit
        self.flaky = flaky
        self.valid_s = valid_s
        self.listen = listen
        self.now = now
        self.store = SessionStore(folder / "sessions") if store else None
        self.providers = {}
        if gate is not None:
            agent = {**(agent or {}), "gate": gate(self)}
        self.live = Live(
            settings=settings or ChannelsSettings(), channels=self.rooms,
            agent=Agent(self.provider, tools, model="m1", **(agent or {})),
            route=Route("scripted", "m1"), open_provider=self._open,
            hooks=HookRunner(hooks, self.log), workspace=folder,
            memory=memory, auto_save=auto_save, **live)
        self.after = []

    async def _open(self, name, key):
        if name not in self.providers:
            raise ConfigError(f"unknown provider {name!r}")
        found = self.providers[name]
        if isinstance(found, Exception):
            raise found
        return found

    def log(self, event, /, **fields):
        self.events.append((event, fields))

    def said(self, event):
        return [fields for name, fields in self.events if name == event]

    async def __aenter__(self):
        self.raw = SqliteQueue(self.folder / "queue.db")
        self.queue = self.raw if self.flaky is None else Flaky(
            self.raw, **self.flaky)
        self.lease = await self.raw.lease("listen", 30)
        await self.raw.recover(self.lease)
        self.health = Health()
        self.histories = Histories(self.queue, self.store, self.log)
        await self.histories.write_out(looking=True)
        more = {} if self.now is None else {"now": self.now}
        self.approver = ChannelApprover(
            self.queue, lambda: self.lease, self.log, self.posted,
            valid_s=self.valid_s, **more)
        self.desk = Desk(
            live=lambda: self.live, refresh=self._refresh, queue=self.queue,
            lease=lambda: self.lease, histories=self.histories,
            approver=self.approver, wake_sender=self.posted, log=self.log,
            estop=EmergencyStop(self.folder))
        bus = asyncio.Queue(BUS_SIZE)
        self.dispatcher = Dispatcher(
            self.desk, bus, after=self._after,
            limit=self.limit or in_flight_limit(len(self.rooms)))
        self.senders, self.inboxes, self.tasks = {}, {}, []
        for name in self.rooms:
            self.senders[name] = Sender(
                name, lambda n=name: self.rooms[n].channel, self.queue,
                lambda: self.lease, self.health, self.log)
            self.inboxes[name] = DurableInbox(
                name, self.queue, lambda: self.lease, bus, self.health,
                self.log, answers=self.approver.is_meant)
            self.tasks.append(asyncio.ensure_future(
                self.senders[name].run()))
            if self.listen:
                self.tasks.append(asyncio.ensure_future(
                    self.rooms[name].channel.listen(self.inboxes[name])))
        self.running = asyncio.ensure_future(self.dispatcher.run())
        self.tasks.append(self.running)
        return self

    async def __aexit__(self, *_):
        await self.kill()

    async def kill(self):
        """End it as a SIGKILL would: nothing is told to the queue."""
        doomed = [*self.tasks, *self.dispatcher._working.values(),
                  *self.dispatcher._beside.running]
        for task in doomed:
            task.cancel()
        await asyncio.gather(*doomed, return_exceptions=True)
        for sender in self.senders.values():
            await sender.drop()
        self.tasks = []
        await self.raw.aclose()

    async def _refresh(self):
        return None

    async def _after(self, finished):
        self.after.append(finished)

    def posted(self, channel):
        if channel in self.senders:
            self.senders[channel].wake()

    async def until(self, predicate, timeout_s=20.0):
        return await self.channel.until(predicate, timeout_s)

    async def answers(self, count, timeout_s=20.0):
        """Wait for so many texts in the first channel."""
        await self.until(lambda: len(self.channel.texts()) >= count,
                         timeout_s)
        return self.channel.texts()

    async def idle(self):
        """Nothing waits, nothing runs."""
        while True:
            counts = await self.raw.counts()
            if not (counts.inbox["waiting"] + counts.inbox["running"]
                    + counts.outbox["waiting"] + counts.outbox["sending"]
                    + counts.outbox["uncertain"] + self.dispatcher.busy):
                await self.histories.write_out()
                return
            await asyncio.sleep(0.005)

    async def drafted(self):
        """The queue knows the draft of the oldest message."""
        while True:
            if (await self.raw.inbox_rows())[0].draft_id:
                return
            await asyncio.sleep(0.002)

    async def idle_outbox(self):
        """All that was written has been sent."""
        while True:
            counts = (await self.raw.counts()).outbox
            if not (counts["waiting"] + counts["sending"]):
                return
            await asyncio.sleep(0.005)

    def saved(self, key):
        """What the session file holds: (role, text)."""
        return [(r["data"]["role"], r["data"]["content"])
                for r in self.store.load(key)]

    def turns(self, key):
        return [(t.role, t.content)
                for t in self.histories._turns.get(key, [])]


@pytest.fixture
def stage(tmp_path):
    """stage(provider, ...) -> Stage, all on the same files."""
    def make(provider=None, **more):
        return Stage(tmp_path, provider, **more)
    return make


@pytest.fixture
def slow():
    """slow() -> a provider that waits until it is let go on."""
    return Slow


@pytest.fixture
def probe():
    """probe(work) -> a tool that counts its runs."""
    return Probe
