"""The dispatcher: order, fairness, stop, interruption, and nothing lost."""

import asyncio
import time

import pytest

from claw.core.channel import Part
from claw.core.errors import LeaseLostError, StorageError
from claw.runtime.dispatcher import in_flight_limit
from claw.runtime.settings import ChannelOptions, ChannelsSettings
from claw.runtime.turn.steps import process
from claw.testing.memory_channel import MemoryChannel

INTERRUPTS = ChannelOptions(interrupt=True)


def said(provider):
    """The last words of each request."""
    return [asked.last.content for asked in provider.requests]


@pytest.mark.parametrize(("channels", "limit"), [
    (0, 8), (1, 8), (2, 8), (3, 12), (16, 64), (40, 64)])
def test_four_turns_for_each_channel_run_between_8_and_64(channels, limit):
    assert in_flight_limit(channels) == limit


async def test_messages_of_a_conversation_are_answered_in_order(stage):
    async with stage() as s:
        for number in range(20):
            s.channel.say(f"q{number}")

        assert await s.answers(20) == [f"q{n}" for n in range(20)]


async def test_an_answer_names_the_message_that_it_answers(stage):
    """A platform may want something of it back (correlation data)."""
    async with stage() as s:
        sent, show = [], s.channel._show

        async def note(method, message, text, *more, **named):
            sent.append(message.answers)
            return await show(method, message, text, *more, **named)

        s.channel._show = note
        for text in ("a question", "/new"):
            s.channel.say(text)
        await s.answers(2)

    assert len(set(sent)) == 2
    assert None not in sent


async def test_a_conversation_runs_one_turn_at_a_time_others_run_beside(
        stage, slow):
    async with stage(provider := slow()) as s:
        s.channel.say("a1", "alice")
        s.channel.say("a2", "alice")
        s.channel.say("b1", "bob")
        await s.until(lambda: len(provider.begun) >= 2)
        await asyncio.sleep(0.03)
        assert sorted(provider.begun) == ["a1", "b1"]

        provider.let_all()
        await s.until(lambda: len(provider.begun) == 3)
        provider.let_all()

        assert sorted(await s.answers(3)) == ["a1", "a2", "b1"]
        assert s.channel.texts("alice") == ["a1", "a2"]


async def test_no_more_turns_run_than_the_limit_allows(stage, slow):
    async with stage(provider := slow(), limit=2) as s:
        for name in "abcde":
            s.channel.say(name, name)
        await s.until(lambda: len(provider.begun) == 2)
        await asyncio.sleep(0.03)
        assert len(provider.begun) == 2

        for count in (3, 4, 5):
            provider.let()
            await s.until(lambda n=count: len(provider.begun) == n)
        provider.let_all()
        await s.answers(5)


async def test_stop_is_seen_while_every_permit_is_taken(stage, slow):
    async with stage(provider := slow(), limit=1) as s:
        s.channel.say("think", "alice")
        s.channel.say("me too", "bob")
        await s.until(lambda: provider.begun == ["think"])

        s.channel.say(" /STOP@claw_bot now", "alice")

        assert await s.answers(1) == ["Stop signal sent."]
        await s.until(lambda: len(provider.begun) == 2)
        assert provider.begun[1] == "me too"
        provider.let_all()
        await s.idle()
        assert s.channel.texts("alice") == ["Stop signal sent."]
        rows = {r.message.content: r.state
                for r in await s.queue.inbox_rows()}
        assert rows["think"] == "cancelled"
        assert s.saved("memory_alice_alice") == [("user", "think")]


async def test_stop_with_nothing_under_way_says_so(stage, slow):
    async with stage(provider := slow()) as s:
        s.channel.say("question", "bob")
        await s.until(lambda: provider.begun)

        s.channel.say("/stop", "alice", thread_ts="t1")

        assert await s.answers(1) == [
            "No in-flight task for this sender scope."]
        assert s.channel.sent[0].thread_ts == "t1"
        provider.let_all()
        await s.answers(2)


async def test_stop_does_not_reach_another_thread_or_sender(stage, slow):
    async with stage(provider := slow()) as s:
        s.channel.say("q", "alice", "room", thread_ts="t1",
                      interruption_scope_id="t1")
        await s.until(lambda: provider.begun)

        s.channel.say("/stop", "alice", "room", thread_ts="t2",
                      interruption_scope_id="t2")
        s.channel.say("/stop", "bob", "room", thread_ts="t1",
                      interruption_scope_id="t1")
        await s.answers(2)

        provider.let_all()
        assert "q" in await s.answers(3)


async def test_stop_reaches_every_turn_of_its_scope(stage, slow):
    """Two conversations may share a scope (a reply anchor is none)."""
    async with stage(provider := slow()) as s:
        s.channel.say("one", "alice", "room", thread_ts="1")
        s.channel.say("two", "alice", "room", thread_ts="2")
        await s.until(lambda: len(provider.begun) == 2)

        s.channel.say("/stop", "alice", "room", thread_ts="3")

        await s.idle()
        assert s.channel.texts() == ["Stop signal sent."]


async def test_conversations_of_one_scope_run_side_by_side(stage, slow):
    """Only where messages interrupt each other does one wait."""
    async with stage(provider := slow()) as s:
        s.channel.say("one", "alice", "room", thread_ts="1")
        s.channel.say("two", "alice", "room", thread_ts="2")

        await s.until(lambda: len(provider.begun) == 2)
        provider.let_all()
        await s.answers(2)


async def test_two_quick_messages_with_interruption_are_the_seeds_example(
        stage, slow):
    async with stage(provider := slow(), options=INTERRUPTS) as s:
        s.channel.say("안녕", "alice", "chat-1")
        await s.until(lambda: provider.begun == ["안녕"])

        s.channel.say("무시해", "alice", "chat-1")
        await s.until(lambda: len(provider.begun) == 2)
        key = "memory_chat-1_alice"
        assert provider.begun[1] == "안녕\n\n무시해"
        assert s.turns(key) == [("user", "안녕"), ("user", "무시해")]
        provider.let_all()
        await s.idle()

        assert s.channel.texts() == ["안녕\n\n무시해"]
        assert s.saved(key) == [
            ("user", "안녕"), ("user", "무시해"),
            ("assistant", "안녕\n\n무시해")]
        states = [r.state for r in await s.queue.inbox_rows()]
        assert states == ["cancelled", "answered"]


async def test_a_joined_message_does_not_interrupt_its_own_turn(stage, slow):
    """The second message was claimed with the first; its arrival, which
    is heard of later, is no newer message."""
    async with stage(slow(), options=INTERRUPTS, listen=False) as s:
        first = s.channel.say("one")
        second = s.channel.say("two")
        real, held = s.dispatcher._bus.put, []

        async def late(row):
            held.append(row)
        s.dispatcher._bus.put = late
        await s.inboxes["memory"].put_all([first, second])
        await real(held[0])
        await s.until(lambda: s.provider.begun == ["one\n\ntwo"])

        await real(held[1])
        await asyncio.sleep(0.02)
        s.provider.let_all()

        assert await s.answers(1) == ["one\n\ntwo"]


async def test_a_command_among_waiting_messages_is_a_command(stage, slow):
    """Joined to other words it would be lost in them, or lose them."""
    async with stage(provider := slow(), options=ChannelOptions(
            debounce_s=0.05)) as s:
        s.channel.say("first")
        s.channel.say("/new")
        s.channel.say("hello")
        s.channel.say("there")
        await s.until(lambda: provider.begun)
        provider.let()
        await s.until(lambda: len(provider.begun) == 2)
        provider.let()

        assert await s.answers(3) == [
            "first", "Conversation history cleared. Starting fresh.",
            "hello\nthere"]
        await s.idle()
        assert s.saved("memory_alice_alice") == [
            ("user", "hello\nthere"), ("assistant", "hello\nthere")]


@pytest.mark.parametrize("other", [
    {"sender": "bob", "reply_target": "room"},
    {"sender": "alice", "reply_target": "elsewhere"},
    {"sender": "alice", "reply_target": "room", "thread_ts": "t2",
     "interruption_scope_id": "t2"},
])
async def test_nobody_elses_message_interrupts(stage, slow, other):
    async with stage(provider := slow(), options=INTERRUPTS) as s:
        s.channel.say("mine", "alice", "room")
        await s.until(lambda: provider.begun)
        s.channel.say("other", **other)
        await s.until(lambda: len(provider.begun) == 2)
        provider.let_all()

        assert sorted(await s.answers(2)) == ["mine", "other"]


async def test_without_interruption_a_new_message_waits(stage, slow):
    async with stage(provider := slow()) as s:
        s.channel.say("one")
        await s.until(lambda: provider.begun)
        s.channel.say("two")
        await asyncio.sleep(0.02)
        assert provider.begun == ["one"]
        provider.let_all()
        await s.until(lambda: len(provider.begun) == 2)
        provider.let_all()
        assert await s.answers(2) == ["one", "two"]


async def test_messages_within_the_debounce_are_answered_together(stage):
    """The last of them starts the window anew."""
    async with stage(settings=ChannelsSettings(debounce_ms=2000)) as s:
        for text in ("eins", "zwei", "drei"):
            s.channel.say(text)
            last = time.monotonic()
            await asyncio.sleep(0.02)
        s.channel.say("other", "bob")

        await s.answers(2)
        assert s.channel.texts("alice") == ["eins\nzwei\ndrei"]
        assert s.channel.texts("bob") == ["other"]
        answer = next(m for m in s.channel.sent if m.recipient == "alice")
        assert answer.at - last >= 2.0
        await s.idle()
        assert [r.state for r in await s.queue.inbox_rows()] \
            == ["answered"] * 4


async def test_somebody_who_floods_delays_nobody(stage):
    async with stage(limit=2) as s:
        for number in range(500):
            s.channel.say(f"f{number}", "flooder")
        await s.until(lambda: len(s.channel.texts("flooder")) > 5)
        before = len(s.channel.texts("flooder"))
        s.channel.waiting.insert(0, s.channel.say("hi", "quiet"))
        s.channel.waiting.pop()

        await s.until(lambda: s.channel.texts("quiet"))
        assert len(s.channel.texts("flooder")) - before < 250


async def test_a_conversation_that_goes_on_stands_behind_who_came_meanwhile(
        stage, slow):
    async with stage(provider := slow(), limit=1) as s:
        s.channel.say("x0", "x")
        await s.until(lambda: provider.begun == ["x0"])
        for number in range(1, 4):
            s.channel.say(f"x{number}", "x")
        s.channel.say("hi", "quiet")
        await s.until(lambda: not s.channel.waiting)

        for count in range(2, 6):
            provider.let()
            await s.until(lambda n=count: len(provider.begun) == n)
        provider.let()
        await s.answers(5)

        assert provider.begun == ["x0", "hi", "x1", "x2", "x3"]


async def test_a_drain_lets_turns_end_and_starts_no_more(stage, slow):
    async with stage(provider := slow()) as s:
        s.channel.say("running")
        s.channel.say("waiting")
        await s.until(lambda: provider.begun)
        await s.until(lambda: not s.channel.waiting)

        draining = asyncio.ensure_future(s.dispatcher.drain(5))
        await asyncio.sleep(0.01)
        provider.let_all()
        await draining

        assert await s.answers(1) == ["running"]
        rows = {r.message.content: (r.state, r.attempts)
                for r in await s.queue.inbox_rows()}
        assert rows == {"running": ("answered", 1), "waiting": ("waiting", 0)}


async def test_a_drain_puts_turns_that_take_too_long_back_untouched(
        stage, slow):
    async with stage(provider := slow()) as s:
        s.channel.say("long")
        await s.until(lambda: provider.begun)

        await s.dispatcher.drain(0.02)

        row, = await s.queue.inbox_rows()
        assert (row.state, row.attempts) == ("waiting", 0)
        assert s.channel.texts() == []
        await asyncio.sleep(0.02)
        emoji = [e for _, _, _, e in s.channel.reactions]
        assert "⚠️" not in emoji, "it did not go wrong"
    async with stage() as again:
        assert await again.answers(1) == ["long"]
        await again.idle()
        assert again.saved("memory_alice_alice") == [
            ("user", "long"), ("assistant", "long")]


@pytest.mark.parametrize("verb", ["claim", "complete", "pending_history"])
async def test_a_store_that_fails_once_loses_nothing(stage, verb,
                                                     monkeypatch):
    monkeypatch.setattr("claw.runtime.dispatcher.RETRY_S",
                        (0.01, 0.01, 0.01))
    flaky = {"error": StorageError("disk full"), verb: 2}
    async with stage(flaky=flaky) as s:
        s.channel.say("keep me")

        assert await s.answers(1) == ["keep me"]
        await s.idle()
        assert said(s.provider) == ["keep me"]
        assert s.saved("memory_alice_alice") == [
            ("user", "keep me"), ("assistant", "keep me")]
        assert s.said("turn.store") or s.said("turn.uncommitted")


async def test_a_turn_that_is_made_again_keeps_the_words_once(
        stage, monkeypatch):
    monkeypatch.setattr("claw.runtime.dispatcher.RETRY_S", (0.01, 0.01))
    async with stage() as s:
        errors = [StorageError("disk full")]

        async def failing(desk, running):
            finished = await process(desk, running)
            if errors:
                raise errors.pop()
            return finished
        monkeypatch.setattr("claw.runtime.dispatcher.process", failing)
        s.channel.say("hello")
        await s.answers(1)
        assert s.turns("memory_alice_alice") == [("user", "hello"),
                                                 ("assistant", "hello")]
        assert said(s.provider) == ["hello", "hello"]


async def test_a_stop_that_meets_a_failing_store_is_not_forgotten(
        stage, slow, monkeypatch):
    monkeypatch.setattr("claw.runtime.dispatcher.RETRY_S",
                        (0.01, 0.01, 0.01))
    async with stage(provider := slow()) as s:
        s.channel.say("think")
        await s.until(lambda: provider.begun)
        s.desk.queue = s.Flaky(s.raw, StorageError("disk full"),
                               complete=1, claim=1)
        s.channel.say("/stop")
        assert await s.answers(1) == ["Stop signal sent."]
        await s.idle()


async def test_what_waited_before_the_start_is_answered_first(stage, slow):
    async with stage(provider := slow()) as s:
        s.channel.say("one")
        s.channel.say("two")
        s.channel.say("other", "bob")
        await s.until(lambda: len(provider.begun) == 2)
        await s.until(lambda: not s.channel.waiting)
    async with stage() as again:
        again.channel.say("three", id="new")

        await again.answers(4)
        assert again.channel.texts("alice") == ["one", "two", "three"]
        assert again.channel.texts("bob") == ["other"]


async def test_a_fault_of_claw_in_a_turn_is_told_and_blocks_nobody(
        stage, monkeypatch):
    async with stage() as s:
        async def faulty(desk, running):
            if running.claim.rows[0].message.content == "bang":
                raise KeyError("oops")
            return await process(desk, running)
        monkeypatch.setattr("claw.runtime.dispatcher.process", faulty)
        s.channel.say("bang")
        s.channel.say("after")

        texts = await s.answers(2)
        assert texts[0].startswith("⚠️ Error: ")
        assert texts[1] == "after"
        await s.idle()


async def test_messages_of_two_channels_go_back_where_they_came_from(stage):
    red, blue = MemoryChannel("red"), MemoryChannel("blue")
    async with stage(channels=[red, blue]) as s:
        red.say("r", "same")
        blue.say("b", "same")
        await red.until(lambda: red.texts() and blue.texts())

        assert (red.texts(), blue.texts()) == (["r"], ["b"])
        assert s.turns("red_same_same") == [("user", "r"),
                                            ("assistant", "r")]


async def test_an_answer_that_can_not_be_stored_is_told_and_blocks_nobody(
        stage):
    channel = MemoryChannel(finds=True)
    real = channel.parts

    def parts(message):
        if message.content == "bad":
            return [Part("text", "bad", {"x": object()})]
        return real(message)
    channel.parts = parts
    async with stage(channels=[channel]) as s:
        channel.say("bad")
        channel.say("good")
        first, second = await s.answers(2)
        assert first.startswith("⚠️ Error: ")
        assert second == "good"
        row = (await s.queue.inbox_rows())[0]
        assert row.state == "failed"


async def test_a_lost_lease_ends_the_dispatcher(stage):
    async with stage() as s:
        await s.raw.yield_lease(s.lease)
        with pytest.raises(LeaseLostError):
            await s.inboxes["memory"].put(s.channel.say("one", id="x"))
        s.channel.waiting.clear()
        s.dispatcher._queue_up("memory_alice_alice")
        with pytest.raises(LeaseLostError):
            await s.running


async def test_what_follows_a_turn_and_fails_is_told(stage):
    async with stage() as s:
        async def fail(finished):
            raise RuntimeError("no memory")
        s.dispatcher._after = fail
        s.channel.say("one")
        await s.answers(1)
        await s.until(lambda: s.said("beside.error"))
        assert s.said("beside.error")[0]["error"] == "RuntimeError: no memory"


async def test_many_conversations_are_all_answered_in_order(stage):
    async with stage(limit=8) as s:
        for number in range(200):
            s.channel.say(f"q{number}", f"p{number % 100}")
        await s.until(lambda: len(s.channel.texts()) == 200, 15)
        for number in range(100):
            assert s.channel.texts(f"p{number}") == [
                f"q{number}", f"q{number + 100}"]
