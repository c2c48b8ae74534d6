"""Spending for the page: by day and model."""

import re
import time
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from claw.config.tree import Tree
from claw.core.errors import NotFoundError, UsageError
from claw.core.ledger import Total
from claw.gateway.endpoint import parameter
from claw.storage.ledger_reader import open_reader
from claw.storage.ledger_tables import local_day
from claw.wiring.models.ledger import ledger_path
from claw.wiring.status.stores import read_spending

_MOST_DAYS = 366
DAYS = parameter("days", {"type": "integer", "minimum": 1,
                          "maximum": _MOST_DAYS})


def find_spending(tree: Tree, asked: Mapping[str, str]) -> dict[str, Any]:
    """The last `days` days (30), in the local time zone: rows of day and
    model, what is spent and may be, and models without a known price.
    Raises UsageError."""
    days = _read_days(asked.get("days", "30"))
    until = local_day(time.time())
    since = (date.fromisoformat(until) - timedelta(days - 1)).isoformat()
    rows: list[tuple[str, str, Total]] = []
    unpriced: list[str] = []
    try:
        with open_reader(ledger_path(tree.places)) as reader:
            rows = reader.days_by_model(since, until)
            unpriced = reader.unpriced(since, until)
    except NotFoundError:
        pass  # nothing was ever asked
    return {"since": since, "until": until, "unpriced": unpriced,
            "spent": read_spending(tree.places, tree).data,
            "rows": [{"day": day, "model": model, "calls": total.calls,
                      "tokens": total.input_tokens + total.output_tokens,
                      "cost_usd": total.cost_usd}
                     for day, model, total in rows]}


def _read_days(text: str) -> int:
    days = int(text) if re.fullmatch("[0-9]{1,3}", text) else 0
    if not 1 <= days <= _MOST_DAYS:
        raise UsageError(f"days: {text!r:.40} is none of 1 to {_MOST_DAYS}")
    return days
