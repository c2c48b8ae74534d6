"""Answers that grow beside the answer: noted, gone on with, taken away."""

import asyncio

import pytest

from claw.core.channel import Part, SendMessage
from claw.core.errors import (
    NotFoundError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.hooks import Cancel, Hooks
from claw.core.log import silent
from claw.runtime.settings import ChannelOptions
from claw.runtime.turn import drafts
from claw.runtime.turn.drafts import Draft
from claw.storage.queue.model import DRAFT_UNKNOWN, NewSend
from claw.testing.memory_channel import MemoryChannel
from claw.testing.scripted import ScriptedProvider

KEY = "memory_alice_alice"


class Previews(MemoryChannel):
    """The answer is a message of its own. People in `private` are shown
    previews (updates of an id that was never sent), others a message."""

    private = ()

    def __init__(self, **fields):
        super().__init__(drafts=True, **fields)
        self.calls = []
        self.shown = []

    def preview_id(self, recipient, message_id):
        return f"p-{message_id}" if recipient in self.private else None

    async def update_draft(self, recipient, message_id, text):
        self.calls.append("update")
        await super().update_draft(recipient, message_id, text)
        if message_id.startswith("p-"):
            self.shown.append((message_id, text))

    async def send(self, message):
        self.calls.append("send")
        await super().send(message)

    @property
    def standing(self):
        return [m.text for m in self.sent if not m.deleted]


def in_private(**fields):
    channel = Previews(**fields)
    channel.private = ("alice",)
    return channel


async def note(s):
    """What is on disk about the draft of the oldest message."""
    return (await s.queue.inbox_rows())[0].draft_id


# -- messages that show a draft

async def test_people_are_told_of_the_answer_and_its_draft_goes(stage, slow):
    channel = Previews()
    async with stage(provider := slow(), channels=[channel]) as s:
        channel.say("go")
        await s.until(lambda: provider.begun and channel.sent)
        provider.let()
        await s.until(lambda: channel.standing == ["go"])
        await s.idle()

        draft, answer = channel.sent
        assert draft.history[0] == "..."
        assert answer.history == ["go"]
        rows = await s.queue.outbox_rows()
        assert [(r.part.kind, r.state) for r in rows] == [
            ("text", "sent"), ("end_draft", "sent")]


@pytest.mark.parametrize("end", ["stop", "interrupt", "error", "hook",
                                 "nothing"])
async def test_a_turn_that_ends_otherwise_leaves_no_draft(stage, slow, end):
    class No(Hooks):
        async def on_message_sending(self, channel, recipient, content):
            return (Cancel("no") if end == "hook"
                    else (channel, recipient, content))
    channel = Previews()
    provider = slow([UnavailableError("no model") if end == "error" else
                     "" if end == "nothing" else "words"], repeat=True)
    async with stage(provider, channels=[channel], hooks=[No()],
                     options=ChannelOptions(
                         interrupt=end == "interrupt")) as s:
        channel.say("go")
        await s.until(lambda: provider.begun and channel.sent)
        if end in ("stop", "interrupt"):
            channel.say("/stop" if end == "stop" else "other")
        if end == "interrupt":
            await s.until(lambda: len(provider.begun) == 2)
        if end != "stop":
            provider.let_all()
        await s.until(lambda: channel.sent[0].deleted)
        await s.until(lambda: "..." not in str(channel.standing))
        await s.idle()

        assert len(channel.standing) == (end != "hook")


async def test_a_killed_turn_goes_on_with_its_draft(stage, slow):
    channel = Previews()
    async with stage(provider := slow(), channels=[channel]) as s:
        channel.say("go")
        await s.until(lambda: provider.begun)
        await s.drafted()
    async with stage(provider := slow(), channels=[channel]) as s:
        await s.until(lambda: provider.begun)
        await s.until(lambda: len(channel.sent) == 1)
        provider.let()
        await s.until(lambda: channel.standing == ["go"])
        assert len(channel.sent) == 2


async def test_the_draft_of_a_killed_turn_goes_where_drafts_are_off_now(
        stage, slow):
    channel = Previews()
    async with stage(provider := slow(), channels=[channel]) as s:
        channel.say("go")
        await s.until(lambda: provider.begun)
        await s.drafted()
    channel._drafts = False
    async with stage(channels=[channel]) as s:
        await s.until(lambda: channel.standing == ["go"])


async def test_a_draft_is_noted_before_it_is_sent(stage, slow):
    channel = Previews()
    noted = []

    async def before(method, *_):
        if method == "send_draft":
            noted.append(await note(s))
    channel.before = before
    async with stage(provider := slow(), channels=[channel]) as s:
        channel.say("go")
        await s.until(lambda: provider.begun and channel.sent)
        await s.drafted()

        assert noted == [DRAFT_UNKNOWN]
        assert await note(s) == channel.sent[0].message_id


@pytest.mark.parametrize(("error", "kept"), [
    (RequestRefusedError("no"), None), (UnavailableError("cut"),
                                        DRAFT_UNKNOWN)])
async def test_a_draft_that_was_refused_is_not_looked_for(stage, slow, error,
                                                          kept):
    channel = Previews()

    def fail(method, *_):
        if method == "send_draft":
            raise error
    channel.before = fail
    async with stage(provider := slow(), channels=[channel]) as s:
        channel.say("go")
        await s.until(lambda: provider.begun and s.said("draft.error"))
        assert await note(s) == kept
        provider.let()
        await s.until(lambda: channel.standing == ["go"])


async def test_a_draft_whose_id_never_came_is_looked_up_and_goes(stage, slow):
    """Killed while it was sent: the next run goes on in it."""
    channel = MemoryChannel(drafts=True, finds=True)

    def lose(method, *_):
        if method == "send_draft":
            raise UnavailableError("cut")

    def look(method, *_):
        if method == "find_sent":
            raise UnavailableError("cut")
    channel.before, channel.after = look, lose
    async with stage(provider := slow(), channels=[channel]) as s:
        channel.say("go")
        await s.until(lambda: provider.begun and s.said("draft.error"))
        assert await note(s) == DRAFT_UNKNOWN
    channel.before = channel.after = None
    async with stage(provider := slow(), channels=[channel]) as s:
        await s.until(lambda: provider.begun)
        await s.drafted()
        assert await note(s) == channel.sent[0].message_id
        provider.let()
        await s.until(lambda: channel.texts() == ["go"])
    assert len(channel.sent) == 2


async def test_a_draft_that_is_slow_to_come_holds_no_answer_back(
        stage, monkeypatch):
    monkeypatch.setattr(drafts, "CLOSE_S", 0.05)
    channel = Previews()
    gate = asyncio.Event()

    async def before(method, *_):
        if method == "send_draft":
            await gate.wait()
    channel.before = before
    async with stage(channels=[channel]) as s:
        channel.say("go")
        assert await s.answers(1) == ["go"]
        await s.until(lambda: s.after)
        gate.set()
        await s.until(lambda: len(channel.sent) == 2)
        await s.until(lambda: channel.standing == ["go"])


def cut_drafts(channel):
    """A draft arrives, and the process never hears its id."""
    def cut(method, *_):
        if method == "send_draft":
            raise UnavailableError("cut")
    channel.after = cut


def refuse_looks(channel):
    def refuse(method, *_):
        if method == "find_sent":
            raise UnavailableError("no way there")
    channel.before = refuse


def standing(channel):
    return [m.text for m in channel.sent if not m.deleted]


async def test_a_lost_draft_goes_though_the_answer_now_comes_at_once(
        stage, slow, monkeypatch):
    channel = MemoryChannel(finds=True, drafts=True)
    cut_drafts(channel)
    refuse_looks(channel)
    async with stage(provider := slow(), channels=[channel]) as s:
        channel.say("go")
        await s.until(lambda: provider.begun and s.said("draft.error"))
    channel.after = channel.before = None
    monkeypatch.setattr(drafts, "BEGIN_AFTER_S", 5.0)
    async with stage(channels=[channel]) as s:
        await s.until(lambda: standing(channel) == ["go"])


async def test_a_draft_whose_reply_was_cut_off_goes_with_its_turn(stage,
                                                                 slow):
    """It stood in the group for ever."""
    channel = MemoryChannel(finds=True, drafts=True)
    cut_drafts(channel)
    async with stage(provider := slow(), channels=[channel]) as s:
        channel.say("go")
        await s.until(lambda: provider.begun and channel.sent)
        provider.let()
        await s.until(lambda: standing(channel) == ["go"])


async def test_a_draft_cut_off_beside_a_part_on_its_way_goes_too(stage,
                                                                 slow):
    channel = MemoryChannel(finds=True, drafts=True)
    cut_drafts(channel)
    gate = asyncio.Event()

    async def before(method, *_):
        if method == "send_draft":
            await s.queue.post([NewSend(
                "other", channel.name, SendMessage("other", "room"),
                (Part("text", "other", {}),))])
            s.desk.wake_sender(channel.name)
            await s.until(lambda: "send_part" in begun)
        begun.append(method)
        if method == "send_part":
            await gate.wait()
    begun = []
    channel.before = before
    async with stage(provider := slow(), channels=[channel]) as s:
        channel.say("go", reply_target="room")
        await s.until(lambda: provider.begun and channel.sent)
        provider.let()
        await asyncio.sleep(0.3)
        gate.set()
        await s.until(lambda: standing(channel) == ["other", "go"])


async def test_what_goes_out_while_a_draft_is_looked_for_is_not_its(
        stage, slow):
    """It was edited, then deleted, in the draft's place."""
    channel = MemoryChannel(finds=True, drafts=True)

    def refuse(method, *_):
        if method == "send_draft":
            raise UnavailableError("cut")
    channel.before = refuse
    async with stage(provider := slow(), channels=[channel]) as s:
        channel.say("go", reply_target="room")
        await s.until(lambda: provider.begun and s.said("draft.error"))

    async def post(method, *_):
        if method == "find_sent" and not channel.sent:
            await s.queue.post([NewSend(
                "other", channel.name, SendMessage("...", "room"),
                (Part("text", "...", {}),))])
            s.desk.wake_sender(channel.name)
            await s.until(lambda: channel.sent)
    channel.before = post
    async with stage(provider := slow(), channels=[channel]) as s:
        await s.until(lambda: provider.begun and channel.sent)
        provider.let()
        await s.until(lambda: standing(channel)[-1] == "go")
        await s.idle()
        assert standing(channel) == ["...", "go"]


async def test_no_draft_is_begun_beside_a_part_whose_fate_is_unknown(
        stage, slow):
    """After a kill nobody could tell the two: the draft stayed, and the
    part came again."""
    channel = MemoryChannel(finds=True, drafts=True)
    gate, begun = asyncio.Event(), asyncio.Event()

    async def hold(method, *_):
        if method == "send_part" and not gate.is_set():
            begun.set()
            await gate.wait()
    channel.before = hold
    async with stage(provider := slow(), channels=[channel]) as s:
        await s.queue.post([NewSend(
            "other", channel.name, SendMessage("first", "room"),
            (Part("text", "first", {}),))])
        s.desk.wake_sender(channel.name)
        await begun.wait()
        channel.say("go", reply_target="room")
        await s.until(lambda: provider.begun)
        await asyncio.sleep(0.4)
        assert await note(s) is None
        gate.set()
        await s.until(lambda: len(standing(channel)) == 2)
        provider.let()
        await s.until(lambda: standing(channel) == ["first", "go"])


async def test_a_draft_that_can_not_be_removed_fails_no_answer(stage):
    channel = Previews()

    def fail(method, *_):
        if method == "cancel_draft":
            raise NotFoundError("gone")
    channel.before = fail
    async with stage(channels=[channel]) as s:
        channel.say("go")
        await s.answers(2)
        await s.until(lambda: s.said("draft.left"))
        await s.idle()
        channel.say("again")
        await s.until(lambda: "again" in channel.standing)
        await s.idle()
        assert {r.state for r in await s.queue.outbox_rows()} == {"sent"}


async def test_an_answer_that_comes_at_once_needs_no_draft(stage,
                                                           monkeypatch):
    monkeypatch.setattr(drafts, "BEGIN_AFTER_S", 5.0)
    channel = Previews()
    async with stage(channels=[channel]) as s:
        channel.say("go")
        await s.answers(1)
        await s.idle()
        assert [m.text for m in channel.sent] == ["go"]


# -- previews

async def test_a_preview_needs_no_message_and_no_end(stage, slow):
    channel = in_private()
    async with stage(provider := slow(["the answer"]),
                     channels=[channel]) as s:
        channel.say("go")
        await s.until(lambda: provider.begun and channel.shown)
        provider.let()
        await s.idle()
        await s.until(lambda: channel.standing == ["the answer"])

        assert {draft for draft, _ in channel.shown} == {"p-memory_1"}
        assert channel.shown[0][1] == "..."
        assert await note(s) is None
        assert channel.calls[-1] == "send"
        rows = await s.queue.outbox_rows()
        assert [r.part.kind for r in rows] == ["text"]


async def test_a_killed_turn_goes_on_in_the_same_preview(stage, slow):
    channel = in_private()
    async with stage(provider := slow(), channels=[channel]) as s:
        channel.say("go")
        await s.until(lambda: provider.begun and channel.shown)
    count = len(channel.shown)
    async with stage(provider := slow(), channels=[channel]) as s:
        await s.until(lambda: provider.begun
                      and len(channel.shown) > count)
        provider.let()
        await s.until(lambda: channel.standing == ["go"])
        assert {draft for draft, _ in channel.shown} == {"p-memory_1"}


async def test_no_preview_is_shown_after_the_answer(stage):
    """One that is under way ends first: it would stand under the answer
    for half a minute."""
    channel = in_private()

    async def before(method, *_):
        if method == "update_draft":
            await asyncio.sleep(0.1)
    channel.before = before
    async with stage(ScriptedProvider(["many words " * 50], chunk_size=3),
                     channels=[channel]) as s:
        channel.say("go")
        await s.answers(1)
        shown = len(channel.shown)
        await asyncio.sleep(0.3)

        assert channel.calls[-1] == "send"
        assert len(channel.shown) == shown == channel.calls.count("update")


async def known(draft):
    return draft


async def test_a_silent_turn_shows_its_preview_again(monkeypatch):
    monkeypatch.setattr(drafts, "OFFER_AGAIN_S", ())
    monkeypatch.setattr(drafts, "SHOW_AGAIN_S", 0.02)
    channel = in_private()
    draft = Draft(channel, channel.say("hi"), lambda: known("p-1"), silent)
    await channel.until(lambda: len(channel.shown) == 3)
    await draft.close()

    assert set(channel.shown) == {("p-1", "...")}


async def test_nothing_is_shown_after_a_stop():
    channel, cancel = in_private(), asyncio.Event()
    cancel.set()
    draft = Draft(channel, channel.say("hi"), lambda: known("p-1"), silent,
                  cancel=cancel)
    await asyncio.sleep(0.05)
    await draft.close()

    assert channel.shown == []


async def test_a_wedged_update_is_given_up(monkeypatch):
    monkeypatch.setattr(drafts, "CLOSE_S", 0.02)
    channel = in_private()
    begun = asyncio.Event()

    async def before(*_):
        begun.set()
        await asyncio.Event().wait()
    channel.before = before
    draft = Draft(channel, channel.say("hi"), lambda: known("p-1"), silent)
    await begun.wait()
    await asyncio.wait_for(draft.close(), 2)


# -- as the outbox ends them

@pytest.mark.parametrize(("error", "tries"), [
    (UnavailableError("busy", status=500), 4), (RuntimeError("fault"), 4),
    (RequestRefusedError("never"), 1)])
async def test_a_draft_that_stays_holds_its_chat_up_for_a_moment_only(
        stage, error, tries, monkeypatch):
    monkeypatch.setattr("claw.runtime.outbox.wait_s", lambda *_: 0.01)
    channel = Previews()
    asked = []

    def fail(method, *_):
        if method == "cancel_draft":
            asked.append(method)
            raise error
    channel.before = fail
    async with stage(channels=[channel]) as s:
        channel.say("go")
        await s.until(lambda: s.said("draft.left"))
        assert len(asked) == tries
        await channel.send(SendMessage("x", "alice"))


async def test_a_draft_goes_when_the_network_is_back(stage, monkeypatch):
    monkeypatch.setattr("claw.runtime.outbox.wait_s", lambda *_: 0.01)
    channel = Previews()
    asked = []

    def fail(method, *_):
        if method == "cancel_draft" and len(asked) < 8:
            asked.append(method)
            raise UnavailableError("no route") from ConnectionRefusedError()
    channel.before = fail
    async with stage(channels=[channel]) as s:
        channel.say("go")
        await s.until(lambda: channel.standing == ["go"])
        assert len(asked) == 8
