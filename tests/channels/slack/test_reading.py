"""Slack's markup as text, and events as messages."""

import pytest

from claw.channels.slack.events import (
    compose,
    message_id,
    order,
    parse_id,
    read_event,
)
from claw.channels.slack.people import read_name
from claw.channels.slack.reading import decode, read_blocks, strip_mention

EVENT = {"type": "message", "channel": "C1", "user": "U1", "text": "hi",
         "ts": "1700000000.000100"}


def read(**fields):
    return read_event({**EVENT, **fields})


def message(names=(), thread_replies=True, lines=(), **fields):
    incoming = read(**fields)
    return compose(incoming, incoming.text, dict(names), lines, (),
                   thread_replies=thread_replies)


@pytest.mark.parametrize(("said", "expected"), [
    ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
    ("&amp;lt; stays", "&lt; stays"),
    ("ask <@U2>", "ask @bob"),
    ("ask <@U3|carol>", "ask @carol"),
    ("ask <@U4>", "ask @U4"),
    ("in <#C2|general>", "in #general"),
    ("<!here> <!channel>", "@here @channel"),
    ("<!subteam^S1|@team>", "@team"),
    ("<!date^1392734382^{date}|Feb 18>", "Feb 18"),
    ("see <https://a.b/c?x=1&amp;y=2>", "see https://a.b/c?x=1&y=2"),
    ("see <https://a.b/c|the page>", "see the page (https://a.b/c)"),
    ("see <http://a.b|a.b>", "see http://a.b"),
    ("<mailto:a@b.c|a@b.c>", "a@b.c"),
    ("an open < end", "an open < end"),
    ("<>", ""),
])
def test_markup_becomes_text(said, expected):
    assert decode(said, {"U2": "bob"}) == expected


def test_a_mention_is_taken_out_wherever_it_stands():
    assert strip_mention("<@U0BOT> do <@U0BOT|claw> it", "U0BOT") == "do it"
    assert strip_mention("<@U0BOTS> x", "U0BOT") == "<@U0BOTS> x"


def test_a_text_that_stands_in_blocks_alone_is_read():
    blocks = [{"type": "rich_text", "elements": [
        {"type": "rich_text_section", "elements": [
            {"type": "text", "text": "a < b "},
            {"type": "user", "user_id": "U2"},
            {"type": "emoji", "name": "tada"}]}]}]

    assert decode(read_blocks(blocks), {"U2": "bob"}) == "a < b @bob:tada:"


@pytest.mark.parametrize("fields", [
    {"subtype": "bot_message"},
    {"bot_id": "B1"},
    {"subtype": "message_deleted"},
    {"subtype": "channel_join"},
    {"user": ""},
    {"user": None},
    {"type": "reaction_added"},
    {"subtype": "message_changed", "message": {**EVENT},
     "previous_message": {**EVENT}},
    {"subtype": "message_changed", "message": {**EVENT, "text": "unfurled"}},
    {"subtype": "message_changed", "message": None},
])
def test_what_no_person_wrote_is_no_message(fields):
    assert read(**fields) is None


@pytest.mark.parametrize("fields", [
    {"ts": "now"}, {"ts": None}, {"ts": "1" * 400}, {"channel": "../x"},
    {"channel": None}, {"thread_ts": "'; --"}, {"user": "U" * 999},
])
def test_a_message_that_cannot_be_read_is_a_value_error(fields):
    with pytest.raises(ValueError, match="a message without"):
        read(**fields)


@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast", None])
def test_what_people_write_is_a_message(subtype):
    found = message(subtype=subtype)

    assert found.content == "hi"
    assert found.id == "slack_C1_1700000000.000100"
    assert (found.sender, found.reply_target) == ("U1", "C1")
    assert found.timestamp == 1700000000


@pytest.mark.parametrize(("replies", "thread", "expected"), [
    (True, None, ("1700000000.000100", None)),
    (True, "1700000000.000100", ("1700000000.000100", None)),
    (True, "1600000000.000100", ("1600000000.000100",) * 2),
    (False, None, (None, None)),
    (False, "1600000000.000100", ("1600000000.000100",) * 2),
])
def test_threads(replies, thread, expected):
    fields = {} if thread is None else {"thread_ts": thread}
    found = message(thread_replies=replies, **fields)

    assert (found.thread_ts, found.interruption_scope_id) == expected


def test_an_edit_is_a_message_of_its_own():
    after = {**EVENT, "text": "ho", "edited": {"ts": "1700000009.000000"}}
    found = message(subtype="message_changed", message=after,
                    previous_message=EVENT, ts="1700000009.000200")

    assert found.content == "[Edited] ho"
    assert found.id == "slack_C1_1700000000.000100_edit_1700000009.000000"
    assert found.timestamp == 1700000009
    assert parse_id(found.id) == ("C1", "1700000000.000100")


def test_a_shared_message_is_forwarded_and_another_is_quoted():
    shared = {"is_share": True, "author_name": "Eve", "text": "run &lt;it&gt;"}
    quoted = {"author_name": "Mallory", "text": "one\ntwo"}

    found = message(text="look", attachments=[shared])
    other = message(text="look", attachments=[quoted])

    assert found.content == "[Forwarded from Eve] run <it>\n\nlook"
    assert found.labels == ("forwarded",)
    assert other.content == "> Mallory:\n> one\n> two\n\nlook"
    assert other.labels == ("quoted",)


def test_who_writes_is_an_id_and_is_called_by_his_name():
    found = message(names={"U1": "ally"})

    assert (found.sender, found.sender_name) == ("U1", "ally")


@pytest.mark.parametrize(("user", "expected"), [
    ({"profile": {"display_name": "ally", "real_name": "Alice"}}, "ally"),
    ({"profile": {"display_name": " ", "real_name": "Alice"}}, "Alice"),
    ({"real_name": "Alice", "name": "alice"}, "Alice"),
    ({"name": "alice", "profile": 7}, "alice"),
    (None, ""),
    ([], ""),
])
def test_names_of_people(user, expected):
    assert read_name(user) == expected


def test_a_ts_counts_as_numbers_and_not_as_text():
    assert order("9.5") < order("10.000001") < order("10.5")
    assert order("1700000000.1") == order("1700000000.100000")


@pytest.mark.parametrize("own", ["", "slack_", "slack_C1_x", "telegram_1_2"])
def test_other_ids_are_none_of_ours(own):
    assert parse_id(own) is None


def test_one_post_that_comes_twice_has_one_id():
    assert message_id(read()) == message_id(read(type="app_mention"))
    assert read().key == read(type="app_mention").key
