"""What LINE posts, and what becomes of it."""

import asyncio
import http.client
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from claw.channels.line import LineChannel, LineSettings, receive
from claw.core.abilities import WebhookRefused
from claw.core.channel import STRANGER, ChannelDeps, SendMessage
from claw.core.errors import ConfigError
from claw.testing.fake_line import GROUP, USER, sign
from tests.channels.line.conftest import call, deliver

ROOM = "R" + "5" * 32
EVE = "U" + "e" * 32


def said(platform, *messages, **where):
    """The events of these messages: texts, or what is in them."""
    return [platform.build("message", message={
        "id": str(number), "quoteToken": f"q{number}",
        **(m if isinstance(m, dict) else {"type": "text", "text": m})},
        **where) for number, m in enumerate(messages, 1)]


def mention(text, word, **more):
    """A text in which a word mentions somebody; places in UTF-16 units."""
    at = len(text.partition(word)[0].encode("utf-16-le")) // 2
    return {"type": "text", "text": text, "mention": {"mentionees": [
        {"type": "user", "index": at, "length": len(word), **more}]}}


@pytest.mark.parametrize(("message", "content", "labels"), [
    ("안녕 👋", "안녕 👋", ()),
    ({"type": "sticker", "packageId": "1", "stickerId": "2",
      "keywords": ["hi", "bye"]}, "[Sticker: hi, bye]", ()),
    ({"type": "sticker", "text": "おはよう", "keywords": ["x"]},
     "[Sticker: おはよう]", ()),
    ({"type": "sticker"}, "[Sticker]", ()),
    ({"type": "location", "title": "my place", "address": "Tokyo",
      "latitude": 35.687574, "longitude": 139.72922},
     "[Location: my place, Tokyo (35.6876, 139.729)]", ("unknown",)),
    ({"type": "location", "latitude": 1.0, "longitude": 2.5},
     "[Location: 1, 2.5]", ("unknown",)),
    ({"type": "hologram"}, "[Unsupported message: hologram]", ()),
    (mention("👋 @Claw what is it?", "@Claw ", isSelf=True),
     "👋 what is it?", ()),
    (mention("@Bob is late", "@Bob", isSelf=False), "@Bob is late", ()),
    (mention("beyond", "beyond", isSelf=True, index=90), "beyond", ()),
    ({"type": "text", "text": "and?", "quotedMessageId": "404"},
     "> An earlier message:\n> [not known any more]\n\nand?", ("quoted",)),
    ({"type": "text", "text": "yes k7m3p", "quotedMessageId": "404"},
     "yes k7m3p", ()),
    ({"type": "image", "contentProvider": {"type": "external"}},
     "[image.jpg: it is at another site, and is not fetched]", ()),
])
def test_a_message_is_text(account, platform, message, content, labels):
    (found,) = account.takes(*said(platform, message))

    assert (found.content, found.labels) == (content, labels)
    assert (found.sender, found.reply_target) == (USER, USER)
    assert found.sender_name == "Mina"


def test_a_mention_and_nothing_else_is_no_message(account, platform):
    only = mention("@Claw", "@Claw", isSelf=True)

    assert account.takes(*said(platform, only)) == []


@pytest.mark.parametrize("chat", [GROUP, ROOM])
def test_a_group_is_its_own_address(account, platform, chat):
    (found,) = account.takes(*said(platform, "hi", chat=chat))

    assert (found.sender, found.reply_target) == (USER, chat)


@pytest.mark.parametrize(("message", "heard"), [
    ("hi", False),
    (mention("@Claw hi", "@Claw", isSelf=True), True),
    (mention("@Bob hi", "@Bob", isSelf=False), False),
    ("yes k7m3p", True),  # the answer to a question
    ({"type": "text", "text": "and?", "quotedMessageId": "theirs"}, False),
])
def test_mention_only(account, platform, message, heard):
    found = account.takes(*said(platform, message, chat=GROUP),
                          mention_only=True)
    private = account.takes(*said(platform, message), mention_only=True)

    assert bool(found) is heard
    assert private


def test_a_quote_of_ours_is_for_us_and_shows_its_words(account, platform):
    async def go():
        async with account.open(mention_only=True) as channel:
            await channel.send(SendMessage("it is done", GROUP))
            ours = platform.sent[-1]["id"]
            (event,) = said(platform, {
                "type": "text", "text": "really?", "quotedMessageId": ours},
                chat=GROUP)
            return (await deliver(channel, platform, event)).messages
    (found,) = asyncio.run(go())

    assert found.content == "> You wrote:\n> it is done\n\nreally?"


def test_what_was_unsent_is_quoted_no_more(account, platform):
    first, answer = said(platform, "secret", {
        "type": "text", "text": "and?", "quotedMessageId": "1"})
    taken_back = platform.build("unsend", unsend={"messageId": "1"})

    found = account.takes(first, answer, taken_back, answer)

    assert "secret" in found[1].content
    assert "secret" not in found[2].content
    assert account.logged("unsent")


def test_a_pressed_button_is_an_action(account, platform):
    press = platform.build("postback", postback={"data": "approve:k7m3p"})
    strange = platform.build("postback", user=EVE, postback={"data": "x"})

    (found,) = account.takes(press, strange)

    assert (found.kind, found.content) == ("action", "approve:k7m3p")
    assert found.id == f"line_{press['webhookEventId']}"


def test_a_redelivery_has_the_same_id(account, platform):
    (event,) = said(platform, "hi")
    again = {**event, "deliveryContext": {"isRedelivery": True}}

    first, second = account.takes(event, again)

    assert first == second


# -- who may


def test_a_stranger_gets_one_hint_and_is_not_heard(account, platform):
    async def go():
        async with account.listening():
            platform.write("let me in", user=EVE)
            platform.write("please", user=EVE)
            platform.write("hi all", user=EVE, chat=GROUP)
            await platform.until(lambda: not platform.undelivered)
    asyncio.run(go())

    assert account.inbox.messages == []
    (hint,) = platform.answers(EVE)
    assert EVE in hint
    assert platform.list_sent(EVE)[0]["by"] == "reply"
    assert platform.answers(GROUP) == []


@pytest.mark.parametrize(("chat", "paired"), [("", [EVE]), (GROUP, [])])
def test_a_code_pairs_in_private_alone(account, platform, chat, paired):
    async def go():
        async with account.listening(allowed_users=()):
            (code,) = [f["code"] for f in account.logged("pairing")]
            platform.write(f"/bind {code}", user=EVE, chat=chat)
            await platform.until(lambda: not platform.undelivered)
    asyncio.run(go())

    assert account.remembered == paired


def test_who_adds_the_account_is_told_how_to_get_in(account, platform):
    async def go():
        async with account.listening(allowed_users=()):
            platform.tell("follow", user=EVE, follow={"isUnblocked": False})
            platform.tell("follow", follow={"isUnblocked": False})
            await platform.until(lambda: len(platform.sent) == 2)
    asyncio.run(go())

    assert all("/bind CODE" in text for text in platform.answers())


def test_everybody_else_is_a_stranger(account, platform):
    mine, theirs = account.takes(
        *said(platform, "hi"), *said(platform, "hi", user=EVE),
        allowed_users=("*", USER))

    assert (mine.labels, theirs.labels) == ((), (STRANGER,))
    assert theirs.sender_name == ""


def test_who_has_no_id_is_not_heard(account, platform):
    found = account.takes(*said(platform, "hi", user="", chat=GROUP),
                          allowed_users=("*",), allow_everyone=True)

    assert found == []
    assert account.logged("sender_unknown")


# -- who comes and goes


@pytest.mark.parametrize(("gone", "back"), [
    ("unfollow", "follow"), ("leave", "join"), ("unfollow", "message")])
def test_who_is_gone_gets_nothing_until_they_are_back(account, platform,
                                                      gone, back):
    chat = GROUP if gone == "leave" else ""
    account.takes(platform.build(gone, chat=chat))
    marks = list(account.marks.keys())
    came = platform.build(back, chat=chat, message={
        "id": "1", "type": "text", "text": "hi"})
    old = {**came, "timestamp": came["timestamp"] - 9_000}
    account.takes(old)
    assert list(account.marks.keys()) == marks
    account.takes({**came, "timestamp": came["timestamp"] + 1})

    assert marks == [f"gone:{chat or USER}"]
    assert list(account.marks.keys()) == []


# -- files


@pytest.mark.parametrize(("message", "line", "mime"), [
    ({"type": "image"}, "[IMAGE:{}]", None),
    ({"type": "video"}, "[Video: video.mp4] {}", "video/mp4"),
    ({"type": "audio"}, "[Voice]", "audio/mp4"),
    ({"type": "file", "fileName": "../../a b.pdf", "fileSize": 3},
     "[Document: a b.pdf] {}", None),
])
def test_a_file_is_fetched(account, platform, message, line, mime):
    platform.add_file(b"abc", "1")
    platform.preparing = 2

    (found,) = account.takes(*said(platform, message))

    (file,) = found.attachments
    assert found.content == line.format(file.path)
    assert file.mime_type == mime
    assert Path(file.path).read_bytes() == b"abc"
    assert file.path.startswith(f"{account.files}/line_")


def test_a_file_that_is_there_already_is_not_fetched_again(account, platform):
    platform.add_file(b"abc", "1")
    (event,) = said(platform, {"type": "image"})
    first = account.takes(event)
    del platform.files["1"]

    assert account.takes(event) == first


@pytest.mark.parametrize(("fault", "why"), [
    (("status", {"status": 404}), "could not be fetched"),
    (("status", {"status": 500}), "could not be fetched"),
    (("reset", {}), "could not be fetched"),
])
def test_a_file_that_cannot_be_had_stops_no_message(account, platform, fault,
                                                    why):
    kind, options = fault
    platform.fault("content", kind, None, **options)

    (found,) = account.takes(*said(platform, {"type": "image"}))

    assert why in found.content
    assert found.attachments == ()


def test_files_of_strangers_stay_where_they_are(account, platform):
    platform.add_file(b"abc", "1")

    (found,) = account.takes(*said(platform, {"type": "image"}, user=EVE),
                             allowed_users=("*", USER))

    assert found.attachments == ()
    assert not account.files.exists()


def test_a_slow_file_keeps_its_place_before_what_came_after(account,
                                                            platform):
    platform.add_file(b"abc", "1")
    platform.preparing = 20
    image, text = said(platform, {"type": "image"}, "what is this?")

    async def go():
        async with account.open() as channel:
            first = asyncio.create_task(deliver(channel, platform, image))
            await asyncio.sleep(0.01)
            done = []
            for task in (first, deliver(channel, platform, text)):
                done += (await task).messages
                assert first.done()
            return done
    assert [m.content for m in asyncio.run(go())][1] == "what is this?"


# -- webhooks


@pytest.mark.parametrize(("body", "status"), [
    (b"{", 400), (b"[]", 400), (b"{}", 400), (b'{"events": 1}', 400),
    (b"\xff", 400), (b'{"events":' + b"[" * 9999, 400),
])
def test_what_is_no_webhook_is_refused(account, platform, body, status):
    async def go():
        async with account.open() as channel:
            await channel.parse(call(body, sign(platform.secret, body)))
    with pytest.raises(WebhookRefused) as refused:
        asyncio.run(go())

    assert refused.value.status == status


def test_what_cannot_be_read_loses_nothing_else(account, platform):
    (good,) = said(platform, "hi")
    rows = [None, 1, {}, {"webhookEventId": 3}, {
        **good, "webhookEventId": "a b"}, {**good, "source": {"type": []}},
        {**good, "source": None}, {**good, "source": {
            "type": "user", "userId": "nobody"}}, {"webhookEventId": "1"},
        {**good, "message": {"id": "1", "type": "text", "text": 7}}, good]

    async def go():
        async with account.open() as channel:
            return (await deliver(channel, platform, *rows)).messages
    (found,) = asyncio.run(go())

    assert found.content == "hi"
    assert account.logged("unreadable_ignored")


def test_a_chat_that_another_module_has_is_left_alone(account, platform):
    (event,) = said(platform, "hi")

    assert account.takes({**event, "mode": "standby"}) == []


def test_an_empty_webhook_is_taken(account):
    assert account.takes() == []


def test_what_line_did_not_wait_for_is_kept(account, platform):
    """It hangs up after two seconds."""
    platform.add_file(b"abc", "1")
    platform.fault("content", "delay", delay_s=0.5)
    body, headers = platform.wrap(*said(platform, {"type": "image"}))

    def post():
        url = urlsplit(platform.callback)
        line = http.client.HTTPConnection(url.netloc, timeout=0.1)
        line.request("POST", url.path, body, headers)
        try:
            line.getresponse()
        except TimeoutError:
            return True
        finally:
            line.close()

    async def go():
        async with account.listening():
            hung_up = await asyncio.to_thread(post)
            await platform.until(lambda: account.inbox.messages)
            return hung_up
    assert asyncio.run(go())
    assert account.inbox.messages[0].attachments


def test_a_file_that_takes_too_long_holds_up_no_webhook(account, platform,
                                                        monkeypatch):
    monkeypatch.setattr(receive, "FILES_S", 0.05)
    platform.fault("content", "stall", None)
    slow, text = said(platform, {"type": "video"}, "what is this?")

    async def go():
        async with account.open() as channel:
            return (await deliver(channel, platform, slow, text)).messages
    video, words = asyncio.run(go())

    assert "did not arrive in time" in video.content
    assert words.content == "what is this?"


@pytest.mark.parametrize("headers", [
    {}, {"X-Line-Signature": ""}, {"X-Line-Signature": "AAAA"},
    {"X-Line-Signature": "é"},
])
def test_what_line_has_not_signed_is_not_read(account, headers):
    channel = account.make()

    with pytest.raises(WebhookRefused) as refused:
        channel.verify(call(b"{", headers))
    assert refused.value.status == 401
    asyncio.run(channel.aclose())


def test_a_signature_is_for_one_body_and_one_secret(account, platform):
    channel = account.make()
    body = json.dumps({"events": []}).encode()
    good = sign(platform.secret, body)

    channel.verify(call(body, good))
    for made in (call(body + b" ", good), call(body, sign("other", body))):
        with pytest.raises(WebhookRefused):
            channel.verify(made)
    asyncio.run(channel.aclose())


def test_without_a_secret_nothing_is_heard(tmp_path):
    channel = LineChannel(LineSettings(), ChannelDeps(tmp_path, tmp_path))

    with pytest.raises(ConfigError, match="channel_secret"):
        asyncio.run(channel.listen(None))
    with pytest.raises(WebhookRefused):
        channel.verify(call(b"{}", sign("", b"{}")))
