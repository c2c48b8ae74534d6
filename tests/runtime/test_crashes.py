"""What a machine does to a service: clocks that jump, processes that are
stopped, disks that are full. (Kills: tests/testing/test_prove.py.)"""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

from claw.cli.show.event_log import EventLog
from claw.cli.show.output import Output
from claw.core.channel import ChannelMessage, SendMessage
from claw.core.errors import StorageError, UnavailableError
from claw.core.failpoint import KILLED
from claw.core.value import replace
from claw.runtime.message.parts import split_parts
from claw.runtime.outbox import Sender
from claw.runtime.process.health import Health
from claw.runtime.process.instance_lock import InstanceLock
from claw.runtime.process.notify import Notifier
from claw.runtime.process.supervisor import Backoff, Supervisor
from claw.runtime.service import Service
from claw.security.estop import EmergencyStop
from claw.storage.queue.model import Arrival, Completion, NewSend
from claw.storage.queue.owner import this_process
from claw.storage.queue.sqlite import SqliteQueue
from claw.testing.memory_channel import MemoryChannel

YEAR_S = 366 * 86400.0
NOW = 1_790_000_000.0
JUMPS = [10 * YEAR_S, -10 * YEAR_S, -NOW, 100 * YEAR_S, -3600.0]


class Clock:
    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


def arrival(number):
    return Arrival(ChannelMessage(f"m{number}", "bob", "42", f"text {number}",
                                  "memory", 1), "memory_bob")


def completion(claim, channel):
    reply = SendMessage("re:" + claim.rows[0].message.content, "42")
    return Completion("answered", sends=(NewSend(
        f"turn:{claim.turn_id}", channel.name, reply,
        split_parts(channel, reply)),))


async def answer_all(queue, lease, channel):
    while (claim := await queue.claim(lease, "memory_bob")) is not None:
        await queue.complete(lease, claim, completion(claim, channel))


def sender_of(channel, queue, lease, clock):
    return Sender(channel.name, lambda: channel, queue, lambda: lease,
                  Health(), lambda event, **fields: None, now=clock)


# -- the wall clock jumps by years

@pytest.mark.parametrize("jump", JUMPS)
@pytest.mark.parametrize("finds", [True, False])
async def test_a_clock_that_jumps_loses_doubles_and_swaps_nothing(
        tmp_path, jump, finds):
    clock, channel = Clock(), MemoryChannel(finds=finds)
    queue = SqliteQueue(tmp_path / "queue.db", now=clock)
    lease = await queue.lease("listen", 15)

    await queue.accept(lease, [arrival(1), arrival(2)])
    clock.now += jump
    again = await queue.accept(lease, [arrival(1), arrival(3)])
    await answer_all(queue, lease, channel)
    clock.now -= jump
    await queue.accept(lease, [arrival(4)])
    await answer_all(queue, lease, channel)
    clock.now += jump
    sender = sender_of(channel, queue, lease, clock)
    while await sender.send_due():
        clock.now -= jump
    await sender.drop()
    await queue.aclose()

    assert again[0] is None
    assert channel.texts() == [f"re:text {n}" for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("jump", [-10 * YEAR_S, -NOW, -3600.0])
async def test_a_part_that_was_put_off_is_not_put_off_for_years(
        tmp_path, jump):
    clock, channel = Clock(), MemoryChannel(finds=True)
    queue = SqliteQueue(tmp_path / "queue.db", now=clock)
    lease = await queue.lease("listen", 15)
    await queue.accept(lease, [arrival(1)])
    await answer_all(queue, lease, channel)
    sender = sender_of(channel, queue, lease, clock)
    refusals = [UnavailableError("away")]

    def refuse(*_):
        if refusals:
            raise refusals.pop()

    channel.before = refuse
    await sender.send_due()
    assert channel.texts() == []
    clock.now += jump
    await sender.send_due()
    await sender.drop()
    await queue.aclose()

    assert channel.texts() == ["re:text 1"]


@pytest.mark.parametrize("jump", JUMPS)
async def test_keeping_house_under_a_jumping_clock_forgets_nothing_open(
        tmp_path, jump):
    clock, channel = Clock(), MemoryChannel(finds=True)
    queue = SqliteQueue(tmp_path / "queue.db", now=clock)
    lease = await queue.lease("listen", 15)
    await queue.accept(lease, [arrival(1)])
    await answer_all(queue, lease, channel)
    sender = sender_of(channel, queue, lease, clock)
    while await sender.send_due():
        pass
    await sender.drop()
    await queue.accept(lease, [arrival(2)])

    clock.now += jump
    await queue.tend()
    known = await queue.accept(lease, [arrival(1), arrival(2)])
    claim = await queue.claim(lease, "memory_bob")
    await queue.aclose()

    assert known == [None, None]
    assert claim.rows[0].message.content == "text 2"


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_lease_knows_nothing_of_the_wall_clock(tmp_path, jump):
    clock, uptime = Clock(), [1000.0]
    alive = this_process()
    other = replace(alive, space="another container")

    def opened(owner):
        return SqliteQueue(tmp_path / "queue.db", now=clock, owner=owner,
                           uptime=lambda: uptime[0])

    first, second = opened(other), opened(alive)
    held = await first.lease("listen", 15)
    clock.now += jump
    early = await second.lease("listen", 15)
    uptime[0] += 16
    late = await second.lease("listen", 15)
    await first.aclose()
    await second.aclose()

    assert held is not None
    assert early is None
    assert late.fence == held.fence + 1


# -- a process that is stopped keeps its lock

class Polling(MemoryChannel):
    account = "telegram:1"
    poll_time_s = 1.0


class Office:
    """A process of a place, as far as polling goes."""

    def __init__(self, folder, place):
        self.events = []
        self.polls = asyncio.Event()
        self.ended = asyncio.Event()
        self.alone = InstanceLock(folder, lambda event, **fields:
                           self.events.append(event), place)
        self.task = asyncio.ensure_future(
            self.alone.run(Polling, self._work))

    async def _work(self):
        self.polls.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.polls.clear()
            self.ended.set()

    async def close(self):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr("claw.runtime.process.instance_lock.LOOK_S", 0.01)


async def test_another_place_waits_for_the_poller(tmp_path, quick):
    first, second = Office(tmp_path, "a"), Office(tmp_path, "b")
    await first.polls.wait()
    await asyncio.sleep(0.05)
    waited = not second.polls.is_set()

    await first.close()
    await second.polls.wait()
    await second.close()

    assert waited
    assert second.events == ["poller.other"]


async def test_the_next_in_office_polls_in_spite_of_one_that_is_stopped(
        tmp_path, quick):
    stopped, heir = Office(tmp_path, "a"), Office(tmp_path, "a")
    await stopped.polls.wait()
    await heir.polls.wait()

    # it wakes, finds its office lost and lets go: the lock is the heir's
    await stopped.close()
    await asyncio.sleep(0.05)
    third = Office(tmp_path, "b")
    await asyncio.sleep(0.05)
    waited = not third.polls.is_set()
    await heir.close()
    await third.polls.wait()
    await third.close()

    assert waited


async def test_who_polls_without_the_lock_stops_when_another_place_has_it(
        tmp_path, quick):
    stopped, heir = Office(tmp_path, "a"), Office(tmp_path, "a")
    await stopped.polls.wait()
    await heir.polls.wait()

    # another place is quicker than the heir
    stopped.alone, lock = None, next(tmp_path.glob("poller-*.lock"))
    lock.write_text("1\nb\n")
    await heir.ended.wait()

    assert not heir.polls.is_set()
    await stopped.close()
    await heir.close()


async def test_an_error_of_the_work_comes_out(tmp_path):
    async def work():
        raise StorageError("the disk is full")

    with pytest.raises(StorageError):
        await InstanceLock(tmp_path, print, "a").run(Polling, work)


# -- the disk is full

async def test_a_full_disk_does_not_keep_a_channel_away_for_long():
    waits = []
    backoff = Backoff(initial_s=2.0, longest_s=60.0)

    class Full(MemoryChannel):
        async def listen(self, inbox):
            raise StorageError("the disk is full")

    async def sleep(seconds):
        waits.append(seconds)
        if len(waits) == 8:
            running.cancel()

    supervisor = Supervisor("memory", Full, None, health=Health(),
                            log=lambda event, **fields: None,
                            backoff=backoff, sleep=sleep)
    running = asyncio.ensure_future(supervisor.run())
    await asyncio.gather(running, return_exceptions=True)

    assert waits == [2.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0]


def test_a_log_that_cannot_be_written_stops_nothing():
    with open("/dev/full", "w", encoding="utf-8") as full, \
            open(os.devnull, "wb") as room:
        log = EventLog(Output(stderr=full), verbose=0)
        log("started", channels="telegram", recovered=0, ms=1)
        log("channel.error", channel="telegram", error="no disk")
        # what is left in the buffer goes to a file that takes it
        os.dup2(room.fileno(), full.fileno())


# -- failpoints

@pytest.mark.parametrize(("number", "code", "names"), [
    ("2", KILLED, ["queue.commit", "queue.committed"]),
    ("9", 0, ["queue.commit", "queue.committed", "net.request"]),
])
def test_a_failpoint_ends_the_process_and_says_where(
        tmp_path, number, code, names):
    log = tmp_path / "points"
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent("""
        from claw.core.failpoint import reach
        from claw.core.failpoint import install_from_environment
        install_from_environment()
        for name in "queue.commit", "queue.committed", "net.request":
            reach(name)
        """)], check=False, env={**os.environ, "CLAW_FAILPOINT": number,
                                 "CLAW_FAILPOINT_LOG": str(log)})

    assert ended.returncode == code
    assert log.read_text().split() == names


def test_the_code_of_a_failpoint_is_that_of_sigkill():
    assert KILLED == 128 + signal.SIGKILL


# -- the store is locked by a process that is stopped in a commit

async def test_who_stands_by_outlives_a_locked_store(monkeypatch, tmp_path):
    monkeypatch.setattr("claw.runtime.service.STANDBY_S", 0.01)
    events = []

    class Locked:
        tries = 0

        async def lease(self, name, ttl_s):
            self.tries += 1
            if self.tries == 3:
                service.stop()
            raise UnavailableError("queue.db is locked")

    service = Service(SimpleNamespace(
        queue=Locked(), estop=EmergencyStop(tmp_path),
        log=lambda event, **fields: events.append(event),
        notifier=Notifier({})))
    await service.run()

    assert events == ["standby.error"] * 3
