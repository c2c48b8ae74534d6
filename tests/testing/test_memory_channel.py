"""The channel in memory: what a test of the runtime can do with it."""

import asyncio
import threading

import pytest

from claw.core.abilities import Doubt, FindsSent
from claw.core.channel import SendMessage, SendsParts
from claw.core.errors import UnavailableError
from claw.testing.memory_channel import MemoryChannel


class Inbox:
    def __init__(self):
        self.messages = []
        self.heard = 0
        self.broken = None

    async def put(self, message):
        if self.broken is not None:
            raise self.broken
        self.messages.append(message)

    def received(self):
        self.heard += 1


def run(work):
    async def limited():
        async with asyncio.timeout(10):
            return await work()
    return asyncio.run(limited())


def test_what_is_said_is_put_and_then_forgotten():
    channel, inbox = MemoryChannel("memory"), Inbox()
    said = channel.say("before", sender="bob", reply_target="room", id="7",
                       thread_ts="t")

    async def work():
        task = asyncio.create_task(channel.listen(inbox))
        await channel.until(lambda: len(inbox.messages) == 1)
        thread = threading.Thread(target=channel.say, args=["from afar"])
        thread.start()
        await channel.until(lambda: not channel.waiting)
        thread.join()
        channel.end()
        await task
    run(work)

    assert inbox.messages[0] is said
    assert (said.id, said.sender, said.reply_target, said.thread_ts,
            said.channel) == ("7", "bob", "room", "t", "memory")
    assert [m.content for m in inbox.messages] == ["before", "from afar"]
    assert inbox.heard == 2


def test_what_could_not_be_put_waits_for_the_next_listen():
    channel, inbox = MemoryChannel(), Inbox()
    channel.say("hello")
    inbox.broken = OSError("disk full")
    with pytest.raises(OSError, match="disk full"):
        run(lambda: channel.listen(inbox))

    assert [m.content for m in channel.waiting] == ["hello"]
    assert channel.listens == 1


def test_only_a_finding_channel_has_parts_and_finds():
    plain, finding = MemoryChannel(), MemoryChannel(finds=True, limit=3)

    assert not isinstance(plain, SendsParts | FindsSent)
    assert isinstance(finding, SendsParts)
    assert isinstance(finding, FindsSent)
    assert isinstance(finding, MemoryChannel)
    assert [p.text for p in finding.parts(SendMessage("abcde", "x"))] == [
        "abc", "de"]
    assert finding.parts(SendMessage(" ", "x")) == []


def test_what_arrived_is_found_under_an_id_that_nobody_owns():
    channel = MemoryChannel(finds=True)
    message = SendMessage("done", "alice")

    async def work():
        (part,) = channel.parts(message)
        first = await channel.send_part(message, part)
        second = await channel.send_part(message, part)
        return first, second, [
            await channel.find_sent(Doubt(message, part, owned=owned))
            for owned in ((), (("alice", first),),
                          (("alice", first), ("alice", second)))]
    first, second, found = run(work)

    assert found == [(first, second), (second,), ()]


def test_hooks_make_things_go_wrong_before_or_after():
    channel = MemoryChannel()

    def refuse(method, *_):
        raise UnavailableError(f"{method} failed")

    async def work():
        channel.before = refuse
        with pytest.raises(UnavailableError, match="send failed"):
            await channel.send(SendMessage("one", "alice"))
        channel.before, channel.after = None, refuse
        with pytest.raises(UnavailableError):
            await channel.send(SendMessage("two", "alice"))
        channel.after = lambda method, *_: asyncio.sleep(30)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await channel.send(SendMessage("three", "alice"))
    run(work)

    assert channel.texts() == ["two", "three"]


def test_drafts_typing_and_reactions_are_recorded():
    channel = MemoryChannel(drafts=True)

    async def work():
        number = await channel.send_draft(SendMessage("...", "alice"))
        await channel.update_draft("alice", number, "half")
        await channel.finalize_draft("alice", number, "whole")
        other = await channel.send_draft(SendMessage("...", "alice"))
        await channel.cancel_draft("alice", other)
        await channel.start_typing("alice")
        await channel.stop_typing("alice")
        await channel.add_reaction("room", "7", "👀")
        await channel.remove_reaction("room", "7", "👀")
        return await MemoryChannel().send_draft(SendMessage("...", "x"))

    assert run(work) is None
    assert channel.supports_draft_updates()
    assert channel.texts() == ["whole"]
    assert channel.sent[1].deleted
    assert channel.typing == [("start", "alice"), ("stop", "alice")]
    assert channel.reactions == [("add", "room", "7", "👀"),
                                 ("remove", "room", "7", "👀")]


def test_waiting_ends_in_an_error_that_tells_what_was_sent():
    channel = MemoryChannel()

    async def work():
        await channel.send(SendMessage("hello", "alice"))
        with pytest.raises(TimeoutError, match="hello"):
            await channel.until(lambda: False, 0.01)
    run(work)
