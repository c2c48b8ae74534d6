"""The settings, and what `claw channel doctor mqtt` says of them."""

import asyncio

import msgspec
import pytest

from claw.channels.mqtt.settings import SETUP, MqttSettings, read_address

ALICE = "claw/ask/alice"


@pytest.mark.each(("url", "host", "port", "secure"), [
    ("mqtt://h", "h", 1883, False), ("mqtts://h", "h", 8883, True),
    ("mqtt://h:99", "h", 99, False), ("MQTTS://H/", "h", 8883, True),
    ("mqtt://[::1]:5", "::1", 5, False)])
def test_an_address_has_its_port(url, host, port, secure):
    found = read_address(url)

    assert (found.host, found.port, found.secure) == (host, port, secure)


@pytest.mark.each("wrong", [
    {"broker_url": "h"}, {"broker_url": "http://h"},
    {"broker_url": "mqtt://"}, {"broker_url": "mqtt://h:x"},
    {"broker_url": "mqtt://h:99999"}, {"broker_url": "mqtt://h/path"},
    {"broker_url": "mqtt://me:hush@h"}, {"broker_url": "mqtt://me:hush@[h"},
    {"broker_url": "mqtt://h", "use_tls": True},
    {"broker_url": "mqtts://h", "use_tls": False},
    {"topics": []}, {"topics": ["a/#/b"]}, {"topics": [""]},
    {"topics": ["$share/g/a"]}, {"reply_topic": "a/+"}, {"reply_topic": ""},
    {"reply_topic": "$SYS/x"}, {"reply_prefixes": ["a/#"]},
    {"share_group": "a/b"}, {"qos": 3}, {"keep_alive_secs": 0},
    {"cert_file": "/x"}, {"allowed_users": ["*"]},
    {"reply_format": "xml"}])
def test_what_can_not_be_is_refused(wrong):
    with pytest.raises(msgspec.ValidationError) as raised:
        msgspec.convert(wrong, MqttSettings)

    assert "hush" not in str(raised.value)


@pytest.mark.each("right", [
    {"broker_url": "mqtts://h", "use_tls": True}, {"qos": 2},
    {"reply_topic": "answers/{topic}"}, {"topics": ["a/+/b", "#"]}])
def test_what_can_be_is_taken(right):
    assert msgspec.convert(right, MqttSettings)


def test_the_keys_that_the_setup_names_are_there():
    for line in SETUP.splitlines():
        if "channels_config.mqtt." in line:
            key = line.split("channels_config.mqtt.")[1].split()[0]
            assert key in MqttSettings.__struct_fields__


def rows(place, **settings):
    async def work():
        channel = place.make(**settings)
        try:
            return {f.id: f for f in await channel.diagnose()}
        finally:
            await channel.aclose()
    return asyncio.run(work())


def test_all_is_well(place):
    found = rows(place)

    assert {f.status for f in found.values()} == {"ok", "skip"}
    assert list(place.broker.sessions) == []


@pytest.mark.parametrize(("settings", "row", "status"), [
    ({"broker_url": "mqtt://127.0.0.1:1"}, "tcp", "fail"),
    ({"broker_url": "mqtt://no-such-host.invalid"}, "dns", "fail"),
    ({"broker_url": ""}, "settings", "fail"),
    ({"broker_url": "mqtts://h", "ca_file": "/none"}, "settings", "fail"),
    ({"qos": 0}, "session", "warn"),
    ({"topics": ("claw/#",)}, "replies", "warn"),
    ({"reply_topic": "claw/ask/x"}, "replies", "warn"),
    ({"allowed_users": ()}, "allow_list", "warn"),
    ({"allowed_users": ("*", ALICE)}, "allow_list", "warn"),
    ({"allowed_users": ("mina",)}, "allow_list", "warn"),
    ({"allowed_users": ("mina",), "trust_senders": True}, "allow_list",
     "warn")])
def test_what_is_wrong_is_named_with_the_next_step(place, settings, row,
                                                   status):
    found = rows(place, **settings)[row]

    assert found.status == status
    assert found.hint


@pytest.mark.parametrize(("fault", "code", "row"), [
    ("login", 0x86, "broker"), ("garbage", 0, "broker"),
    ("subscribe", 0x87, "topics")])
def test_what_the_broker_refuses_is_named(place, fault, code, row):
    place.broker.fault(fault, None, code=code)

    found = rows(place)[row]

    assert found.status == "fail"


def test_a_broker_that_forgets_soon_is_named(place):
    place.broker.granted = {17: 60}

    assert "60 s" in rows(place)["session"].detail


def test_a_doctor_takes_no_message_of_the_group(place):
    async def work():
        async with place.listening(share_group="g"):
            await place.make(share_group="g").diagnose()
            for number in range(4):
                place.broker.say(ALICE, str(number))
            await place.hear(4)

    asyncio.run(work())


def test_a_refused_connection_is_named_in_words(place):
    found = rows(place, broker_url="mqtt://127.0.0.1:1")

    assert found["tcp"].detail == "127.0.0.1:1: connection refused"
