"""The ledger's file: limits, records, sums, and what may go wrong."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest

from claw.core.errors import (
    BudgetError,
    ExitCode,
    NotFoundError,
    StorageError,
    UnavailableError,
)
from claw.core.ledger import CallEnd, CallStart, Limits, Total
from claw.core.value import replace
from claw.storage.ledger import KEPT_DAYS, OPEN_S, SqliteLedger
from claw.storage.ledger_reader import open_reader
from claw.storage.ledger_tables import local_day

NOON = 1_795_262_400.0  # 2026-11-21T12:00:00Z
DAY = 86_400.0
ALL = ("0000-01-01", "9999-12-31")


class Clock:
    def __init__(self, now=NOON):
        self.now = now

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "workspace" / "state" / "ledger.db"


@pytest.fixture
def ledger(path, clock):
    with closing(SqliteLedger(path, now=clock)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def in_utc(monkeypatch):
    set_zone(monkeypatch, "UTC")
    yield
    monkeypatch.undo()
    time.tzset()


def set_zone(monkeypatch, name):
    monkeypatch.setenv("TZ", name)
    time.tzset()


def start(estimate=0.5, **more):
    return replace(CallStart("openai", "gpt-5", estimate, "t1", "ask"),
                   **more)


def end(cost=0.1, **more):
    return replace(CallEnd("ok", "gpt-5-2025", 100, 20, 30, 4, cost,
                           False, 50, 900), **more)


def call(ledger, cost=0.1, estimate=0.5, limits=None, **more):
    reservation = ledger.reserve(start(estimate, **more),
                                 limits or Limits())
    ledger.settle(reservation, end(cost))
    return reservation


def read(path, work, now=time.time):
    with open_reader(path, now=now) as reader:
        return work(reader)


def test_a_call_is_kept_with_all_that_is_known_of_it(ledger, path):
    reservation = ledger.reserve(start(
        channel="telegram", session="telegram_7", streamed=True, attempt=2))
    ledger.settle(reservation, end())

    kept, = read(path, lambda r: r.calls(*ALL, 10))
    assert (kept.at, kept.day) == ("2026-11-21T12:00:00.000Z", "2026-11-21")
    assert (kept.provider, kept.model, kept.origin, kept.turn_id,
            kept.channel, kept.session, kept.streamed, kept.attempt) == (
        "openai", "gpt-5", "ask", "t1", "telegram", "telegram_7", True, 2)
    assert kept.end == end()


def test_nothing_is_made_before_the_first_call(path, clock):
    ledger = SqliteLedger(path, now=clock)
    assert ledger.turn_cost("t1") == 0.0
    assert ledger.session_cost("s") == (Total(), Total())
    ledger.close()
    with pytest.raises(NotFoundError):
        open_reader(path)

    assert not path.parent.exists()


def test_the_file_is_the_owners_alone(ledger, path):
    call(ledger)

    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(path.parent).st_mode) == 0o700


def test_reading_changes_nothing(ledger, path):
    call(ledger)
    ledger.close()
    before = path.read_bytes()

    read(path, lambda r: (r.spent(), r.totals("day", *ALL)))

    assert path.read_bytes() == before


# -- limits


@pytest.mark.parametrize(("limits", "name"), [
    (Limits(daily_usd=1.0), "daily"), (Limits(monthly_usd=1.0), "monthly"),
    (Limits(turn_usd=1.0), "--max-cost")])
def test_a_call_that_could_pass_a_limit_is_refused(ledger, path, limits,
                                                   name):
    call(ledger, 0.6)
    ledger.reserve(start(0.3), limits)

    with pytest.raises(BudgetError) as caught:
        ledger.reserve(start(0.2), limits)

    assert caught.value.exit_code == ExitCode.BUDGET == 8
    assert caught.value.message.startswith(
        f"Budget exceeded: $0.9000 of $1.00 {name} limit")
    assert caught.value.hint
    assert len(read(path, lambda r: r.calls(*ALL, 9))) == 2


def test_a_limit_may_be_spent_to_the_last_cent(ledger):
    limits = Limits(daily_usd=1.0, monthly_usd=1.0, turn_usd=1.0)
    for _ in range(10):  # ten times 0.1 is not quite 1 in floats
        call(ledger, 0.1, 0.1, limits)

    with pytest.raises(BudgetError):
        call(ledger, 0.001, 0.001, limits)


def test_a_call_that_takes_a_turn_just_to_its_limit_is_made(ledger):
    limits = Limits(turn_usd=1.0)
    call(ledger, 0.5, 0.5, limits)
    call(ledger, 0.5, 0.5, limits)

    with pytest.raises(BudgetError):
        call(ledger, 0.01, 0.01, limits)


def test_settling_frees_what_was_reserved_too_much(ledger):
    limits = Limits(daily_usd=1.0)
    for _ in range(9):
        call(ledger, 0.05, 0.5, limits)


def test_a_call_that_was_never_made_costs_nothing(ledger, path):
    limits = Limits(daily_usd=1.0)
    ledger.release(ledger.reserve(start(0.9), limits))

    call(ledger, 0.9, 0.9, limits)
    assert len(read(path, lambda r: r.calls(*ALL, 9))) == 1


def test_what_is_settled_can_not_be_released(ledger, path):
    ledger.release(call(ledger, 0.7))

    assert read(path, lambda r: r.totals("day", *ALL))["2026-11-21"].calls \
        == 1


def test_a_new_day_has_its_own_limit_and_the_month_goes_on(ledger, clock):
    call(ledger, 0.9)
    clock.now += DAY

    assert ledger.reserve(start(), Limits(daily_usd=1.0, monthly_usd=9)
                          ).spent.month_usd == 0.9
    with pytest.raises(BudgetError, match="monthly"):
        ledger.reserve(start(), Limits(1.0, 1.0))


@pytest.mark.parametrize("held", [False, True])
def test_a_clock_that_is_set_back_gives_no_money_of_the_month_back(
        ledger, path, clock, held):
    ledger.reserve(start(0.9)) if held else call(ledger, 0.9)
    clock.now -= DAY

    with pytest.raises(BudgetError, match=r"\$0.90.* monthly"):
        ledger.reserve(start(), Limits(monthly_usd=1.0))
    assert read(path, lambda r: r.spent(), now=clock).month_usd == 0.9


def test_a_new_month_starts_at_nothing(ledger, clock):
    call(ledger, 0.9)
    clock.now += 10 * DAY  # 2026-12-01

    assert ledger.reserve(start(), Limits(1.0, 1.0)).spent.month_usd == 0


def test_a_turn_counts_its_own_calls_only(ledger):
    call(ledger, 5.0, turn_id="other")

    call(ledger, 0.9, 0.9, Limits(turn_usd=1.0))


@pytest.mark.parametrize(("zone", "day"), [
    ("UTC", "2026-11-21"), ("Asia/Seoul", "2026-11-22"),
    ("America/Los_Angeles", "2026-11-21")])
def test_a_day_is_that_of_the_users_zone(ledger, path, clock, monkeypatch,
                                         zone, day):
    set_zone(monkeypatch, zone)
    clock.now = NOON + 6 * 3600  # 18:00 in UTC

    call(ledger)

    assert list(read(path, lambda r: r.totals("day", *ALL))) == [day]


# -- processes


WORK = """
import sys
from claw.core.errors import BudgetError
from claw.core.ledger import CallEnd, CallStart, Limits
from claw.storage.ledger import SqliteLedger

ledger = SqliteLedger(sys.argv[1])
sys.stdin.readline()
made = 0
for number in range(40):
    start = CallStart("p", "m", 0.05, "t", "ask")
    try:
        held = ledger.reserve(start, Limits(daily_usd=4.0), wait_s=15)
    except BudgetError:
        continue
    ledger.settle(held, CallEnd("ok", cost_usd=0.05), wait_s=15)
    made += 1
ledger.close()
print(made)
"""


def test_eight_processes_at_once_keep_to_one_limit(path):
    """320 calls want 16 dollars; the day has 4, which is 80 calls."""
    workers = [subprocess.Popen(
        [sys.executable, "-c", WORK, str(path)], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(8)]
    made = []
    for worker in workers:  # all are ready before the first begins
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        out, _ = worker.communicate(timeout=60)
        made.append(int(out))

    assert sum(made) == 80
    total = next(iter(read(path, lambda r: r.totals("provider", *ALL)
                           ).values()))
    assert total.calls == 80
    assert total.cost_usd == pytest.approx(4.0)


KILLED = """
import os, signal, sys
from claw.core.ledger import CallStart
from claw.storage.ledger import SqliteLedger
SqliteLedger(sys.argv[1]).reserve(CallStart("p", "m", 0.75, "t", "ask"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_reserved_counts_as_spent(path):
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)

    kept, = read(path, lambda r: r.calls(*ALL, 9))
    assert kept.end.outcome == "open"
    with closing(SqliteLedger(path)) as ledger, pytest.raises(BudgetError):
        ledger.reserve(start(0.3), Limits(daily_usd=1.0))

    later = Clock(time.time() + OPEN_S + 60)
    kept, = read(path, lambda r: r.calls(*ALL, 9), now=later)
    assert (kept.end.outcome, kept.end.cost_usd, kept.end.estimated) == (
        "unknown", 0.75, True)
    with closing(SqliteLedger(path, now=later)) as ledger:
        call(ledger, 0.1)
    sums = read(path, lambda r: r.totals("model", *ALL))
    assert (sums["m"].calls, sums["m"].failed, sums["m"].cost_usd) == (
        1, 1, 0.75)


def test_a_call_that_ends_after_it_was_given_up_counts_once(path, clock):
    with closing(SqliteLedger(path, now=clock)) as slow:
        held = slow.reserve(start(0.75))
        clock.now += OPEN_S + 60
        with closing(SqliteLedger(path, now=clock)) as other:
            call(other, 0.1)
        slow.settle(held, end(0.2))

    total = read(path, lambda r: r.totals("model", *ALL))["gpt-5"]
    assert (total.calls, total.failed) == (2, 0)
    assert total.cost_usd == pytest.approx(0.3)


def test_threads_share_a_ledger(path):
    with closing(SqliteLedger(path)) as ledger:
        def work():
            for _ in range(20):
                held = ledger.reserve(start(), wait_s=10)
                ledger.settle(held, end(), wait_s=10)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert read(path, lambda r: r.totals("model", *ALL))["gpt-5"].calls \
        == 80


def test_a_file_that_another_holds_is_unavailable_and_not_waited_for(
        ledger, path):
    call(ledger)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(UnavailableError, match="locked"):
            ledger.reserve(start())
        assert time.monotonic() - began < 4
        other.execute("ROLLBACK")

    call(ledger)


# -- sums


def test_sums_are_by_day_month_origin_model_and_provider(ledger, path,
                                                         clock):
    call(ledger, 0.1)
    call(ledger, 0.3, model="gpt-6", origin="cron")
    clock.now += 20 * DAY
    ledger.settle(ledger.reserve(start(provider="groq")),
                  end(None, outcome="rate_limited", estimated=True))

    def costs(by):
        return {key: round(total.cost_usd, 6) for key, total
                in read(path, lambda r: r.totals(by, *ALL)).items()}
    assert costs("day") == {"2026-11-21": 0.4, "2026-12-11": 0.0}
    assert costs("month") == {"2026-11": 0.4, "2026-12": 0.0}
    assert costs("model") == {"gpt-6": 0.3, "gpt-5": 0.1}
    assert list(costs("model")) == ["gpt-6", "gpt-5"]
    assert costs("origin") == {"cron": 0.3, "ask": 0.1}
    assert costs("provider") == {"openai": 0.4, "groq": 0.0}
    assert read(path, lambda r: r.totals(
        "provider", "2026-12-01", "2026-12-31")) == {
        "groq": Total(1, 1, 1, 1, 100, 20, 30, 4, 0.0)}
    assert read(path, lambda r: r.unpriced(*ALL)) == ["gpt-5"]


def test_sums_hold_what_a_killed_process_left_reserved(path, clock):
    """`claw cost` said $0.00 where `--calls` and the limits had $0.50."""
    with closing(SqliteLedger(path, now=clock)) as ledger:
        call(ledger, 0.1)
        ledger.reserve(start())
        ledger.reserve(start(None, model="odd", turn_id="t2"))

        def sums(by, late=0.0):
            return read(path, lambda r: r.turns(*ALL) if by == "turn"
                        else r.totals(by, *ALL), now=lambda: NOON + late)
        assert sums("model") == {
            "gpt-5": Total(2, 0, 0, 1, 100, 20, 30, 4, 0.6),
            "odd": Total(1, 0, 1, 1)}
        assert sums("turn") == {
            "t2": Total(1, 0, 1, 1),
            "t1": Total(2, 0, 0, 1, 100, 20, 30, 4, 0.6)}
        assert ledger.session_cost("nobody") == (Total(), Total())
        assert sums("day", OPEN_S + 1)["2026-11-21"].failed == 2


def test_turns_are_summed_the_latest_first(ledger, path):
    call(ledger, 0.1, turn_id="a")
    call(ledger, 0.2, turn_id="b")
    call(ledger, 0.3, turn_id="a")
    call(ledger, 0.4, turn_id=None)

    turns = read(path, lambda r: r.turns(*ALL))
    assert list(turns) == ["", "a", "b"]
    assert turns["a"].cost_usd == pytest.approx(0.4)


def test_a_turn_with_a_call_without_a_price_has_no_cost(ledger):
    call(ledger, 0.1, turn_id="a")
    call(ledger, 0.2, turn_id="a")
    assert ledger.turn_cost("a") == pytest.approx(0.3)

    call(ledger, None, None, turn_id="a")
    assert ledger.turn_cost("a") is None
    assert ledger.turn_cost("b") == 0.0


def test_a_session_knows_its_day_and_its_month(ledger, clock):
    call(ledger, 0.1, session="s")
    clock.now += DAY
    call(ledger, 0.2, session="s")
    call(ledger, 0.4, session="other")

    today, month = ledger.session_cost("s")
    assert (today.calls, month.calls) == (1, 2)
    assert today.cost_usd == pytest.approx(0.2)
    assert month.cost_usd == pytest.approx(0.3)


def test_single_calls_go_after_400_days_and_their_sums_stay(path, clock):
    with closing(SqliteLedger(path, now=clock)) as ledger:
        call(ledger, 0.5)
        clock.now += (KEPT_DAYS - 1) * DAY
        call(ledger, 0.25)
    clock.now += 2 * DAY
    with closing(SqliteLedger(path, now=clock)) as ledger:
        call(ledger, 0.125)

    assert [c.end.cost_usd for c in read(path, lambda r: r.calls(*ALL, 9))
            ] == [0.125, 0.25]
    assert read(path, lambda r: r.totals("model", *ALL)
                )["gpt-5"].cost_usd == 0.875


def test_a_process_that_never_closes_it_kept_single_calls_for_ever(
        ledger, path, clock):
    call(ledger, 0.5)
    ledger.reserve(start(0.25))  # and what others left when they were killed
    clock.now += (KEPT_DAYS + 1) * DAY
    call(ledger, 0.125)

    assert [c.end.cost_usd for c in read(path, lambda r: r.calls(*ALL, 9))
            ] == [0.125]
    assert read(path, lambda r: r.totals("model", *ALL)
                )["gpt-5"].cost_usd == 0.875


def test_only_the_first_unpriced_call_of_a_day_is_the_first(ledger, clock):
    def first():
        held = ledger.reserve(start(None))
        ledger.settle(held, end(None))
        return held.first
    assert [first(), first()] == [True, False]
    clock.now += DAY

    assert first()
    assert not ledger.reserve(start(0.1)).first


# -- trouble


@pytest.mark.parametrize("name", [
    "m\udcffx", "m\0x", "\u202em", "한국어", "m" * 10_000, "'; DROP TABLE"])
def test_any_name_is_kept(ledger, path, name):
    call(ledger, model=name, turn_id=name, session=name, provider=name)

    kept, = read(path, lambda r: r.calls(*ALL, 9))
    assert kept.model[:1] == name[:1]
    assert len(kept.model) <= 300
    assert ledger.turn_cost(name) == pytest.approx(0.1)
    assert ledger.session_cost(name)[0].calls == 1


def test_a_damaged_file_is_said_with_what_to_do(path, clock):
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database at all " * 100)
    ledger = SqliteLedger(path, now=clock)

    for _ in range(2):
        with pytest.raises(StorageError, match=r"ledger\.db") as caught:
            ledger.reserve(start())
        assert "mv " in caught.value.hint
    with pytest.raises(StorageError):
        open_reader(path)

    path.unlink()  # the owner does it
    call(ledger)
    ledger.close()


def test_a_newer_format_is_left_alone(ledger, path):
    call(ledger)
    ledger.close()
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version=99")

    for work in (lambda: ledger.reserve(start()), lambda: open_reader(path)):
        with pytest.raises(StorageError, match="newer version"):
            work()


def test_a_file_that_was_removed_is_made_anew(ledger, path):
    held = ledger.reserve(start())
    for file in path.parent.iterdir():
        file.unlink()

    ledger.settle(held, end(0.2))  # nothing is lost of it

    kept, = read(path, lambda r: r.calls(*ALL, 9))
    assert (kept.model, kept.end.cost_usd) == ("gpt-5", 0.2)


def test_a_folder_that_can_not_be_made_is_a_storage_error(tmp_path):
    (tmp_path / "state").write_text("in the way")

    with pytest.raises(StorageError, match=r"ledger\.db can.t be"):
        SqliteLedger(tmp_path / "state" / "ledger.db").reserve(start())


def test_an_empty_file_holds_no_ledger_yet(path):
    path.parent.mkdir(parents=True)
    path.touch()

    with pytest.raises(NotFoundError):
        open_reader(path)


def test_local_days_are_dates():
    assert local_day(NOON) == "2026-11-21"


def test_a_folder_that_can_not_be_looked_into_is_said(path):
    path.parent.parent.mkdir()
    path.parent.write_text("in the way")

    with pytest.raises(StorageError, match="can't be opened"):
        open_reader(path)
    assert SqliteLedger(path).turn_cost("t") == 0.0


def make_format_1(path):
    """A ledger as it was before calls had a kind, with one call."""
    with closing(SqliteLedger(path)) as ledger:
        call(ledger)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE calls DROP COLUMN kind")
        connection.execute("PRAGMA user_version=1")
        connection.commit()


def test_an_old_ledger_is_read_as_it_is(path):
    make_format_1(path)

    kept, = read(path, lambda r: r.calls(*ALL, 10))
    assert kept.kind == "chat"
    assert list(read(path, lambda r: r.kinds(*ALL))) == ["chat"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)


def test_an_old_ledger_is_gone_on_with(path):
    make_format_1(path)
    with closing(SqliteLedger(path)) as ledger:
        call(ledger, kind="embedding")

    assert [c.kind for c in read(path, lambda r: r.calls(*ALL, 10))] == [
        "embedding", "chat"]
