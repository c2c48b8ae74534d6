"""Settings -> the ledger, what models cost, and how much they may.

Nothing is opened before the first call of a model. What a command needs
only to look at the ledger loads neither httpx nor asyncio.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from claw.config.places import Places
from claw.config.tree import Tree
from claw.core.errors import StorageError, UnavailableError
from claw.core.ledger import Total
from claw.core.registry import load_dotted
from claw.providers.settings import CostSettings

if TYPE_CHECKING:
    from claw.core.provider import Provider
    from claw.providers.vendors import Vendor
    from claw.storage.ledger import SqliteLedger

_LATE = {
    "ledger": "claw.storage.ledger:SqliteLedger",
    "prices": "claw.providers.prices:Prices",
    "recorded": "claw.providers.recorded:RecordedProvider",
    "shown name": "claw.providers.vendors:shown_name",
    "autonomy": "claw.security.settings:AutonomySettings",
    "is loopback": "claw.net.http:is_loopback",
}


def ledger_path(places: Places) -> Path:
    """Where calls are recorded."""
    return places.workspace / "state" / "ledger.db"


def costs_of(tree: Tree) -> CostSettings:
    """[cost]; decoding it where it says nothing would cost 1.5 ms."""
    if not tree.has("cost"):
        return CostSettings()
    return tree.decode("cost", CostSettings)


def daily_cents_of(tree: Tree) -> int:
    """autonomy.max_cost_per_day_cents, 0 where it is not set."""
    if not tree.has("autonomy.max_cost_per_day_cents"):
        return 0
    cents: int = tree.decode("autonomy", load_dotted(
        _LATE["autonomy"])).max_cost_per_day_cents
    return cents


class Book:
    """The ledger of one process."""

    def __init__(self, path: Path, settings: CostSettings,
                 notify: Callable[[str], None], *,
                 daily_cents: int = 0) -> None:
        self.settings = settings
        self._daily_cents = daily_cents
        self.ledger: SqliteLedger = load_dotted(_LATE["ledger"])(path)
        self._prices = load_dotted(_LATE["prices"])(settings.prices)
        self._notify = notify
        self._said: set[str] = set()

    def around(self, provider: "Provider", vendor: "Vendor") -> "Provider":
        """The provider, with its calls recorded. The one without a model
        makes none."""
        if vendor.room == "offline":
            return provider
        recorded: Provider = load_dotted(_LATE["recorded"])(
            provider, name=load_dotted(_LATE["shown name"])(vendor.name),
            local=vendor.local or load_dotted(_LATE["is loopback"])(
                vendor.url),
            ledger=self.ledger, prices=self._prices, limits=self.settings,
            daily_cents=self._daily_cents, notify=self._notify,
            said=self._said)
        return recorded

    def turn_cost(self, turn_id: str) -> float | None:
        """What the calls of a turn cost together, None where one of them
        has no price (or the ledger can't be read)."""
        try:
            return self.ledger.turn_cost(turn_id)
        except (StorageError, UnavailableError):
            return None

    def session_cost(self, session: str) -> tuple[Total, Total] | None:
        """The calls of a session on this day and in this month, None where
        the ledger can't be read."""
        try:
            return self.ledger.session_cost(session)
        except (StorageError, UnavailableError):
            return None

    def close(self) -> None:
        self.ledger.close()


def book_of(tree: Tree, notify: Callable[[str], None]) -> Book:
    """Where calls are recorded under these settings. Raises ConfigError
    for a wrong [cost] or [autonomy]."""
    return Book(ledger_path(tree.places), costs_of(tree), notify,
                daily_cents=daily_cents_of(tree))
