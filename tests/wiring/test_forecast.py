"""What a job will cost in a month."""

from datetime import UTC, datetime

import pytest

from claw.storage.jobs.model import JobSpec, Run
from claw.storage.jobs.schedule import parse_schedule
from claw.wiring.jobs.forecast import MOST_RUNS, TURN_TOKENS, forecast

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
PRICED = 'default_provider = "openai"\ndefault_model = "gpt-5"\n'


def build(expr="@daily", **fields):
    fields = {"job_type": "agent", "prompt": "x", **fields}
    return JobSpec(parse_schedule({"kind": "cron", "expr": expr}), **fields)


def ended(status, cost):
    return Run(1, "j", "s", "", status, cost_usd=cost,
               work_hash=build().hash_work())


@pytest.mark.parametrize(("schedule", "runs", "at_least", "often"), [
    ({"kind": "cron", "expr": "@daily"}, 30, False, False),
    ({"kind": "cron", "expr": "*/5 * * * *"}, 8640, False, False),
    ({"kind": "cron", "expr": "*/4 * * * *"}, 10_800, False, True),
    ({"kind": "cron", "expr": "0,1 9 * * *"}, 60, False, True),
    ({"kind": "cron", "expr": "* * * * * *"}, MOST_RUNS, True, True),
    ({"kind": "cron", "expr": "0 9 24 12 *"}, 0, False, False),
    ({"kind": "every", "every_ms": 1000}, MOST_RUNS, True, True),
    ({"kind": "every", "every_ms": 3_600_000}, 720, False, False),
    ({"kind": "at", "at": "2026-11-02T00:00:00Z"}, 1, False, False),
])
def test_runs_of_a_month_are_counted(write_settings, schedule, runs, at_least,
                                     often):
    found = forecast(write_settings(), JobSpec(
        parse_schedule(schedule), "agent", prompt="x"), now=NOW, since=NOW)

    assert (found.runs, found.at_least, found.is_often) == (
        runs, at_least, often)


@pytest.mark.parametrize(("settings", "fields", "basis", "costs"), [
    ("", {}, "no model", None),
    (PRICED, {}, "estimate", True),
    (PRICED, {"model": "nothing-known"}, "unknown price", None),
    ('default_provider = "custom:http://127.0.0.1:1/v1"\n', {}, "estimate",
     False),
    (PRICED, {"job_type": "shell", "prompt": None, "command": "ls"},
     "command", False),
    ('default_provider = "openai"\n[[model_routes]]\nhint = "deep"\n'
     'provider = "anthropic"\nmodel = "claude-sonnet-4-5"\n',
     {"model": "deep"}, "estimate", True),
    ('default_provider = "openai"\n[model_aliases]\nfast = "gpt-5-mini"\n',
     {"model": "fast"}, "estimate", True),
])
def test_where_the_price_comes_from(write_settings, settings, fields, basis,
                                    costs):
    found = forecast(write_settings(settings), build(**fields), now=NOW)

    assert found.basis == basis
    assert found.month_usd is None if costs is None \
        else bool(found.month_usd) is costs
    assert found.describe().startswith("30 runs in 30 days")


def test_an_estimate_names_its_size_and_its_model(write_settings):
    found = forecast(write_settings(PRICED), build(), now=NOW)

    assert "12,000 tokens in and 800 out on openai/gpt-5" in found.describe()
    assert found.to_json()["turn_tokens"] == list(TURN_TOKENS)


@pytest.mark.parametrize(("past", "each"), [
    ([ended("ok", 0.2), ended("error", 0.4)], 0.3),
    ([ended("ok", 0.2), ended("skipped", None), ended("running", None)], 0.2),
    ([ended("ok", 0.0), ended("ok", 0.3)], 0.15),
    ([ended("ok", 0.2), ended("ok", None)], None),  # one has no price
    ([ended("skipped", None)], None),
])
def test_what_runs_cost_goes_before_a_price(write_settings, past, each):
    found = forecast(write_settings(), build(), past, now=NOW)

    assert found.each_usd == pytest.approx(each) if each is not None \
        else found.basis == "no model"


@pytest.mark.parametrize(("settings", "fields", "count"), [
    ("", {}, 0),
    ("", {"monthly_cents": 2999.0}, 1),
    ("", {"monthly_cents": 3000.0}, 0),
    ("[cost]\nmonthly_limit_usd = 29.0\n", {}, 1),
    ("[cost]\nenabled = false\nmonthly_limit_usd = 29.0\n", {}, 0),
    ("[cost]\ndaily_limit_usd = 0.9\n", {"monthly_cents": 1.0}, 2),
    ("[autonomy]\nmax_cost_per_day_cents = 90\n", {}, 1),
])
def test_limits_that_it_would_pass_are_named(write_settings, settings, fields,
                                             count):
    found = forecast(write_settings(settings), build(**fields),
                     [ended("ok", 1.0)], now=NOW)

    assert found.month_usd == pytest.approx(30)
    assert len(found.exceeds) == count
