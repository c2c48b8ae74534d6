"""Foreign text stays foreign for the turns that can still read it."""

import sqlite3
from contextlib import closing

from claw.agent.history import collect_labels
from claw.core.channel import ChannelMessage
from claw.runtime.turn.histories import Histories, build_append
from claw.storage.queue.model import Arrival, Completion
from claw.storage.queue.sqlite import SqliteQueue
from claw.storage.sessions import SessionStore


def silent(event, **fields):
    return None


async def kept(tmp_path, *ops):
    """These changes committed, written out, and read by a new process."""
    queue = SqliteQueue(tmp_path / "queue.db")
    store = SessionStore(tmp_path / "sessions")
    try:
        lease = await queue.lease("listen", 30)
        message = ChannelMessage("1", "bob", "7", "hi", "telegram", 0)
        await queue.accept(lease, [Arrival(message, "key")])
        claim = await queue.claim(lease, "key")
        await queue.complete(lease, claim,
                             Completion("answered", history=ops))
        before = await Histories(queue, store, silent).get("key")
        await Histories(queue, store, silent).write_out()
        after = await Histories(queue, store, silent).get("key")
    finally:
        await queue.aclose()
    return before, after


async def test_labels_survive_the_session_file(tmp_path):
    before, after = await kept(
        tmp_path, build_append("user", "read this", "t1", ["forwarded"]),
        build_append("assistant", "read it", "t1", ["web", "file"]))

    assert [turn.content for turn in after] == ["read this", "read it"]
    assert collect_labels(before) == collect_labels(after) == {
        "file", "forwarded", "web"}


async def test_labels_go_with_the_turns_that_had_them(tmp_path):
    ops = [build_append("user", "old", "t0", ["quoted"])]
    ops += [build_append("user", str(n), "t1") for n in range(50)]
    _, after = await kept(tmp_path, *ops)

    assert collect_labels(after) == set()


async def test_one_damaged_change_costs_only_itself(tmp_path):
    queue = SqliteQueue(tmp_path / "queue.db")
    store = SessionStore(tmp_path / "sessions")
    try:
        lease = await queue.lease("listen", 30)
        message = ChannelMessage("1", "bob", "7", "hi", "telegram", 0)
        await queue.accept(lease, [Arrival(message, "key")])
        claim = await queue.claim(lease, "key")
        await queue.complete(lease, claim, Completion("answered", history=(
            build_append("user", "first", "t1"),
            build_append("user", "hurt", "t1"),
            build_append("assistant", "last", "t1"))))
        with closing(sqlite3.connect(tmp_path / "queue.db")) as other, other:
            other.execute("UPDATE history SET record = 'garbage'"
                          " WHERE record LIKE '%hurt%'")
        histories = Histories(queue, store, silent)

        assert await histories.write_out(looking=True) == 3
        assert await queue.read_unwritten() == []
        assert [turn.content for turn in await histories.get("key")] == [
            "first", "last"]
    finally:
        await queue.aclose()
