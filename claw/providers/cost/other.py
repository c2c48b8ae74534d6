"""One call that is no chat: an embedding, a transcription, a synthesis.

Plain code, for memory is plain: reserved before, settled after, like the
calls of call.py. What it costs is known before, so the record is that
price, marked as estimated where it goes by tokens that claw counted.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from claw.core.errors import StorageError, UnavailableError
from claw.core.ledger import NO_LIMITS, CallEnd, CallStart, Limits, Reservation
from claw.core.turn import current_turn
from claw.providers.cost.call import (
    Terms,
    build_start,
    check_call,
    find_limits,
    find_outcome,
    was_never_made,
    was_read,
)

WAIT_S = 2.0  # for another process that writes


@contextmanager
def meter_call(terms: Terms, kind: str, model: str, cost_usd: float | None, *,
               tokens: int | None = None) -> Iterator[None]:
    """The call stands inside. `cost_usd` is None where no price is known,
    `tokens` what claw counted of it. Raises BudgetError or ConfigError
    before a call that a limit forbids."""
    turn = current_turn.get()
    limits = find_limits(terms, turn, is_free=cost_usd == 0)
    check_call(terms, model, cost_usd, limits, kind)
    reservation = _reserve(terms, build_start(
        terms.name, model, cost_usd, turn, kind=kind), limits)
    began, paid, outcome = time.monotonic(), cost_usd, "ok"
    try:
        yield
    except BaseException as error:
        outcome = "" if was_never_made(error) else find_outcome(error)
        paid = cost_usd if was_read(error) else 0.0
        raise
    finally:
        _settle(terms, reservation, CallEnd(
            outcome, input_tokens=tokens, cost_usd=paid,
            estimated=bool(paid),
            duration_ms=round((time.monotonic() - began) * 1000)))


def _reserve(terms: Terms, start: CallStart, limits: Limits) -> Reservation:
    try:
        return terms.ledger.reserve(start, limits, wait_s=WAIT_S)
    except (StorageError, UnavailableError) as error:
        if start.estimate_usd and limits != NO_LIMITS:
            raise StorageError(
                "no call is paid for while its cost can't be recorded: "
                f"{error.message}", hint=error.hint) from error
        terms.say("unwritten", f"calls are not recorded: {error.message}")
        return Reservation(None, start)


def _settle(terms: Terms, reservation: Reservation, end: CallEnd) -> None:
    """Without an outcome there was no call."""
    try:
        if not end.outcome:
            terms.ledger.release(reservation, wait_s=WAIT_S)
        elif reservation.id is not None:
            terms.ledger.settle(reservation, end, wait_s=WAIT_S)
    except (StorageError, UnavailableError) as error:
        terms.say("unwritten", f"a call was not recorded: {error.message}")
