"""Which message a delivery is, by the wire alone."""

import pytest

from claw.channels.mqtt.deliveries import Deliveries
from claw.channels.mqtt.packets import Publish
from claw.core.channel import Marks


class Process:
    """One life; the marks and the clock go on."""

    def __init__(self):
        self.marks, self.now = Marks(), 0.0
        self.restart()

    def restart(self, present=True):
        self.deliveries = Deliveries(self.marks, lambda: self.now)
        self.deliveries.resume(present)

    def take(self, text="yes", number=1, *, dup=False, confirm=True, qos=1):
        self.now += 1
        message = Publish("ask", text.encode(), qos, number, dup)
        found = self.deliveries.identify(message)
        if confirm:
            self.deliveries.confirm(message)
        return found

    def prove(self):
        self.now += 1
        self.deliveries.settle(self.now)


@pytest.fixture
def process():
    return Process()


def test_a_new_delivery_is_a_new_message(process):
    assert process.take() != process.take()


@pytest.mark.parametrize("confirm", [False, True])
@pytest.mark.parametrize("restart", [False, True])
def test_one_that_comes_again_is_the_same(process, confirm, restart):
    first = process.take(confirm=confirm)
    if restart:
        process.restart()

    assert process.take(dup=True) == first


def test_another_text_under_the_number_is_another_message(process):
    assert process.take("yes") != process.take("no", dup=True)
    assert process.take("no", dup=True) != process.take("no", 2, dup=True)


def test_what_was_surely_confirmed_does_not_come_again(process):
    first = process.take()
    process.prove()
    process.restart()

    assert process.take(dup=True) != first


def test_what_was_not_confirmed_is_known_whatever_was_proved(process):
    first = process.take(confirm=False)
    process.prove()

    assert process.take(dup=True) == first


def test_what_an_earlier_process_confirmed_may_still_come(process):
    """It comes right after the login, which answers prove nothing about."""
    first = process.take()
    process.restart()
    process.prove()

    assert process.take(dup=True) == first


def test_a_new_session_repeats_nothing(process):
    first = process.take()
    process.restart(present=False)

    assert process.take(dup=True) != first


def test_nothing_is_kept_for_good(process):
    for number in range(1, 50):
        process.take(number=number)
        process.prove()

    assert process.marks.keys() == ()


def test_qos_zero_has_no_number(process):
    assert process.take(qos=0, number=0) != process.take(qos=0, number=0,
                                                         dup=True)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"1": 2}', '{"x": ["a"]}',
                                  "null"])
def test_marks_of_another_form_are_none(text):
    marks = Marks()
    marks.set("deliveries", text)

    Deliveries(marks).resume(True)

    assert marks.get("deliveries") is None
