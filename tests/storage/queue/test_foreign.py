"""Whether another process has written, seen from the file alone."""

import asyncio

from claw.core.channel import SendMessage
from claw.runtime.message.parts import split_parts
from claw.storage.queue.model import NewSend
from claw.storage.queue.sqlite import SqliteQueue


async def post(queue, source):
    message = SendMessage("hello", "alice")
    await queue.post([NewSend(source, "memory", message,
                              split_parts(None, message))])


def test_only_what_others_write_is_seen(tmp_path):
    async def go():
        mine, other = (SqliteQueue(tmp_path / "q.db") for _ in range(2))
        await post(mine, "send:1")
        before = mine.written_elsewhere()
        await post(mine, "send:2")
        after_own = mine.written_elsewhere()
        await post(other, "send:3")
        after_other = mine.written_elsewhere()
        await mine.aclose()
        await other.aclose()
        return before, after_own, after_other
    before, after_own, after_other = asyncio.run(go())
    assert before == after_own != after_other


def test_what_our_own_commit_hides_is_seen_after_the_next(tmp_path):
    async def go():
        mine, other = (SqliteQueue(tmp_path / "q.db") for _ in range(2))
        await post(mine, "send:1")
        before = mine.written_elsewhere()
        await post(other, "send:2")
        await post(mine, "send:3")
        after = mine.written_elsewhere()
        await mine.aclose()
        await other.aclose()
        return before, after
    before, after = asyncio.run(go())
    assert before != after
