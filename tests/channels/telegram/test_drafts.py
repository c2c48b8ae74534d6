"""Answers that grow: previews in private chats, silent messages in groups."""

import asyncio

import pytest

from claw.core.abilities import PreviewsAnswers
from claw.core.channel import SendMessage
from claw.core.errors import NotFoundError, RateLimitedError
from claw.testing.fake_telegram import FakeTelegram

GROUP = "-1001234567890"


def does(bot, work, **settings):
    """Run `work(channel)` on an open channel."""
    async def go():
        async with bot.open(**settings) as channel:
            return await work(channel)
    return asyncio.run(go())


@pytest.fixture
def group(platform):
    platform.add_chat(int(GROUP), type="supergroup")
    return GROUP


def test_drafts_follow_stream_mode(bot):
    assert not bot.make().supports_draft_updates()
    channel = bot.make(stream_mode="partial")
    assert channel.supports_draft_updates()
    assert isinstance(channel, PreviewsAnswers)


# -- previews

def test_a_preview_has_one_id_for_one_message_whatever_is_killed(bot):
    first, again = (bot.make().preview_id("1001:7", "telegram_1001_5")
                    for _ in range(2))
    other = bot.make().preview_id("1001", "telegram_1001_6")

    assert first == again != other
    assert bot.make().preview_id(GROUP, "telegram_1001_5") is None


def test_an_answer_in_a_private_chat_grows_without_a_message(platform, bot):
    async def work(channel):
        draft = channel.preview_id("1001", "telegram_1001_5")
        for text in ("...", "one", "one two"):
            await channel.update_draft("1001", draft, text)
            bot.now += 1.0
        shown, = platform.drafts(1001)
        await channel.cancel_draft("1001", draft)
        await channel.send(SendMessage("one two three", "1001"))
        return shown
    shown = does(bot, work)

    assert shown.text == "one two"
    ids = {c.params["draft_id"] for c in platform.list_calls(
        "sendMessageDraft")}
    assert len(ids) == 1
    assert ids.pop() > 0
    assert platform.drafts() == []
    assert platform.notifications() == ["one two three"]
    assert platform.list_calls("deleteMessage") == []


def test_a_draft_begun_by_hand_is_a_preview_too(platform, bot):
    async def work(channel):
        draft = await channel.send_draft(SendMessage("...", "1001"))
        shown, = platform.drafts(1001)
        await channel.finalize_draft("1001", draft, "the **answer**")
        return shown.text
    assert does(bot, work) == "..."
    assert platform.drafts() == []
    assert platform.answers() == ["the answer"]


def test_a_preview_is_shown_again_before_it_is_gone(bot):
    async def work(channel):
        draft = channel.preview_id("1001", "telegram_1001_5")
        for _ in range(20):
            await channel.update_draft("1001", draft, "thinking")
            bot.now += 5.0
            assert [d.text for d in bot.platform.drafts()] == ["thinking"]

    with FakeTelegram(clock=lambda: bot.now) as bot.platform:
        does(bot, work)
        # each 15 s, not each time
        assert len(bot.platform.list_calls("sendMessageDraft")) == 7
        bot.now += 30.0
        assert bot.platform.drafts() == []


def test_a_draft_grows_at_most_once_per_interval(platform, bot):
    async def work(channel):
        for text in ("a", "ab", "abc"):
            await channel.update_draft("1001", "preview:7", text)
            await channel.update_draft("1001:5", "preview:8", text)
        bot.now += 1.0
        await channel.update_draft("1001", "preview:7", "abcd")
        bot.now += 1.0
        await channel.update_draft("1001", "preview:7", "abcd")
    does(bot, work)

    assert [c.params["text"] for c in platform.list_calls(
        "sendMessageDraft")] == ["a", "abcd"]


def test_no_address_in_a_draft_is_a_link(platform, bot):
    async def work(channel):
        await channel.update_draft("1001", "preview:7",
                                   "see https://evil.example/?s=hunter2")
    does(bot, work)

    draft, = platform.drafts()
    assert [(e["type"], e["offset"]) for e in draft.entities] == [("code", 4)]


def test_a_long_draft_is_shown_as_far_as_it_fits(platform, bot):
    async def work(channel):
        await channel.update_draft("1001", "preview:7", "x" + "🦀" * 3000)
    does(bot, work)

    draft, = platform.drafts()
    assert draft.text == "x" + "🦀" * 2047


def test_a_limit_on_drafts_holds_no_answer_back(platform, bot):
    async def work(channel):
        platform.fault("sendMessageDraft", "429", retry_after=60)
        for text in ("a", "ab"):
            await channel.update_draft("1001", "preview:7", text)
            bot.now += 2.0
        await channel.send(SendMessage("the answer", "1001"))
        bot.now += 60.0
        await channel.update_draft("1001", "preview:8", "next")
    does(bot, work)

    assert platform.answers() == ["the answer"]
    assert bot.slept == []
    assert [c.params["text"] for c in platform.list_calls(
        "sendMessageDraft")] == ["a", "next"]


def test_a_limit_on_answers_silences_drafts(platform, bot):
    async def work(channel):
        platform.fault("sendMessage", "429", retry_after=60)
        with pytest.raises(RateLimitedError):
            await channel.send(SendMessage("x", "1001"))
        await channel.update_draft("1001", "preview:7", "growing")
    does(bot, work)
    assert platform.list_calls("sendMessageDraft") == []


def test_a_draft_that_was_not_shown_is_shown_when_offered_again(platform,
                                                                bot):
    async def work(channel):
        platform.fault("sendMessageDraft", "status", status=502)
        for _ in range(2):
            await channel.update_draft("1001", "preview:7", "growing")
            bot.now += 1.0
    does(bot, work)
    assert [d.text for d in platform.drafts()] == ["growing"]


@pytest.mark.parametrize(("status", "text"), [
    (404, "Not Found: method not found"), (400, "Bad Request: no"),
    (403, "Forbidden: bot was blocked by the user")])
def test_a_chat_that_refuses_drafts_is_left_alone(platform, bot, status,
                                                  text):
    platform.add_chat(1002)

    async def work(channel):
        platform.fault("sendMessageDraft", "status", status=status,
                       description=text)
        for number in range(3):
            await channel.update_draft("1001", f"preview:{number + 1}", "a")
            bot.now += 1.0
        await channel.update_draft("1002", "preview:9", "others have one")
        await channel.send(SendMessage("the answer", "1001"))
    does(bot, work)

    assert [c.params["chat_id"] for c in platform.list_calls(
        "sendMessageDraft")] == [1001, 1002]
    assert platform.answers(1001) == ["the answer"]
    assert len(bot.logged("telegram_call_failed")) == 1


# -- groups

def test_a_draft_in_a_group_rings_nobody_and_goes(platform, bot, group):
    async def work(channel):
        draft = await channel.send_draft(SendMessage("...", group))
        await channel.update_draft(group, draft, "too soon")
        bot.now += 1.0
        await channel.update_draft(group, draft, "growing")
        bot.now += 1.0
        await channel.finalize_draft(group, draft, "the answer")
        await channel.cancel_draft(group, draft)  # gone is gone
    does(bot, work)

    draft, answer = platform.messages()
    assert (draft.history, draft.deleted) == (("...", "growing"), True)
    assert (answer.text, answer.deleted) == ("the answer", False)
    assert platform.notifications() == ["the answer"]
    assert platform.list_calls("sendMessageDraft") == []


def test_a_limit_on_the_edits_of_a_draft_holds_no_answer_back(platform, bot,
                                                              group):
    async def work(channel):
        draft = await channel.send_draft(SendMessage("...", group))
        bot.now += 1.0
        platform.fault("editMessageText", "429", retry_after=60)
        await channel.update_draft(group, draft, "growing")
        await channel.send(SendMessage("the answer", group))
        return draft
    does(bot, work)
    assert platform.answers()[-1] == "the answer"
    assert bot.slept == []


def test_a_draft_that_somebody_deleted_is_edited_no_more(platform, bot,
                                                         group):
    async def work(channel):
        draft = await channel.send_draft(SendMessage("...", group))
        platform.remove(int(draft))
        for number in range(3):
            bot.now += 1.0
            await channel.update_draft(group, draft, f"growing {number}")
    does(bot, work)
    assert len(platform.list_calls("editMessageText")) == 1


def test_what_is_shown_already_refuses_no_draft(platform, bot, group):
    """After a restart nobody knows what a draft showed last."""
    async def first(channel):
        return await channel.send_draft(SendMessage("same", group))
    draft = does(bot, first)

    async def second(channel):
        for text in ("same", "same and more"):
            bot.now += 1.0
            await channel.update_draft(group, draft, text)
    does(bot, second)
    assert platform.answers() == ["same and more"]


@pytest.mark.parametrize("draft", ["x", "preview:x", ""])
def test_an_id_that_no_draft_has_is_not_found(bot, group, draft):
    async def work(channel):
        await channel.update_draft(group, draft, "text")
    with pytest.raises(NotFoundError):
        does(bot, work)
