"""A channel kept running."""

import asyncio

import pytest

from claw.core.channel import Channel
from claw.core.errors import (
    AuthError,
    LeaseLostError,
    StorageError,
    UnavailableError,
)
from claw.providers.settings import ReliabilitySettings
from claw.runtime.process.health import Health
from claw.runtime.process.supervisor import (
    HEARTBEAT_S,
    Backoff,
    Supervisor,
    describe,
)

PART = "channel:acted"


class Acted(Channel):
    """Plays a list of runs: an exception, None (a clean end), or an
    awaitable function."""

    def __init__(self, *runs):
        self.runs = list(runs)
        self.starts = 0
        self.closed = 0

    @property
    def name(self):
        return "acted"

    async def send(self, message):
        return None

    async def listen(self, inbox):
        self.starts += 1
        if not self.runs:
            await asyncio.Event().wait()
        run = self.runs.pop(0)
        if isinstance(run, Exception):
            raise run
        if run is not None:
            await run()

    async def aclose(self):
        self.closed += 1


class Polling(Acted):
    poll_time_s = 10.0
    account = "acted:1"


class Watched:
    """A supervisor whose sleeps are noted and not slept."""

    def __init__(self, channel, **more):
        self.channel = channel
        self.waits = []
        self.events = []
        self.time = 0.0
        self.health = Health(clock=lambda: self.time)
        self.supervisor = Supervisor(
            "acted", lambda: self.channel, None, health=self.health,
            log=self.log, sleep=more.pop("sleep", self.sleep), **more)

    async def sleep(self, seconds):
        self.waits.append(seconds)
        await asyncio.sleep(0)

    def log(self, event, /, **fields):
        self.events.append((event, fields))

    async def run(self, until):
        """Run until this is true."""
        running = asyncio.ensure_future(self.supervisor.run())
        async with asyncio.timeout(20):
            while True:
                if until() or running.done():
                    break
                await asyncio.sleep(0.001)
        if running.done():
            running.result()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_waits_double_from_two_to_sixty_seconds():
    watched = Watched(Acted(*[UnavailableError("down")] * 8))
    await watched.run(lambda: len(watched.waits) == 8)

    assert watched.waits == [2, 4, 8, 16, 32, 60, 60, 60]
    part = watched.health.part(PART)
    assert part.restart_count == 8
    assert watched.channel.closed >= 8


async def test_a_clean_end_is_unexpected_and_starts_over_at_two():
    down = UnavailableError("down")
    watched = Watched(Acted(down, down, None, down))
    await watched.run(lambda: len(watched.waits) == 4)

    assert watched.waits == [2, 4, 2, 4]
    assert ("channel.error", {
        "channel": "acted", "error": "listener exited unexpectedly",
        "hint": None}) in watched.events


async def test_a_channel_that_ran_for_long_starts_over_at_two():
    watched = Watched(Acted())

    async def an_hour():
        watched.time += 3600
        raise UnavailableError("cut")
    down = UnavailableError("down")
    watched.channel.runs = [down, down, an_hour, down]
    await watched.run(lambda: len(watched.waits) == 4)
    assert watched.waits == [2, 4, 2, 4]


async def test_a_full_disk_is_looked_at_every_five_seconds_at_most():
    watched = Watched(Acted(*[StorageError("disk full")] * 5))
    await watched.run(lambda: len(watched.waits) == 5)
    assert watched.waits == [2, 4, 5, 5, 5]


async def test_an_error_is_shown_until_the_channel_runs_again():
    watched = Watched(Acted(AuthError("token refused", hint="set it")))
    seen = []

    async def sleep(seconds):
        part = watched.health.part(PART)
        seen.append((part.status, part.last_error, part.hint))
    watched.supervisor._sleep = sleep
    await watched.run(lambda: watched.channel.starts == 2)

    assert seen == [("error", "token refused", "set it")]
    assert watched.health.part(PART).status == "ok"
    assert watched.health.part(PART).last_error is None
    assert watched.health.part(PART).hint is None
    assert ("channel.error", {"channel": "acted", "hint": "set it",
                              "error": "token refused"}) in watched.events


async def test_any_fault_of_a_channel_is_survived():
    watched = Watched(Acted(KeyError("boom"), RuntimeError()))
    await watched.run(lambda: watched.channel.starts == 3)
    assert [f["error"] for e, f in watched.events
            if e == "channel.error"] == ["KeyError: 'boom'", "RuntimeError"]


async def test_one_channels_fault_leaves_another_alone():
    ill = Watched(Acted(*[KeyError("boom")] * 50))
    well = Watched(Acted())
    await asyncio.gather(ill.run(lambda: len(ill.waits) > 20),
                         well.run(lambda: len(ill.waits) > 20))
    assert (well.channel.starts, well.waits) == (1, [])


async def test_a_lost_lease_passes_through():
    watched = Watched(Acted(LeaseLostError("taken over")))
    with pytest.raises(LeaseLostError):
        await watched.run(lambda: False)
    assert watched.waits == []


async def test_an_input_that_may_end_ends_quietly():
    watched = Watched(Acted(None), ends=True)
    await watched.run(lambda: False)
    assert watched.waits == []
    assert watched.events[-1][0] == "channel.ended"


async def test_it_is_marked_well_while_it_runs():
    times = iter(range(1000))
    watched = Watched(Acted(), heartbeat_s=0.01)
    watched.health.now = lambda: float(next(times))
    marks = set()
    await watched.run(lambda: marks.add(
        watched.health.part(PART).last_ok) or len(marks) > 4)


async def test_a_wedged_poll_is_found_within_three_poll_times():
    channel = Polling()
    channel.poll_time_s = 1.0
    watched = Watched(channel)
    found = []
    watched.supervisor._sleep = lambda s: asyncio.sleep(0)
    watched.health.clock = asyncio.get_running_loop().time
    start = watched.health.clock()

    def restarted():
        if channel.starts == 2:
            found.append(watched.health.clock() - start)
        return bool(found)
    watched.supervisor._wait_s, real = (
        lambda c: min(0.02, real(c))), watched.supervisor._wait_s
    # three seconds pass in a tenth of one
    base = watched.health.clock
    watched.health.clock = lambda: start + (base() - start) * 30
    await watched.run(restarted)

    assert 3.0 <= found[0] < 6
    error = next(f["error"] for e, f in watched.events
                 if e == "channel.error")
    assert error.startswith("nothing was received for 3 s (a poll takes 1 s)")
    assert channel.closed == 1


@pytest.mark.parametrize(("age", "tick"), [
    (0.0, 30.0), (10.0, 20.0), (29.0, 1.0), (30.0, 0.05), (99.0, 0.05)])
async def test_it_looks_when_a_poll_would_be_wedged(age, tick):
    watched = Watched(Polling())
    watched.health.begin_receiving(PART)
    watched.time = age
    assert watched.supervisor._wait_s(watched.channel) == tick


async def test_a_channel_that_receives_is_not_wedged():
    watched = Watched(Polling(), heartbeat_s=0.005)
    watched.health.begin_receiving(PART)
    looks = []

    def receive():
        watched.time += 9
        watched.health.note_receive(PART)
        looks.append(1)
        return len(looks) > 20
    await watched.run(receive)
    assert watched.channel.starts == 1


async def test_new_settings_take_the_place_of_the_running_channel():
    old, new = Acted(), Acted()
    watched = Watched(old)

    def switched():
        if old.starts and watched.channel is old:
            watched.channel = new
            watched.supervisor.renew()
        return new.starts
    await watched.run(switched)
    assert watched.waits == []
    assert old.closed == new.closed == 0, "answers may still go out"


async def test_new_settings_end_a_long_wait():
    ill, new = Acted(AuthError("token refused")), Acted()
    watched = Watched(ill, sleep=lambda seconds: asyncio.sleep(60))

    def corrected():
        if any(e == "channel.restart" for e, _ in watched.events) \
                and watched.channel is ill:
            watched.channel = new
            watched.supervisor.renew()
        return new.starts
    await watched.run(corrected)


async def test_a_channel_that_will_not_end_does_not_hold_its_supervisor(
        monkeypatch):
    monkeypatch.setattr("claw.runtime.process.supervisor.CLOSE_S", 0.03)
    free = asyncio.Event()

    async def stubborn():
        while not free.is_set():
            try:
                await free.wait()
            except asyncio.CancelledError:
                continue
    old, new = Acted(stubborn), Acted()
    watched = Watched(old)

    def switched():
        if old.starts and watched.channel is old:
            watched.channel = new
            watched.supervisor.renew()
        return new.starts
    await watched.run(switched)
    free.set()
    await asyncio.sleep(0.01)


async def test_a_connection_that_can_not_be_closed_is_left_behind(
        monkeypatch):
    monkeypatch.setattr("claw.runtime.process.supervisor.CLOSE_S", 0.02)
    channel = Acted(UnavailableError("down"))
    channel.aclose = lambda: asyncio.sleep(60)
    watched = Watched(channel)
    await watched.run(lambda: channel.starts == 2)
    assert ("channel.close", {"channel": "acted", "error": "TimeoutError"}) \
        in watched.events


@pytest.mark.parametrize(("initial", "longest", "waits"), [
    (2, 60, [2, 4, 8]), (0, 0, [2, 4, 8]), (-5, 1, [2, 4, 8]),
    (100, 60, [100, 100, 100]), (50, 70, [50, 70, 70]),
])
def test_the_settings_set_bounds_above_two_and_sixty(initial, longest,
                                                     waits):
    backoff = Backoff.of(ReliabilitySettings(
        channel_initial_backoff_secs=initial,
        channel_max_backoff_secs=longest))
    made = backoff.waits()
    assert [next(made) for _ in waits] == waits


def caused(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(("error", "text"), [
    (UnavailableError("down"), "down"),
    (ValueError("x"), "ValueError: x"),
    (ValueError(), "ValueError"),
    (caused(RuntimeError(), OSError("no route")), "RuntimeError: no route"),
])
def test_an_error_is_never_blank(error, text):
    assert describe(error) == text


def test_a_listening_channel_marks_its_health_every_30_seconds():
    assert HEARTBEAT_S == 30
