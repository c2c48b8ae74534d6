"""Hooks that look on: what was sent, who talks, the heartbeat."""

import asyncio
import time

import pytest

from claw.agent.hooks.runner import HookRunner
from claw.core.channel import SendMessage
from claw.core.errors import RequestRefusedError, UnavailableError
from claw.core.hooks import Hooks
from claw.runtime import hooks as module
from claw.runtime.hooks import HookNotifier, Sessions, run_heartbeat
from claw.runtime.message.parts import split_parts
from claw.runtime.outbox import Sender
from claw.runtime.process.health import Health
from claw.runtime.settings import HeartbeatSettings
from claw.storage.queue.model import NewSend
from claw.storage.queue.sqlite import SqliteQueue
from claw.testing.memory_channel import MemoryChannel


class Watcher(Hooks):
    """Keeps what it hears of."""

    def __init__(self, work=None):
        self.heard = []
        self._work = work

    async def _hear(self, *what):
        if self._work is not None:
            await self._work()
        self.heard.append(what)

    async def on_message_sent(self, channel, message):
        await self._hear("sent", channel, message.recipient, message.content)

    async def on_session_start(self, session, channel):
        await self._hear("start", session, channel)

    async def on_session_end(self, session, channel):
        await self._hear("end", session, channel)

    async def on_heartbeat_tick(self):
        await self._hear("tick")


class Room:
    """A channel with its sender, and a hook that looks on."""

    def __init__(self, folder, channel, watcher):
        self.channel, self.watcher = channel, watcher
        self.clock = 1_000.0
        self.events = []
        self.queue = SqliteQueue(folder / "q.db", now=lambda: self.clock)
        self.runner = HookRunner([watcher], self.log)
        self.hook_notifier = HookNotifier(
            lambda: self.runner, self.queue, self.log)

    def log(self, event, /, **fields):
        self.events.append((event, fields))

    async def __aenter__(self):
        self.lease = await self.queue.lease("listen", 60)
        self.sender = Sender(
            self.channel.name, lambda: self.channel, self.queue,
            lambda: self.lease, Health(), self.log, now=lambda: self.clock,
            on_sent=self.hook_notifier.note_sent)
        return self

    async def __aexit__(self, *_):
        await self.sender.drop()
        await self.hook_notifier.finish()
        await self.queue.aclose()

    async def send(self, text, source="s"):
        message = SendMessage(text, "alice")
        await self.queue.post([NewSend(
            source, self.channel.name, message,
            split_parts(self.channel, message))])
        await self.drain()

    async def drain(self):
        while await self.sender.send_due():
            pass
        await asyncio.wait_for(self.settle(), 5)

    async def settle(self):
        while self.hook_notifier._beside.running:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


@pytest.fixture
def room(tmp_path):
    return lambda channel=None, work=None: Room(
        tmp_path, channel or MemoryChannel(finds=True), Watcher(work))


async def test_a_hook_hears_of_a_message_once_all_of_it_is_confirmed(room):
    async with room(MemoryChannel(finds=True, limit=10)) as r:
        await r.send("one message in several parts")
        await r.drain()

        assert len(r.channel.sent) > 2
        assert r.watcher.heard == [
            ("sent", "memory", "alice", "one message in several parts")]


async def test_nobody_hears_of_a_message_that_is_in_doubt(room):
    async with room() as r:
        def lose(name, *_):
            if name == "send_part":
                raise UnavailableError("read timed out")
        r.channel.after = lose
        await r.send("perhaps")
        assert [row.state for row in await r.queue.outbox_rows()] == [
            "uncertain"]
        assert r.watcher.heard == []

        r.channel.after = None
        r.clock += 60
        await r.drain()  # it is found, and confirmed
        await r.drain()
        assert r.channel.texts() == ["perhaps"]
        assert [what[3] for what in r.watcher.heard] == ["perhaps"]


async def test_nobody_hears_of_a_message_of_which_a_part_was_refused(room):
    async with room(MemoryChannel(finds=True, limit=10)) as r:
        def refuse(name, *_):
            if name == "send_part" and len(r.channel.sent) == 1:
                raise RequestRefusedError("too rude")
        r.channel.before = refuse
        await r.send("one message in several parts")

        assert len(r.channel.sent) == 1
        assert r.watcher.heard == []


async def test_a_hook_that_hangs_delays_no_message_and_not_the_end(room):
    async with room(work=asyncio.Event().wait) as r:
        for number in range(5):
            message = SendMessage(f"m{number}", "alice")
            await r.queue.post([NewSend(f"s{number}", "memory", message,
                                        split_parts(r.channel, message))])
            await r.sender.send_due()
        assert r.channel.texts() == ["m0", "m1", "m2", "m3", "m4"]
        began = time.monotonic()
        await r.hook_notifier.finish(0.05)
        assert time.monotonic() - began < 1


async def test_a_hook_that_fails_loses_no_message(room):
    async def fail():
        raise RuntimeError("broken")
    async with room(work=fail) as r:
        await r.send("hello")

        assert r.channel.texts() == ["hello"]
        assert [fields["at"] for event, fields in r.events
                if event == "hook_failed"] == ["on_message_sent"]


async def test_hooks_hear_of_messages_in_order(room):
    waits = iter((0.05, 0.0, 0.02))
    async with room(work=lambda: asyncio.sleep(next(waits))) as r:
        for number in range(3):
            message = SendMessage(f"m{number}", "alice")
            await r.queue.post([NewSend(f"s{number}", "memory", message,
                                        split_parts(r.channel, message))])
            await r.sender.send_due()
        await r.settle()
        assert [what[3] for what in r.watcher.heard] == ["m0", "m1", "m2"]


async def test_where_too_many_wait_hooks_are_skipped_and_it_is_told(
        room, monkeypatch):
    monkeypatch.setattr(module, "WAITING", 2)
    async with room(work=asyncio.Event().wait) as r:
        for number in range(4):
            message = SendMessage(f"m{number}", "alice")
            await r.queue.post([NewSend(f"s{number}", "memory", message,
                                        split_parts(r.channel, message))])
            await r.sender.send_due()
        await r.hook_notifier.finish(0)
        assert [event for event, _ in r.events
                if event == "hook_skipped"] == ["hook_skipped"] * 3


async def test_a_session_begins_with_its_first_message_and_ends_with_new(
        stage):
    watcher = Watcher()
    async with stage(hooks=[watcher]) as s:
        for text in ("hello", "again", "/new", "anew"):
            s.channel.say(text)
            await s.channel.until(lambda: not s.channel.waiting)
            await s.idle()
        await s.desk.sessions.end_all(s.log)

    key, = {what[1] for what in watcher.heard if what[0] != "sent"}
    assert [what for what in watcher.heard if what[0] != "sent"] == [
        ("start", key, "memory"), ("end", key, "memory"),
        ("start", key, "memory"), ("end", key, "memory")]


async def test_of_too_many_sessions_the_one_that_rested_longest_ends(
        monkeypatch):
    monkeypatch.setattr(module, "SESSIONS", 2)
    watcher = Watcher()
    sessions = Sessions(lambda: HookRunner([watcher]))
    for key in ("a", "b", "a", "c"):
        await sessions.begin(key, "x")

    assert watcher.heard == [("start", "a", "x"), ("start", "b", "x"),
                             ("start", "c", "x"), ("end", "b", "x")]


async def test_the_heart_beats_while_it_is_on():
    watcher = Watcher()
    now, changed = [HeartbeatSettings()], asyncio.Event()
    task = asyncio.ensure_future(run_heartbeat(
        lambda: now[0], lambda: HookRunner([watcher]), changed))
    await asyncio.sleep(0.05)
    assert watcher.heard == []

    began = time.monotonic()
    now[0] = HeartbeatSettings(enabled=True, interval_minutes=0.1 / 60)
    changed.set()
    while len(watcher.heard) < 3:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    assert 0.29 < time.monotonic() - began < 0.8

    now[0] = HeartbeatSettings()
    changed.set()
    await asyncio.sleep(0.02)
    count = len(watcher.heard)
    await asyncio.sleep(0.25)
    assert len(watcher.heard) == count
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
