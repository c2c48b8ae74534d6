"""Whether anybody has written, seen from the files alone."""

import asyncio
import sqlite3
import threading

from claw.core.channel import SendMessage
from claw.runtime.message.parts import split_parts
from claw.storage.queue import outbox, threads
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


def test_a_renewed_lease_sends_nobody_to_look(tmp_path):
    async def go():
        mine, other = (SqliteQueue(tmp_path / "q.db") for _ in range(2))
        lease = await mine.lease("listen", 15)
        seen = [mine.fingerprint()]
        for _ in range(2):
            await asyncio.sleep(0.01)  # what a file system's clock tells
            await mine.renew(lease, 15)
            seen.append(mine.fingerprint())
        await asyncio.sleep(0.01)
        await post(other, "send:1")
        foreign = [mine.fingerprint()]
        await mine.renew(lease, 15)
        foreign.append(mine.fingerprint())
        await mine.aclose()
        await other.aclose()
        return seen, foreign
    seen, foreign = asyncio.run(go())
    assert len(set(seen)) == 1
    assert foreign[0] == foreign[1] != seen[0]


def test_what_is_posted_behind_a_renewed_lease_is_seen(
        tmp_path, monkeypatch):
    """Committed by another process before this one looks at the files."""
    async def go():
        mine = SqliteQueue(tmp_path / "q.db")
        other = sqlite3.connect(tmp_path / "q.db", check_same_thread=False)
        lease = await mine.lease("listen", 15)
        seen = mine.fingerprint()

        def write(point):
            if point == "queue.committed":
                other.execute("INSERT INTO journal (turn_id, kind, data,"
                              " written_at) VALUES ('t', 'k', '{}', 0)")
                other.commit()
        monkeypatch.setattr(threads, "reach", write)
        await mine.renew(lease, 15)
        monkeypatch.undo()
        other.close()
        after = mine.fingerprint()
        await mine.aclose()
        return seen, after
    seen, after = asyncio.run(go())
    assert seen != after


def test_what_is_being_committed_was_overlooked(tmp_path):
    """It showed in the fingerprint before it could be read."""
    async def go():
        mine, other = (SqliteQueue(tmp_path / "q.db") for _ in range(2))
        begun, goes_on = threading.Event(), threading.Event()
        message = SendMessage("hello", "alice")
        sends = (NewSend("send:1", "memory", message,
                         split_parts(None, message)),)

        def write(connection):
            outbox.post(connection, sends, 0.0)
            begun.set()
            assert goes_on.wait(20)
        writing = other._writer.submit(write)
        await asyncio.to_thread(begun.wait, 20)
        looking = asyncio.ensure_future(mine.due("memory", 1.0, 5))
        await asyncio.sleep(0.1)
        goes_on.set()
        await writing
        rows = await looking
        await mine.aclose()
        await other.aclose()
        return [row.source for row in rows]
    assert asyncio.run(go()) == ["send:1"]
