"""Approvals, traces, counts, lists, retention, and looking from outside."""

import asyncio
import contextlib
import sqlite3
import stat
import subprocess
import sys

import pytest

from claw.core.errors import NotFoundError, StorageError, UsageError
from claw.storage.queue import maintenance as house
from claw.storage.queue.maintenance import DAY_S
from claw.storage.queue.model import Approval, Completion
from claw.storage.queue.reader import open_reader


def approval(kit, approval_id="a1", **given):
    return Approval(**{
        "id": approval_id, "turn_id": "t", "key": "k",
        "channel": "telegram", "sender": "bob", "summary": "run ls",
        "expires_at": kit.clock + 60, **given})


async def answer(kit, queue, lease, message_id, completion=None):
    """A message that came in and was answered; its turn."""
    await queue.accept(lease, [kit.arrival(message_id)])
    claim = await queue.claim(lease, "telegram_bob")
    await queue.complete(lease, claim, completion or kit.answered(
        kit.send(f"turn:{claim.turn_id}", f"to {message_id}")))
    return claim.turn_id


async def send_all(kit, queue, lease):
    while rows := await kit.due(queue):
        for row in rows:
            await queue.mark_sending(lease, row)
            await queue.mark_sent(lease, row, None)


# -- approvals

async def test_a_question_is_asked_once_and_posted_with_it(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    first = await queue.ask(lease, approval(kit), kit.send("ask:a1", "?"))
    again = await queue.ask(lease, approval(kit, "a2"),
                            kit.send("ask:a2", "?"))
    other = await queue.ask(lease, approval(kit, "a3", key="other"),
                            kit.send("ask:a3", "?"))

    assert first == again == approval(kit) == await queue.approval("a1")
    assert other.id == "a3"
    assert [row.source for row in await queue.outbox_rows()] == [
        "ask:a1", "ask:a3"]
    assert await queue.approval("a2") is None


async def test_an_expired_question_is_asked_again(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.ask(lease, approval(kit), kit.send("ask:a1", "?"))
    kit.clock += 61
    again = await queue.ask(lease, approval(kit, "a2"),
                            kit.send("ask:a2", "?"))

    assert again.id == "a2"


async def test_a_question_is_answered_once_by_its_owner_in_time(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.ask(lease, approval(kit), kit.send("ask:a1", "?"))

    assert await queue.decide("a1", "yes", "eve", kit.clock) is None
    assert await queue.decide("zz", "yes", "bob", kit.clock) is None
    assert await queue.decide("a1", "yes", "bob", kit.clock + 61) is None
    assert (await queue.approval("a1")).decision is None
    decided = await asyncio.gather(*(
        queue.decide("a1", word, "bob", kit.clock + 60)
        for word in ("no", "yes", "always")))
    assert [one and one.decision for one in decided] == ["no", None, None]
    assert (await queue.approval("a1")).decision == "no"
    asked = await queue.ask(lease, approval(kit, "a2"),
                            kit.send("ask:a2", "?"))
    assert (asked.id, asked.decision) == ("a1", "no")


async def test_a_decision_serves_one_call(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.ask(lease, approval(kit), kit.send("ask:a1", "?"))
    await queue.decide("a1", "yes", "bob", kit.clock)
    await queue.close_approval(lease, "a1")
    again = await queue.ask(lease, approval(kit, "a2"),
                            kit.send("ask:a2", "?"))

    assert (again.id, again.decision) == ("a2", None)


async def test_the_questions_of_a_finished_turn_are_closed(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("m1")])
    claim = await queue.claim(lease, "telegram_bob")
    await queue.ask(lease, approval(kit, turn_id=claim.turn_id),
                    kit.send("ask:a1", "?"))
    await queue.complete(lease, claim, Completion("cancelled", "stop"))

    assert await queue.decide("a1", "yes", "bob", kit.clock) is None


# -- traces

async def test_a_turn_is_found_by_its_id_a_prefix_or_a_message(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("m1"), kit.arrival("m2")])
    claim = await queue.claim(lease, "telegram_bob", most=2)
    turn = claim.turn_id
    running = await queue.trace("m2")
    await queue.complete(lease, claim, Completion(
        "failed", "no model", sends=(kit.send(f"turn:{turn}", "sorry"),),
        trace={"calls": 3}))
    kit.clock += 1
    last = await answer(kit, queue, lease, "m3")

    assert running["queue"]["state"] == "running"
    for wanted in (turn, turn[:12], turn[:12].upper(), "m1", "m2"):
        found = await queue.trace(wanted)
        assert (found["turn_id"], found["calls"]) == (turn, 3)
    known = found["queue"]
    assert (known["state"], known["reason"]) == ("failed", "no model")
    assert known["messages"] == ["m1", "m2"]
    assert [part["state"] for part in known["parts"]] == ["waiting"]
    assert (await queue.trace(None))["turn_id"] == last
    assert await queue.trace("nothing") is None
    with pytest.raises(UsageError, match="several"):
        await queue.trace("")


# -- counts and lists

async def test_counts_say_how_much_lies_where(kit):
    queue = kit.open()
    assert (await queue.counts()).oldest_s is None
    lease = await queue.lease("listen", 30)
    await answer(kit, queue, lease, "1")
    await queue.accept(lease, [kit.arrival("2")])
    kit.clock += 40
    await queue.accept(lease, [kit.arrival("3", "other")])
    await queue.claim(lease, "telegram_bob")
    counts = await queue.counts()

    assert counts.inbox == {"waiting": 1, "running": 1, "answered": 1,
                            "refused": 0, "failed": 0, "cancelled": 0}
    assert counts.outbox == {"waiting": 1, "sending": 0, "uncertain": 0,
                             "sent": 0, "failed": 0}
    assert counts.oldest_s == 40


async def test_lists_hold_the_newest_oldest_first(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    for number in range(4):
        await answer(kit, queue, lease, str(number))
        kit.clock += 1
    await queue.accept(lease, [kit.arrival("4"), kit.arrival("5")])

    async def ids(**given):
        return [row.message.id for row in await queue.inbox_rows(**given)]
    assert await ids() == ["0", "1", "2", "3", "4", "5"]
    assert await ids(limit=3) == ["3", "4", "5"]
    assert await ids(limit=0) == []
    assert await ids(states=["answered"], limit=2) == ["2", "3"]
    assert await ids(states=["waiting", "failed"]) == ["4", "5"]
    assert await ids(states=["nonsense", "forgotten"]) == []
    rows = await queue.outbox_rows(states=["waiting"], limit=2)
    assert [row.part.text for row in rows] == ["to 2", "to 3"]


# -- retention

async def test_payloads_go_after_a_week_and_ids_after_a_month(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    turn = await answer(kit, queue, lease, "1")
    await send_all(kit, queue, lease)
    await queue.accept(lease, [kit.arrival("open")])
    kit.clock += 7 * DAY_S - 1
    assert await queue.tend() == 0
    kit.clock += 2

    assert await queue.tend() == 2
    assert [row.message.id for row in await queue.inbox_rows()] == ["open"]
    assert await queue.outbox_rows() == []
    assert await queue.accept(lease, [kit.arrival("1")]) == [None]
    assert await queue.post([kit.send(f"turn:{turn}", "again")]) == []
    assert (await queue.trace("1"))["turn_id"] == turn
    assert payloads(kit.path) == 1
    kit.clock += 24 * DAY_S
    assert await queue.tend() == 1  # the trace; the newest ids stay
    assert await queue.trace(turn) is not None
    assert await queue.accept(lease, [kit.arrival("1")]) == [None]


async def test_old_ids_go_but_for_the_newest(kit, monkeypatch):
    monkeypatch.setattr(
        "claw.storage.queue.maintenance._REMOVED", tuple(
            (table, key, where.replace("- 1000", "- 2"))
            for table, key, where in house._REMOVED))
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    for number in range(5):
        await answer(kit, queue, lease, str(number))
    await send_all(kit, queue, lease)
    kit.clock += 31 * DAY_S
    await queue.tend()

    new = await queue.accept(lease, [kit.arrival(str(n)) for n in range(5)])
    assert [row is None for row in new] == [False] * 3 + [True] * 2
    assert new[0].seq == 6


def payloads(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(
            "SELECT (SELECT COUNT(payload) FROM inbox)"
            " + (SELECT COUNT(part) FROM outbox)"
            " + (SELECT COUNT(message) FROM sends)").fetchone()[0]


async def test_a_message_stays_while_a_part_of_it_may_be_retried(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    first, second = await queue.post([kit.send("1", "a", "b")])
    await queue.mark_sending(lease, first)
    await queue.mark_sent(lease, first, None)
    kit.clock += 5 * DAY_S
    await queue.mark_failed(lease, second, "no")
    kit.clock += 5 * DAY_S
    await queue.tend()

    assert [row.part.text for row in await queue.outbox_rows()] == ["b"]
    assert await queue.retry() == 1
    (row,) = await kit.due(queue)
    assert (row.part.text, row.message.content) == ("b", "a b")


async def test_purge_takes_finished_rows_alone(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    for number in range(3):
        await answer(kit, queue, lease, str(number))
    await queue.accept(lease, [kit.arrival("3")])
    (row, *_) = await kit.due(queue)
    await queue.mark_failed(lease, row, "no")

    assert await queue.purge(older_than_s=60) == 0
    kit.clock += 61
    assert await queue.purge(older_than_s=60, states=["failed"]) == 1
    assert await queue.purge(older_than_s=60) == 3
    assert [row.state for row in await queue.inbox_rows()] == ["waiting"]
    assert [row.state for row in await queue.outbox_rows()] == [
        "waiting"] * 2
    assert await queue.accept(lease, [kit.arrival("1")]) == [None]
    assert await queue.retry() == 0
    with pytest.raises(UsageError, match="waiting"):
        await queue.purge(older_than_s=0, states=["waiting"])


async def test_retention_works_in_chunks(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival(str(n)) for n in range(1200)])
    claim = await queue.claim(lease, "telegram_bob", most=1200)
    await queue.complete(lease, claim, Completion("cancelled"))
    kit.clock += 8 * DAY_S

    assert await queue.tend() == 1200
    assert payloads(kit.path) == 0


# -- the file

async def test_a_reader_sees_what_the_queue_sees(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    turn = await answer(kit, queue, lease, "1")
    with open_reader(kit.path, now=lambda: kit.clock) as reader:
        assert reader.counts() == await queue.counts()
        assert reader.inbox_rows() == await queue.inbox_rows()
        assert reader.outbox_rows() == await queue.outbox_rows()
        assert reader.trace("1") == await queue.trace(turn)
        assert reader.holder("listen").alive is True


def test_a_reader_makes_nothing(tmp_path):
    with pytest.raises(NotFoundError, match="no queue"):
        open_reader(tmp_path / "deep" / "queue.db")
    (tmp_path / "empty.db").touch()
    with pytest.raises(NotFoundError, match="no queue"):
        open_reader(tmp_path / "empty.db")

    assert [path.name for path in tmp_path.iterdir()] == ["empty.db"]
    assert (tmp_path / "empty.db").stat().st_size == 0


def test_looking_needs_no_event_loop():
    names = subprocess.run(
        [sys.executable, "-c", "import sys, claw.storage.queue.reader\n"
         "print('asyncio' in sys.modules)"],
        capture_output=True, text=True, check=True).stdout

    assert names == "False\n"


def test_a_file_of_a_newer_version_is_refused(kit):
    kit.open()
    kit.close()
    with contextlib.closing(sqlite3.connect(kit.path)) as connection:
        connection.execute("PRAGMA user_version=99")
    for opening in (kit.open, lambda: open_reader(kit.path)):
        with pytest.raises(StorageError, match="newer version"):
            opening()


def test_a_file_that_is_no_database_is_named(kit):
    kit.path.write_bytes(b"hello " * 1000)
    with pytest.raises(StorageError, match=r"queue\.db is not a database"):
        kit.open()

    assert kit.path.read_bytes().startswith(b"hello")


def test_the_file_is_made_for_its_owner_alone(kit, tmp_path):
    kit.path = tmp_path / "new" / "state" / "queue.db"
    kit.open()

    assert stat.S_IMODE(kit.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(kit.path.parent.stat().st_mode) == 0o700
    (tmp_path / "file").touch()
    kit.path = tmp_path / "file" / "queue.db"
    with pytest.raises(StorageError, match="Not a directory"):
        kit.open()


@pytest.mark.parametrize("which", ["queue.db", "queue.db-wal"])
async def test_a_file_that_vanished_is_noticed_at_the_next_commit(
        kit, which):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("1")])
    kit.path.with_name(which).unlink()
    for message_id in ("2", "3"):
        with pytest.raises(StorageError, match=f"{which} was removed"):
            await queue.accept(lease, [kit.arrival(message_id)])


def copied(path):
    """The file alone, as a killed process leaves it. Another process must
    open it: closing it here would drop SQLite's locks."""
    copy = path.with_name("copy.db")
    subprocess.run(["cp", path, copy], check=True)
    return copy


async def test_a_log_that_vanished_is_rescued(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival(str(n)) for n in range(50)])
    kit.path.with_name("queue.db-wal").unlink()
    with pytest.raises(StorageError):
        await queue.accept(lease, [kit.arrival("50")])

    with open_reader(copied(kit.path)) as reader:
        assert reader.counts().inbox["waiting"] == 51
