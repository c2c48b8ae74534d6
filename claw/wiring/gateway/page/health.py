"""Queue and channels for the page."""

from collections.abc import Callable
from typing import Any

from claw.config.places import Places
from claw.config.tree import Tree
from claw.wiring.checks.channels import channel_checks
from claw.wiring.checks.check import run
from claw.wiring.status.waiting import read_rows

_ROWS = 20  # of each kind
_CHARS = 300


def find_waiting(places: Places, tree: Callable[[], Tree]) -> dict[str, Any]:
    """What is open or failed, as `claw queue list --json` says it; long
    texts are cut."""
    found = read_rows(places, tree, _ROWS,
                      ("waiting", "running", "failed"),
                      ("waiting", "sending", "uncertain", "failed")).to_json()
    for row in (*found["inbox"], *found["outbox"]):
        if len(row["text"]) > _CHARS:
            row["text"] = row["text"][:_CHARS] + "…"
    return found


def ask_doctor(tree: Tree) -> dict[str, Any]:
    """What `claw channel doctor` finds; each platform is asked."""
    return {"checks": [check.to_json() for check in
                       run("channels", channel_checks, tree)]}
