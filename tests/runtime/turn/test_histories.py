"""Conversations in memory, in the queue, and in their files."""

import asyncio
import threading

import pytest

from claw.core.channel import ChannelMessage
from claw.core.errors import StorageError
from claw.runtime.message.keys import history_key
from claw.runtime.turn.histories import (
    CLEARED,
    IN_MEMORY,
    Histories,
    build_append,
)
from claw.storage.queue.model import Arrival, Completion
from claw.storage.queue.sqlite import SqliteQueue
from claw.storage.sessions import SessionStore

KEYS = ["telegram_-100123:7_7_alice", "slack_C1_1741.234567_U1",
        "matrix:!room:host.org_!room:host.org_@al+ice|x:host.org",
        "whatsapp_82+10@g.us_82+10", "a_b", "a.b", "한국어_방", "x/../../etc",
        "CON", "a" * 400]


class House:
    def __init__(self, folder, store=True):
        self.folder = folder
        self.store = SessionStore(folder / "sessions") if store else None
        self.events = []

    async def __aenter__(self):
        self.queue = SqliteQueue(self.folder / "q.db")
        self.lease = await self.queue.lease("listen", 30)
        await self.queue.recover(self.lease)
        self.histories = Histories(
            self.queue, self.store,
            lambda event, **fields: self.events.append((event, fields)))
        return self

    async def __aexit__(self, *_):
        await self.queue.aclose()

    async def commit(self, key, *ops):
        """End a turn of this conversation."""
        message = ChannelMessage("", "a", "b", "hi", "c", 0)
        await self.queue.accept(self.lease, [Arrival(message, key)])
        claim = await self.queue.claim(self.lease, key)
        await self.queue.complete(self.lease, claim, Completion(
            "answered", history=ops))

    async def say(self, key, text):
        await self.commit(key, build_append("user", text, "t"),
                          build_append("assistant", text.upper(), "t"))

    async def get(self, key):
        return [(t.role, t.content) for t in await self.histories.get(key)]

    def file(self, key):
        return [(r["data"]["role"], r["data"]["content"])
                for r in self.store.load(key)]


@pytest.fixture
def house(tmp_path):
    return lambda **more: House(tmp_path, **more)


def both(text):
    return [("user", text), ("assistant", text.upper())]


async def test_every_conversation_is_restored_under_its_true_key(house):
    async with house() as h:
        for key in KEYS:
            await h.say(key, f"in {key}")
        assert await h.histories.write_out() == 2 * len(KEYS)
    async with house() as h:
        for key in KEYS:
            assert await h.get(key) == both(f"in {key}")
        assert {info.key for info in h.store.list()} == set(KEYS)


async def test_what_is_committed_is_known_before_it_is_in_the_file(house):
    async with house() as h:
        await h.say("k", "one")
    async with house() as h:
        assert await h.get("k") == both("one")
        assert h.file("k") == []
        await h.histories.write_out(looking=True)
        assert h.file("k") == both("one")
        assert await h.queue.read_unwritten() == []


async def test_a_kill_between_file_and_mark_doubles_nothing(house):
    async with house() as h:
        await h.say("k", "one")
        rows = await h.queue.read_unwritten()
        h.histories._write(rows[:1], looking=False)
    async with house() as h:
        assert await h.get("k") == both("one")
        await h.histories.write_out(looking=True)
        assert h.file("k") == both("one")


async def test_a_new_conversation_survives_a_kill(house):
    async with house() as h:
        await h.say("k", "old")
        await h.histories.write_out()
        await h.commit("k", CLEARED)
    async with house() as h:
        assert await h.get("k") == []
        await h.say("k", "new")
        await h.histories.write_out(looking=True)
        assert h.file("k") == both("new")
    async with house() as h:
        assert await h.get("k") == both("new")


async def test_a_clear_that_is_written_twice_keeps_what_came_after(house):
    async with house() as h:
        await h.say("k", "old")
        await h.commit("k", CLEARED)
        await h.say("k", "new")
        h.histories._write(await h.queue.read_unwritten(), looking=False)
    async with house() as h:
        await h.histories.write_out(looking=True)
        assert h.file("k") == both("new")


async def test_a_file_that_can_not_be_written_waits_and_holds_up_no_other(
        house):
    async with house() as h:
        await h.say("bad", "one")
        await h.say("good", "two")
        real = h.store.append

        def append(key, records):
            if key == "bad":
                raise StorageError("disk full")
            real(key, records)
        h.store.append = append
        await h.histories.write_out()
        assert h.file("good") == both("two")
        assert [r.conversation for r in await h.queue.read_unwritten()] \
            == ["bad", "bad"]
        assert ("session.unwritten", {
            "session": "bad", "error": "disk full"}) in h.events

        h.store.append = real
        await h.say("bad", "three")
        await h.histories.write_out()
        assert h.file("bad") == both("one") + both("three")


async def test_a_file_that_can_not_be_read_costs_the_past_not_the_turn(
        house):
    async with house() as h:
        await h.say("k", "one")

        def tail(key, most):
            raise StorageError("unreadable")
        h.store.tail = tail
        assert await h.get("k") == both("one")
        assert h.events[0][0] == "session.unreadable"


async def test_damaged_lines_cost_only_themselves(house, tmp_path):
    async with house() as h:
        await h.say("k", "one")
        await h.histories.write_out()
        path, = (tmp_path / "sessions").glob("*.jsonl")
        with path.open("ab") as file:
            file.write(b'{"type": "Chat", "data": 3}\n{"half\n\xff\xfe\n')
        await h.say("k", "two")
        await h.histories.write_out()
    async with house() as h:
        assert await h.get("k") == both("one") + both("two")


async def test_only_the_newest_fifty_turns_are_remembered(house):
    async with house() as h:
        for number in range(40):
            await h.say("k", f"q{number}")
        await h.histories.write_out()
        turns = await h.get("k")
        assert len(turns) == 50
        assert turns[-1] == ("assistant", "Q39")
        for number in range(60):
            await h.histories.append("k", "user", f"more {number}")
        assert len(await h.get("k")) == 50


async def test_memory_holds_only_the_newest_conversations(house):
    async with house() as h:
        await h.say("first", "one")
        await h.histories.get("first")
        for number in range(IN_MEMORY):
            await h.histories.get(f"k{number}")
        assert "first" not in h.histories._turns
        assert len(h.histories._turns) == IN_MEMORY
        assert await h.get("first") == both("one")


async def test_without_files_conversations_live_in_memory(house, tmp_path):
    async with house(store=False) as h:
        await h.say("k", "one")
        await h.histories.append("k", "user", "x")
        await h.histories.write_out()
        assert await h.queue.read_unwritten() == []
        assert ("user", "x") in await h.get("k")
        assert not (tmp_path / "sessions").exists()


async def test_a_row_that_is_written_while_the_file_is_read_is_not_missed(
        house):
    """The file is read before the row is in it, the queue after."""
    async with house() as h:
        await h.say("k", "one")
        real = h.store.load

        def load(key):
            found = real(key)
            asyncio.run_coroutine_threadsafe(
                h.histories.write_out(), loop).result(5)
            return found
        loop = asyncio.get_running_loop()
        h.store.load = load
        assert await h.get("k") == both("one")


async def test_a_writer_that_is_cancelled_marks_what_it_wrote(house):
    async with house() as h:
        await h.say("k", "one")
        begun, go = threading.Event(), threading.Event()
        real = h.store.append

        def append(key, records):
            begun.set()
            go.wait(5)
            real(key, records)
        h.store.append = append
        writing = asyncio.ensure_future(h.histories.write_out())
        await asyncio.to_thread(begun.wait, 5)
        writing.cancel()
        asyncio.get_running_loop().call_later(0.02, go.set)
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert await h.queue.read_unwritten() == []
        await h.histories.write_out()
        assert h.file("k") == both("one")


async def test_what_was_not_committed_is_forgotten_when_dropped(house):
    async with house() as h:
        await h.say("k", "one")
        await h.histories.append("k", "user", "never committed")
        h.histories.drop("k")
        assert await h.get("k") == both("one")


def test_keys_of_messages_are_the_keys_of_files(tmp_path):
    message = ChannelMessage("1", "U1", "C1", "x", "slack", 0,
                             thread_ts="1741.234567")
    store = SessionStore(tmp_path)
    store.append(history_key(message), [{"a": 1}])
    assert [info.key for info in store.list()] == ["slack_C1_1741.234567_U1"]


async def test_what_ends_together_is_one_write_for_each_conversation(house):
    async with house() as h:
        for text in ("one", "two"):
            await h.say("k", text)
            await h.say("other", text)
        real, writes = h.store.append, []

        def append(key, records):
            writes.append((key, len(records)))
            real(key, records)
        h.store.append = append
        await h.histories.write_out()

        assert writes == [("k", 4), ("other", 4)]
        assert h.file("k") == both("one") + both("two")


async def test_a_kill_after_a_long_write_doubles_nothing(house):
    texts = [f"t{number}" for number in range(150)]
    async with house() as h:
        for text in texts:
            await h.say("k", text)
        h.histories._write(await h.queue.read_unwritten(), looking=False)
    async with house() as h:
        await h.histories.write_out(looking=True)
        assert h.file("k") == [turn for text in texts for turn in both(text)]
