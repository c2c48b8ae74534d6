"""Which channels are set up; imports no channel."""

from collections.abc import Iterable

from claw.channels import REGISTRY
from claw.config.tree import Tree
from claw.core.errors import UsageError
from claw.runtime.message.keys import registered_name

SECTION = "channels_config"
CONSOLE = "cli"
# Programs that ask claw as a model: no channel, with a policy like one.
GATEWAY = "gateway"


def list_configured(tree: Tree) -> list[str]:
    """Names of the channels that have a table, in the registry's order;
    then those that other packages bring, and the owner's files, which need
    no table."""
    tables = tree.names(SECTION)
    built_in = [name for name in REGISTRY.names() if name in tables]
    owned = REGISTRY.owned_names()
    others = [name for name in tables if name not in (*built_in, *owned)]
    foreign = REGISTRY.foreign_names() if others else []
    return built_in + [name for name in others if name in foreign] + owned


def list_all(tree: Tree) -> list[str]:
    """Names of the channels that claw has, and of those set up."""
    return list({*REGISTRY.names(), *list_configured(tree)})


def is_channel(name: str) -> bool:
    """Whether there is such a channel, set up or not."""
    return name in REGISTRY.names() or is_foreign(name)


def check_channel(name: str) -> None:
    """Raises UsageError where there is no such channel, nor the gateway."""
    if name != GATEWAY and not is_channel(name):
        raise UsageError(f"there is no channel {name!r:.80}",
                         hint="one of: " + ", ".join(REGISTRY.all_names()))


def list_gone(tree: Tree, names: Iterable[str]) -> set[str]:
    """The registered names of those channels that no settings are there
    for any more. The console needs none."""
    return ({registered_name(name) for name in names}
            - {CONSOLE, *list_configured(tree)})


def is_foreign(name: str) -> bool:
    """A table of the reference's channels that claw lacks is no channel."""
    return name in REGISTRY.foreign_names()
