"""One process works at a time, and a dead one is passed over at once."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from claw.core.errors import LeaseLostError
from claw.core.value import replace
from claw.storage.queue import owner
from claw.storage.queue.model import JournalEntry
from claw.storage.queue.owner import alive, this_process

HOLD = """
import asyncio, sys
from claw.storage.queue.sqlite import SqliteQueue

async def main():
    queue = SqliteQueue(sys.argv[1])
    lease = await queue.lease("listen", 3600)
    print(lease.fence if lease else "none", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await queue.aclose()

asyncio.run(main())
"""


STOPPED = """
import asyncio, sys
from claw.core.channel import ChannelMessage
from claw.core.errors import LeaseLostError
from claw.storage.queue.model import Arrival
from claw.storage.queue.sqlite import SqliteQueue

async def main():
    queue = SqliteQueue(sys.argv[1])
    lease = await queue.lease("listen", 5)
    print(lease.fence, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    try:
        await queue.accept(lease, [Arrival(ChannelMessage(
            "late", "bob", "42", "hello", "telegram", 1), "c")])
    except LeaseLostError as error:
        print(error, flush=True)
    await queue.aclose()

asyncio.run(main())
"""


def running(script, path):
    return subprocess.Popen([sys.executable, "-c", script, str(path)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True)


def end(*children):
    for child in children:
        child.kill()
        child.communicate()


async def test_a_living_holder_keeps_its_lease_until_it_lapses(kit):
    one = kit.open()
    two = kit.open(kit.process(space="a container"))
    lease = await one.lease("listen", 30)

    assert lease.fence == 1
    assert await two.lease("listen", 30) is None
    assert (await two.holder("listen")).pid == os.getpid()
    kit.uptime += 29
    await one.renew(lease, 30)
    kit.uptime += 29
    assert await two.lease("listen", 30) is None
    assert (await two.lease("other", 30)).fence == 1
    kit.uptime += 2
    assert (await two.lease("listen", 30)).fence == 2


async def test_the_same_process_gets_its_lease_again(kit):
    one, two = kit.open(), kit.open()

    assert await one.lease("listen", 30) == await two.lease("listen", 30)


async def test_a_wall_clock_that_jumps_changes_nothing(kit):
    one = kit.open()
    two = kit.open(kit.process(space="a container"))
    await one.lease("listen", 30)
    for jump in (1e9, -1e9):
        kit.clock += jump

        assert await two.lease("listen", 30) is None


async def test_a_lapsed_lease_that_nobody_took_is_good(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    kit.uptime += 1000
    await queue.accept(lease, [kit.arrival("1")])
    await queue.renew(lease, 30)

    assert await queue.waiting() == ["telegram_bob"]


@pytest.mark.parametrize("changes", [
    {"started": "another process of that id"},
    {"pid": 2 ** 22 + 1},
    {"boot": "the boot before"},
])
async def test_a_dead_holder_is_passed_over_at_once(kit, changes):
    dead = kit.open(kit.process(**changes))
    lease = await dead.lease("listen", 3600)
    queue = kit.open()

    assert (await queue.holder("listen")).alive is False
    assert (await queue.lease("listen", 30)).fence == lease.fence + 1


async def test_a_lease_of_another_machine_lapses_while_it_is_watched(kit):
    far = kit.process(boot="x", host="elsewhere")
    there, here = kit.open(far), kit.open()
    lease = await there.lease("listen", 30)

    assert (await here.holder("listen")).alive is None
    kit.uptime += 10_000  # says nothing of their clock
    assert await here.lease("listen", 60) is None
    kit.uptime += 29
    await there.renew(lease, 30)
    assert await here.lease("listen", 60) is None
    kit.uptime += 29
    assert await here.lease("listen", 60) is None
    kit.uptime += 2
    assert (await here.lease("listen", 60)).fence == 2


async def test_where_boots_have_no_id_the_future_is_another_boot(kit):
    before = kit.open(kit.process(boot="", space="other"))
    await before.lease("listen", 30)
    after = kit.open(kit.process(boot="", space=""))
    assert await after.lease("listen", 30) is None
    kit.uptime = 0

    assert (await after.lease("listen", 30)).fence == 2


async def test_after_a_take_over_every_write_is_refused(kit):
    """The first process was stopped for minutes, then goes on."""
    first = kit.open()
    second = kit.open(kit.process(space="a container"))
    old = await first.lease("listen", 30)
    await first.accept(old, [kit.arrival("1"), kit.arrival("2", "other")])
    claim = await first.claim(old, "telegram_bob")
    (row,) = await first.post([kit.send("1", "a")])
    kit.uptime += 300
    new = await second.lease("listen", 30)
    await second.recover(new)
    before = [await second.inbox_rows(), await second.outbox_rows()]

    for late in (
            first.accept(old, [kit.arrival("3")]), first.recover(old),
            first.renew(old, 30), first.claim(old, "other"),
            first.complete(old, claim, kit.answered(kit.send("2", "b"))),
            first.unclaim(old, claim), first.keep_draft(old, claim, "1"),
            first.journal(old, claim.turn_id, JournalEntry("calls", {})),
            first.mark_sending(old, row), first.mark_sent(old, row, "1"),
            first.mark_failed(old, row, "x"),
            first.put_off(old, row, 0, "x", uncertain=True)):
        with pytest.raises(LeaseLostError, match="taken over"):
            await late
    await first.yield_lease(old)

    assert [await second.inbox_rows(),
            await second.outbox_rows()] == before
    await second.renew(new, 30)


async def test_an_old_lease_of_ours_is_no_good_after_we_have_it_again(kit):
    one = kit.open()
    two = kit.open(kit.process(space="a container"))
    old = await one.lease("listen", 30)
    kit.uptime += 31
    await two.lease("listen", 30)
    kit.uptime += 31
    new = await one.lease("listen", 30)

    assert new.fence == 3
    with pytest.raises(LeaseLostError):
        await one.accept(old, [kit.arrival("1")])
    await one.accept(new, [kit.arrival("1")])


async def test_a_process_that_was_stopped_can_not_write_any_more(kit):
    child = running(STOPPED, kit.path)
    try:
        assert child.stdout.readline() == "1\n"
        os.kill(child.pid, signal.SIGSTOP)
        kit.uptime = owner.uptime() + 10
        queue = kit.open()
        lease = await queue.lease("listen", 30)
        await queue.accept(lease, [kit.arrival("new")])
        os.kill(child.pid, signal.SIGCONT)
        child.stdin.write("go on\n")
        child.stdin.flush()

        assert "has taken over" in child.stdout.readline()
        assert len(await queue.inbox_rows()) == 1
    finally:
        end(child)


async def test_a_lease_given_back_is_free_and_no_good_any_more(kit):
    one = kit.open()
    two = kit.open(kit.process(space="a container"))
    lease = await one.lease("listen", 3600)
    await one.yield_lease(lease)

    assert await two.holder("listen") is None
    with pytest.raises(LeaseLostError):
        await one.accept(lease, [kit.arrival("1")])
    assert (await two.lease("listen", 30)).fence == 2


async def test_of_two_processes_one_gets_the_lease_and_kill_frees_it(kit):
    kit.open()
    children = [running(HOLD, kit.path), running(HOLD, kit.path)]
    try:
        fences = [child.stdout.readline().strip() for child in children]
        assert sorted(fences) == ["1", "none"]
        holder = children[fences.index("1")]
        queue = kit.open()
        assert await queue.lease("listen", 30) is None
        assert (await queue.holder("listen")).pid == holder.pid
        os.kill(holder.pid, signal.SIGKILL)
        for _ in range(200):
            if lease := await queue.lease("listen", 30):
                break
            await asyncio.sleep(0.01)
        assert lease.fence == 2  # although nobody has collected the child
    finally:
        end(*children)


def test_a_process_that_hides_is_asked_for_with_a_signal(monkeypatch):
    me = this_process()
    assert alive(me, me) is True
    monkeypatch.setattr(owner, "_stat", lambda pid: None)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    assert alive(me, me) is True
    assert alive(replace(me, pid=gone.pid), me) is False
