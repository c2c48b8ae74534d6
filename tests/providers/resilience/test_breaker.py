"""The circuit breaker."""

import threading

from claw.providers.resilience.breaker import Breaker


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def failing(breaker, times, host="a"):
    for _ in range(times):
        breaker.leave(host, breaker.enter(host), False)


def test_it_opens_after_five_failures_in_a_row_for_thirty_seconds():
    clock = Clock()
    breaker = Breaker(clock=clock)

    failing(breaker, 4)
    assert breaker.enter("a") is not None
    failing(breaker, 1)
    assert breaker.enter("a") is None
    assert breaker.opens_in("a") == 30.0
    assert breaker.enter("b") is not None
    clock.now += 29.9
    assert breaker.enter("a") is None
    clock.now += 0.2
    assert breaker.opens_in("a") == 0.0
    assert breaker.enter("a") is not None


def test_an_answer_breaks_the_row():
    breaker = Breaker()

    failing(breaker, 4)
    breaker.leave("a", breaker.enter("a"), True)
    failing(breaker, 4)

    assert breaker.enter("a") is not None


def test_one_probe_at_a_time_goes_through():
    clock = Clock()
    breaker = Breaker(clock=clock)
    failing(breaker, 5)
    clock.now += 31

    probe = breaker.enter("a")

    assert probe is not None
    assert breaker.enter("a") is None
    breaker.leave("a", probe, True)
    assert breaker.enter("a") is not None
    assert breaker.enter("a") is not None


def test_a_probe_that_fails_opens_it_again():
    clock = Clock()
    breaker = Breaker(clock=clock)
    failing(breaker, 5)
    clock.now += 31

    breaker.leave("a", breaker.enter("a"), False)

    assert breaker.opens_in("a") == 30.0
    clock.now += 31
    assert breaker.enter("a") is not None


def test_a_probe_that_is_cancelled_makes_room_for_another():
    clock = Clock()
    breaker = Breaker(clock=clock)
    failing(breaker, 5)
    clock.now += 31

    breaker.leave("a", breaker.enter("a"), None)

    assert breaker.enter("a") is not None


def test_one_who_came_before_does_not_end_the_probe():
    clock = Clock()
    breaker = Breaker(clock=clock)
    early = breaker.enter("a")
    failing(breaker, 5)
    clock.now += 31
    probe = breaker.enter("a")

    breaker.leave("a", early, None)
    assert breaker.enter("a") is None
    breaker.leave("a", early, False)
    assert breaker.opens_in("a") == 0.0
    breaker.leave("a", probe, True)
    assert breaker.enter("a") is not None


def test_late_failures_do_not_make_it_longer():
    clock = Clock()
    breaker = Breaker(clock=clock)
    tickets = [breaker.enter("a") for _ in range(9)]
    for ticket in tickets:
        breaker.leave("a", ticket, False)
        clock.now += 1

    assert breaker.opens_in("a") == 25.0


def test_a_forced_one_is_let_through():
    breaker = Breaker(clock=Clock())
    failing(breaker, 5)

    ticket = breaker.enter("a", force=True)

    assert ticket is not None
    breaker.leave("a", ticket, True)
    assert breaker.enter("a") is not None


def test_no_host_is_never_closed():
    breaker = Breaker()
    failing(breaker, 9, "")

    assert breaker.enter("") is not None


def test_threads_count_every_failure():
    breaker = Breaker(failures=4001)
    threads = [threading.Thread(target=failing, args=(breaker, 500))
               for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert breaker.enter("a") is not None
    failing(breaker, 1)
    assert breaker.enter("a") is None
