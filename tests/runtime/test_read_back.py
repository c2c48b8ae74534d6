"""What a platform took without an id: "verified", or "not there"."""

import sqlite3
from contextlib import asynccontextmanager

from claw.core.channel import SendMessage
from claw.core.errors import UnavailableError
from claw.runtime.message.parts import split_parts
from claw.runtime.outbox import Sender
from claw.runtime.process.health import Health, read_state, write_state
from claw.runtime.read_back import KEPT_S
from claw.storage.queue.model import NewSend
from claw.storage.queue.reader import open_reader
from claw.storage.queue.sqlite import SqliteQueue
from claw.testing.memory_channel import MemoryChannel
from claw.wiring.channels.states import ChannelState
from claw.wiring.checks.traffic import check_traffic
from claw.wiring.status.waiting import explain_outbox


class Desk:
    """A channel whose calls give no id, its queue and its sender."""

    def __init__(self, folder, *, finds=True):
        self.channel = MemoryChannel(finds=finds)
        self.clock = 1_000.0
        self.path = folder / "q.db"
        self.queue = SqliteQueue(self.path, now=lambda: self.clock)
        self.health = Health()
        show = self.channel._show

        async def silent(*arguments):
            await show(*arguments)
        self.channel._show = silent

    async def start(self):
        lease = await self.queue.lease("listen", 60)
        self.sender = Sender(
            self.channel.name, lambda: self.channel, self.queue,
            lambda: lease, self.health, lambda *_, **__: None,
            now=lambda: self.clock)

    async def send(self, text):
        message = SendMessage(text, "alice")
        await self.queue.post([NewSend(
            f"s:{text}", self.channel.name, message,
            split_parts(self.channel, message))])
        await self.sender.send_due()

    async def look(self, after_s=0.0):
        self.clock += after_s
        await self.sender._read_back.look(self.channel)

    async def row(self):
        return (await self.queue.outbox_rows())[-1]


@asynccontextmanager
async def opened(folder, **options):
    made = Desk(folder, **options)
    await made.start()
    try:
        yield made
    finally:
        await made.queue.aclose()


async def test_a_silent_send_that_stands_there_is_verified(tmp_path):
    async with opened(tmp_path) as desk:
        await desk.send("hello")
        assert (await desk.row()).seen is None

        await desk.look(4)

        row = await desk.row()
        assert (row.state, row.seen) == ("sent", "verified")
        assert row.message_id == "m1"
        assert explain_outbox([row], (), desk.clock) == ["verified"]


async def test_a_send_that_was_taken_and_is_not_there_has_failed(tmp_path):
    async with opened(tmp_path) as desk:
        await desk.send("hello")
        desk.channel.sent.clear()

        await desk.look(4)
        assert (await desk.row()).state == "sent"  # it may be slow
        await desk.look(70)

        row = await desk.row()
        assert (row.state, row.seen) == ("failed", "not there")
        assert "not there" in row.error
        assert desk.health.part(f"channel:{desk.channel.name}").not_there == 1


async def test_what_was_not_there_can_be_sent_again(tmp_path):
    async with opened(tmp_path) as desk:
        await desk.send("hello")
        desk.channel.sent.clear()
        await desk.look(70)

        assert await desk.queue.retry() == 1
        await desk.sender.send_due()
        await desk.look(4)

        row = await desk.row()
        assert (row.state, row.seen) == ("sent", "verified")
        assert desk.channel.texts() == ["hello"]


async def test_who_cannot_be_asked_is_asked_again(tmp_path):
    async with opened(tmp_path) as desk:
        await desk.send("hello")
        left = [UnavailableError("cut")] * 2

        def fail(name, *_):
            if name == "find_sent" and left:
                raise left.pop()
        desk.channel.before = fail

        for after_s in (10, 100, 200):
            await desk.look(after_s)

        assert (await desk.row()).seen == "verified"


async def test_who_cannot_be_asked_for_an_hour_is_left_alone(tmp_path):
    async with opened(tmp_path) as desk:
        await desk.send("hello")

        await desk.look(KEPT_S + 1)

        assert (await desk.row()).seen is None
        assert desk.sender._read_back.next_s is None


async def test_the_process_after_a_kill_looks_for_what_was_silent(tmp_path):
    async with opened(tmp_path) as desk:
        await desk.send("hello")
        await desk.start()

        await desk.look(4)

        assert (await desk.row()).seen == "verified"


async def test_two_equal_texts_are_told_apart_one_by_one(tmp_path):
    async with opened(tmp_path) as desk:
        await desk.send("hello")
        await desk.look(4)
        message = SendMessage("hello", "alice")
        await desk.queue.post([NewSend("s:2", desk.channel.name, message,
                                       split_parts(desk.channel, message))])
        await desk.sender.send_due()
        await desk.look(4)

        assert [row.message_id for row in await desk.queue.outbox_rows()] == [
            "m1", "m2"]


async def test_a_channel_that_cannot_look_says_nothing(tmp_path):
    async with opened(tmp_path, finds=False) as desk:
        await desk.send("hello")
        await desk.look(100)

        row = await desk.row()
        assert (row.state, row.seen) == ("sent", None)


async def test_a_part_in_doubt_that_is_found_is_verified(tmp_path):
    desk = Desk(tmp_path)
    del desk.channel._show
    await desk.start()
    cut = [UnavailableError("read timed out")]

    def fail(name, *_):
        if name == "send_part" and cut:
            raise cut.pop()
    desk.channel.after = fail
    await desk.send("hello")
    desk.clock += 2
    await desk.sender.send_due()

    row = await desk.row()
    assert (row.state, row.seen) == ("sent", "verified")
    assert desk.channel.texts() == ["hello"]
    await desk.queue.aclose()


def test_the_count_reaches_who_reads_the_state(tmp_path):
    """It was written and not read: the doctor never said it."""
    health = Health()
    health.note_not_there("channel:demo")
    write_state(health, tmp_path / "state.json")

    state = read_state(tmp_path / "state.json")
    assert state["components"]["channel:demo"]["not_there"] == 1


def test_the_doctor_counts_what_is_not_there():
    check = check_traffic(ChannelState("demo", True, "ok", not_there=2))

    assert check.status == "warn"
    assert "2 messages that the platform took are not there" in check.detail
    assert check.hint == "claw queue list --failed"


async def test_a_queue_of_the_version_before_is_read_and_goes_on(tmp_path):
    desk = Desk(tmp_path)
    await desk.start()
    await desk.send("hello")
    await desk.queue.aclose()
    with sqlite3.connect(desk.path) as old:
        old.execute("ALTER TABLE outbox DROP COLUMN seen")
        old.execute("PRAGMA user_version=1")
    old.close()

    with open_reader(desk.path) as reader:
        assert reader.outbox_rows()[0].seen is None
    queue = SqliteQueue(desk.path)
    assert (await queue.outbox_rows())[0].part.text == "hello"
    await queue.aclose()
