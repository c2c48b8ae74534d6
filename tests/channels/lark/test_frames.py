"""The frame of the long connection, byte by byte, and events in several."""

import random

import pytest

from claw.channels.lark.frames import DATA, Frame, decode, encode
from claw.channels.lark.socket import MOST_EVENTS, Assembly, acknowledge


def test_a_frame_is_what_the_definition_says():
    frame = Frame(seq_id=1, log_id=2, service=7, method=DATA,
                  headers=(("type", "event"),), payload=b"{}")

    data = encode(frame)

    assert data == (b"\x08\x01\x10\x02\x18\x07\x20\x01"
                    b"\x2a\x0d\x0a\x04type\x12\x05event\x42\x02{}")
    assert decode(data) == frame


def test_numbers_that_are_zero_are_written_since_they_are_required():
    assert encode(Frame()) == b"\x08\x00\x10\x00\x18\x00\x20\x00"


@pytest.mark.each("frame", [
    Frame(seq_id=2**64 - 1, log_id=2**63, service=-1, method=-2**31),
    Frame(headers=(("", ""), ("a", "é👋"), ("a", "twice"))),
    Frame(payload_encoding="gzip", payload_type="json", log_id_new="x" * 300),
    Frame(payload=bytes(range(256)) * 300),
])
def test_a_frame_comes_back_as_it_went(frame):
    assert decode(encode(frame)) == frame


@pytest.mark.each("data", [
    b"\x08", b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x42\x05{}", b"\x00\x01", b"\x0b\x01", b"\x42\xff\xff\xff\xff\x7f",
    b"\x2a\x03\x0a\x04t",
])
def test_what_is_no_frame_is_a_value_error(data):
    with pytest.raises(ValueError):
        decode(data)


def test_any_bytes_are_a_frame_or_a_value_error():
    rng = random.Random(7)
    good = encode(Frame(1, 2, 7, DATA, (("type", "event"),), payload=b"x"))
    for _ in range(3_000):
        data = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            decode(bytes(data[:rng.randint(0, len(data))]))
        except ValueError:
            pass


def part(seq, total, payload, number="m1"):
    return Frame(method=DATA, payload=payload, headers=(
        ("message_id", number), ("sum", str(total)), ("seq", str(seq))))


def test_parts_come_in_any_order_and_twice():
    parts = Assembly()

    assert parts.add(part(2, 3, b"c")) is None
    assert parts.add(part(0, 3, b"a")) is None
    assert parts.add(part(0, 3, b"a")) is None
    assert parts.add(part(1, 3, b"b")) == b"abc"
    assert len(parts) == 0


def test_parts_that_never_end_are_forgotten():
    now = [0.0]
    parts = Assembly(lambda: now[0])
    for n in range(200):
        parts.add(part(0, 2, b"x", f"m{n}"))

    assert len(parts) == MOST_EVENTS
    now[0] = 301.0
    parts.add(part(0, 2, b"x", "late"))
    assert len(parts) == 1


@pytest.mark.each(("seq", "total"), [(3, 3), (0, 257), ("x", 2), (-1, 2)])
def test_parts_that_can_not_be_are_refused(seq, total):
    with pytest.raises(ValueError):
        Assembly().add(part(seq, total, b"x"))


def test_an_acknowledgement_is_the_same_frame_with_an_answer():
    frame = part(0, 1, b"{...}")

    found = acknowledge(frame, {"toast": 1}, 0.25)

    assert found.payload == b'{"code": 200, "data": "eyJ0b2FzdCI6IDF9"}'
    assert found.headers == (*frame.headers, ("biz_rt", "250"))
