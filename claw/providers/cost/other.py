"""One call that is no chat: an embedding, a transcription, a synthesis.

Plain code, for memory is plain: reserved before, settled after, like the
calls of call.py. What it costs is known before, so the record is that
price, marked as estimated where it goes by tokens that claw counted.
"""

import time

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


class PlainCall:
    """`begin` reserves, `end` settles (with the error that ended it), `undo`
    takes back what was reserved for a call that was never made.

    `cost_usd` is None where no price is known, `tokens` what claw counted of
    it.
    """

    def __init__(self, terms: Terms, kind: str, model: str,
                 cost_usd: float | None, *, tokens: int | None = None
                 ) -> None:
        self._terms = terms
        self._kind = kind
        self._model = model
        self._cost_usd = cost_usd
        self._tokens = tokens
        self._reservation: Reservation | None = None
        self._began = 0.0

    def begin(self) -> None:
        """Raises BudgetError or ConfigError where a limit forbids the
        call."""
        turn, cost, terms = current_turn.get(), self._cost_usd, self._terms
        limits = find_limits(terms, turn, is_free=cost == 0)
        check_call(terms, self._model, cost, limits, self._kind)
        self._reservation = _reserve(terms, build_start(
            terms.name, self._model, cost, turn, kind=self._kind), limits)
        self._began = time.monotonic()

    def end(self, error: BaseException | None = None) -> None:
        """It is over."""
        if error is None:
            self._settle("ok", self._cost_usd)
        elif was_never_made(error):
            self.undo()
        else:
            self._settle(find_outcome(error),
                         self._cost_usd if was_read(error) else 0.0)

    def undo(self) -> None:
        """There was no call."""
        self._settle("", 0.0)

    def _settle(self, outcome: str, paid: float | None) -> None:
        if self._reservation is not None:
            turn = current_turn.get()
            if turn is not None and turn.budget is not None:
                turn.budget.settle(0.0, paid or 0.0)
            _settle(self._terms, self._reservation, CallEnd(
                outcome, input_tokens=self._tokens, cost_usd=paid,
                estimated=bool(paid), duration_ms=round(
                    (time.monotonic() - self._began) * 1000)))


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
