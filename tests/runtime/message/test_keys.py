"""Keys of a message, as the seeds give them."""

import pytest

from claw.core.channel import Attachment, ChannelMessage
from claw.runtime.message import keys


def message(content="hi", **more):
    fields = {"id": "abc123", "sender": "alice", "reply_target": "C123",
              "channel": "slack", "timestamp": 0, **more}
    return ChannelMessage(content=content, **fields)


def test_a_direct_chat_has_channel_target_and_sender_in_its_keys():
    said = message(channel="telegram", reply_target="12345678",
                   id="msg_abc123")

    assert keys.history_key(said) == "telegram_12345678_alice"
    assert keys.memory_key(said) == "telegram_alice_msg_abc123"
    assert keys.scope_key(said) == "telegram_12345678_alice"


def test_a_thread_is_a_conversation_and_a_scope_of_its_own():
    said = message(thread_ts="1741234567", id="msg_abc123",
                   interruption_scope_id="1741234567")

    assert keys.history_key(said) == "slack_C123_1741234567_alice"
    assert keys.memory_key(said) == "slack_1741234567_alice_msg_abc123"
    assert keys.scope_key(said) == "slack_C123_alice_1741234567"


@pytest.mark.parametrize(("one", "other"), [
    ({"reply_target": "#a", "sender": "b_c"},
     {"reply_target": "#a_b", "sender": "c"}),
    ({"reply_target": "a", "thread_ts": "a", "sender": "a_a_c"},
     {"reply_target": "a_a", "thread_ts": "a_a", "sender": "c"}),
    ({"reply_target": "a_b", "sender": "c"},
     {"reply_target": "a%5Fb", "sender": "c"}),
])
def test_nobody_gets_into_a_conversation_by_underscores(one, other):
    one, other = message(**one), message(**other)

    assert keys.history_key(one) != keys.history_key(other)
    assert keys.scope_key(one) != keys.scope_key(other)


def test_a_reply_anchor_alone_is_no_scope():
    assert keys.scope_key(message(thread_ts="17")) == "slack_C123_alice"


@pytest.mark.parametrize(("text", "word"), [
    ("/stop", "/stop"),
    ("  /STOP  ", "/stop"),
    ("/stop@claw_bot please", "/stop"),
    ("/Stop@Bot", "/stop"),
    ("/stopit", "/stopit"),
    ("stop", None),
    ("please /stop", None),
    ("", None),
    ("   ", None),
    ("/", "/"),
    ("/@bot", "/"),
    ("／stop", None),
])
def test_a_command_is_the_first_word_without_the_bot(text, word):
    assert keys.command_word(text) == word


@pytest.mark.parametrize(("text", "kind", "expected"), [
    ("/stop", "message", True),
    ("/approve 1a", "message", True),
    ("/DENY 1a", "message", True),
    ("yes k7m3p", "message", True),
    ("q4d8w blue", "message", True),
    ("yes", "message", False),
    ("anything", "action", True),
    ("/new", "message", False),
    ("/stopped", "message", False),
])
def test_stop_answers_and_buttons_are_alone_in_the_queue(
        text, kind, expected):
    said = message(text, kind=kind)

    assert keys.is_control(said) is expected
    assert keys.order_key(said).startswith(keys.CONTROL) is expected
    assert (keys.order_key(said) == keys.history_key(said)) is not expected


def test_the_room_of_a_qualified_channel_is_before_the_colon():
    assert keys.registered_name("matrix:!room:host") == "matrix"
    assert keys.registered_name("telegram") == "telegram"


def test_merged_messages_keep_every_text_file_and_label():
    first = message("one", id="1", labels=("forwarded",),
                    attachments=(Attachment("/a", "a"),))
    blank = message("  ", id="2", attachments=(Attachment("/b", "b"),))
    last = message("two", id="3", labels=("quoted", "forwarded"),
                   reply_target="C9")

    joined = keys.merge_messages([first, blank, last], "\n\n")

    assert joined.content == "one\n\ntwo"
    assert (joined.id, joined.reply_target) == ("3", "C9")
    assert [a.path for a in joined.attachments] == ["/a", "/b"]
    assert joined.labels == ("forwarded", "quoted")
    assert keys.merge_messages([first]) is first


def test_a_terminal_has_no_stop_word_but_answers_questions():
    def said(text):
        return ChannelMessage("1", "user", "user", text, "cli", 0)

    assert not keys.is_control(said("/stop"))
    assert keys.is_control(said("/approve abcd1234"))
