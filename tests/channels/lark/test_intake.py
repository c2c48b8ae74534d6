"""What comes in: kinds, mentions, quotes, threads, files, and who may."""

import asyncio
import json
from pathlib import Path

import pytest

from claw.core.channel import STRANGER

BOT = {"key": "@_user_1", "id": "ou_bot", "name": "claw"}
BOB = {"key": "@_user_10", "id": "ou_7", "name": "Bob"}


def hear(app, platform, work, count=1, **given):
    """What was put after `work()`."""
    async def go():
        async with app.listening(**given):
            work()
            return await app.hears(count)
    return asyncio.run(go())


@pytest.mark.parametrize(("kind", "content", "text"), [
    ("text", {"text": "hello"}, "hello"),
    ("post", {"zh_cn": {"title": "Plan", "content": [
        [{"tag": "text", "text": "see "},
         {"tag": "a", "text": "this", "href": "https://x.test"}],
        [{"tag": "code_block", "language": "PYTHON", "text": "1"},
         {"tag": "emotion", "emoji_type": "OK"}]]}},
     "Plan\nsee this (https://x.test)\n```python\n1\n```:OK:"),
    ("post", {"title": "", "content": [[{"tag": "at",
                                         "user_id": "@_user_10"}]]}, "@Bob"),
    ("sticker", {"file_key": "x"}, "[Sticker]"),
    ("location", {"name": "Home", "latitude": "1"}, "[Location: Home]"),
    ("share_chat", {"chat_id": "oc_9"}, "[Shared group: oc_9]"),
    ("merge_forward", {}, "[Forwarded messages]"),
    ("interactive", {"title": "T", "elements": [[{"tag": "text",
                                                  "text": "w"}]]},
     "[Card]\nT\nw"),
    ("video_chat", {"topic": "sync"}, "[Video meeting: sync]"),
    ("something_new", {"x": 1}, "[Unsupported message: something_new]"),
    ("text", "[" * 100_000, None),
    ("text", {"text": 7}, None),
])
def test_each_kind_is_text(app, platform, kind, content, text):
    def work():
        platform.post(kind, content, mentions=[BOB])
        platform.say("the end")
    found = hear(app, platform, work, 1 + (text is not None))

    assert [m.content for m in found][:-1] == ([text] if text else [])


def test_what_others_said_is_labelled(app, platform):
    def work():
        platform.post("share_user", {"user_id": "ou_2"})
        first = platform.say("the first")
        platform.say("and this?", parent_id=first, root_id=first)
    shared, _, quoted = hear(app, platform, work, 3)

    assert shared.labels == ("forwarded",)
    assert quoted.labels == ("quoted",)
    assert quoted.content == "> the first\n\nand this?"
    assert quoted.thread_ts is None


def test_a_forwarded_conversation_is_read(app, platform):
    def work():
        platform.tells = False
        first = platform.post("merge_forward", {})
        for text in ("one", "two"):
            platform.say(text, "oc_2000", upper_message_id=first)
        platform.tells = True
        platform.send_event("im.message.receive_v1", platform._tell(
            platform.world.find(first)))
    (found,) = hear(app, platform, work)

    assert found.content == "[Forwarded messages]\none\ntwo"
    assert found.labels == ("forwarded",)


def test_a_group_is_not_one_person(app, platform):
    def work():
        platform.say("hi", "oc_2000", "ou_1001")
        platform.say("hi", "oc_2000", "ou_1002")
    first, second = hear(app, platform, work, 2,
                         allowed_users=("ou_1001", "ou_1002"))

    assert {first.sender, second.sender} == {"ou_1001", "ou_1002"}
    assert first.reply_target == second.reply_target == "oc_2000"
    assert first.sender_name == "alice"


def test_mentions_are_named_and_the_bots_own_is_taken_away(app, platform):
    def work():
        platform.say("@_user_1 ask @_user_10 and @_user_100 and @_all",
                     "oc_2000", mentions=[BOT, BOB])
    (found,) = hear(app, platform, work)

    assert found.content == "ask @Bob and @_user_100 and @all"


def test_mention_only_hears_what_is_said_to_it_in_groups(app, platform):
    def work():
        platform.say("to nobody", "oc_2000")
        platform.say("@_user_10 to bob", "oc_2000", mentions=[BOB])
        platform.post("post", {"title": "", "content": [[
            {"tag": "at", "user_id": "@_user_1"},
            {"tag": "text", "text": " to me"}]]}, "oc_2000",
            mentions=[BOT])
        platform.say("in private")
    found = hear(app, platform, work, 2, mention_only=True)

    assert sorted(m.content for m in found) == ["in private", "to me"]


def test_a_thread_is_a_scope_of_its_own(app, platform):
    def work():
        platform.say("in it", "oc_2000", thread_id="omt_1", root_id="om_root",
                     parent_id="om_root")
        platform.say("beside it", "oc_2000")
    inside, beside = hear(app, platform, work, 2)

    assert (inside.thread_ts, inside.interruption_scope_id) \
        == ("om_root", "om_root")
    assert inside.content == "in it"
    assert beside.thread_ts is None


def test_files_are_fetched_and_saved(app, platform):
    platform.world.contents.update(img_1=b"\x89PNG", file_1=b"text",
                                   file_2=b"OggS")

    def work():
        platform.post("image", {"image_key": "img_1"})
        platform.post("file", {"file_key": "file_1",
                               "file_name": "../../a\0b.txt"})
        platform.post("audio", {"file_key": "file_2", "duration": 900})
        platform.post("file", {"file_key": "file_gone",
                               "file_name": "x.txt"})
    image, file, voice, gone = hear(app, platform, work, 4)

    assert image.content.startswith("[IMAGE:")
    assert image.labels == ()
    assert Path(file.attachments[0].path).read_bytes() == b"text"
    assert str(app.files) in file.attachments[0].path
    assert ".." not in file.attachments[0].file_name
    assert file.labels == ("attachment",)
    assert voice.content == "[Voice]"
    assert voice.attachments[0].mime_type == "audio/ogg"
    assert "could not be fetched" in gone.content


def test_a_stranger_is_told_once_and_nothing_of_his_is_fetched(app,
                                                               platform):
    def work():
        platform.say("hello", "oc_1002", "ou_1002")
        platform.post("image", {"image_key": "img_1"}, "oc_1002", "ou_1002")
        platform.say("in a group", "oc_2000", "ou_1002")
        platform.say("mine")
    (found,) = hear(app, platform, work)

    assert found.content == "mine"
    assert len(platform.answers()) == 1
    assert "ou_1002" in platform.answers("oc_1002")[0]
    assert platform.list_calls("resource") == []


def test_with_everybody_let_in_others_are_strangers(app, platform):
    def work():
        platform.say("hello", "oc_1002", "ou_1002")
        platform.say("hello")
    found = hear(app, platform, work, 2, allowed_users=("*", "ou_1001"))

    assert {m.sender: m.labels for m in found} == {
        "ou_1001": (), "ou_1002": (STRANGER,)}


def test_the_first_one_is_paired_by_the_code(app, platform):
    async def go():
        async with app.listening(allowed_users=()):
            (told,) = await app.until(lambda: app.logged("pairing"))
            platform.say("/bind 000000x")
            platform.say(f"/bind {told['code']}")
            await app.until(lambda: len(platform.answers()) == 2)
            platform.say("hello")
            await app.hears(1)
    asyncio.run(go())

    assert app.inbox.contents == ["hello"]
    assert platform.answers()[1] == "You are paired."


def test_what_other_apps_say_is_nothing_for_us(app, platform):
    def work():
        event = platform._tell(platform.world.add("oc_2000", {
            "id": "ou_1001", "sender_type": "user"}, "text",
            {"text": "x"}))
        event["sender"]["sender_type"] = "app"
        platform.send_event("im.message.receive_v1", event)
        platform.send_event("im.message.recalled_v1", {"message_id": "om_1"})
        platform.say("hello")
    (found,) = hear(app, platform, work)

    assert found.content == "hello"


def test_hostile_fields_of_an_event_hold_up_nothing(app, platform):
    def work():
        for message in ({"message_id": "om_9", "chat_id": "../x"},
                        {"message_id": "om_9\n", "chat_id": "oc_1"}, "x",
                        {"message_id": "om_9", "chat_id": "oc_1",
                         "message_type": "text", "create_time": [1],
                         "content": json.dumps({"text": "\ud83d hi"}),
                         "mentions": ["x", {"id": 7}, {"key": []}],
                         "chat_type": 7}):
            platform.send_event("im.message.receive_v1", {
                "sender": {"sender_id": {"open_id": "ou_1001"}},
                "message": message})
    (found,) = hear(app, platform, work)

    assert found.content == "\ufffd hi"


def test_a_pressed_button_is_an_action_and_hears_a_toast(app, platform):
    async def go():
        from claw.core.channel import Button
        async with app.listening():
            await app.send("Sure?", buttons=(Button("Yes", "approve:1"),))
            number = platform.messages()[0]["message_id"]
            platform.press(number, "approve:1")
            platform.press(number, "approve:1", "ou_6")
            await app.hears(1)
            await app.until(lambda: len(platform.world.toasts) == 2)
    asyncio.run(go())

    (found,) = app.inbox.messages
    assert (found.kind, found.content, found.sender, found.reply_target) == (
        "action", "approve:1", "ou_1001", "oc_1001")
    toasts = [t["toast"]["type"] for t in platform.world.toasts]
    assert sorted(toasts) == ["error", "info"]


def test_nothing_stands_before_a_command_or_an_answer(app, platform):
    def work():
        asked = platform.say("the question")
        for text in ("/stop", "yes k7m3p"):
            platform.say(text, parent_id=asked, root_id=asked)
    found = hear(app, platform, work, 3)

    assert [m.content for m in found[1:]] == ["/stop", "yes k7m3p"]
