"""claw cost: what calls of models took and cost."""

import json
import os
import pty
import re
import subprocess
import sys
import time
from contextlib import closing

import pytest

from claw.cli.app import COMMANDS
from claw.core.ledger import CallEnd, CallStart
from claw.storage.ledger import SqliteLedger
from claw.storage.ledger_tables import local_day

pytestmark = pytest.mark.skipif(
    "cost" not in COMMANDS, reason="claw cost is not in the table yet")

DAY = 86_400
ROW = {"calls": 1, "failed": 0, "unpriced_calls": 0, "estimated_calls": 0,
       "input_tokens": 1200, "output_tokens": 30, "cached_input_tokens": 100,
       "cache_write_tokens": 0, "cost_usd": 0.25}


def keep(home, days_ago=0.0, cost=0.25, outcome="ok", **start):
    """One call in the ledger of this home."""
    ledger = SqliteLedger(home / "workspace" / "state" / "ledger.db",
                          now=lambda: time.time() - days_ago * DAY)
    with closing(ledger):
        held = ledger.reserve(CallStart(**{
            "provider": "openai", "model": "gpt-5", "estimate_usd": cost,
            "turn_id": "turn-1", "origin": "ask", **start}))
        ledger.settle(held, CallEnd(
            outcome, "gpt-5-2025-08-07", 1200, 30, 100, 0, cost, False, 40,
            900))


@pytest.fixture
def filled(home):
    """Two models today, one call 40 days ago."""
    keep(home, 40)
    keep(home)
    keep(home, model="odd", cost=None, origin="cron", turn_id="turn-2",
         provider="mine", outcome="rate_limited")


def test_a_price_that_was_set_since_is_not_missed_any_more(claw, filled):
    for key in ("input", "output"):
        assert claw("config", "set", f'cost.prices."odd".{key}',
                    "1").code == 0
    done = claw("cost")

    assert "no price is known" not in done.err
    assert 'stay "?": odd' in done.err


def test_a_row_for_each_day_and_the_total(claw, filled):
    done = claw("cost")

    today = local_day(time.time())
    assert done.code == 0
    assert done.out == (
        f"{today}\t2\t1\t2,400\t60\t200\t$0.2500+?\n"
        "total\t2\t1\t2,400\t60\t200\t$0.2500+?\n")
    assert "spent today $0.2500 of $10.00, this month" in done.err
    assert "no price is known of odd" in done.err
    assert "claw config set 'cost.prices.\"odd\".input'" in done.err


@pytest.mark.parametrize(("by", "first"), [
    ("model", ["gpt-5", "odd"]), ("origin", ["ask", "cron"]),
    ("provider", ["openai", "mine"]), ("turn", ["turn-2", "turn-1"]),
])
def test_rows_may_be_of_something_else(claw, filled, by, first):
    done = claw("cost", "--by", by)

    rows = [line.split("\t") for line in done.out.splitlines()]
    assert [row[0] for row in rows] == [*first, "total"]
    assert {row[6] for row in rows if row[0] in ("odd", "turn-2", "mine",
                                                 "cron")} == {"?"}


def test_months_go_back_as_far_as_asked(claw, filled):
    done = claw("cost", "--by", "month", "--since", "60d", "--json")

    rows = done.json["rows"]
    assert sum(row["calls"] for row in rows) == 3
    assert [row["month"] for row in rows] == sorted(
        row["month"] for row in rows)
    assert rows[0] == {
        "month": local_day(time.time() - 40 * DAY)[:7], **ROW}


def test_json_tells_totals_rows_and_limits(claw, home, filled):
    (home / "config.toml").write_text(
        "[cost]\ndaily_limit_usd = 2\nmonthly_limit_usd = 0\n"
        "per_call_limit_usd = 0.5\n")
    done = claw("cost", "--today", "--json")

    today = local_day(time.time())
    assert done.code == 0
    assert done.json == {
        "total_usd": 0.25, "calls": 2, "failed": 1, "unpriced_calls": 1,
        "estimated_calls": 0, "input_tokens": 2400, "output_tokens": 60,
        "cached_input_tokens": 200, "cache_write_tokens": 0,
        "since": today, "until": today, "by": "day",
        "rows": [{"day": today, **ROW, "calls": 2, "failed": 1,
                  "unpriced_calls": 1, "input_tokens": 2400,
                  "output_tokens": 60, "cached_input_tokens": 200}],
        "unfinished": dict.fromkeys(ROW, 0),
        "unpriced": ["odd"],
        "limits": {"enabled": True, "daily_usd": 2.0,
                   "spent_today_usd": 0.25, "monthly_usd": None,
                   "spent_month_usd": 0.25, "per_call_usd": 0.5}}
    assert done.err == ""


def test_jsonl_is_a_row_a_line(claw, filled):
    done = claw("cost", "--by", "model", "--jsonl")

    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["model"] for row in rows] == ["gpt-5", "odd"]
    assert rows[0] == {"model": "gpt-5", **ROW}
    assert rows[1]["cost_usd"] is None


def test_single_calls_tell_their_first_token_and_outcome(claw, filled):
    done = claw("cost", "--calls", "1")
    cells = done.out.rstrip("\n").split("\t")
    assert cells[1:] == ["turn-2", "cron", "mine", "odd", "1,200", "30", "?",
                         "40 ms", "900 ms", "rate_limited"]
    assert cells[0].startswith(local_day(time.time()))

    done = claw("cost", "--calls", "9", "--json")
    assert done.json["by"] == "call"
    assert done.json["calls"] == 2
    assert done.json["rows"][1] | {"at": "", "id": 0} == {
        "id": 0, "at": "", "kind": "chat", "turn_id": "turn-1",
        "origin": "ask",
        "channel": None, "session": None, "provider": "openai",
        "model": "gpt-5", "answered": "gpt-5-2025-08-07", "streamed": False,
        "attempt": 1, "outcome": "ok", "input_tokens": 1200,
        "output_tokens": 30, "cached_input_tokens": 100,
        "cache_write_tokens": 0, "cost_usd": 0.25, "estimated": False,
        "first_token_ms": 40, "duration_ms": 900}


def test_calls_that_are_no_chat_are_told_apart(claw, home):
    keep(home)
    keep(home, model="whisper-1", kind="transcription", cost=0.01)

    done = claw("cost", "--by", "kind")
    assert [line.split("\t")[0] for line in done.out.splitlines()] == [
        "transcription", "chat", "total"]
    assert "whisper-1 (transcription)" in claw("cost", "--calls", "1").out


@pytest.mark.parametrize("outcome", ["timeout", "cancelled"])
def test_calls_that_were_left_are_told_apart(claw, home, outcome):
    keep(home, outcome=outcome)

    assert "1 call timed out, broke off or was cancelled; their $0.2500 " \
        "is an estimate" in claw("cost").err
    assert claw("cost", "--json").json["unfinished"]["calls"] == 1


def test_the_lower_of_two_daily_limits_is_told(claw, home, filled):
    (home / "config.toml").write_text(
        "[autonomy]\nmax_cost_per_day_cents = 150\n")

    assert "spent today $0.2500 of $1.50, this month" in claw("cost").err
    assert claw("cost", "--json").json["limits"]["daily_usd"] == 1.5


def test_limits_that_are_off_are_not_told(claw, home, filled):
    (home / "config.toml").write_text("[cost]\nenabled = false\n")

    assert "spent today" not in claw("cost").err
    assert claw("cost", "-q").err == ""


@pytest.mark.parametrize("arguments", [
    (), ("--json",), ("--calls", "3"), ("--by", "turn")])
def test_nothing_recorded_is_an_empty_list_and_makes_nothing(
        claw, home, arguments):
    done = claw("cost", *arguments)

    assert done.code == 0
    assert not home.exists()
    if "--json" in arguments:
        assert (done.json["total_usd"], done.json["rows"]) == (0.0, [])
    else:
        assert done.out == ""
        assert "no call of a model is recorded" in done.err


def test_days_without_a_call_are_an_empty_list(claw, filled):
    assert claw("cost", "--until", "2020-01-31").code == 0


@pytest.mark.parametrize("arguments", [
    ("--by", "dya"), ("--since", "yesterday"), ("--since", "2026-02-30"),
    ("--until", ""), ("--since", "9999999d"), ("--since", "9999-01-01"),
    ("--today", "--since", "1d"), ("--calls", "0"), ("--calls", "x")])
def test_a_wrong_span_is_wrong_usage(claw, filled, arguments):
    assert claw("cost", *arguments).code == 2


def test_a_damaged_ledger_says_so(claw, home):
    path = home / "workspace" / "state" / "ledger.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not a database at all" * 100)

    done = claw("cost")
    assert done.code == 74
    assert "ledger.db" in done.err
    assert "move it away" in done.err


def test_a_name_can_not_break_its_line(claw, home):
    keep(home, model="a\tb\nc\x1b[2J")

    row, total = claw("cost", "--by", "model").out.splitlines()
    assert row.startswith("a b c\\x1b[2J\t1\t")
    assert total.startswith("total\t1\t")


def test_a_person_gets_columns_with_a_head(environment, filled):
    main, side = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "claw", "cost", "--by", "model"], stdout=side,
        stderr=subprocess.PIPE, env=environment, timeout=60, check=True)
    os.close(side)
    shown = os.read(main, 100_000).decode().replace("\r\n", "\n")
    os.close(main)

    lines = shown.splitlines()
    assert lines[0].split() == ["model", "calls", "failed", "tokens", "in",
                                "out", "cached", "cost"]
    bare = [re.sub(r"  \x1b.*|[ █▏▎▍▌▋▊▉]*$", "", line) for line in lines]
    assert len({len(line) for line in bare}) == 1
    assert "█" in shown
    assert b"spent today" in done.stderr
