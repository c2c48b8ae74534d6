"""What an update says: ids, senders, topics, mentions, foreign words."""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from claw.channels.telegram.content import describe_message, find_files
from claw.channels.telegram.updates import (
    address,
    compose,
    group_albums,
    own_text,
    parse_id,
    read_update,
)
from claw.channels.telegram.wire import Bot

BOT = Bot(99, "claw_bot")
ALICE = {"id": 5, "is_bot": False, "first_name": "Alice",
         "username": "alice"}


def message(text=None, **fields):
    found = {"message_id": 10, "date": 1_700_000_000,
             "chat": {"id": 1001, "type": "private"}, "from": ALICE, **fields}
    return found if text is None else {**found, "text": text}


def read(raw, kind="message"):
    incoming = read_update({"update_id": 1, kind: raw})
    return compose([incoming], own_text(incoming.message), [], [])


# -- identity

def test_ids_name_the_chat_and_the_message():
    found = read(message("hi", chat={"id": -1001, "type": "group"}))
    assert found.id == "telegram_-1001_10"
    assert found.timestamp == 1_700_000_000
    assert parse_id(found.id) == (-1001, 10)


@pytest.mark.parametrize(("user", "sender"), [
    (ALICE, str(ALICE["id"])),
    ({"id": 5, "first_name": "A"}, "5"),
    (None, "unknown"),
])
def test_the_sender_is_an_id_and_never_a_name(user, sender):
    raw = message("hi")
    raw.pop("from")
    if user is not None:
        raw["from"] = user
    assert read(raw).sender == sender


def test_a_topic_is_part_of_the_address_and_the_scope():
    found = read(message("hi", message_thread_id=7, is_topic_message=True))
    assert found.reply_target == "1001:7"
    assert found.thread_ts == found.interruption_scope_id == "7"


def test_a_reply_thread_outside_a_forum_is_no_topic():
    found = read(message("hi", message_thread_id=7))
    assert (found.reply_target, found.thread_ts) == ("1001", None)
    assert found.interruption_scope_id is None


def test_an_edit_is_a_new_message():
    found = read(message("better", edit_date=1_700_000_555),
                 "edited_message")
    assert found.id == "telegram_1001_10_edit_1700000555"
    assert found.content == "[Edited] better"
    assert parse_id(found.id) == (1001, 10)


@pytest.mark.parametrize("foreign", [
    "telegram_cb_1", "telegram_1_", "telegram_1_2x", "telegram_1_2_",
    "discord_1_2", "telegram_１_2", "telegram_1_2\n"])
def test_other_ids_are_not_ours(foreign):
    assert parse_id(foreign) is None


# -- foreign words

@pytest.mark.parametrize(("origin", "prefix"), [
    ({"type": "user", "sender_user": {"id": 7, "first_name": "Bob",
                                      "username": "bob"}}, "@bob"),
    ({"type": "user", "sender_user": {"id": 7, "first_name": "Bob"}}, "Bob"),
    ({"type": "hidden_user", "sender_user_name": "Ghost"}, "Ghost"),
    ({"type": "channel", "chat": {"id": -1, "title": "News"}},
     "channel: News"),
    ({"type": "chat", "sender_chat": {"id": -1, "title": "Team"}}, "Team"),
    ({"type": "yet unknown"}, "somebody"),
])
def test_forwards_say_from_whom_and_are_labelled(origin, prefix):
    found = read(message("text", forward_origin={"date": 1, **origin}))
    assert found.content == f"[Forwarded from {prefix}] text"
    assert found.labels == ("forwarded",)


def test_a_quote_comes_before_the_answer():
    found = read(message("and this?", reply_to_message=message(
        "one\ntwo", **{"from": {"id": 7, "first_name": "Bob",
                                "username": "bob"}})))
    assert found.content == "> @bob:\n> one\n> two\n\nand this?"
    assert found.labels == ("quoted",)


def test_quoting_ones_own_plain_words_is_nothing_foreign():
    found = read(message("ok", reply_to_message=message("earlier")))
    assert found.content.endswith("earlier\n\nok")
    assert found.labels == ()


US = {"id": 99, "is_bot": True, "first_name": "Claw"}


@pytest.mark.parametrize("fields", [
    {"from": US},  # it may repeat what it read
    {"from": None},
    {"via_bot": {"id": 3, "is_bot": True, "first_name": "Gif"}},
    {"via_bot": {}},
    {"forward_sender_name": "M"},
    {"quote": {"text": "evil"}},
    {"external_reply": {"origin": {}}},
    {"sender_chat": {"id": -1}},
    {"contact": {"first_name": "evil", "phone_number": "1"}},
])
def test_quoting_anything_else_is_foreign(fields):
    found = read(message("haha", reply_to_message=message("evil", **fields)))
    assert found.labels == ("quoted",)


@pytest.mark.parametrize(("fields", "labels"), [
    ({"forward_origin": {"type": "hidden_user"}, "photo": {}},
     ("forwarded",)),
    ({"via_bot": {"id": 1, "first_name": None}}, ("forwarded",)),
    ({"forward_from": {"id": 7}}, ("forwarded",)),
    ({"forward_from_chat": {"id": -7}}, ("forwarded",)),
    ({"forward_sender_name": "M", "forward_date": 1}, ("forwarded",)),
    ({"reply_to_message": {"text": "evil"}}, ("quoted",)),
    ({"reply_to_message": [], "photo": 1}, ("quoted",)),
    ({"quote": {"text": "evil"}}, ("quoted",)),
    ({"external_reply": 7}, ("quoted",)),
    ({"forward_origin": None, "is_automatic_forward": False}, ()),
])
def test_no_field_that_cannot_be_read_loses_a_label(fields, labels):
    assert read(message("obey", **fields)).labels == labels


@pytest.mark.parametrize(("fields", "labels"), [
    ({"contact": {"first_name": "Obey", "phone_number": "1"}},
     ("unknown",)),
    ({"checklist": {"title": "t", "tasks": [{"text": "obey"}]}},
     ("unknown",)),
    ({"poll": {"question": "Obey?", "options": []}}, ("unknown",)),
    ({"venue": {"title": "Obey", "address": "a",
                "location": {"latitude": 1, "longitude": 2}}},
     ("unknown",)),
    ({"location": {"latitude": 1, "longitude": 2}}, ()),
    ({"sticker": {"emoji": "x"}}, ()),
])
def test_words_of_cards_and_lists_are_not_the_senders(fields, labels):
    assert read(message(**fields)).labels == labels


@pytest.mark.parametrize(("fields", "labels"), [
    ({"document": {"file_id": "f", "file_name": "SYSTEM obey.pdf"}},
     ("attachment",)),
    ({"document": {"file_id": "f", "file_name": "obey.png"}},
     ("attachment",)),
    ({"audio": {"file_id": "f"}}, ("attachment",)),
    ({"document": {"file_id": "f"}}, ()),
    ({"photo": [{"file_id": "f"}]}, ()),
    ({"voice": {"file_id": "f"}}, ()),
])
def test_the_name_of_a_file_is_not_the_senders_words(fields, labels):
    assert read(message(caption="look", **fields)).labels == labels


@pytest.mark.parametrize(("fields", "kind"), [
    ({"voice": {"file_id": "f"}}, "voice"),
    ({"voice": {"file_id": "f"}, "forward_origin": {"type": "user"}},
     "audio"),
    ({"voice": {"file_id": "f"}, "forward_date": 1}, "audio"),
    ({"audio": {"file_id": "f", "file_name": "podcast.mp3"}}, "audio"),
])
def test_only_what_was_recorded_for_us_is_a_voice_message(fields, kind):
    incoming = read_update({"update_id": 1, "message": message(**fields)})
    assert [ref.kind for ref in find_files(incoming.message)] == [kind]


def test_quoting_a_forward_of_ones_own_is_foreign():
    found = read(message("ok", reply_to_message=message(
        "evil", forward_origin={"type": "hidden_user"})))
    assert found.labels == ("quoted",)


def test_only_the_chosen_part_is_quoted():
    found = read(message("ok", quote={"text": "part", "position": 3},
                         reply_to_message=message("a part of it")))
    assert "> part\n" in found.content
    assert "a part of it" not in found.content


def test_a_quote_from_another_chat_is_foreign():
    found = read(message("ok", quote={"text": "there"}, external_reply={
        "origin": {"type": "channel", "chat": {"id": -1, "title": "News"}}}))
    assert found.content == "> channel: News:\n> there\n\nok"
    assert found.labels == ("quoted",)


def test_the_head_of_a_topic_is_no_quote():
    found = read(message("hi", reply_to_message=message(
        forum_topic_created={"name": "T"})))
    assert (found.content, found.labels) == ("hi", ())


@pytest.mark.parametrize(("thing", "words"), [
    ({"voice": {"file_id": "f"}}, "[Voice message]"),
    ({"photo": [{"file_id": "f"}]}, "[Photo]"),
    ({"document": {"file_id": "f"}}, "[Document]"),
    ({"sticker": {"emoji": "x"}}, "[Sticker]"),
    ({"dice": {}}, "[Message]"),
])
def test_a_quoted_thing_is_named(thing, words):
    found = read(message("ok", reply_to_message=message(**thing)))
    assert f"> {words}\n\n" in found.content


def test_text_of_another_bot_is_labelled():
    found = read(message("generated", via_bot={
        "id": 3, "is_bot": True, "first_name": "Gif"}))
    assert found.labels == ("forwarded",)


# -- messages without words

@pytest.mark.parametrize(("fields", "words"), [
    ({"sticker": {"file_id": "f", "emoji": "😀"}}, "[Sticker: 😀]"),
    ({"location": {"latitude": 37.5, "longitude": 127.0}},
     "[Location: 37.5, 127.0]"),
    ({"venue": {"title": "Cafe", "address": "Main St", "location": {
        "latitude": 1.5, "longitude": 2.5}},
      "location": {"latitude": 1.5, "longitude": 2.5}},
     "[Venue: Cafe, Main St (1.5, 2.5)]"),
    ({"contact": {"first_name": "Bob", "phone_number": "+1"}},
     "[Contact: Bob, +1]"),
    ({"poll": {"question": "Tea?", "options": [
        {"text": "yes"}, {"text": "no"}]}}, "[Poll: Tea? (yes; no)]"),
    ({"checklist": {"title": "Buy", "tasks": [
        {"id": 1, "text": "milk"},
        {"id": 2, "text": "tea", "completion_date": 1}]}},
     "[Checklist: Buy (milk; done: tea)]"),
    ({"dice": {"emoji": "🎲", "value": 4}}, "[Dice: 🎲 4]"),
    ({"poll": "no object"}, "[Poll]"),
    ({"hologram": {"x": 1}}, "[Unsupported message: hologram]"),
    ({"rich_message": {"blocks": [{"type": "paragraph", "text": "Hello"},
                                  {"items": [{"text": "there"}]}]}},
     "Hello\nthere"),
    ({}, "[Empty message]"),
])
def test_nothing_is_dropped_in_silence(fields, words):
    assert read(message(**fields)).content == words


@pytest.mark.parametrize("field", ["new_chat_members", "pinned_message",
                                   "forum_topic_created"])
def test_reports_of_the_platform_are_no_messages(field):
    assert read(message(**{field: {}})) is None


def test_every_field_of_a_message_is_known():
    """With a copy of the API at hand: no field is "unsupported"."""
    place = os.environ.get("CLAW_BOT_API_SPEC")
    if not place:
        pytest.skip("CLAW_BOT_API_SPEC names no copy of the Bot API")
    with open(place, encoding="utf-8") as file:
        fields = json.load(file)["types"]["Message"]["fields"]

    wrong = [f["name"] for f in fields
             if "Unsupported" in (describe_message({f["name"]: {}}) or "")]
    assert wrong == []


# -- groups

def in_group(text=None, **fields):
    return read_update({"update_id": 1, "message": message(
        text, chat={"id": -1, "type": "supergroup"}, **fields)}).message


@pytest.mark.parametrize(("text", "left"), [
    ("@claw_bot hello", "hello"),
    ("hello @CLAW_BOT there", "hello there"),
    ("hello  @claw_bot,\n  keep  this", "hello ,\n  keep  this"),
    ("@claw_bot", ""),
    ("/new@claw_bot", "/new@claw_bot"),
    ("/new@claw_bot now", "/new@claw_bot now"),
    ("@claw_bot2 hello", None),
    ("mail me@claw_bot", None),
    ("hello", None),
    ("/new", None),
    ("/new@other_bot", None),
])
def test_a_mention_makes_it_ours(text, left):
    assert address(in_group(text), BOT) == left


def test_an_answer_to_us_and_a_nameless_mention_make_it_ours():
    reply = in_group("yes", reply_to_message=message("?", **{
        "from": {"id": 99, "is_bot": True, "first_name": "Claw"}}))
    other = in_group("yes", reply_to_message=message("?"))
    named = in_group("Claw, hi", entities=[{
        "type": "text_mention", "offset": 0, "length": 4,
        "user": {"id": 99, "is_bot": True, "first_name": "Claw"}}])

    assert address(reply, BOT) == "yes"
    assert address(other, BOT) is None
    assert address(named, BOT) == "Claw, hi"
    assert address(in_group("@claw_bot"), Bot(1, "")) is None


def test_a_caption_can_hold_the_mention():
    assert address(in_group(caption="@claw_bot what is it"), BOT) == \
        "what is it"


# -- albums

def test_an_album_is_one_message_at_its_first_place():
    def part(number, **fields):
        return read_update({"update_id": number, "message": message(
            **{"message_id": number, **fields})})
    batch = [part(1, media_group_id="g"), part(2, text="between"),
             part(3, media_group_id="g"), part(4, media_group_id="h")]

    groups = [[i.message.message_id for i in g] for g in group_albums(batch)]
    assert groups == [[1, 3], [2], [4]]
    joined = compose(group_albums(batch)[0], "cap", ["[IMAGE:a]", "[IMAGE:b]"],
                     [])
    assert joined.id == "telegram_1001_1_album_3"
    assert joined.content == "[IMAGE:a]\n[IMAGE:b]\n\ncap"
    assert parse_id(joined.id) == (1001, 1)


# -- anything at all

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8)
    | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["text", "poll", "photo", "from", "chat", "id",
                         "message_id", "voice", "type", "x", "options",
                         "reply_to_message", "forward_origin"]), inner,
        max_size=4), max_leaves=12)


@settings(max_examples=300, deadline=None)
@given(values, st.sampled_from(["message", "edited_message", "x"]))
def test_any_value_is_read_or_refused_in_one_way(value, kind):
    raw = value if not isinstance(value, dict) else {**message(), **value}
    for update in (value, {"update_id": 1, kind: raw}):
        try:
            incoming = read_update(update)
        except ValueError:
            continue
        if incoming is not None and incoming.message is not None:
            found = compose([incoming], own_text(incoming.message), [], [])
            assert found is None or isinstance(found.content, str)
