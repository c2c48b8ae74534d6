"""Settings -> the configured memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from claw.config.places import locate
from claw.config.tree import Tree, load
from claw.core.memory import ClosesMemory, Memory
from claw.memory import REGISTRY
from claw.memory.settings import MemorySettings


def backend_name(tree: Tree) -> str:
    """The configured backend: [storage.provider.config] provider, else
    [memory] backend."""
    storage = str(tree.get("storage.provider.config.provider") or "")
    chosen = storage.strip() or tree.decode("memory", MemorySettings).backend
    return chosen.strip().lower()


@contextmanager
def memory_of(tree: Tree, *, readonly: bool = False,
              notify: Callable[[str], None] = lambda _: None,
              ) -> Iterator[Memory]:
    """The configured memory, open; closed at the end.

    `notify` hears what happened on the way (restored from the snapshot,
    a corrupt file kept aside). With `readonly` nothing is created.
    """
    settings = tree.decode("memory", MemorySettings)
    room = REGISTRY.load(backend_name(tree))
    memory: Memory = room.open(tree.places.workspace, settings,
                               readonly=readonly, notify=notify)
    try:
        yield memory
    finally:
        if isinstance(memory, ClosesMemory):
            memory.close()


@contextmanager
def open_memory(workspace: str | None = None, config_dir: str | None = None,
                *, readonly: bool = False) -> Iterator[Memory]:
    """The configured Memory, for programs:

        with claw.open_memory() as memory:
            memory.store("colour", "Mina likes green")

    `workspace` and `config_dir` as -w and --config-dir. Raises ConfigError
    and StorageError.
    """
    with memory_of(load(locate(config_dir, workspace)),
                   readonly=readonly) as memory:
        yield memory
