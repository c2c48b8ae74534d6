"""Every message comes back as it was."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.core.channel import (
    Attachment,
    Button,
    ChannelMessage,
    Part,
    SendMessage,
)
from claw.core.errors import StorageError, UsageError
from claw.storage.queue import codec

# Any string of Python, lone surrogates and NUL among them.
ANY = st.text(st.characters(), max_size=20)
MAYBE = st.none() | ANY
ATTACHMENTS = st.lists(st.builds(Attachment, ANY, ANY, MAYBE,
                                 st.integers(0, 2 ** 70)),
                       max_size=2).map(tuple)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY
    | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(ANY, inner, max_size=3), max_leaves=8)


@given(st.builds(
    ChannelMessage, ANY, ANY, ANY, ANY, ANY, st.integers(), MAYBE, MAYBE,
    ATTACHMENTS, ANY, st.lists(ANY, max_size=2).map(tuple)))
def test_a_message_comes_back(message):
    text = codec.encode(message, "x")

    assert text.isascii()
    assert "\0" not in text
    assert codec.message(text, "x") == message


@given(st.builds(
    SendMessage, ANY, ANY, MAYBE, MAYBE, ATTACHMENTS,
    st.lists(st.builds(Button, ANY, ANY), max_size=2).map(tuple)))
def test_a_send_comes_back(message):
    assert codec.send(codec.encode(message, "x"), "x") == message


@given(ANY, ANY, st.dictionaries(ANY, JSON, max_size=3))
def test_a_part_comes_back(kind, text, data):
    part = Part(kind, text, data)

    assert codec.part(codec.encode(part, "x"), "x") == part


@given(ANY, ANY)
def test_two_texts_never_become_one(one, two):
    columns = [codec.pack(text) for text in (one, two)]

    assert [codec.unpack(column) for column in columns] == [one, two]
    assert (columns[0] == columns[1]) == (one == two)
    assert all("\0" not in column for column in columns)
    assert all(column.encode() is not None for column in columns)


def test_fields_of_a_newer_version_are_ignored():
    message = ChannelMessage("1", "b", "c", "d", "e", 1,
                             attachments=(Attachment("p", "f"),))
    data = json.loads(codec.encode(message, "x"))
    data["mood"] = "good"
    data["attachments"][0]["hash"] = "00"

    assert codec.message(json.dumps(data), "x") == message


def test_fields_that_an_older_version_did_not_know_have_their_default():
    text = json.dumps({"id": "1", "sender": "b", "reply_target": "c",
                       "content": "d", "channel": "e", "timestamp": 1})

    assert codec.message(text, "x") == ChannelMessage(
        "1", "b", "c", "d", "e", 1)


@pytest.mark.parametrize("text", [
    None, "", "{", "[]", "7", "{}", '{"id": "1"}',
    '{"attachments": [7]}', "[" * 100_000])
def test_a_damaged_payload_is_named(text):
    with pytest.raises(StorageError, match="message 7"):
        codec.message(text, "message 7")


def test_what_json_cannot_say_is_refused():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    circle = []
    circle.append(circle)
    for bad in (b"bytes", {1, 2}, object(), deep, circle, {(1,): 2}):
        with pytest.raises(UsageError, match="the part"):
            codec.encode(Part("text", "x", {"bad": bad}), "the part")


def test_a_column_takes_text_alone():
    with pytest.raises(UsageError, match="int"):
        codec.pack(7)


async def test_odd_texts_pass_through_the_whole_queue(kit):
    odd = 'a\0b \ud800 "\U0001f600'
    queue = kit.open()
    lease = await queue.lease(odd, 30)
    arrival = kit.arrival(odd, odd, content=odd, channel=odd)
    await queue.accept(lease, [arrival])
    assert await queue.accept(lease, [arrival]) == [None]
    (name,) = await queue.waiting()
    claim = await queue.claim(lease, name)
    await queue.keep_draft(lease, claim, odd)
    await queue.complete(lease, claim, kit.answered(
        kit.send(odd, odd, recipient=odd, thread=odd, channel=odd,
                 draft_id=odd), trace={odd: odd}, reason=odd))
    (row,) = await queue.due(odd, kit.clock, 9)
    await queue.mark_sending(lease, row)
    await queue.put_off(lease, row, 0, odd, uncertain=True)
    (row,) = await queue.outbox_rows(source=odd)
    (stored,) = await queue.inbox_rows()

    assert name == claim.conversation == odd
    assert (row.source, row.channel, row.error, row.message_id) == (
        odd,) * 4
    assert row.message.thread_ts == odd
    assert stored.message == arrival.message
    assert (stored.reason, stored.draft_id) == (odd, odd)
    assert (await queue.trace(odd))[odd] == odd
    assert (await queue.holder(odd)).name == odd
    with pytest.raises(StorageError):
        codec.decode("\0", "x")
