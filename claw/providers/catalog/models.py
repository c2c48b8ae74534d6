"""Lists of models, remembered: `<workspace>/state/models_cache.json`.

    {"entries": [{"provider", "address", "models": [...], "fetched_at"}]}

`fetched_at` is in unix seconds. /model in a chat reads the same file, so it
can name models without asking anyone. Damaged it is as good as absent.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from claw.core.value import Value
from claw.providers.catalog.model_info import plain_address
from claw.providers.catalog.state_file import (
    lock_folder,
    read_entries,
    write_json,
)

FILE = "models_cache.json"
FRESH_S = 12 * 3600.0
_MOST_ENTRIES = 200
_MOST_MODELS = 5000


class ModelList(Value):
    """The models of a provider as they were at `fetched_at`."""

    models: tuple[str, ...]
    fetched_at: float


def load_models(path: Path, provider: str, max_age_s: float = FRESH_S,
           now: float | None = None, *, address: str = ""
           ) -> ModelList | None:
    """The list of a provider, None where there is none as young as that.
    With an `address` a list from another one does not count. Never
    raises."""
    now = time.time() if now is None else now
    wanted = plain_address(address)
    for row in _rows(path):
        if row["provider"] != provider:
            continue
        if wanted and row.get("address", wanted) != wanted:
            continue
        age = now - row["fetched_at"]
        if -86400.0 < age <= max_age_s:
            return ModelList(tuple(row["models"]), row["fetched_at"])
    return None


def read_lists(path: Path) -> dict[str, tuple[str, ...]]:
    """Every kept list by its provider, whatever its age. Never raises."""
    return {row["provider"]: tuple(row["models"]) for row in _rows(path)}


def save_models(path: Path, provider: str, models: Sequence[str],
             now: float | None = None, *, address: str = "") -> None:
    """Keep a list in place of an older one of that provider; an empty one
    is not kept. Where the file can't be written nothing happens."""
    if not models:
        return
    row = {"provider": provider, "address": plain_address(address),
           "models": list(models[:_MOST_MODELS]),
           "fetched_at": time.time() if now is None else now}
    try:
        with lock_folder(path) as folder:
            rows = [row, *(r for r in _rows(path)
                           if r["provider"] != provider)]
            write_json(folder, path.name, {"entries": rows[:_MOST_ENTRIES]})
    except (OSError, ValueError):
        return  # a cache: the next one may succeed


def _rows(path: Path) -> list[dict[str, Any]]:
    """The entries that have their shape."""
    return [row for row in read_entries(path)
            if isinstance(row.get("provider"), str)
            and isinstance(row.get("models"), list)
            and all(isinstance(m, str) for m in row["models"])
            and isinstance(row.get("fetched_at"), int | float)
            and not isinstance(row["fetched_at"], bool)
            and isinstance(row.get("address", ""), str)]
