"""Whether anybody has written, seen from the files alone."""

import asyncio

from claw.core.channel import SendMessage
from claw.runtime.message.parts import split_parts
from claw.storage.queue.model import NewSend
from claw.storage.queue.sqlite import SqliteQueue


async def post(queue, source):
    message = SendMessage("hello", "alice")
    await queue.post([NewSend(source, "memory", message,
                              split_parts(None, message))])


def test_a_write_of_whomever_is_seen(tmp_path):
    async def go():
        mine, other = (SqliteQueue(tmp_path / "q.db") for _ in range(2))
        await post(mine, "send:1")
        seen = [mine.fingerprint(), mine.fingerprint()]
        for number, queue in enumerate((other, mine, other), start=2):
            await asyncio.sleep(0.01)  # what a file system's clock tells
            await post(queue, f"send:{number}")
            seen.append(mine.fingerprint())
        await mine.aclose()
        await other.aclose()
        return seen
    first, again, *later = asyncio.run(go())
    assert first == again
    assert len({first, *later}) == 4
