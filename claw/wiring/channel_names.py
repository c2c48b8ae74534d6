"""Which channels are set up; imports no channel."""

from claw.channels import REGISTRY
from claw.config.tree import Tree

SECTION = "channels_config"
CONSOLE = "cli"


def configured(tree: Tree) -> list[str]:
    """Names of the channels that have a table, in the registry's order;
    then those that other packages bring."""
    tables = tree.names(SECTION)
    built_in = [name for name in REGISTRY.names() if name in tables]
    others = [name for name in tables if name not in built_in]
    foreign = REGISTRY.foreign_names() if others else []
    return built_in + [name for name in others if name in foreign]


def is_foreign(name: str) -> bool:
    """A table of the reference's channels that claw lacks is no channel."""
    return name in REGISTRY.foreign_names()
