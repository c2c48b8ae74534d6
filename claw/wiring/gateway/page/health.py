"""Status, queue and channels for the page."""

from collections.abc import Mapping
from typing import Any

from claw.config.tree import Tree
from claw.wiring.checks.channels import channel_checks
from claw.wiring.checks.check import run
from claw.wiring.status import read_status
from claw.wiring.status.waiting import read_rows

_ROWS = 20  # of each kind
_CHARS = 300


def find_status(tree: Tree, _: Mapping[str, str]) -> dict[str, Any]:
    """What `claw status --json` says."""
    return read_status(tree.places).to_json()


def find_waiting(tree: Tree, _: Mapping[str, str]) -> dict[str, Any]:
    """What is open or failed, as `claw queue list --json` says it; long
    texts are cut."""
    found = read_rows(tree.places, lambda: tree, _ROWS,
                      ("waiting", "running", "failed"),
                      ("waiting", "sending", "uncertain", "failed")).to_json()
    for row in (*found["inbox"], *found["outbox"]):
        if len(row["text"]) > _CHARS:
            row["text"] = row["text"][:_CHARS] + "…"
    return found


def ask_doctor(tree: Tree, _: Mapping[str, Any]) -> dict[str, Any]:
    """What `claw channel doctor` finds; each platform is asked."""
    return {"checks": [check.to_json() for check in
                       run("channels", channel_checks, tree)]}
