"""What we send, and what becomes of it when it goes wrong."""

import asyncio

import pytest

from claw.core.channel import SendMessage
from claw.core.errors import (
    AuthError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.runtime.retry_rules import is_final, may_have_arrived
from claw.testing.fake_signal import ALICE, ALICE_ACI, GROUP


@pytest.mark.parametrize(("markdown", "text", "styles"), [
    ("plain", "plain", []),
    ("**bold** and *it*", "bold and it", ["0:4:BOLD", "9:2:ITALIC"]),
    ("👋 **b**", "👋 b", ["3:1:BOLD"]),
    ("~~no~~ `x`", "no x", ["0:2:STRIKETHROUGH", "3:1:MONOSPACE"]),
    ("```py\na = 1\n```", "a = 1", ["0:5:MONOSPACE"]),
    ("# Head", "Head", ["0:4:BOLD"]),
    ("[**it**](https://example.org) then **b**",
     "it (https://example.org) then b", ["0:2:BOLD", "30:1:BOLD"]),
    ("> one\n> **two**", "> one\n> two", ["8:3:BOLD"]),
])
def test_markdown_becomes_a_text_and_its_ranges(bot, markdown, text, styles):
    (sent,) = bot.sends(markdown)

    assert sent.text == text
    assert sent.params["textStyle"] == styles


def test_only_known_addresses_can_be_links(bot):
    (sent,) = bot.sends(
        "see https://a.example/x?s=1 [here](https://evil.example/y) **b**",
        links=("https://a.example/x?s=1",))

    assert "https://a.example/x?s=1" in sent.text
    assert "https://evil" not in sent.text
    (style,) = [s for s in sent.params["textStyle"] if s.endswith("BOLD")]
    start = int(style.split(":")[0])
    assert sent.text[start] == "b"


def test_long_texts_are_cut_at_two_thousand_bytes(bot):
    sent = bot.sends("안녕하세요 " * 500)

    assert len(sent) > 3
    assert all(len(one.text.encode()) <= 1968 for one in sent)
    assert "".join(one.text for one in sent).count("안녕하세요") == 500


@pytest.mark.parametrize(("recipient", "chat"), [
    (ALICE, ALICE), (ALICE_ACI.upper(), ALICE_ACI), (f" {ALICE} ", ALICE),
    (f"group:{GROUP}", f"group:{GROUP}"), (GROUP, f"group:{GROUP}"),
])
def test_recipients_are_people_and_groups(bot, recipient, chat):
    (sent,) = bot.sends("hi", recipient)

    assert sent.chat == chat


@pytest.mark.parametrize("recipient", [
    "", "alice", "group:", "+", "+49abc", "../../etc", "+49 30", "\ud83d",
    "group:a b", "--message", "x" * 5000])
def test_what_is_no_address_is_refused_without_a_call(bot, recipient):
    with pytest.raises(RequestRefusedError, match="no address"):
        bot.sends("hi", recipient)

    assert bot.platform.calls == []


def test_a_file_goes_as_a_data_uri(bot):
    (bot.workspace / "a; b=c,d.png").write_bytes(b"png")
    text, picture = bot.sends("look\n[IMAGE:a; b=c,d.png]")

    assert text.text == "look"
    assert picture.files == (("a; b=c,d.png", "image/png", b"png"),)
    assert "voiceNote" not in picture.params


def test_a_voice_note_says_that_it_is_one(bot):
    (bot.workspace / "v.ogg").write_bytes(b"ogg")
    (sent,) = bot.sends("[VOICE:v.ogg]")

    assert sent.params["voiceNote"] is True


def test_a_file_that_went_away_is_said(bot):
    (bot.workspace / "x.txt").write_text("x")

    async def go():
        async with bot.open() as channel:
            message = SendMessage("[DOCUMENT:x.txt]", ALICE_ACI)
            (part,) = channel.parts(message)
            (bot.workspace / "x.txt").unlink()
            await channel.send_part(message, part)
    asyncio.run(go())

    assert "can not be sent" in bot.platform.sent[0].text


def test_a_repeat_says_so_in_front_and_keeps_its_styles(bot):
    async def go():
        async with bot.open() as channel:
            message = SendMessage("**b** 👋", ALICE_ACI)
            (part,) = channel.parts(message)
            await channel.send_part(message, channel.mark_repeated(
                part, "(again) "))
    asyncio.run(go())

    (sent,) = bot.platform.sent
    assert sent.text == "(again) b 👋"
    assert sent.params["textStyle"] == ["8:1:BOLD"]


def test_an_answer_in_a_group_quotes_what_it_answers(bot):
    async def go():
        async with bot.listening() as channel:
            bot.platform.post("what?", group=GROUP)
            bot.platform.post("and?")
            await bot.settle(2)
            for message in bot.inbox.messages:
                await channel.send(SendMessage(
                    "that", message.reply_target, answers=message.id))
    asyncio.run(go())

    group, private = (one.params for one in bot.platform.sent)
    assert group["quoteMessage"] == "what?"
    assert group["quoteAuthor"] == ALICE_ACI
    assert f"_{group['quoteTimestamp']}" in bot.inbox.messages[0].id
    assert "quoteTimestamp" not in private


def test_signs_name_the_message_and_who_wrote_it(bot):
    async def go():
        async with bot.listening() as channel:
            bot.platform.post("hello")
            await bot.settle(1)
            (message,) = bot.inbox.messages
            where = message.reply_target
            await channel.add_reaction(where, message.id, "👀")
            await channel.remove_reaction(where, message.id, "👀")
            await channel.start_typing(where)
            await channel.start_typing(where)
            await channel.stop_typing(where)
            await channel.stop_typing(where)
            return int(message.id.rpartition("_")[2])
    moment = asyncio.run(go())

    to = {"recipient": [ALICE_ACI]}
    mark = {**to, "emoji": "👀", "targetAuthor": ALICE_ACI,
            "targetTimestamp": moment}
    assert bot.platform.calls == [
        ("sendReaction", mark), ("sendReaction", {**mark, "remove": True}),
        ("sendTyping", to), ("sendTyping", {**to, "stop": True})]


# -- errors

def refuse(bot, code, message, *results):
    data = {"response": {"timestamp": 1, "results": list(results)}} \
        if results else None
    bot.platform.refusals["send"] = {"code": code, "message": message,
                                     "data": data}


@pytest.mark.parametrize(("code", "results", "kind", "doubt"), [
    (-1, ("UNREGISTERED_FAILURE",), RequestRefusedError, False),
    (-1, ("NETWORK_FAILURE",), UnavailableError, True),
    (-1, ("UNREGISTERED_FAILURE", "NETWORK_FAILURE"), UnavailableError,
     True),
    (-1, (), UnavailableError, True),
    (-3, (), UnavailableError, True),
    (-4, ("IDENTITY_FAILURE",), RequestRefusedError, False),
    (-5, ("RATE_LIMIT_FAILURE",), RateLimitedError, False),
    (-32601, (), RequestRefusedError, False),
    (-32603, (), UnavailableError, True),
    (None, (), UnavailableError, True),
])
def test_an_error_is_a_doubt_only_where_it_may_have_arrived(
        bot, code, results, kind, doubt):
    refuse(bot, code, "Failed to send message",
           *({"type": kind} for kind in results))
    with pytest.raises(UnavailableError) as caught:
        bot.sends("hi")

    assert type(caught.value) is kind
    assert may_have_arrived(caught.value) is doubt
    assert is_final(caught.value) is (kind is RequestRefusedError)


def test_a_users_mistake_without_results_is_final(bot):
    refuse(bot, -1, "Invalid group id: x")
    with pytest.raises(RequestRefusedError, match="Invalid group id"):
        bot.sends("hi")


def test_a_rate_limit_is_waited_for_and_its_proof_is_told(bot):
    refuse(bot, -5, "Failed to send message due to rate limiting", {
        "type": "RATE_LIMIT_FAILURE", "token": "challenge-7",
        "retryAfterSeconds": 3600})
    with pytest.raises(RateLimitedError) as caught:
        bot.sends("hi")

    assert caught.value.retry_after_s == 3600
    assert "--challenge challenge-7 --captcha" in caught.value.hint


def test_while_a_chat_is_limited_it_is_not_asked(bot):
    refuse(bot, -5, "limited", {"type": "RATE_LIMIT_FAILURE",
                                "retryAfterSeconds": 600})

    async def go():
        async with bot.open() as channel:
            for _ in range(3):
                with pytest.raises(RateLimitedError):
                    await channel.send(SendMessage("hi", ALICE_ACI))
            await channel.start_typing(ALICE_ACI)
    asyncio.run(go())

    assert len(bot.platform.calls) == 1


def test_a_missing_account_says_where_to_look(bot):
    with pytest.raises(AuthError) as caught:
        bot.sends("hi", account="+4999999999")

    assert "channels_config.signal.account" in caught.value.hint


def test_a_group_that_has_it_in_part_has_it(bot):
    answer = bot.platform._do_send

    def send(params):
        found = answer(params)
        found["results"].append({"type": "UNREGISTERED_FAILURE"})
        return found
    bot.platform._do_send = send
    bot.sends("hi", f"group:{GROUP}")

    (fields,) = bot.logged("sent_to_some")
    assert fields["failed"] == 1


@pytest.mark.parametrize("result", [None, {}, [], {"timestamp": "x"},
                                    {"timestamp": True}])
def test_an_answer_without_a_moment_is_a_doubt(bot, result):
    bot.platform._do_send = lambda params: result or {}
    with pytest.raises(UnavailableError) as caught:
        bot.sends("hi")

    assert may_have_arrived(caught.value)


def test_a_daemon_that_is_not_there_leaves_no_doubt(bot):
    bot.platform.down()
    with pytest.raises(UnavailableError) as caught:
        bot.sends("hi")

    assert not may_have_arrived(caught.value)
    assert "daemon" in caught.value.hint
    bot.platform.up()
