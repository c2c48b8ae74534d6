"""Topics, filters, and where an answer may go."""

import pytest

from claw.channels.mqtt.topics import (
    find_fault,
    find_filter_fault,
    make_reply_topic,
    matches,
    may_answer_at,
)
from claw.testing.fake_mqtt import _fits


@pytest.mark.each(("name", "topic", "expected"), [
    ("a", "a", True), ("a", "b", False), ("a", "a/b", False),
    ("a/#", "a", True), ("a/#", "a/b/c", True), ("#", "a/b", True),
    ("#", "$SYS/x", False), ("+/x", "$SYS/x", False), ("+", "a", True),
    ("+", "a/b", False), ("a/+", "a/b", True), ("a/+", "a/", True),
    ("a/+/c", "a/b/c", True), ("a/+/c", "a/b/d", False), ("+", "", True),
    ("a/+/#", "a/b", True), ("A", "a", False)])
def test_a_filter_matches_as_the_standard_says(name, topic, expected):
    assert matches(name, topic) is expected
    if topic:
        assert _fits(name, topic) is expected


@pytest.mark.each("topic", ["", "a/+", "#", "a#", "$SYS/x", "$share/g/t",
                            "a\0b", "a\nb", "\ud83d", "x" * 65_536])
def test_nothing_is_published_to_what_is_no_topic(topic):
    assert find_fault(topic)


@pytest.mark.each("name", ["", "a/#/b", "a#", "a+/b", "$share/g/t",
                           "$SYS/#", "a\0"])
def test_what_is_no_filter_is_refused(name):
    assert find_filter_fault(name)


@pytest.mark.each(("wanted", "expected"), [
    ("home/ask/reply/7", True),  # below the question
    ("clients/mina/answers", True),  # below a prefix
    ("home/ask", False),  # the question itself
    ("home/ask/", True),
    ("home/asking", False),  # begins alike
    ("home/door/open", False),
    ("clients", False),
    ("clientsx/y", False),
    ("home/ask/+", False),
    ("home/ask/#", False),
    ("$SYS/broker", False),
    ("clients/own/x", False),  # that we listen to
    ("home/ask/a\0b", False),
    ("", False)])
def test_a_response_topic_reaches_only_below(wanted, expected):
    assert may_answer_at(wanted, "home/ask", prefixes=("clients/",),
                         filters=("home/ask", "clients/own/#")) is expected


def test_an_empty_prefix_allows_nothing():
    assert not may_answer_at("door/open", "ask", prefixes=("", "/"),
                             filters=("ask",))


def test_the_reply_topic_is_made_of_the_question():
    assert make_reply_topic("{topic}/reply", "a/b") == "a/b/reply"
    assert make_reply_topic("answers", "a/b") == "answers"
