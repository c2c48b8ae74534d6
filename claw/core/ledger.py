"""Ledger: what every call of a model was, took and cost.

A call is reserved with what it may cost before it is made, and settled
with what it did cost after. Both happen in one file that all processes
share, so that two of them together keep to a limit. Amounts are US
dollars, tokens as in core.provider.TokenUsage. Days and months are those
of the user's own time zone, at the time of the call.
"""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from claw.core.value import Value

if TYPE_CHECKING:
    from claw.core.provider import TokenUsage

# What retries set, so that the record tells the first try from the others.
current_attempt: ContextVar[int] = ContextVar("current_attempt", default=1)
# Answers of the running call that nobody gets to see; None outside of one.
_unused: ContextVar["list[TokenUsage | None] | None"] = ContextVar(
    "unused_answers", default=None)


def unused_answers() -> "list[TokenUsage | None]":
    """A call begins: what `set_aside` puts here until the next one does."""
    kept: list[TokenUsage | None] = []
    _unused.set(kept)
    return kept


def set_aside(usage: "TokenUsage | None") -> None:
    """A whole answer came and is not used, for it was empty. It is paid
    for like any other."""
    kept = _unused.get()
    if kept is not None:
        kept.append(usage)


class CallStart(Value):
    """A call that is about to be made.

    `origin` is that of the turn, "other" outside of one. `estimate_usd` is
    the most that it is thought to cost, None where no price is known.
    `kind`: "chat", "embedding", "transcription" or "synthesis".
    """

    provider: str
    model: str
    estimate_usd: float | None = None
    turn_id: str | None = None
    origin: str = "other"
    channel: str | None = None
    session: str | None = None
    streamed: bool = False
    attempt: int = 1
    kind: str = "chat"


class CallEnd(Value):
    """What became of a call.

    `outcome` is "ok", the kind of an error, "timeout" or "cancelled".
    Tokens are None where the vendor did not count them. `cost_usd` is None
    where no price is known; `estimated` says that it was not made of the
    vendor's own count. `first_token_ms` is None where nothing was shown.
    """

    outcome: str
    answered: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd: float | None = None
    estimated: bool = False
    first_token_ms: int | None = None
    duration_ms: int | None = None


class Limits(Value):
    """What may be spent, None for no limit: in the day, in the month, by
    the turn of the call, in the day by its channel. `daily_cents` says that
    the day's is the one that [autonomy] sets, in cents."""

    daily_usd: float | None = None
    monthly_usd: float | None = None
    turn_usd: float | None = None
    channel_usd: float | None = None
    daily_cents: bool = False


NO_LIMITS = Limits()


def lowest(*limits: float) -> float:
    """The lowest limit that is set, 0 where none is."""
    return min((limit for limit in limits if limit > 0), default=0.0)


class Spent(Value):
    """What is spent in the running day and month, calls under way counted
    with what is reserved for them. 0 where it was not asked for."""

    day_usd: float = 0.0
    month_usd: float = 0.0


class Reservation(Value):
    """A call that may be made. `id` is None where the ledger could not
    keep it. `first` says that the model was not called yet on that day."""

    id: int | None
    start: CallStart
    spent: Spent = Spent()
    first: bool = False


class Ledger(Protocol):
    """Keeps calls. `wait_s` is how long another process may hold the file
    before UnavailableError. All members raise StorageError."""

    def reserve(self, start: CallStart, limits: Limits = NO_LIMITS, *,
                wait_s: float = 0.0) -> Reservation:
        """Room for a call. Raises BudgetError where it could pass a
        limit."""

    def settle(self, reservation: Reservation, end: CallEnd, *,
               wait_s: float = 0.0) -> None:
        """Put what it was in the place of what was reserved."""

    def release(self, reservation: Reservation, *,
                wait_s: float = 0.0) -> None:
        """The call was never made."""


class Call(Value):
    """One call as it is kept. `at` is RFC 3339 in UTC, `day` the local
    one. `outcome` is "open" while the call is under way, and "unknown"
    where the process ended before it did; `cost_usd` is then what was
    reserved."""

    id: int
    at: str
    day: str
    provider: str
    model: str
    origin: str
    turn_id: str | None
    channel: str | None
    session: str | None
    streamed: bool
    attempt: int
    kind: str
    end: CallEnd


class Total(Value):
    """The sum of some calls. `failed` are those with an outcome but "ok",
    `unpriced` those without a price: `cost_usd` leaves them out."""

    calls: int = 0
    failed: int = 0
    unpriced: int = 0
    estimated: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0


def dollars(amount: float) -> str:
    """An amount for people: cents, and four decimals below a dollar."""
    if amount == 0 or amount >= 1:
        return f"${amount:,.2f}"
    return f"${amount:.4f}" if amount >= 0.0001 else "<$0.0001"


# What a price is made of, by kind of call, with an example each.
PRICE_KEYS = {"chat": (("input", "1.5"), ("output", "6")),
              "embedding": (("input", "0.02"),),
              "transcription": (("per_minute", "0.006"),),
              "synthesis": (("per_character", "15"),)}
_UNITS = {"transcription": "for a minute",
          "synthesis": "for a million characters"}


def price_hint(model: str, kind: str = "chat") -> str:
    """How to tell claw what a model costs."""
    name = model.replace("\\", "\\\\").replace('"', '\\"')
    unit = _UNITS.get(kind, "for a million tokens")
    return f"set it, in dollars {unit}: " + "; ".join(
        f"claw config set 'cost.prices.\"{name}\".{key}' {example}"
        for key, example in PRICE_KEYS[kind])
