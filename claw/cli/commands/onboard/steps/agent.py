"""What the agent may do, and what stands around its commands here."""

from claw.cli.commands.onboard.asking import Choice
from claw.cli.commands.onboard.wizard import Wizard
from claw.security.settings import AutonomySettings
from claw.wiring.checks.doctor import check_sandbox

_LEVELS = (
    Choice("supervised", "supervised", "reads unasked, asks before more"),
    Choice("readonly", "readonly", "reads alone"),
    Choice("full", "full", "never asks"))
LEVELS = tuple(one.value for one in _LEVELS)


def ask_agent(w: Wizard) -> None:
    """The level, below what doctor says of the sandbox."""
    tree = w.writer.read()
    for row in check_sandbox(tree):
        w.mark(row.status, row.detail, row.hint)
    now = tree.decode("autonomy", AutonomySettings).level
    picked = w.select("autonomy", "What may the agent do?", _LEVELS,
                      suggested=now, flag="--autonomy LEVEL")
    if picked != now:
        w.writer.write({("autonomy", "level"): picked})
