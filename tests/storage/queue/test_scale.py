"""A long history costs nothing: what is done for each message looks things
up by index, and a start with much work waiting is quick."""

import asyncio
import contextlib
import gc
import time
from pathlib import Path

import pytest

from claw.core.abilities import Report
from claw.storage.queue import inbox, leases, maintenance, outbox, schema
from claw.storage.queue.owner import this_process, uptime
from claw.storage.sqlite import connect, make_tables, write

PLACE = leases.Place(this_process(), uptime(), leases.Watch())


@pytest.fixture
def connection():
    with contextlib.closing(connect(":memory:")) as connection:
        make_tables(connection, Path("queue.db"), schema.TABLES,
                    schema.VERSION)
        with write(connection, ":memory:"):
            yield connection


def turns(connection, kit, lease):
    """The verbs of a turn and of sending, as name -> call, in order."""
    claim = inbox.claim(connection, lease, "c", 1, 0.0)
    inbox.unclaim(connection, lease, claim)
    (row,) = outbox.post(connection, [kit.send("job:1", "a")], 1)
    yield "accept", lambda: inbox.accept(
        connection, lease, [kit.arrival("new", "c")], 1)
    yield "waiting", lambda: inbox.waiting(connection)
    yield "claim", lambda: inbox.claim(connection, lease, "c", 1, 0.0)
    yield "refused", lambda: inbox.claim(connection, lease, "c", 1, 0.0)
    yield "complete", lambda: inbox.complete(
        connection, lease, claim, kit.answered(kit.send("t", "a")), 1)
    yield "due", lambda: outbox.due(connection, "telegram", 1, 10)
    yield "next_due", lambda: outbox.next_due(connection, "telegram", 1)
    yield "sending", lambda: outbox.mark_sending(connection, lease, row)
    yield "recover", lambda: inbox.recover(connection, lease, PLACE)
    yield "put_off", lambda: outbox.put_off(
        connection, lease, row, 0, "x", True, 1)
    yield "sent", lambda: outbox.mark_sent(connection, lease, row, "1", 1)
    yield "silent", lambda: outbox.list_silent(
        connection, "telegram", 0.5, 3)
    yield "reported", lambda: outbox.mark_reported(
        connection, lease, "telegram", Report("1", key="k"))
    yield "failed", lambda: outbox.mark_failed(connection, lease, row, "x", 1)
    yield "retry", lambda: outbox.retry(connection, [])
    yield "trace", lambda: maintenance.trace(connection, "abcdefabcdef")
    yield "list", lambda: maintenance.inbox_rows(connection, (), 10)
    yield "forget", lambda: maintenance.forget(
        connection, maintenance.FINISHED, 0)


def scans(connection, statements):
    """Steps of a plan that walk through a table, but for the heads of
    conversations and chats and for indexes that hold open rows alone."""
    fine = ("heads", "chats", "CONSTANT", "USING INDEX outbox_sending")
    return [step[3] for statement in dict.fromkeys(statements)
            if not statement.startswith("--")
            for step in connection.execute(
                f"EXPLAIN QUERY PLAN {statement}").fetchall()
            if step[3].startswith("SCAN")
            and not any(word in step[3] for word in fine)]


def test_no_verb_walks_through_a_table(connection, kit):
    lease = leases.take(connection, "listen", 30, PLACE)
    inbox.accept(connection, lease, [kit.arrival("1", "c")], 1)
    found = {}
    for name, call in turns(connection, kit, lease):
        statements = []
        connection.set_trace_callback(statements.append)
        call()
        connection.set_trace_callback(None)
        assert statements, name
        found[name] = scans(connection, statements)

    assert len(found) == 18
    assert {name: steps for name, steps in found.items() if steps} == {}


def fill(connection, kit, rows):
    """So many messages answered and sent, in 300 conversations."""
    message = kit.message("1")
    payload = inbox.codec.encode(message, "")
    connection.executemany(
        "INSERT INTO inbox (channel, message_id, conversation, turn_id,"
        " received_at, state, attempts, finished_at, payload)"
        " VALUES ('telegram', ?, ?, ?, 1, 'answered', 1, 5, ?)",
        ((f"old {n}", f"c{n % 300}", f"{n:032x}", payload)
         for n in range(rows)))
    connection.executemany(
        "INSERT INTO outbox (source, number, channel, chat, state,"
        " uncertain, attempts, next_at, put_at, created_at, finished_at,"
        " part) VALUES (?, 0, 'telegram', ?, 'sent', 0, 1, 0, 0, 1, 5,"
        " '{\"kind\":\"text\",\"text\":\"a\"}')",
        ((f"turn:{n}", f'["{n % 300}",null]') for n in range(rows)))


def test_verbs_are_quick_beside_100_000_rows(connection, kit):
    fill(connection, kit, 100_000)
    lease = leases.take(connection, "listen", 30, PLACE)
    inbox.accept(connection, lease, [
        kit.arrival(str(n), f"c{n % 50}" if n else "c")
        for n in range(1000)], 1)
    outbox.post(connection, [kit.send(f"job:{n} ", "a", recipient=str(
        n % 40)) for n in range(2, 1000)], 1)
    spent = {name: seconds(call)
             for name, call in turns(connection, kit, lease)}
    walk = min(seconds(lambda: connection.execute(
        "SELECT COUNT(*) FROM inbox WHERE reason = 'x'").fetchall())
        for _ in range(3))

    assert {name: took for name, took in spent.items()
            if took > walk / 2 and name not in ("list", "forget")} == {}


def seconds(call):
    started = time.process_time()
    call()
    return time.process_time() - started


@pytest.mark.parametrize("conversations", [1, 10_000])
def test_a_start_with_10_000_waiting_rows_is_quick(kit, conversations):
    async def fill():
        queue = kit.open(kit.dead())
        lease = await queue.lease("listen", 30)
        await queue.accept(lease, [
            kit.arrival(str(n), f"c{n % conversations}")
            for n in range(10_000)])
        await queue.claim(lease, "c0", most=20)
        await queue.post([kit.send(f"job:{n}", "a", recipient=str(
            n % conversations)) for n in range(10_000)])

    async def start():
        queue = kit.open()
        lease = await queue.lease("listen", 30)
        assert await queue.recover(lease) == min(
            20, 10_000 // conversations)
        assert len(await queue.waiting()) == conversations
        assert await queue.claim(lease, "c0")
        assert await kit.due(queue, limit=10)

    asyncio.run(fill())
    gc.collect()  # or what other tests left is looked through in between
    started = time.process_time()
    asyncio.run(start())

    assert time.process_time() - started < 1
