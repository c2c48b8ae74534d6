"""What a job will cost in the next 30 days, before it is enabled.

How often it comes, times what its runs of the same prompt and model cost so
far. Without any that cost something known it is the price of its model for a
turn of TURN_TOKENS: a prompt with tools, memory and one or two calls of them.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from typing import Any

from claw.config.tree import Tree
from claw.core.errors import ClawError
from claw.core.ledger import dollars, lowest, price_hint
from claw.core.value import Value, replace
from claw.net.addresses import is_loopback
from claw.providers.catalog.vendors import display_name
from claw.providers.cost.prices import Prices
from claw.providers.factory import OFFLINE, Providers
from claw.providers.resilience.router import HINT
from claw.storage.jobs.model import JobSpec, Run
from claw.storage.jobs.schedule import list_runs
from claw.wiring.models.ledger import read_cost_settings, read_daily_cents
from claw.wiring.models.providers import build_providers

DAYS = 30
TURN_TOKENS = (12_000, 800)  # in, out; of all calls of a turn together
MOST_RUNS = 20_000  # that are counted
OFTEN = timedelta(minutes=5)


class Forecast(Value):
    """`runs` in the next 30 days, `at_least` where there are more; one costs
    `each_usd` (None: not known) by `basis`: "command" (nothing), "past runs"
    (the mean of `past`), "estimate", "unknown price" or "no model". `exceeds`
    are the limits that it passes, a sentence each; `is_often`: more often
    than every five minutes."""

    runs: int
    at_least: bool
    basis: str
    each_usd: float | None = None
    past: int = 0
    model: str | None = None
    is_often: bool = False
    exceeds: tuple[str, ...] = ()

    @property
    def month_usd(self) -> float | None:
        return None if self.each_usd is None else self.each_usd * self.runs

    def to_json(self) -> dict[str, Any]:
        return {
            "days": DAYS, "runs": self.runs, "at_least": self.at_least,
            "basis": self.basis, "each_usd": _round(self.each_usd),
            "month_usd": _round(self.month_usd), "past_runs": self.past,
            "model": self.model, "turn_tokens": list(TURN_TOKENS)
            if self.basis == "estimate" else None,
            "often": self.is_often, "exceeds": list(self.exceeds)}

    def describe(self) -> str:
        """For people, in one sentence."""
        runs = (f"{'more than ' if self.at_least else ''}{self.runs:,} "
                f"{'run' if self.runs == 1 else 'runs'} in {DAYS} days")
        if self.basis == "command":
            return f"{runs}; a command costs nothing"
        if self.basis == "no model":
            return f"{runs}; no model is configured, so a run that your " \
                "memory can't answer ends with an error (claw onboard)"
        if self.each_usd is None:
            return f"{runs}, at an unknown price of {self.model} (" \
                + price_hint(str(self.model)) + ")"
        if self.each_usd == 0:
            return f"{runs}, which cost nothing"
        how = (f"the mean of its last {self.past}" if self.past > 1
               else "as its last run") if self.basis == "past runs" else (
            "a turn of {:,} tokens in and {:,} out on ".format(*TURN_TOKENS)
            + str(self.model))
        return (f"{runs} at about {dollars(self.each_usd)} ({how}): "
                f"{'more than' if self.at_least else 'about'} "
                f"{dollars(self.each_usd * self.runs)}")


def forecast(tree: Tree, spec: JobSpec, past: Sequence[Run] = (), *,
             since: datetime | None = None, now: datetime | None = None
             ) -> Forecast:
    """`past` are runs of the job, of whatever it was to do; `since` is when
    it was made. Raises ConfigError for settings that are wrong."""
    now = now or datetime.now(UTC)
    coming = list(islice(takewhile(
        lambda moment: moment <= now + timedelta(days=DAYS),
        list_runs(spec.schedule, now, since or now)), MOST_RUNS + 1))
    at_least = len(coming) > MOST_RUNS
    found = Forecast(min(len(coming), MOST_RUNS), at_least, **_find_cost(
        tree, spec, past), is_often=spec.job_type == "agent" and any(
            later - first < OFTEN for first, later in pairwise(coming)))
    return replace(found, exceeds=tuple(_list_exceeded(tree, spec, found)))


def _find_cost(tree: Tree, spec: JobSpec, past: Sequence[Run]
               ) -> dict[str, Any]:
    if spec.job_type == "shell":
        return {"basis": "command", "each_usd": 0.0}
    past = [run for run in past if run.work_hash == spec.hash_work()]
    ended = [run for run in past if run.status in ("ok", "error")]
    paid = [run.cost_usd for run in past if run.cost_usd is not None]
    if ended and len(paid) >= len(ended):
        return {"basis": "past runs", "each_usd": sum(paid) / len(paid),
                "past": len(paid)}
    providers = build_providers(tree)
    name, model = _find_model(providers, spec.model)
    if name == OFFLINE:
        return {"basis": "no model"}
    price = Prices(read_cost_settings(tree).prices).find(
        display_name(name), model, local=_is_local(providers, name))
    shown = f"{display_name(name)}/{model}" if model else display_name(name)
    if price is None:
        return {"basis": "unknown price", "model": shown}
    return {"basis": "estimate", "each_usd": price.cost(*TURN_TOKENS),
            "model": shown}


def _find_model(providers: Providers, wanted: str | None) -> tuple[str, str]:
    """Provider and model that a run would ask; nobody is asked for a list
    of models."""
    hint = (wanted or "").removeprefix(HINT)
    route = next((row for row in providers.routes if row.hint == hint), None)
    if wanted and route is not None:
        choice = providers.choose(route.provider.strip() or None, route.model)
    else:
        choice = providers.choose(None, wanted)
    return choice.provider_name, choice.model or ""


def _is_local(providers: Providers, name: str) -> bool:
    with suppress(ClawError):  # whoever runs it hears of that
        vendor = providers.vendor(name)
        return vendor.local or is_loopback(vendor.url)
    return False


def _list_exceeded(tree: Tree, spec: JobSpec, found: Forecast
                   ) -> Iterator[str]:
    month = found.month_usd
    if not month:
        return
    settings = read_cost_settings(tree)
    monthly = (spec.monthly_cents or 0) / 100
    if monthly and month > monthly:
        yield f"its limit of {dollars(monthly)} a month"
    if settings.enabled and 0 < settings.monthly_limit_usd < month:
        yield (f"the {dollars(settings.monthly_limit_usd)} a month of "
               "cost.monthly_limit_usd")
    daily = lowest(settings.daily_limit_usd if settings.enabled else 0,
                   read_daily_cents(tree) / 100)
    if 0 < daily < month / DAYS:
        yield f"the {dollars(daily)} a day of your limits"


def _round(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 9)
