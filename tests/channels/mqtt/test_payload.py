"""What a message says, and which id it has."""

import json
import uuid

import pytest

from claw.channels.mqtt.packets import (
    CORRELATION,
    RESPONSE_TOPIC,
    USER,
    Publish,
)
from claw.channels.mqtt.payload import (
    find_correlation,
    make_id,
    read_payload,
)

UUID = uuid.UUID(int=7).bytes


def read(payload, topic="ask", user=(), **more):
    data = payload if isinstance(payload, bytes) else (
        payload if isinstance(payload, str) else json.dumps(payload)
    ).encode("utf-8", "surrogatepass")
    return read_payload(Publish(topic, data, properties={
        USER: list(user), **{{"correlation": CORRELATION,
                              "response": RESPONSE_TOPIC}[k]: v
                             for k, v in more.items()}}))


@pytest.mark.each(("payload", "content"), [
    ("hello", "hello"),
    ("안녕 👋", "안녕 👋"),
    ({"content": "hi"}, "hi"),
    ('\ufeff{"content": "hi"}', "hi"),
    (' {"content": "hi"}', "hi"),
    ({"text": "hi"}, '{"text": "hi"}'),
    ({"content": 5}, '{"content": 5}'),
    ("[1]", "[1]"),
    ("{" * 100_000, "{" * 100_000),
    ('{"content": "hi", "id": ' + "9" * 5_000 + "}", None),
    ('{"content": "a\\ud83d"}', "a\ufffd"),
    (b"gr\xfc\xdfe", "grüße"),  # Latin-1 of an old device
])
def test_json_or_plain_text(payload, content):
    found = read(payload)

    assert found.content == (payload if content is None else content)


@pytest.mark.each("payload", [b"\x89PNG\r\n\x1a\n\0\xff", b"\xff\xfe\0a"])
def test_what_is_no_text_is_nothing(payload):
    assert read(payload) is None


def test_names_stand_in_json_or_in_user_properties():
    said = read({"content": "x", "sender": "Mina ", "thread_id": 7},
                user=[("sender", "other"), ("sender", "third")])
    plain = read("x", user=[("sender", "mina"), ("thread_id", "t1")])

    assert (said.sender, said.thread_id) == ("Mina", "7")
    assert (plain.sender, plain.thread_id) == ("mina", "t1")


@pytest.mark.each("name", ["a\0b", "a\nb", "a\ufeffb", "a\uffffb",
                           "a\ud83db", "a\x7fb"])
def test_a_name_that_a_broker_hangs_up_on_is_mended(name):
    """The answer carries the thread: it would end our connection."""
    said = read(json.dumps({"content": "x", "sender": name,
                            "thread_id": name}))

    assert (said.sender, said.thread_id) == ("a b", "a b")


@pytest.mark.each("odd", [None, [], {}, True, 1.5, "", "  ", 10**30])
def test_names_of_another_form_are_none(odd):
    said = read({"content": "x", "sender": odd, "thread_id": odd})

    assert (said.content, said.sender, said.thread_id) == ("x", "", None)


def test_an_id_makes_a_message_known_again():
    one = read({"content": "a", "id": "7"})

    assert one.key
    assert one.key == read({"content": "b", "id": "7"}).key
    assert one.key == read("a", user=[("id", "7")]).key
    assert one.key != read({"content": "a", "id": 7}).key
    assert one.key != read({"content": "a", "id": "8"}).key
    assert one.key != read({"content": "a", "id": "7"}, topic="other").key


@pytest.mark.each("odd", [None, "", " ", True, [], 1.5])
def test_an_id_of_another_form_is_none(odd):
    assert read({"content": "a", "id": odd}).key == ""


def test_unique_correlation_data_names_a_request():
    one = read("a", correlation=UUID, response="r")

    assert one.key
    assert one.key == read("a", correlation=UUID, response="r").key
    assert one.key != read("b", correlation=UUID, response="r").key
    assert one.key != read("a", correlation=UUID, response="s").key


def test_a_counter_that_starts_again_hides_no_request():
    assert read("a", correlation=b"1").key == ""


@pytest.mark.each("data", [b"", b"1", b"\0\xff" * 500, UUID])
def test_an_answer_finds_the_correlation_data_of_its_request(data):
    assert find_correlation(make_id("0" * 32, data)) == data


@pytest.mark.each("other", [None, "", "chat_7", "mqtt_x_YQ==", "mqtt_",
                            f"mqtt_{'0' * 32}_A"])
def test_other_ids_hold_none(other):
    assert find_correlation(other) == b""
