"""A row that can't be read costs itself and nobody else anything."""

import sqlite3
from contextlib import closing

from claw.storage.queue.codec import DAMAGED


def spoil(kit, statement):
    with closing(sqlite3.connect(kit.path)) as connection, connection:
        connection.execute(statement)


async def test_a_damaged_message_fails_and_the_next_is_claimed(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("m1"), kit.arrival("m2")])
    spoil(kit, "UPDATE inbox SET payload = 'garbage' WHERE seq = 1")

    claim = await queue.claim(lease, "telegram_bob")

    assert [row.message.id for row in claim.rows] == ["m2"]
    row, = await queue.inbox_rows(states=["failed"])
    assert (row.message.content, "damaged" in row.reason) == (DAMAGED, True)


async def test_only_damaged_messages_leave_nothing_to_claim(kit):
    queue = kit.open()
    lease = await queue.lease("listen", 30)
    await queue.accept(lease, [kit.arrival("m1"), kit.arrival("m2")])
    spoil(kit, "UPDATE inbox SET payload = '{\"attachments\": 7}'")

    assert await queue.claim(lease, "telegram_bob") is None
    assert await queue.waiting() == []


async def test_a_damaged_part_fails_and_holds_up_no_chat(kit):
    queue = kit.open()
    await queue.lease("listen", 30)
    await queue.post([kit.send("s1", "one"), kit.send("s2", "two")])
    spoil(kit, "UPDATE outbox SET part = 'garbage' WHERE seq = 1")

    first = await queue.due("telegram", kit.clock, 10)
    second = await queue.due("telegram", kit.clock, 10)

    assert first == []
    assert [row.part.text for row in second] == ["two"]
    failed, = await queue.outbox_rows(states=["failed"])
    assert (failed.part.text, failed.error) == (DAMAGED,
                                                "the part is damaged")
