"""Where channels put what they receive."""

import asyncio

import pytest

from claw.core.channel import ChannelMessage, Part, SendMessage
from claw.core.errors import StorageError
from claw.runtime.inbox import BUS_SIZE, DurableInbox
from claw.runtime.process.health import Health
from claw.storage.queue.sqlite import SqliteQueue


def message(number, sender="alice"):
    return ChannelMessage(f"m{number}", sender, sender, f"text {number}",
                          "memory", 0)


class Post:
    def __init__(self, folder):
        self.queue = SqliteQueue(folder / "q.db")
        self.bus = asyncio.Queue(BUS_SIZE)
        self.health = Health()
        self.events = []
        self.woken = []

    async def open(self):
        self.lease = await self.queue.lease("listen", 30)
        self.inbox = DurableInbox(
            "memory", self.queue, lambda: self.lease, self.bus, self.health,
            lambda event, **fields: self.events.append(event),
            self.woken.append)
        return self

    async def kept(self):
        return [r.message.id for r in await self.queue.inbox_rows()]


@pytest.fixture
def post(tmp_path):
    return lambda: Post(tmp_path).open()


async def test_put_returns_after_the_commit_and_hands_the_row_on(post):
    p = await post()
    await p.inbox.put(message(1))

    assert await p.kept() == ["m1"]
    assert p.bus.get_nowait().message.id == "m1"
    assert p.health.part("channel:memory").last_receive is not None
    await p.queue.aclose()


async def test_a_redelivery_is_acknowledged_and_not_answered_again(post):
    p = await post()
    await p.inbox.put(message(1))
    await p.inbox.put(message(1))

    assert p.bus.qsize() == 1
    assert p.events == ["message.accepted", "message.known"]
    await p.queue.aclose()


async def test_a_burst_is_committed_at_once_and_in_order(post):
    p = await post()
    await p.inbox.put_all([message(n) for n in range(5)])

    assert [p.bus.get_nowait().message.id for _ in range(5)] == [
        f"m{n}" for n in range(5)]
    await p.queue.aclose()


async def test_a_store_that_fails_is_told_to_the_channel(post, monkeypatch):
    p = await post()

    async def full(*_):
        raise StorageError("disk full")
    monkeypatch.setattr(p.queue, "accept", full)
    with pytest.raises(StorageError, match="disk full"):
        await p.inbox.put(message(1))
    assert p.bus.empty()
    await p.queue.aclose()


async def test_the_bus_holds_a_hundred_and_then_the_channel_waits(post):
    p = await post()
    assert p.bus.maxsize == 100
    await p.inbox.put_all([message(n) for n in range(100)])
    putting = asyncio.ensure_future(p.inbox.put(message(100)))
    await asyncio.sleep(0.05)
    assert not putting.done()
    p.bus.get_nowait()
    await putting
    await p.queue.aclose()


async def test_a_channel_that_is_cancelled_in_put_leaves_no_row_unheard(
        post):
    """It was committed, so the platform's next delivery is a known one:
    nobody would ever answer it."""
    p = await post()
    putting = asyncio.ensure_future(p.inbox.put(message(1)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    putting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await putting

    async with asyncio.timeout(20):
        assert (await p.bus.get()).message.id == "m1"
    await p.queue.aclose()


def test_the_bus_holds_a_hundred_messages():
    assert BUS_SIZE == 100


async def test_a_channel_that_cannot_receive_is_not_well_until_it_does(post):
    p = await post()
    part = p.health.part("channel:memory")
    p.inbox.failed("no answer within 35 s")
    p.health.beat("channel:memory")

    assert (part.status, part.last_error) == ("error",
                                              "no answer within 35 s")
    p.inbox.received()
    assert (part.status, part.last_error) == ("ok", None)
    await p.queue.aclose()


async def test_what_a_channel_says_of_its_own_stands_in_the_outbox_once(post):
    """Beside it a hint had an id that nobody knew: a look for an answer
    after a kill could take it for that."""
    p = await post()
    for _ in range(2):
        await p.inbox.reply("7:1", SendMessage("hello", "7"),
                            Part("text", "hello"))

    row, = await p.queue.outbox_rows()
    assert (row.source, row.channel, row.part.text) == (
        "hint:memory:7:1", "memory", "hello")
    assert p.woken == ["memory", "memory"]
    await p.queue.aclose()
