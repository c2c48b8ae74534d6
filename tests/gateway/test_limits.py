"""Sliding windows and kept answers."""

import pytest

from claw.gateway.idempotency import AnswerStore, Kept
from claw.gateway.limits import SlidingWindow


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def test_a_window_slides():
    clock = Clock()
    window = SlidingWindow(2, clock=clock)

    assert window.take("a") is None
    clock.now += 30
    assert window.take("a") is None
    assert window.take("a") == 30.0
    assert window.take("b") is None
    clock.now += 30
    assert window.take("a") is None
    # the one of a minute ago is out, the one of half a minute ago is not
    assert window.take("a") == 30.0


def test_no_limit_counts_nobody():
    window = SlidingWindow(0)

    assert [window.take("a") for _ in range(1000)] == [None] * 1000
    assert len(window) == 0


def test_what_is_given_back_does_not_count():
    window = SlidingWindow(1, clock=Clock())
    window.take("a")
    window.give_back("a")
    window.give_back("nobody")

    assert window.take("a") is None
    assert window.take("a") is not None


def test_the_one_that_rested_longest_is_forgotten():
    clock = Clock()
    window = SlidingWindow(1, most=3, clock=clock)
    for who in "abcd":
        clock.now += 1
        window.take(who)

    assert len(window) == 3
    assert window.take("d") is not None
    assert window.take("a") is None


def test_windows_of_many_addresses_empty_by_themselves():
    clock = Clock()
    window = SlidingWindow(5, clock=clock)
    for number in range(5000):
        window.take(str(number))
    clock.now += 61
    window.take("new")

    assert len(window) == 1


def kept(body=b"x", fingerprint="f"):
    return Kept(fingerprint, 200, (), body)


def test_an_answer_is_kept_for_its_time():
    clock = Clock()
    store = AnswerStore(10, clock=clock)

    assert store.begin("k", "f") == "new"
    assert store.begin("k", "f") == "running"
    assert store.begin("k", "g") == "other"
    store.end("k", kept())
    assert store.begin("k", "f").body == b"x"
    assert store.begin("k", "g") == "other"
    clock.now += 10
    assert store.begin("k", "f") == "new"


def test_a_failure_is_not_kept():
    store = AnswerStore()
    store.begin("k", "f")
    store.end("k", None)

    assert store.begin("k", "g") == "new"


@pytest.mark.parametrize(("most", "most_bytes"), [(3, 1000), (1000, 30)])
def test_the_oldest_answers_go(most, most_bytes):
    store = AnswerStore(most=most, most_bytes=most_bytes)
    for number in range(10):
        store.begin(str(number), "f")
        store.end(str(number), kept(b"x" * 10))

    assert len(store) == 3
    assert store.begin("9", "f") != "new"
    assert store.begin("6", "f") == "new"


def test_an_answer_larger_than_all_room_is_not_kept():
    store = AnswerStore(most_bytes=5)
    store.begin("k", "f")
    store.end("k", kept(b"x" * 6))

    assert len(store) == 0
