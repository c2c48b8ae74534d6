"""Money that several calls share, within one process: --max-cost.

A call takes out the most that it may cost and gives back what it did not
need. Where there is not enough left now it waits for calls under way: they
give back most of what they hold.
"""

import asyncio

from claw.core.errors import BudgetError
from claw.core.ledger import dollars

_CENT = 1e-9  # sums of floats: less is no difference


class SharedBudget:
    """See claw.core.turn.Budget. `most_usd` None: no limit, what is spent
    is only counted. `spent_usd` was spent before, `hint` says what to do
    when all is. `shortens`: answers are cut to what is left."""

    def __init__(self, name: str, most_usd: float | None,
                 spent_usd: float = 0.0, *, hint: str,
                 shortens: bool = False) -> None:
        self.name = name
        self.most_usd = most_usd
        self.spent_usd = spent_usd
        self._hint = hint
        self._shortens = shortens
        self._held = 0.0
        self._given_back = asyncio.Event()

    @property
    def is_limited(self) -> bool:
        return self.most_usd is not None

    @property
    def answer_usd(self) -> float | None:
        if self.most_usd is None or not self._shortens:
            return None
        return self.most_usd - self.spent_usd - self._held

    async def hold(self, most_usd: float) -> None:
        while self.most_usd is not None and most_usd > 0:
            if self.spent_usd + most_usd > self.most_usd + _CENT:
                raise BudgetError(
                    f"Budget exceeded: {dollars(self.spent_usd)} of "
                    f"{dollars(self.most_usd)} --max-cost is spent, and the "
                    f"next call may cost {dollars(most_usd)}",
                    hint=self._hint)
            if self.spent_usd + self._held + most_usd \
                    <= self.most_usd + _CENT:
                break
            self._given_back.clear()
            await self._given_back.wait()
        self._held += most_usd

    def settle(self, held_usd: float, cost_usd: float) -> None:
        self._held -= held_usd
        self.spent_usd += cost_usd
        self._given_back.set()
