"""The sender of a channel: what goes out, again, in doubt, and not."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from claw.core.channel import Part, SendMessage
from claw.core.errors import (
    AuthError,
    LeaseLostError,
    NotFoundError,
    RateLimitedError,
    RequestRefusedError,
    StorageError,
    UnavailableError,
)
from claw.core.value import replace
from claw.runtime.message.parts import is_whole, split_parts
from claw.runtime.outbox import (
    LOOKS,
    REPEATED,
    Sender,
)
from claw.runtime.process.health import Health
from claw.runtime.retry_rules import is_final, may_have_arrived, wait_s
from claw.storage.queue.model import NewSend
from claw.storage.queue.owner import this_process
from claw.storage.queue.sqlite import SqliteQueue
from claw.testing.memory_channel import MemoryChannel

DEAD = replace(this_process(), pid=2**22 + 1)


class Office:
    """A queue, a channel and its sender; `clock` is what the sender
    believes the time is."""

    def __init__(self, folder, channel, flaky=None, wrap=None,
                 owner=None):
        self.channel = channel
        self.clock = 1_000.0
        self.raw = SqliteQueue(folder / "q.db", now=lambda: self.clock,
                               owner=owner)
        self.queue = wrap(self.raw, **flaky) if flaky else self.raw
        self.events = []

    async def open(self):
        self.lease = await self.raw.lease("listen", 60)
        await self.raw.recover(self.lease)
        self.sender = Sender(
            self.channel.name, lambda: self.channel, self.queue,
            lambda: self.lease, Health(), self.log, now=lambda: self.clock)

    def log(self, event, /, **fields):
        self.events.append((event, fields))

    async def post(self, text, to="alice", source=None, thread=None,
                   draft=None, channel=None):
        message = SendMessage(text, to, thread_ts=thread)
        await self.raw.post([NewSend(
            source or f"s:{text}", self.channel.name, message,
            split_parts(channel or self.channel, message), draft)])

    async def rows(self):
        return await self.raw.outbox_rows()

    async def row(self):
        row, = await self.rows()
        return row

    async def until(self, predicate):
        async with asyncio.timeout(20):
            while True:
                if predicate(await self.row()):
                    return
                await asyncio.sleep(0.002)

    def fail(self, *errors, method=None, after=False):
        """The next calls fail so, before or after they were done."""
        left = list(errors)

        def hook(name, *_):
            if left and method in (None, name):
                raise left.pop(0)
        setattr(self.channel, "after" if after else "before", hook)


@pytest.fixture
def office(tmp_path):
    @asynccontextmanager
    async def make(channel=None, finds=False, flaky=None, wrap=None,
                   owner=None):
        made = Office(tmp_path, channel or MemoryChannel(finds=finds),
                      flaky, wrap, owner)
        await made.open()
        try:
            yield made
        finally:
            await made.sender.drop()
            await made.raw.aclose()
    return make


async def test_the_first_text_of_a_message_is_the_answer(office):
    """A phone read "…" in each notification."""
    async with office(finds=True) as o:
        await o.post("hello")

        assert await o.sender.send_due() == 1
        assert o.channel.sent[0].history == ["hello"]
        row = await o.row()
        assert (row.state, row.message_id) == ("sent", "m1")


async def test_a_send_that_arrived_is_found_and_not_repeated(office):
    async with office(finds=True) as o:
        await o.post("hello")
        o.fail(UnavailableError("read timed out"), method="send_part",
               after=True)
        await o.sender.send_due()
        assert (await o.row()).state == "uncertain"
        o.clock += 1

        await o.sender.send_due()

        assert [m.text for m in o.channel.sent] == ["hello"]
        row = await o.row()
        assert (row.state, row.message_id) == ("sent", "m1")


async def test_a_send_that_nobody_finds_is_repeated_with_a_note(office):
    async with office(finds=True) as o:
        await o.post("hello")
        o.fail(UnavailableError("reset"), method="send_part", after=True)
        await o.sender.send_due()
        o.channel.sent.clear()  # it went astray
        o.clock += 1

        await o.sender.send_due()

        assert o.channel.texts() == [REPEATED + "hello"]


async def test_an_error_while_looking_is_no_answer(office):
    """Put off and looked again; in the end nobody can tell."""
    async with office(finds=True) as o:
        await o.post("hello")
        o.fail(UnavailableError("read timed out"), method="send_part",
               after=True)
        await o.sender.send_due()
        o.clock += 1
        o.fail(*[UnavailableError("cut")] * 5, method="find_sent")
        for _ in range(5):
            await o.sender.send_due()
            assert (await o.row()).state == "uncertain"
            o.clock += 40
        await o.sender.send_due()
        assert o.channel.texts() == ["hello"]


async def test_a_look_that_always_fails_ends_in_a_marked_repeat(office):
    async with office(finds=True) as o:
        await o.post("hello")
        o.fail(UnavailableError("read timed out"), method="send_part",
               after=True)
        await o.sender.send_due()
        o.fail(*[UnavailableError("cut")] * 100, method="find_sent")
        for _ in range(LOOKS + 1):
            assert (await o.row()).state == "uncertain"
            o.clock += 40
            await o.sender.send_due()
        assert o.channel.texts() == ["hello", REPEATED + "hello"]


async def test_a_limit_while_looking_is_obeyed(office):
    async with office(finds=True) as o:
        await o.post("hello")
        o.fail(UnavailableError("read timed out"), method="send_part",
               after=True)
        await o.sender.send_due()
        o.clock += 1
        o.fail(RateLimitedError("slow", retry_after_s=70),
               method="find_sent")
        await o.sender.send_due()
        assert (await o.row()).next_at == o.clock + 70


async def test_the_placeholder_of_an_older_version_goes_once_answered(
        office):
    async with office(finds=True) as o:
        await o.channel._show("send_part", SendMessage("…", "alice"), "…")
        await o.post("hello", draft="m1")

        await o.sender.send_due()

        assert o.channel.texts() == ["hello"]
        row = await o.row()
        assert (row.state, row.message_id) == ("sent", "m2")


async def test_a_send_that_may_have_arrived_is_repeated_with_a_note(office):
    async with office() as o:
        await o.post("hello")
        o.fail(UnavailableError("read timed out"), after=True)
        await o.sender.send_due()
        row = await o.row()
        assert (row.state, row.uncertain) == ("uncertain", True)
        o.clock += 1

        await o.sender.send_due()

        assert o.channel.texts() == ["hello", REPEATED + "hello"]
        assert (await o.row()).state == "sent"


@pytest.mark.parametrize("error", [
    RateLimitedError("slow down", retry_after_s=1),
    AuthError("token refused"),
])
async def test_a_send_that_was_refused_is_repeated_without_a_note(
        office, error):
    async with office() as o:
        await o.post("hello")
        o.fail(error)
        await o.sender.send_due()
        o.clock += 100

        await o.sender.send_due()

        assert o.channel.texts() == ["hello"]


async def test_a_connection_that_was_never_made_leaves_no_doubt(office):
    error = UnavailableError("no connection")
    error.__cause__ = ConnectionRefusedError()
    async with office() as o:
        await o.post("hello")
        o.fail(error)
        await o.sender.send_due()
        assert not (await o.row()).uncertain


async def test_one_doubt_after_a_long_outage_costs_no_message(office):
    """Tries that never reached the server counted as doubts: the first send
    that was cut when it was back gave the message up."""
    away = UnavailableError("no connection")
    away.__cause__ = ConnectionRefusedError()
    async with office() as o:
        await o.post("hello")
        for error in [away] * 9 + [UnavailableError("cut")]:
            o.fail(error)
            await o.sender.send_due()
            o.clock += 40
        assert (await o.row()).state == "uncertain"
        await o.sender.send_due()
        assert (await o.row()).state == "sent"


async def test_a_send_cut_by_a_kill_is_in_doubt_and_repeated_with_a_note(
        office, tmp_path):
    async with office() as o:
        await o.post("hello")
        o.channel.after = lambda *_: asyncio.sleep(60)
        await o.sender._start_due()
        await o.channel.until(lambda: o.channel.sent)
    async with office() as o:
        await o.sender.send_due()
        assert o.channel.texts() == [REPEATED + "hello"]


async def test_a_send_cut_before_its_request_left_is_repeated_bare(office):
    """Between the commit and the wire lie milliseconds: most kills among
    many chats fell there, and the answer came with a note for nothing."""
    channel = MemoryChannel(finds=True)
    async with office(channel, owner=DEAD) as o:
        await o.post("hello")
        channel.before = lambda *_: asyncio.sleep(60)
        await o.sender._start_due()
        await o.until(lambda row: row.state == "sending")
    channel.before = None
    async with office(channel) as o:
        assert (await o.row()).state == "waiting"
        await o.sender.send_due()
        assert channel.texts() == ["hello"]


@pytest.mark.parametrize("owner", [
    None,  # it stands still, and sends when it goes on
    replace(DEAD, boot="another"),  # the power may have been cut
], ids=["alive", "another boot"])
async def test_what_did_not_leave_is_in_doubt_all_the_same(office, owner):
    channel = MemoryChannel(finds=True)
    async with office(channel, owner=owner) as o:
        await o.post("hello")
        channel.before = lambda *_: asyncio.sleep(60)
        await o.sender._start_due()
        await o.until(lambda row: row.state == "sending")
    channel.before = None
    async with office(channel) as o:
        assert (await o.row()).state == "uncertain"


async def test_a_send_cut_after_its_request_left_is_in_doubt(office):
    channel = MemoryChannel(finds=True)
    async with office(channel, owner=DEAD) as o:
        await o.post("hello")
        channel.after = lambda *_: asyncio.sleep(60)
        await o.sender._start_due()
        await channel.until(lambda: channel.sent)
    channel.after = None
    async with office(channel) as o:
        assert (await o.row()).state == "uncertain"
        await o.sender.send_due()
        assert channel.texts() == ["hello"]


async def test_429_waits_as_long_as_was_asked_and_holds_up_no_other_chat(
        office):
    async with office(finds=True) as o:
        await o.post("to alice")
        o.fail(RateLimitedError("slow", retry_after_s=30),
               method="send_part")
        await o.sender.send_due()
        assert (await o.row()).next_at == o.clock + 30
        await o.post("to bob", "bob")
        o.clock += 29.9

        await o.sender.send_due()
        assert o.channel.texts() == ["to bob"]
        o.clock += 0.2
        await o.sender.send_due()
        assert o.channel.texts() == ["to bob", "to alice"]


async def test_what_is_refused_for_good_fails_with_its_later_parts(office):
    async with office(MemoryChannel(finds=True, limit=4)) as o:
        await o.post("aaaabbbbcccc", source="s:1")
        await o.post("next")

        def refuse(name, message, text):
            if text == "bbbb":
                raise RequestRefusedError("can't parse", status=400)
        o.channel.before = refuse
        while await o.sender.send_due():
            pass

        rows = await o.rows()
        assert [r.state for r in rows] == ["sent", "failed", "failed",
                                           "sent"]
        assert rows[1].error == "can't parse"
        assert o.channel.texts()[0] == "aaaa"
        assert o.channel.texts()[-1] == "next"
        assert not {"bbbb", "cccc"} & set(o.channel.texts())
        assert any(e == "send.error" and f["final"] for e, f in o.events)


async def test_parts_and_messages_of_a_chat_keep_their_order(office):
    async with office(MemoryChannel(finds=True, limit=2)) as o:
        o.fail(UnavailableError("reset"), UnavailableError("reset"),
               method="send_part")
        await o.post("aabbcc")
        await o.post("ddee")
        await o.post("xx", "bob")
        for _ in range(12):
            await o.sender.send_due()
            o.clock += 10

        assert o.channel.texts("alice") == ["aa", "bb", "cc", "dd", "ee"]
        assert o.channel.texts("bob") == ["xx"]


@pytest.mark.parametrize("finds", [True, False])
async def test_a_server_that_is_down_is_asked_less_and_less_then_given_up(
        office, finds):
    refused = UnavailableError("down")
    refused.__cause__ = ConnectionRefusedError()
    async with office(finds=finds) as o:
        await o.post("hello")

        def down(*_):
            raise refused
        o.channel.before = down
        waits = []
        for _ in range(20_000):
            await o.sender.send_due()
            row = await o.row()
            if row.state == "failed":
                break
            waits.append(row.next_at - o.clock)
            # After the first hours only the last one matters.
            o.clock = row.next_at if len(waits) < 300 or sum(
                waits) > 2.99 * 86_400 else row.next_at + 3_600
            waits[-1] += o.clock - row.next_at

        assert [round(w, 1) for w in waits[:9]] == [
            1, 1.5, 2.2, 3.4, 5.1, 7.6, 11.4, 15, 15]
        assert 3 * 86_400 <= sum(waits) < 3 * 86_400 + 4_000


async def test_what_may_arrive_each_time_is_not_repeated_for_ever(office):
    async with office() as o:
        await o.post("hello")

        def vanish(*_):
            raise UnavailableError("timed out")
        o.channel.after = vanish
        for _ in range(20):
            await o.sender.send_due()
            o.clock += 400

        assert len(o.channel.sent) == 6
        assert (await o.row()).state == "failed"


@pytest.mark.parametrize("verb", [
    "mark_sent", "put_off", "mark_failed"])
@pytest.mark.parametrize("finds", [True, False])
async def test_a_store_that_fails_after_a_send_doubles_and_holds_up_nothing(
        office, stage, monkeypatch, verb, finds):
    monkeypatch.setattr("claw.runtime.outbox.STORE_S", (0.01,))
    flaky = stage().Flaky
    async with office(
            finds=finds, wrap=flaky,
            flaky={"error": StorageError("disk full"), verb: 2}) as o:
        error = {"put_off": RateLimitedError("slow", retry_after_s=1),
                 "mark_failed": RequestRefusedError("no")}.get(verb)
        if error is not None:
            o.fail(error)
        await o.post("one")
        await o.sender.send_due()
        o.clock += 5
        await o.post("two")
        while await o.sender.send_due():
            pass

        expected = ["two"] if verb == "mark_failed" else ["one", "two"]
        assert o.channel.texts() == expected
        assert len(o.channel.sent) == len(expected)
        assert ("outbox.store", "disk full") in [
            (e, f.get("error")) for e, f in o.events]


async def test_a_store_that_fails_before_a_send_leaves_no_doubt(
        office, stage):
    async with office(wrap=stage().Flaky, flaky={
            "error": StorageError("disk full"), "mark_sending": 1}) as o:
        await o.post("one")
        with pytest.raises(StorageError):
            await o.sender.send_due()
        await o.sender.send_due()
        assert o.channel.texts() == ["one"]


async def test_the_running_sender_outlives_a_failing_store(office, stage):
    async with office(wrap=stage().Flaky, flaky={
            "error": StorageError("disk full"), "due": 1}) as o:
        await o.post("one")
        running = asyncio.ensure_future(o.sender.run())
        await o.channel.until(o.channel.texts)
        running.cancel()
        assert ("outbox.store", "disk full") in [
            (e, f.get("error")) for e, f in o.events]


async def test_six_outages_in_a_chat_cost_no_minute(office):
    async with office(finds=True) as o:
        await o.post("hello")
        o.fail(*[UnavailableError("bad gateway", status=502)] * 6,
               method="send_part", after=True)
        began = o.clock
        while (row := await o.row()).state != "sent":
            o.clock = max(o.clock, row.next_at)
            o.channel.sent.clear()
            await o.sender.send_due()
        assert o.clock - began < 30


async def test_the_first_success_ends_the_waits_of_other_chats(office):
    """Not those that the server asked for."""
    async with office(finds=True) as o:
        def cut(name, message, *_):
            if message.recipient == "cut":
                raise refused
            if message.recipient == "slow":
                raise RateLimitedError("slow", retry_after_s=60)
        refused = UnavailableError("down")
        refused.__cause__ = ConnectionRefusedError()
        o.channel.before = cut
        await o.post("one", "cut")
        await o.post("two", "slow")
        for _ in range(5):
            await o.sender.send_due()
            o.clock += 10
        await o.sender.send_due()
        o.channel.before = None
        assert o.channel.texts() == []
        await o.post("three", "fine")
        await o.sender.send_due()
        await o.sender.send_due()
        assert o.channel.texts() == ["three", "one"]


async def test_a_lost_lease_ends_the_sender(office):
    async with office() as o:
        await o.post("one")
        await o.raw.yield_lease(o.lease)
        with pytest.raises(LeaseLostError):
            await o.sender.run()
        assert o.channel.texts() == []


async def test_a_slow_chat_holds_up_no_other_where_arrivals_are_found(
        office):
    async with office(finds=True) as o:
        gate = asyncio.Event()
        o.channel.before = lambda name, *args: (
            gate.wait() if args[0].recipient == "slow" else None) \
            if name == "send_part" else None
        await o.post("s", "slow")
        await o.post("f", "fast")
        running = asyncio.ensure_future(o.sender.run())
        await o.channel.until(lambda: o.channel.texts("fast"))
        await o.post("later", "fast")
        o.sender.wake()
        await o.channel.until(lambda: len(o.channel.texts("fast")) == 2)
        assert not o.channel.texts("slow")
        gate.set()
        await o.channel.until(lambda: o.channel.texts("slow"))
        running.cancel()


async def test_an_answer_costs_few_looks_at_the_queue(office):
    async with office(finds=True) as o:
        looks = []

        def watch(name, real):
            def look(*args):
                looks.append(name)
                return real(*args)
            setattr(o.raw, name, look)
        watch("due", o.raw.due)
        watch("next_due", o.raw.next_due)
        await o.post("one")
        running = asyncio.ensure_future(o.sender.run())
        await o.until(lambda row: row.state == "sent")
        await asyncio.sleep(0.05)
        running.cancel()

        assert looks == ["due", "due", "next_due"]


async def test_what_another_process_posts_is_found(office, tmp_path,
                                                   monkeypatch):
    monkeypatch.setattr("claw.runtime.outbox.IDLE_S", 0.05)
    async with office() as o:
        running = asyncio.ensure_future(o.sender.run())
        await asyncio.sleep(0.02)
        other = SqliteQueue(tmp_path / "q.db")
        message = SendMessage("from outside", "alice")
        await other.post([NewSend("send:1", "memory", message,
                                  split_parts(None, message))])
        await other.aclose()

        assert await o.channel.until(o.channel.texts) == ["from outside"]
        running.cancel()


async def test_a_drain_lets_a_send_end_and_gives_up_on_one_that_hangs(
        office):
    async with office() as o:
        gate = asyncio.Event()
        o.channel.before = lambda *_: gate.wait()
        await o.post("one")
        running = asyncio.ensure_future(o.sender.run())
        await o.until(lambda row: row.state == "sending")
        running.cancel()
        asyncio.get_running_loop().call_later(0.02, gate.set)
        await o.sender.flush(5)
        assert o.channel.texts() == ["one"]
        assert (await o.row()).state == "sent"

        ended = []

        async def hang(*_):
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        o.channel.before = hang
        await o.post("two")
        await o.sender.flush(0.03)
        assert ended == [True]
        assert ("outbox.left", {"channel": "memory"}) in o.events


async def test_a_drain_that_takes_a_moment_says_so(office, monkeypatch):
    monkeypatch.setattr("claw.runtime.outbox.NOTE_S", 0.01)
    async with office() as o:
        o.channel.before = lambda *_: asyncio.Event().wait()
        await o.post("one")
        await o.sender.flush(0.1)
        assert ("outbox.flush", {"channel": "memory", "patience_s": 0.1}) \
            in o.events


async def test_a_channel_that_is_gone_keeps_its_messages_and_costs_nothing(
        office):
    async with office() as o:
        await o.post("one")
        channel, looks = o.channel, []
        o.sender._get_channel = lambda: looks.append(1)
        running = asyncio.ensure_future(o.sender.run())
        await asyncio.sleep(0.15)
        running.cancel()
        assert 0 < len(looks) < 6
        assert channel.texts() == []
        o.sender._get_channel = lambda: channel
        await o.sender.send_due()
        assert channel.texts() == ["one"]


async def test_no_token_stands_in_what_is_kept_of_a_failure(office):
    async with office() as o:
        token = "1234567:CANARY-token-of-a-bot-that-nobody-may-see"
        o.fail(RequestRefusedError(f"no such path /bot{token}/sendMessage"))
        await o.post("hello")
        await o.sender.send_due()
        assert "no such path" in (await o.row()).error
        assert "CANARY" not in (await o.row()).error + repr(o.events)


# -- drafts of channels without parts


async def test_the_answer_takes_the_place_of_its_draft(office):
    async with office(MemoryChannel(drafts=True)) as o:
        draft = await o.channel.send_draft(SendMessage("...", "alice"))
        await o.post("answer", draft=draft)
        await o.sender.send_due()

        assert [(m.message_id, m.text) for m in o.channel.sent] == [
            (draft, "answer")]
        assert (await o.row()).state == "sent"


async def test_a_draft_that_can_not_be_finished_becomes_a_new_message(
        office):
    async with office(MemoryChannel(drafts=True)) as o:
        await o.post("answer", draft="gone")
        o.fail(NotFoundError("no such message"), method="finalize_draft")
        await o.sender.send_due()

        assert o.channel.texts() == ["answer"]
        assert (await o.row()).state == "sent"


async def test_a_draft_is_finished_later_where_the_network_fails(office):
    async with office(MemoryChannel(drafts=True)) as o:
        draft = await o.channel.send_draft(SendMessage("...", "alice"))
        await o.post("answer", draft=draft)
        o.fail(UnavailableError("reset"), method="finalize_draft")
        await o.sender.send_due()
        o.clock += 1
        await o.sender.send_due()

        assert [m.text for m in o.channel.sent] == ["answer"]


# -- parts


def test_a_message_is_divided_by_its_channel_or_stays_whole():
    message = SendMessage("abcdef", "alice")

    assert [p.text for p in split_parts(
        MemoryChannel(finds=True, limit=4), message)] == ["abcd", "ef"]
    for channel in (None, MemoryChannel()):
        part, = split_parts(channel, message)
        assert part.text == "abcdef"
        assert is_whole(part)
    assert not is_whole(Part("text", "x", {"at": 0}))
    assert split_parts(MemoryChannel(finds=True), SendMessage(" ", "a")) == ()


async def test_what_was_kept_whole_is_divided_by_its_channel_at_last(office):
    """It was written while the channel was not configured."""
    async with office(MemoryChannel(finds=True, limit=4)) as o:
        await o.post("abcdef", channel=MemoryChannel())
        await o.sender.send_due()
        assert o.channel.texts() == ["abcd", "ef"]


# -- judging errors


@pytest.mark.parametrize(("error", "doubt", "final"), [
    (RequestRefusedError("bad", status=400), False, True),
    (NotFoundError("no chat"), False, True),
    (RateLimitedError("slow"), False, False),
    (AuthError("token"), False, False),
    (UnavailableError("timed out"), True, False),
    (ValueError("a fault of the channel"), True, False),
])
def test_what_an_error_says_of_a_send(error, doubt, final):
    assert (may_have_arrived(error), is_final(error)) == (doubt, final)


def test_errors_that_led_to_each_other_in_a_circle_are_judged():
    """A cut network hung the whole service: the context of an error that
    is kept and raised again can lead back to itself."""
    first, second = OSError("one"), OSError("two")
    first.__context__, second.__context__ = second, first
    error = UnavailableError("lost")
    error.__cause__ = first

    assert may_have_arrived(error)
    second.__context__ = ConnectionRefusedError()
    assert not may_have_arrived(error)


def test_waits_grow_up_to_half_a_minute_unless_the_server_says():
    error = UnavailableError("x")

    assert [round(wait_s(error, n)) for n in (0, 2, 5, 8, 9, 50)] \
        == [1, 2, 8, 26, 30, 30]
    assert wait_s(RateLimitedError("x", retry_after_s=7.5), 9) == 7.5
    assert wait_s(RateLimitedError("x", retry_after_s=1e8), 9) == 3600
    assert wait_s(RateLimitedError("x", retry_after_s=0.0), 0) == 1
    assert wait_s(AuthError("x"), 0) == 60


# -- platforms that know the key of a part

def keyed(holds_s=60.0, *, finds=True):
    """A channel whose platform shows a key once for so long."""
    channel = MemoryChannel(finds=finds)
    seen = {}

    class Keyed(type(channel)):
        capabilities = replace(type(channel).capabilities,
                               key_holds_s=holds_s)

        def parts(self, message):
            return [Part("text", message.content, {"key": message.content})]

        async def send_part(self, message, part):
            await self._call(self.before, "send_part", message, part.text)
            key = part.data["key"]
            if key not in seen or not self.knows:
                seen[key] = await self._show("shown", message, part.text)
            await self._call(self.after, "send_part", message, part.text)
            return seen[key]

        async def send_part_telling(self, message, part, leaving):
            leaving()
            return await self.send_part(message, part)

    channel.__class__ = Keyed
    channel.knows = True
    return channel


async def test_a_part_in_doubt_is_sent_again_under_its_key(office):
    """No look and no note: the platform shows a key once."""
    async with office(keyed()) as o:
        await o.post("hello")
        o.fail(UnavailableError("read timed out"), method="send_part",
               after=True)
        await o.sender.send_due()
        assert (await o.row()).uncertain
        o.clock += 30
        await o.sender.send_due()

        assert o.channel.texts() == ["hello"]
        assert (await o.row()).state == "sent"
        assert "find_sent" not in [name for name, _ in o.events]


@pytest.mark.parametrize("jump", [61, -3600])
async def test_past_the_time_of_its_key_a_part_is_looked_for_first(
        office, jump):
    """Also where the clock was set back: nobody knows its age then."""
    async with office(keyed()) as o:
        await o.post("hello")
        o.fail(UnavailableError("read timed out"), method="send_part",
               after=True)
        await o.sender.send_due()
        o.channel.knows = False
        o.clock += jump
        await o.sender.send_due()

        assert o.channel.texts() == ["hello"]
        assert (await o.row()).state == "sent"
        assert any(fields.get("found") for name, fields in o.events
                   if name == "sent")


async def test_what_never_arrived_comes_with_a_note_once_its_key_is_old(
        office):
    async with office(keyed(finds=True)) as o:
        await o.post("hello")
        o.fail(UnavailableError("read timed out"), method="send_part")
        await o.sender.send_due()
        o.clock += 100
        await o.sender.send_due()

        assert o.channel.texts() == [f"{REPEATED}hello"]


async def test_a_key_that_is_known_is_tried_as_long_as_it_takes(office):
    async with office(keyed(float("inf"))) as o:
        await o.post("hello")
        o.fail(*[UnavailableError("read timed out")] * 12,
               method="send_part", after=True)
        for _ in range(12):
            o.clock += 40
            await o.sender.send_due()
            assert (await o.row()).state == "uncertain"
        o.clock += 40
        await o.sender.send_due()

        assert o.channel.texts() == ["hello"]
        assert (await o.row()).state == "sent"
