"""Many callers share a commit; each gets its own outcome."""

import asyncio
import sqlite3

import pytest

from claw.core import failpoint
from claw.core.errors import StorageError, UnavailableError, UsageError
from claw.storage.queue import inbox


@pytest.fixture
def reached():
    """The failpoints reached, in order."""
    names = []
    failpoint.install(names.append)
    yield names
    failpoint.install(None)


async def commits(queue, reached, calls):
    """Results of calls that were all made at once."""
    await queue.counts()
    reached.clear()
    return await asyncio.gather(*calls, return_exceptions=True)


async def test_callers_share_commits(kit, reached):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    rows = await commits(queue, reached, [
        queue.accept(lease, [kit.arrival(str(n))]) for n in range(200)])

    assert [row[0].message.id for row in rows] == [
        str(n) for n in range(200)]
    assert reached.count("queue.commit") < 100
    assert reached == ["queue.commit", "queue.committed"] * (
        len(reached) // 2)


async def test_a_job_that_fails_is_undone_alone(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    results = await asyncio.gather(*(
        queue.accept(lease, [kit.arrival(f"{n} first"),
                             kit.arrival(f"{n} second",
                                         content=b"" if n % 5 == 0 else "")])
        for n in range(50)), return_exceptions=True)

    bad = results[::5]
    assert len(bad) == 10
    assert all(isinstance(one, UsageError) for one in bad)
    stored = {row.message.id for row in await queue.inbox_rows()}
    assert stored == {f"{n} {which}" for n in range(50) if n % 5
                      for which in ("first", "second")}


@pytest.mark.parametrize("calls", [1, 20])
async def test_a_commit_that_fails_fails_everyone_then_work_goes_on(
        kit, calls):
    queue = kit.open()
    lease = await queue.lease("listen", 30)

    def broken(name):
        if name == "queue.commit":
            raise sqlite3.OperationalError("disk I/O error")

    failpoint.install(broken)
    try:
        results = await asyncio.gather(*(
            queue.accept(lease, [kit.arrival(str(n))])
            for n in range(calls)), return_exceptions=True)
    finally:
        failpoint.install(None)
    assert [type(one) for one in results] == [StorageError] * calls
    assert len({id(one) for one in results}) == calls
    assert await queue.inbox_rows() == []
    assert await queue.accept(lease, [kit.arrival("0")]) != [None]


async def test_a_full_disk_fails_the_callers_and_loses_nothing(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("before")])

    def limit(pages):
        queue_connection(queue).execute(f"PRAGMA max_page_count={pages}")

    limit(1)  # SQLite takes the size that the file has
    big = "x" * 50_000
    results = await asyncio.gather(*(
        queue.accept(lease, [kit.arrival(str(n), content=big)])
        for n in range(20)), return_exceptions=True)

    assert {type(one) for one in results} == {StorageError}
    assert all("full" in one.message for one in results)
    limit(2 ** 30)
    assert [row.message.id for row in await queue.inbox_rows()] == ["before"]
    again = await queue.accept(lease, [kit.arrival("0", content=big)])
    assert again[0].message.content == big


def queue_connection(queue):
    """The connection that writes; nothing is submitted meanwhile."""
    return queue._writer._run.args[0]


async def test_light_changes_do_not_wait_for_the_disk(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    modes = []

    def mode(connection):
        modes.append(connection.execute(
            "PRAGMA synchronous").fetchone()[0])
    await queue._light(mode)
    await queue._write(mode)
    await asyncio.gather(queue._write(mode), queue._light(mode))
    await queue._light(mode)
    await queue.yield_lease(lease)

    assert modes == [1, 2, 2, 2, 1] or modes == [1, 2, 2, 1, 1]


async def test_another_writer_is_waited_for(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    other = sqlite3.connect(kit.path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        accepting = asyncio.create_task(
            queue.accept(lease, [kit.arrival("1")]))
        await asyncio.sleep(0.1)
        assert not accepting.done()
        assert await queue.waiting() == []  # looking does not wait
        other.execute("COMMIT")

        assert (await accepting)[0].message.id == "1"
    finally:
        other.close()


async def test_closing_finishes_what_was_submitted(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    tasks = [asyncio.create_task(queue.accept(lease, [kit.arrival(str(n))]))
             for n in range(20)]
    await asyncio.sleep(0)
    await queue.aclose()
    await queue.aclose()

    assert all([(await task)[0] for task in tasks])
    for late in (queue.accept(lease, [kit.arrival("x")]), queue.counts()):
        with pytest.raises(UnavailableError, match="closed"):
            await late
    again = kit.open()
    assert len(await again.waiting()) == 1
    assert len(await again.inbox_rows()) == 20


def test_a_queue_serves_one_event_loop_after_the_other(kit):
    queue = kit.open()
    lease = asyncio.run(queue.lease("listen", 30))

    async def leave():
        queue._write(inbox.accept, lease, [kit.arrival("1")], 1.0)
    asyncio.run(leave())
    assert asyncio.run(queue.accept(lease, [kit.arrival("1")])) == [None]


async def test_what_is_written_is_read_at_once(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    for number in range(100):
        await queue.accept(lease, [kit.arrival(str(number), f"c{number}")])

        assert f"c{number}" in await queue.waiting()
