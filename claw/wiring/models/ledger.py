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
from claw.net.addresses import is_loopback
from claw.providers.settings import CostSettings

if TYPE_CHECKING:
    from claw.core.provider import Provider
    from claw.providers.catalog.vendors import Vendor
    from claw.providers.cost.call import Terms



def ledger_path(places: Places) -> Path:
    """Where calls are recorded."""
    return places.workspace / "state" / "ledger.db"


def read_cost_settings(tree: Tree) -> CostSettings:
    """[cost]."""
    return tree.decode("cost", CostSettings)


def has_own_limits(tree: Tree) -> bool:
    """Whether the owner set a limit: the ones that claw brings stop no
    model whose price nobody knows."""
    settings = read_cost_settings(tree)
    return read_daily_cents(tree) > 0 or any(
        getattr(settings, name) > 0 and tree.has(f"cost.{name}")
        for name in ("daily_limit_usd", "monthly_limit_usd",
                     "per_call_limit_usd"))


def read_daily_cents(tree: Tree) -> int:
    """autonomy.max_cost_per_day_cents, 0 where it is not set."""
    if not tree.has("autonomy.max_cost_per_day_cents"):
        return 0
    from claw.security.settings import AutonomySettings
    return tree.decode("autonomy", AutonomySettings).max_cost_per_day_cents


class CostLedger:
    """The ledger of one process, with prices and limits."""

    def __init__(self, path: Path, settings: CostSettings,
                 notify: Callable[[str], None], *,
                 daily_cents: int = 0, limits_set: bool = False,
                 clean: Callable[[str], str] = str) -> None:
        from claw.providers.cost.prices import Prices
        from claw.storage.ledger import SqliteLedger
        self.settings = settings
        self._daily_cents = daily_cents
        self._limits_set = limits_set
        self.ledger = SqliteLedger(path, clean=clean)
        self._prices = Prices(settings.prices)
        self._notify = notify
        self._said: set[str] = set()

    def meter(self, provider: "Provider", vendor: "Vendor") -> "Provider":
        """The provider, with its calls metered. The one without a model
        makes none."""
        if vendor.plugin == "offline":
            return provider
        from claw.providers.catalog.vendors import display_name
        from claw.providers.cost.metered import MeteredProvider
        return MeteredProvider(
            provider, name=display_name(vendor.name),
            local=vendor.local or is_loopback(vendor.url),
            ledger=self.ledger, prices=self._prices, limits=self.settings,
            daily_cents=self._daily_cents, notify=self._notify,
            said=self._said, limits_set=self._limits_set)

    def build_terms(self, name: str, local: bool) -> "Terms":
        """What calls of one provider that are no chats share."""
        from claw.providers.cost.call import Terms
        return Terms(name, local, self.ledger, self._prices, self.settings,
                     self._daily_cents, self._notify, self._said,
                     self._limits_set)

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


def open_ledger(tree: Tree, notify: Callable[[str], None],
                clean: Callable[[str], str] = str) -> CostLedger:
    """Where calls are recorded under these settings, names as `clean` gives
    them back. Raises ConfigError for a wrong [cost] or [autonomy]."""
    return CostLedger(
        ledger_path(tree.places), read_cost_settings(tree), notify,
        daily_cents=read_daily_cents(tree),
        limits_set=has_own_limits(tree), clean=clean)
