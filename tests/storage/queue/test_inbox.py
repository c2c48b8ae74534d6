"""Messages come in once, are claimed in order and answered once."""

import asyncio

import pytest

from claw.core.channel import ChannelMessage
from claw.core.errors import LeaseLostError, UsageError
from claw.core.value import replace
from claw.storage.queue.model import (
    Arrival,
    Completion,
    HistoryOp,
    JournalEntry,
)
from claw.storage.queue.sqlite import SqliteQueue


async def test_a_redelivery_is_a_no_op(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    first, again = await queue.accept(lease, [kit.arrival("1"),
                                              kit.arrival("1")])
    later = await queue.accept(lease, [
        kit.arrival("1"), kit.arrival("1", channel="irc")])

    assert first.message == kit.message("1")
    assert first.state == "waiting"
    assert again is None
    assert later[0] is None
    assert later[1].message.channel == "irc"


async def test_a_redelivery_is_recognised_after_the_answer(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("1")])
    claim = await queue.claim(lease, "telegram_bob")
    await queue.complete(lease, claim, kit.answered())

    assert await queue.accept(lease, [kit.arrival("1")]) == [None]
    assert await queue.waiting() == []


async def test_messages_without_an_id_are_all_kept(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    rows = await queue.accept(lease, [kit.arrival(""), kit.arrival("")])

    assert [row.message.id for row in rows] == ["", ""]


async def test_conversations_come_longest_waiting_first(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [
        kit.arrival("1", "z"), kit.arrival("2", "a"), kit.arrival("3", "z"),
        kit.arrival("4", "m")])

    assert await queue.waiting() == ["z", "a", "m"]
    claim = await queue.claim(lease, "z")
    assert await queue.waiting() == ["a", "z", "m"]
    await queue.unclaim(lease, claim)
    assert await queue.waiting() == ["z", "a", "m"]


async def test_a_conversation_is_claimed_in_order_and_by_one(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    rows = await queue.accept(lease, [kit.arrival(str(n)) for n in range(4)])

    assert await queue.claim(lease, "nobody") is None
    one = await queue.claim(lease, "telegram_bob")
    assert [row.message.id for row in one.rows] == ["0"]
    assert one.turn_id == rows[0].turn_id
    assert one.rows[0].state == "running"
    assert await queue.claim(lease, "telegram_bob") is None
    await queue.complete(lease, one, kit.answered())
    many = await queue.claim(lease, "telegram_bob", most=2)
    assert [row.message.id for row in many.rows] == ["1", "2"]
    await queue.complete(lease, many, kit.answered())
    rest = await queue.claim(lease, "telegram_bob", most=9)
    assert [row.message.id for row in rest.rows] == ["3"]


async def test_unclaimed_rows_wait_untouched(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("1")])
    claim = await queue.claim(lease, "telegram_bob")
    await queue.unclaim(lease, claim)

    assert await queue.claim(lease, "telegram_bob") == claim


async def test_attempts_count_the_claims_that_ended_in_a_crash(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("1")])
    first = await queue.claim(lease, "telegram_bob")
    assert await queue.recover(lease) == 1
    second = await queue.claim(lease, "telegram_bob")

    assert (first.rows[0].attempts, second.rows[0].attempts) == (0, 1)
    assert first.turn_id == second.turn_id
    assert await queue.complete(
        lease, first, kit.answered(kit.send("turn:1", "old"))) == []
    assert await queue.complete(
        lease, second, kit.answered(kit.send("turn:1", "new")))
    assert [row.part.text for row in await kit.due(queue)] == ["new"]


async def test_a_turn_ends_in_one_transaction(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("1"), kit.arrival("2")])
    claim = await queue.claim(lease, "telegram_bob", most=2)
    await queue.journal(lease, claim.turn_id,
                        JournalEntry("calls", {"calls": [1]}))
    assert await queue.read_journal(claim.turn_id) == [
        JournalEntry("calls", {"calls": [1]})]
    ops = (HistoryOp("append", {"role": "user"}), HistoryOp("clear"))
    source = f"turn:{claim.turn_id}"
    rows = await queue.complete(lease, claim, Completion(
        "answered", "all well", ops, (kit.send(source, "a", "b"),),
        {"model": "m"}))

    assert [(row.number, row.part.text, row.state) for row in rows] == [
        (0, "a", "waiting"), (1, "b", "waiting")]
    assert rows == await queue.outbox_rows(source=source)
    stored = await queue.inbox_rows()
    assert [(row.state, row.reason, row.finished_at) for row in stored] == [
        ("answered", "all well", kit.clock)] * 2
    history = await queue.pending_history("telegram_bob")
    assert tuple(row.op for row in history) == ops
    assert await queue.read_journal(claim.turn_id) == []
    assert (await queue.trace(None))["model"] == "m"


async def test_completing_twice_changes_nothing(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("1")])
    claim = await queue.claim(lease, "telegram_bob")
    await queue.complete(lease, claim, kit.answered(kit.send("s", "a")))
    again = await queue.complete(lease, claim, Completion(
        "failed", history=(HistoryOp("append", {"role": "user"}),),
        sends=(kit.send("other", "b"),)))

    assert again == []
    assert [row.state for row in await queue.inbox_rows()] == ["answered"]
    assert len(await queue.outbox_rows()) == 1
    assert await queue.read_unwritten() == []


async def test_a_completion_that_cannot_be_stored_changes_nothing(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("1")])
    claim = await queue.claim(lease, "telegram_bob")
    for bad in (Completion("answered",
                           history=(HistoryOp("append", {"x": object()}),)),
                Completion("done")):
        with pytest.raises(UsageError):
            await queue.complete(lease, claim, bad)

        assert [row.state for row in await queue.inbox_rows()] == ["running"]
    assert await queue.complete(
        lease, claim, kit.answered(kit.send("s", "a")))


async def test_a_trace_takes_what_json_does_not_know(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("1")])
    claim = await queue.claim(lease, "telegram_bob")
    await queue.complete(lease, claim, kit.answered(
        trace={"path": kit.path, "labels": {"web"}}))
    found = await queue.trace(None)

    assert found["path"] == str(kit.path)
    assert found["labels"] == ["web"]


async def test_the_draft_of_a_turn_survives_a_restart(kit):
    queue = kit.open(kit.dead())
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("1")])
    claim = await queue.claim(lease, "telegram_bob")
    await queue.keep_draft(lease, claim, "77")
    other = kit.open()
    lease = await other.lease("listen", 30)
    await other.recover(lease)

    claim = await other.claim(lease, "telegram_bob")
    assert claim.rows[0].draft_id == "77"
    await other.keep_draft(lease, claim, None)
    assert (await other.inbox_rows())[0].draft_id is None


async def test_a_cancelled_claim_leaves_the_message_waiting(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("1")])
    claiming = asyncio.create_task(queue.claim(lease, "telegram_bob"))
    await asyncio.sleep(0)
    claiming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await claiming
    for _ in range(1000):
        if claim := await queue.claim(lease, "telegram_bob"):
            break
        await asyncio.sleep(0.01)

    assert claim.rows[0].attempts == 0


async def test_what_a_cancelled_caller_wrote_is_written(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    accepting = asyncio.create_task(queue.accept(lease, [kit.arrival("1")]))
    await asyncio.sleep(0)
    accepting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await accepting

    assert await queue.accept(lease, [kit.arrival("1")]) == [None]
    assert await queue.waiting() == ["telegram_bob"]


async def test_recover_leaves_alone_what_another_holder_works_on(kit):
    ours, theirs = kit.open(), kit.open(kit.process(pid=1, started=""))
    other = kit.open(kit.process(boot="b", host="elsewhere"))
    lease = await other.lease("shard two", 30)
    await other.accept(lease, [kit.arrival("1")])
    await other.claim(lease, "telegram_bob")
    mine = await ours.lease("listen", 30)

    assert await ours.recover(mine) == 0
    gone = await theirs.lease("old name", 30)
    await theirs.accept(gone, [kit.arrival("2", "c")])
    await theirs.claim(gone, "c")
    assert await ours.recover(mine) == 1  # that process never was
    assert await ours.waiting() == ["c"]


async def test_a_claim_of_a_lost_lease_can_not_be_completed(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("1")])
    claim = await queue.claim(lease, "telegram_bob")
    await queue.yield_lease(lease)
    lease = await queue.lease("listen", 30)
    with pytest.raises(LeaseLostError):
        await queue.complete(lease, claim, kit.answered())
    await queue.recover(lease)
    with pytest.raises(LeaseLostError):
        await queue.complete(lease, claim, kit.answered())

    assert await queue.claim(lease, "telegram_bob") == replace(
        claim, fence=lease.fence,
        rows=(replace(claim.rows[0], attempts=1),))


async def test_history_waits_until_it_is_in_the_file(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    for number in range(3):
        name = f"c{number % 2}"
        await queue.accept(lease, [kit.arrival(str(number), name)])
        claim = await queue.claim(lease, name)
        await queue.complete(lease, claim, Completion(
            "answered", history=(HistoryOp("append", {"n": number}),)))
    rows = await queue.read_unwritten(2)

    assert [row.op.record["n"] for row in rows] == [0, 1]
    assert [row.op.record["n"]
            for row in await queue.pending_history("c0")] == [0, 2]
    await queue.mark_written([row.seq for row in rows])
    rest = await queue.read_unwritten()
    assert [row.op.record["n"] for row in rest] == [2]
    await queue.mark_written([rest[0].seq])
    await queue.accept(lease, [kit.arrival("9")])
    claim = await queue.claim(lease, "telegram_bob")
    await queue.complete(lease, claim, Completion(
        "answered", history=(HistoryOp("clear"),)))
    assert (await queue.read_unwritten())[0].seq > rest[0].seq


async def test_an_answered_message_is_kept_without_keys(tmp_path):
    """What waits stays as it came."""
    queue = SqliteQueue(tmp_path / "queue.db", clean=lambda value: (
        value.replace("sk-own", "[key]") if isinstance(value, str)
        else value))
    try:
        lease = await queue.lease("listen", 30)
        await queue.accept(lease, [Arrival(ChannelMessage(
            "1", "bob", "7", "my key: sk-own", "telegram", 0), "key")])
        claim = await queue.claim(lease, "key")
        assert claim.rows[0].message.content == "my key: sk-own"
        await queue.complete(lease, claim, Completion("answered"))
        row, = await queue.inbox_rows()
    finally:
        await queue.aclose()

    assert row.message.content == "my key: [key]"
