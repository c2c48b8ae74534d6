"""Sending: texts, files, buttons, limits, and looking for what was sent."""

import asyncio
import json

import pytest

from claw.core.abilities import Doubt
from claw.core.channel import Attachment, Button, Part, SendMessage
from claw.core.errors import (
    AuthError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.testing.fake_slack import FakeSlack


def using(bot, work, **given):
    """Run `work` with a channel that does not listen."""
    async def run():
        channel = bot.make(**given)
        try:
            return await work(channel)
        finally:
            await channel.aclose()
    return asyncio.run(run())


def send(bot, content, recipient="D1001", **fields):
    return using(bot, lambda channel: channel.send(
        SendMessage(content, recipient, **fields)))


def test_a_text_carries_a_key_and_no_preview(bot, platform):
    send(bot, "see **it**: https://example.org/a")

    (call,) = platform.list_calls("chat.postMessage")
    assert call.params["unfurl_links"] is False
    assert call.params["unfurl_media"] is False
    assert call.params["text"] == "see *it*: https://example.org/a"
    assert len(call.params["metadata"]["event_payload"]["key"]) == 16
    assert call.token == platform.bot_token


def test_a_long_text_is_split_where_slack_would_fold_it(bot, platform):
    send(bot, "\n\n".join(f"{n}: " + "word " * 150 for n in range(12)))

    found = platform.answers()
    assert 2 < len(found) < 6
    assert max(map(len, found)) <= 3_900
    assert "".join(found).count("word") == 12 * 150


def test_an_answer_stands_in_its_thread(bot, platform):
    root = platform.say("hello", "C1")
    send(bot, "one", "C1", thread_ts=root)
    send(bot, "two", f"C1:{root}")

    assert [m["thread_ts"] for m in platform.messages()] == [root, root]


def test_a_thread_that_is_gone_is_no_reason_to_lose_an_answer(bot, platform):
    platform.world.channel("C1")
    send(bot, "hello", "C1", thread_ts="1600000000.000100")

    (message,) = platform.messages()
    assert "thread_ts" not in message


def test_a_person_is_written_to_in_private(bot, platform):
    send(bot, "hello", "U1001")

    assert platform.answers("D1001") == ["hello"]


def test_a_server_without_rich_text_gets_mrkdwn(bot, platform):
    platform.fault("chat.postMessage", "status", 1, status=400,
                   description="invalid_blocks")
    send(bot, "**a** < b")

    (message,) = platform.messages()
    assert message["text"] == "*a* &lt; b"
    assert "blocks" not in message


@pytest.mark.parametrize(("code", "kind", "hint"), [
    ("not_in_channel", RequestRefusedError, "/invite"),
    ("channel_not_found", RequestRefusedError, "bot in it"),
    ("missing_scope", RequestRefusedError, "add the scope"),
    ("invalid_auth", AuthError, "bot_token"),
    ("token_revoked", AuthError, "bot_token"),
    ("internal_error", UnavailableError, "later"),
    ("ratelimited", RateLimitedError, "allows"),
])
def test_refusals_say_what_to_do(bot, platform, code, kind, hint):
    platform.fault("chat.postMessage", "status", None, status=400,
                   description=code)
    with pytest.raises(kind) as found:
        send(bot, "hello")

    assert type(found.value) is kind or kind is RequestRefusedError
    assert hint in found.value.hint


def test_a_short_limit_is_waited_out_and_a_long_one_told(bot, platform):
    platform.fault("chat.postMessage", "429", 1, retry_after=2)
    send(bot, "hello")
    platform.fault("chat.postMessage", "429", 1, retry_after=30)
    with pytest.raises(RateLimitedError) as found:
        send(bot, "again")

    assert platform.answers() == ["hello"]
    assert 1.9 < bot.slept[0] <= 2.0
    assert found.value.retry_after_s == 30


def test_a_limit_of_one_channel_holds_up_no_other(bot, platform):
    platform.world.channel("D1002")
    platform.fault("chat.postMessage", "429", 1, retry_after=30)

    async def work(channel):
        with pytest.raises(RateLimitedError):
            await channel.send(SendMessage("a", "D1001"))
        with pytest.raises(RateLimitedError):
            await channel.send(SendMessage("b", "D1001"))
        await channel.send(SendMessage("c", "D1002"))

    using(bot, work)

    assert platform.answers() == ["c"]
    assert len(platform.list_calls("chat.postMessage")) == 2


# buttons

def test_buttons_stand_under_the_last_text_and_can_be_taken_away(
        bot, platform):
    buttons = (Button("Yes", "approve:7"), Button("No", "deny:7"),
               Button("empty", ""))
    root = platform.say("hello")

    async def work(channel):
        message = SendMessage("May I **go**?", "D1001", buttons=buttons,
                              thread_ts=root)
        (part,) = channel.parts(message)
        ts = await channel.send_part(message, part)
        (sent,) = platform.messages()
        await channel.clear_buttons("D1001", ts)
        await channel.clear_buttons("D1001", ts)
        return sent

    row = using(bot, work)["blocks"][1]

    assert [(e["text"]["text"], e["value"]) for e in row["elements"]] == [
        ("Yes", "approve:7"), ("No", "deny:7")]
    assert bot.logged("button_left_out")
    (message,) = platform.messages()
    assert [b["type"] for b in message["blocks"]] == ["rich_text"]
    assert len(platform.world.updated) == 1
    (call,) = platform.list_calls("chat.update")
    assert call.params["unfurl_links"] is False
    assert platform.answers() == ["May I go?"]


# signs

def test_reactions_have_names_and_repeating_one_is_fine(bot, platform):
    ts = platform.say("hello")

    async def work(channel):
        for _ in range(2):
            await channel.add_reaction("D1001", f"slack_D1001_{ts}", "👀")
        await channel.add_reaction("D1001", f"slack_D1001_{ts}", "✅")
        for _ in range(2):
            await channel.remove_reaction("D1001", f"slack_D1001_{ts}", "👀")
        await channel.add_reaction("D1001", f"slack_D1001_{ts}", "⚠️")

    using(bot, work)

    assert platform.world.reactions[("D1001", ts)] == [
        "white_check_mark", "warning"]
    assert bot.logged("slack_call_failed") == []


def test_typing_is_shown_in_a_known_thread_and_not_each_time(bot, platform):
    async def work():
        async with bot.listening() as channel:
            await channel.start_typing("D1001")
            ts = platform.say("hello")
            await bot.hears(1)
            for _ in range(3):
                await channel.start_typing("D1001")
            await channel.stop_typing("D1001")
            return ts

    ts = asyncio.run(work())

    assert [(s["channel_id"], s["thread_ts"], s["status"])
            for s in platform.world.statuses] == [
        ("D1001", ts, "is thinking..."), ("D1001", ts, "")]


def test_a_server_that_shows_no_typing_is_asked_once(bot, platform):
    platform.lacks = ("assistant.threads.setStatus",)

    async def work(channel):
        for n in range(3):
            await channel.start_typing(f"C{n}:1700000000.000100")

    using(bot, work)

    assert len(platform.list_calls("assistant.threads.setStatus")) == 1


# files

def test_a_file_is_uploaded_and_posted(bot, platform):
    (bot.workspace / "a.txt").write_bytes(b"content")
    root = platform.say("hello")
    send(bot, "here\n[DOCUMENT:a.txt]", thread_ts=root)

    text, file = platform.messages()
    assert text["text"] == "here"
    assert file["files"][0]["name"] == "a.txt"
    assert file["thread_ts"] == root
    assert platform.world.contents[file["files"][0]["id"]] == b"content"
    assert platform.list_calls("files.upload") == []


def test_a_file_has_the_ts_of_its_message(bot, platform):
    (bot.workspace / "a.txt").write_bytes(b"content")

    async def work(channel):
        message = SendMessage("", "D1001", attachments=(
            Attachment(str(bot.workspace / "a.txt"), "a.txt"),))
        (part,) = channel.parts(message)
        return await channel.send_part(message, part)

    assert using(bot, work) == platform.messages()[0]["ts"]


@pytest.mark.parametrize("target", ["../secret.txt", "none.txt",
                                    "/etc/passwd"])
def test_a_file_that_cannot_be_sent_is_told_of(bot, platform, target):
    send(bot, f"[DOCUMENT:{target}]")

    (text,) = platform.answers()
    assert "can not be sent" in text
    assert platform.list_calls("files.getUploadURLExternal") == []


def test_a_bot_without_the_scope_for_files_says_so(bot, platform):
    (bot.workspace / "a.txt").write_bytes(b"content")
    platform.fault("files.getUploadURLExternal", "status", 1, status=400,
                   description="missing_scope")
    send(bot, "[DOCUMENT:a.txt]")

    (text,) = platform.answers()
    assert "Document: a.txt can not be sent" in text
    assert "missing_scope" in text


def test_an_address_is_fetched_by_nobody(bot, platform):
    send(bot, "[IMAGE:https://evil.org/x.png]", links=())

    (call,) = platform.list_calls("chat.postMessage")
    assert call.params["text"] == "Image: `https://evil.org/x.png`"


# looking for what was sent

def sent_and_lost(bot, platform, how="reset_after", content="done",
                  before=()):
    """A part whose answer never came, and what is found of it."""
    (bot.workspace / "a.txt").write_bytes(b"content")

    async def work(channel):
        message = SendMessage(content, "D1001")
        (part,) = channel.parts(message)
        platform.fault("files.completeUploadExternal"
                       if part.kind == "file" else "chat.postMessage", how)
        with pytest.raises(UnavailableError):
            await channel.send_part(message, part)
        again = Part(part.kind, part.text,
                     json.loads(json.dumps(dict(part.data))))
        return message, again

    doubt = Doubt(*using(bot, work), before)
    return using(bot, lambda channel: channel.find_sent(doubt))


@pytest.mark.parametrize("content", ["done", "[DOCUMENT:a.txt]"])
def test_what_arrived_is_found_by_its_key(bot, platform, content):
    send(bot, "done")
    found = sent_and_lost(bot, platform, content=content)

    assert found == (platform.messages()[1]["ts"],)


@pytest.mark.parametrize("content", ["done", "[DOCUMENT:a.txt]"])
def test_what_never_arrived_is_not_found(bot, platform, content):
    send(bot, "done")

    assert sent_and_lost(bot, platform, "reset", content) == ()


def test_only_what_came_after_is_looked_at(bot, platform):
    ts = platform.say("the question")
    sent_and_lost(bot, platform, before=(("", f"slack_D1001_{ts}"),))

    (call,) = platform.list_calls("conversations.history")
    assert call.params["oldest"] == ts
    assert call.params["include_all_metadata"] == "true"


def test_an_answer_in_a_thread_is_looked_for_there(bot, platform):
    root = platform.say("hello", "C1")

    async def work(channel):
        message = SendMessage("done", "C1", thread_ts=root)
        (part,) = channel.parts(message)
        ts = await channel.send_part(message, part)
        return ts, await channel.find_sent(Doubt(message, part))

    ts, found = using(bot, work)

    assert found == (ts,)


def test_what_went_to_the_channel_as_its_thread_is_gone_is_found(
        bot, platform):
    platform.say("hello", "C1")

    async def work(channel):
        message = SendMessage("done", "C1", thread_ts="1600000000.000001")
        (part,) = channel.parts(message)
        ts = await channel.send_part(message, part)
        return ts, await channel.find_sent(Doubt(message, part))

    ts, found = using(bot, work)

    assert found == (ts,)


def test_more_messages_than_are_looked_through_tell_nothing(
        bot, platform, monkeypatch):
    monkeypatch.setattr("claw.channels.slack.sent.PAGES", 1)
    monkeypatch.setattr("claw.channels.slack.sent.PAGE", 2)
    for number in range(4):
        platform.say(f"talk {number}")

    assert sent_and_lost(bot, platform, "reset") is None


def test_a_server_that_keeps_no_metadata_is_asked_for_the_text(tmp_path):
    from tests.channels.slack.conftest import Bot
    with FakeSlack(keeps_metadata=False) as platform:
        bot = Bot(platform, tmp_path)
        arrived = sent_and_lost(bot, platform)
        missing = sent_and_lost(bot, platform, "reset", content="other")

        assert arrived == (platform.messages()[0]["ts"],)
        assert missing == ()


def test_a_repetition_says_so_in_texts_and_files(bot, platform):
    (bot.workspace / "a.txt").write_bytes(b"content")

    async def work(channel):
        message = SendMessage("**hi** you\n[DOCUMENT:a.txt]", "D1001")
        for part in channel.parts(message):
            await channel.send_part(message, channel.mark_repeated(
                part, "(again) "))

    using(bot, work)

    text, file = platform.messages()
    assert text["text"] == "(again) *hi* you"
    assert file["text"] == "(again)"


def test_only_the_call_that_posts_can_leave_a_doubt(bot, platform):
    (bot.workspace / "a.txt").write_bytes(b"content")
    left = []

    async def work(channel):
        message = SendMessage("[DOCUMENT:a.txt]", "D1001")
        (part,) = channel.parts(message)
        platform.fault("files.getUploadURLExternal", "reset_after")
        with pytest.raises(UnavailableError):
            await channel.send_part_telling(message, part,
                                            lambda: left.append(1))
        assert left == []
        await channel.send_part_telling(message, part,
                                        lambda: left.append(1))

    using(bot, work)

    assert left == [1]
