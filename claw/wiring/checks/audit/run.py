"""`claw security audit`: every group. Nothing is changed, nothing created in
the owner's places, no network used and no model asked."""

from collections.abc import Iterator

from claw.config.places import Places
from claw.config.tree import Tree, load
from claw.wiring.checks.audit.files import FILES
from claw.wiring.checks.audit.keys import KEYS
from claw.wiring.checks.audit.plugins import PLUGINS
from claw.wiring.checks.audit.sandbox import SANDBOX
from claw.wiring.checks.audit.settings import AUTONOMY, HOOKS, PEOPLE, PORTS
from claw.wiring.checks.check import Check, run, run_groups
from claw.wiring.checks.places import check_config_file
from claw.wiring.checks.skills import SKILLS

# In the order of the report.
GROUPS = (SANDBOX, FILES, AUTONOMY, PEOPLE, PORTS, KEYS, PLUGINS, HOOKS,
          SKILLS)


def run_audit(places: Places) -> Iterator[Check]:
    """Every check, group by group."""
    trees: list[Tree] = []

    def read_config() -> Iterator[Check]:
        trees.append(load(places))
        yield from check_config_file(places)
    yield from run("config", read_config)
    yield from run_groups(GROUPS, places, trees[0] if trees else None)
