"""MQTT 5 packets: ours against an independent codec, and hostile bytes."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.channels.mqtt import packets
from claw.channels.mqtt.packets import Login, PacketError, Publish, Reply
from claw.testing import fake_mqtt_wire as wire


def sent(data):
    """The packet as a broker reads it."""
    async def read():
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        found = await wire.read_packet(reader)
        assert await reader.read() == b""
        return found
    return asyncio.run(read())


def received(data):
    """The packet as claw reads it, its length taken off."""
    at = 2 if data[1] < 128 else 3 if data[2] < 128 else 4
    return packets.read(data[0], data[at:])


def test_connect_says_what_the_login_says():
    hello = wire.read_hello(sent(packets.connect(Login(
        "claw-1", "mina", "pass", keep_alive_s=7, session_s=99,
        receive_maximum=5, max_packet=1000))))

    assert (hello.client_id, hello.username, hello.password) == (
        "claw-1", "mina", "pass")
    assert (hello.keep_alive_s, hello.clean) == (7, False)
    assert hello.properties == {17: 99, 33: 5, 39: 1000}
    assert wire.read_hello(sent(packets.connect(Login("x")))).clean


def test_a_login_shows_no_password():
    assert "secret" not in repr(Login("claw", "mina", "secret"))


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_383, 16_384, 200_000])
def test_a_message_of_any_size_goes_out_and_comes_in(size):
    payload = b"x" * size
    found = sent(packets.publish("a/b", payload, number=7, properties={
        packets.USER: [("k", "v"), ("k", "w")], packets.CORRELATION: b"\0c"}))
    scan = wire.Scan(found.body)

    assert (scan.utf(), scan.number(2)) == ("a/b", 7)
    assert scan.props() == {38: [("k", "v"), ("k", "w")], 9: b"\0c"}
    assert scan.rest() == payload
    assert packets.read(0x32, found.body) == Publish(
        "a/b", payload, 1, 7, properties={
            packets.USER: [("k", "v"), ("k", "w")],
            packets.CORRELATION: b"\0c"})


def test_a_message_says_whether_it_came_before_and_is_an_old_one():
    body = wire.utf("t") + b"\0\1" + wire.props({})

    assert packets.read(0x3A, body).dup
    assert packets.read(0x33, body).retain


@pytest.mark.parametrize("text", ["a\ufeffb", "", "안녕 👋", "x" * 60_000])
def test_a_user_property_of_a_stranger_never_breaks_the_connection(text):
    """Other clients hang up on U+FEFF, and get it again for ever."""
    body = wire.utf("t") + b"\0\1" + packets._properties(
        {packets.USER: [("k", text)]}) + b"boom"

    found = packets.read(0x32, body)

    assert found.payload == b"boom"
    assert found.user == [("k", text)]


@pytest.mark.parametrize("properties", [
    b"\x03\x26\x00\x01",  # ends inside
    b"\x02\x7f\x00",  # unknown
    b"\xff\xff\xff\xff\x7f",  # a length of five bytes
    b"\x7f",  # longer than the packet
])
def test_properties_that_cant_be_read_are_no_end(properties):
    found = packets.read(0x32, wire.utf("t") + b"\0\1" + properties)

    assert (found.topic, found.number, found.readable) == ("t", 1, False)


def test_a_string_that_is_not_utf8_is_read():
    found = packets.read(0x32, b"\0\2a\xff\0\1" + b"\0")

    assert found.topic == "a\ufffd"


def test_the_replies_of_a_broker():
    assert packets.read(0x20, b"\x01\x00\x00") == Reply(
        packets.CONNACK, (0,), session_present=True)
    assert packets.read(0x40, b"\0\7") == Reply(packets.PUBACK, (0,), 7)
    assert packets.read(0x40, b"\0\7\x97\0").reasons == (0x97,)
    assert packets.read(0x90, b"\0\7\0\1\x87").reasons == (1, 0x87)
    assert packets.read(0xE0, b"").reasons == (0,)
    assert packets.read(0xE0, b"\x8e\0").reasons == (0x8E,)


@pytest.mark.parametrize(("first", "body"), [
    (0x20, b""), (0x40, b"\0"), (0x34, b"\0\1t\0\1\0"), (0x00, b""),
    (0xF0, b""), (0x82, b"\0\1\0"), (0x32, b"\0\1t\0"), (0x30, b"\0")])
def test_what_is_no_packet_of_a_broker_is_refused(first, body):
    with pytest.raises(PacketError):
        packets.read(first, body)


@given(st.integers(0, 255), st.binary(max_size=60))
def test_any_bytes_are_a_packet_or_a_packet_error(first, body):
    try:
        packets.read(first, body)
    except PacketError:
        pass


def test_cut_and_changed_messages_never_raise_anything_else():
    whole = sent(packets.publish("a/b", b"hello", number=7, properties={
        packets.USER: [("k", "v")], packets.CORRELATION: b"c",
        packets.RESPONSE_TOPIC: "r", packets.EXPIRY: 9})).body
    chance = random.Random(1)
    for _ in range(3_000):
        body = bytearray(whole[:chance.randint(0, len(whole))])
        for _ in range(chance.randint(0, 3) if body else 0):
            body[chance.randrange(len(body))] = chance.randrange(256)
        try:
            packets.read(0x32, bytes(body))
        except PacketError:
            pass
