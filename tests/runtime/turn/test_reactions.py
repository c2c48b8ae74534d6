"""Typing, reactions, the notice of a tool call, and drafts."""

import asyncio
from types import SimpleNamespace

import pytest

from claw.agent.rounds.events import (
    RoundDiscarded,
    RoundStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from claw.core.channel import Channel, SendMessage
from claw.core.errors import UnavailableError
from claw.runtime.turn.drafts import Draft
from claw.runtime.turn.outcomes import clean_growing_answer
from claw.runtime.turn.reactions import TYPING_EVERY_S, Reactions, render_call
from claw.testing.memory_channel import MemoryChannel


def silent(event, **fields):
    return None


def make(channel, **more):
    message = channel.say("hi", reply_target="room", id="m1")
    return Reactions(channel, message, silent, acks=True, **more)


async def test_typing_is_renewed_every_four_seconds_until_the_end(
        monkeypatch):
    channel, waits = MemoryChannel(), []
    real = asyncio.sleep

    async def sleep(seconds):
        await real(0)
        if not seconds:
            return
        waits.append(seconds)
        if len(waits) > 4:
            await real(60)
    monkeypatch.setattr("claw.runtime.turn.reactions.asyncio", SimpleNamespace(
        **{**vars(asyncio), "sleep": sleep}))
    signs = make(channel)
    signs.start()
    await channel.until(lambda: len(waits) == 5)
    signs.finish(well=True)
    await real(0)
    await signs.wait_until_shown()
    await channel.until(lambda: channel.typing[-1] == ("stop", "room"))

    assert waits[-4:] == [TYPING_EVERY_S] * 4 == [4.0] * 4
    assert channel.typing.count(("stop", "room")) == 1
    assert channel.typing.count(("start", "room")) == 4


async def test_reactions_come_in_order_even_from_a_slow_platform():
    channel = MemoryChannel()

    async def slow(method, *_):
        if method == "add_reaction":
            await asyncio.sleep(0.03)
    channel.before = slow
    signs = make(channel)
    signs.start()
    signs.finish(well=False)
    await signs.wait_until_shown()

    assert [(what, emoji) for what, _, _, emoji in channel.reactions] == [
        ("add", "👀"), ("remove", "👀"), ("add", "⚠️")]


async def test_a_reaction_that_replaces_the_last_needs_no_removal():
    channel = MemoryChannel()
    channel.reactions_replace = True
    signs = make(channel)
    signs.start()
    signs.finish(well=True)
    await signs.wait_until_shown()

    assert [(what, emoji) for what, _, _, emoji in channel.reactions] == [
        ("add", "👀"), ("add", "✅")]


@pytest.mark.parametrize(("well", "replace", "shown"), [
    (True, False, [("add", "👀"), ("add", "🎉"), ("remove", "👀")]),
    (True, True, [("add", "👀"), ("add", "🎉")]),
    (False, True, [("add", "👀"), ("add", "🎉"), ("add", "⚠️")])])
async def test_what_the_agent_shows_stays_when_the_turn_ends_well(
        well, replace, shown):
    channel = MemoryChannel()
    channel.reactions_replace = replace
    signs = make(channel)
    signs.start()
    await signs.show("🎉", add=True)
    signs.finish(well=well)
    await signs.wait_until_shown()

    assert [(what, emoji) for what, _, _, emoji in channel.reactions] == shown


async def test_a_channel_without_reactions_says_so():
    class Plain(MemoryChannel):
        add_reaction = Channel.add_reaction
    with pytest.raises(UnavailableError, match="has no reactions"):
        await make(Plain()).show("🎉", add=True)


async def test_one_sign_that_fails_does_not_hide_the_next():
    channel, told = MemoryChannel(), []

    def fail(method, *args):
        if args[-1] == "👀":
            raise UnavailableError("not here")
    channel.before = fail
    signs = Reactions(channel, channel.say("hi"),
                  lambda event, **fields: told.append(event), acks=True)
    signs.start()
    signs.finish(well=True)
    await signs.wait_until_shown()

    assert [r[3] for r in channel.reactions] == ["✅"]
    assert told == ["sign.error", "sign.error"]


@pytest.mark.parametrize(("arguments", "shown"), [
    ({"command": "ls /home"}, "🔧 `shell`: ls /home"),
    ({"command": "x" * 300}, "🔧 `shell`: " + "x" * 200 + "..."),
    ({"query": "tea", "path": "/a"}, "🔧 `shell`: tea"),
    ({"path": "a.txt", "url": "u"}, "🔧 `shell`: a.txt"),
    ({"url": "https://x.org"}, "🔧 `shell`: https://x.org"),
    ({"command": "  ", "n": 1}, "🔧 `shell`: {'command': '  ', 'n': 1}"),
    ({}, "🔧 `shell`"),
    ({"big": "y" * 300}, "🔧 `shell`: {'big': '" + "y" * 111 + "..."),
])
def test_a_tool_call_is_shown_by_what_it_is_about(arguments, shown):
    assert render_call("shell", arguments) == shown


# -- drafts


async def drafted(channel):
    number = await channel.send_draft(SendMessage("...", "alice"))
    return Draft(channel, channel.say("hi"), lambda: known(number), silent)


async def known(number):
    return number


async def test_a_draft_shows_steps_then_the_text():
    channel = MemoryChannel(drafts=True)
    draft = await drafted(channel)
    for event in (RoundStarted(1, "m"),
                  ToolStarted("c", "probe", {"path": "a"}),
                  ToolFinished("c", "probe", "no such\nfile", False, 2.4),
                  RoundStarted(2, "m")):
        draft.feed(event)
    assert draft.text == ("🤔 Thinking...\n🔧 `probe`: a\n"
                           "❌ probe (2s): no such file\n"
                           "🤔 Thinking (round 2)...")
    draft.feed(TextDelta("first "))
    draft.feed(TextDelta("words"))
    assert draft.text == "first words"
    await channel.until(lambda: channel.sent[0].text == "first words")
    draft.feed(RoundDiscarded("first words"))
    assert draft.text.endswith("(round 2)...")
    await draft.close()


async def test_a_step_that_came_too_soon_for_an_edit_is_offered_again(
        monkeypatch):
    monkeypatch.setattr("claw.runtime.turn.drafts.OFFER_AGAIN_S", (0.02, 0.02))
    channel = MemoryChannel(drafts=True)
    draft = await drafted(channel)
    offers = []
    channel.update_draft = left_out_at_first(channel.update_draft, offers)
    draft.feed(ToolStarted("c", "probe", {"path": "a"}))
    await channel.until(lambda: channel.sent[0].text == "🔧 `probe`: a")
    assert len(offers) == 2
    await asyncio.sleep(0.1)
    assert len(offers) == 3  # and not for ever
    await draft.close()


def left_out_at_first(update, offers):
    async def update_draft(recipient, number, text):
        offers.append(text)
        if len(offers) > 1:
            await update(recipient, number, text)
    return update_draft


async def test_a_draft_shows_what_may_be_shown_of_an_unfinished_answer():
    channel = MemoryChannel(drafts=True)
    number = await channel.send_draft(SendMessage("...", "alice"))
    draft = Draft(channel, channel.say("hi"), lambda: known(number), silent,
                  lambda text: clean_growing_answer(
                      text, ["shell"], ["hunter2x"]))
    shown = []
    for piece in ("the word ", "is hun", "ter2x", " and 中文", "文 "):
        draft.feed(TextDelta(piece))
        shown.append(draft.text)
    assert shown[:2] == ["the word", "the word is"]
    assert "hunter2x" not in "".join(shown)
    assert shown[3].endswith("and 中文")
    await draft.close()


def test_no_piece_of_a_growing_answer_holds_a_key_that_is_spaced_out():
    key = "hunter2xyz9abcd"
    text = "it is " + " ".join(key)
    shown = [clean_growing_answer(text[:end], ["shell"], [key])
             for end in range(len(text) + 1)]

    assert max(len(piece.replace(" ", "")) for piece in shown
               if "REDACTED" not in piece) < len("itis") + len(key) // 2


async def test_of_a_long_answer_only_what_a_draft_shows_is_cleaned():
    cleaned = []
    channel = MemoryChannel(drafts=True)
    number = await channel.send_draft(SendMessage("...", "alice"))
    draft = Draft(channel, channel.say("hi"), lambda: known(number), silent,
                  lambda text: cleaned.append(len(text)) or text)
    draft.feed(TextDelta("word " * 100_000))

    assert draft.text.startswith("word word")
    assert max(cleaned) <= 8_000
    await draft.close()


async def test_a_slow_platform_drops_edits_between_and_never_the_last():
    channel = MemoryChannel(drafts=True)
    draft = await drafted(channel)
    gate = asyncio.Event()
    channel.before = lambda method, *_: gate.wait()
    for number in range(100):
        draft.feed(TextDelta(f"{number} "))
        await asyncio.sleep(0)
    gate.set()
    await channel.until(lambda: channel.sent[0].text.endswith("99 "))
    assert channel.sent[0].edits <= 3
    await draft.close()


async def test_edits_that_fail_are_tried_again_with_the_newest_text(
        monkeypatch):
    real = asyncio.sleep
    monkeypatch.setattr("claw.runtime.turn.drafts.asyncio", SimpleNamespace(
        **{**vars(asyncio), "sleep": lambda seconds: real(0)}))
    channel = MemoryChannel(drafts=True)
    draft = await drafted(channel)
    errors = [UnavailableError("429")]

    def fail(method, *_):
        if method == "update_draft" and errors:
            raise errors.pop()
    channel.before = fail
    draft.feed(TextDelta("one "))
    await channel.until(lambda: not errors)
    draft.feed(TextDelta("two"))
    await channel.until(lambda: channel.sent[0].text == "one two")
    await draft.close()
