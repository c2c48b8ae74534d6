"""The event decoder, against the cases of the standard and worse."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.core.errors import UnavailableError
from claw.net.sse import Decoder, Event


def decode(*chunks, **settings):
    decoder = Decoder(**settings)
    found = [e for chunk in chunks for e in decoder.feed(chunk)]
    return found + decoder.end()


def data(*chunks):
    return [e.data for e in decode(*chunks)]


@pytest.mark.parametrize(("stream", "expected"), [
    (b"data: a\n\ndata: b\n\n", ["a", "b"]),
    (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
    (b"data: a\r\rdata: b\r\r", ["a", "b"]),
    (b"data:a\ndata: b\ndata\n\n", ["a\nb\n"]),
    (b": keep-alive\n\ndata: a\n\n", ["a"]),
    (b": one\ndata: a\n: two\n\n", ["a"]),
    (b"event: x\n\ndata: a\n\n", ["a"]),
    (b"data:  two spaces\n\n", [" two spaces"]),
    (b"\xef\xbb\xbfdata: after a byte order mark\n\n",
     ["after a byte order mark"]),
    (b"nonsense\ndata: a\n\n", ["a"]),
    (b"data: [DONE]", ["[DONE]"]),
    (b"data: \xff\xfe\n\n", ["\ufffd\ufffd"]),
    (b"data: a\0b\n\n", ["a\0b"]),
    (b"", []),
    (b"\n\n\n", []),
])
def test_events_of_a_stream(stream, expected):
    assert data(stream) == expected


def test_event_names_belong_to_one_event_and_ids_stay():
    assert decode(b"id: 7\nevent: ping\ndata: a\n\ndata: b\n\n") == [
        Event("a", "ping", "7"), Event("b", "message", "7")]


@given(st.data())
def test_where_the_bytes_are_cut_makes_no_difference(draw):
    stream = ("data: 안녕 👋\r\n\r\n: x\r\rdata: {\"a\": 1}\ndata: é\n\n"
              "event: end\r\ndata: [DONE]\r\n\r\n").encode()
    cuts = sorted(draw.draw(st.lists(
        st.integers(0, len(stream)), max_size=12)))
    edges = [0, *cuts, len(stream)]
    chunks = [stream[a:b] for a, b in pairwise(edges)]

    assert decode(*chunks) == decode(stream)
    assert data(stream) == ["안녕 👋", '{"a": 1}\né', "[DONE]"]


@pytest.mark.parametrize("chunks", [
    [b"data: " + b"x" * 200 + b"\n\n"],
    [b"data: ", *[b"x" * 20] * 10],
    [b"data: " + b"x" * 20 + b"\n"] * 10,
])
def test_an_endless_event_is_refused_by_name(chunks):
    with pytest.raises(UnavailableError, match=r"Acme sent .* 100 char"):
        decode(*chunks, who="Acme", event_chars=100)


def test_many_small_events_and_comments_pass_under_a_small_limit():
    chunks = [b"data: " + b"x" * 50 + b"\n\n: " + b"c" * 60 + b"\n"] * 50

    assert len(decode(*chunks, event_chars=100)) == 50
