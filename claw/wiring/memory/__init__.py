"""Settings -> the configured memory."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from claw.config.places import locate
from claw.config.tree import Tree, load
from claw.core.errors import ConfigError
from claw.core.memory import ClosesMemory, Memory, MemoryDeps
from claw.memory import REGISTRY
from claw.memory.settings import MemorySettings
from claw.wiring.memory.on_demand import (
    Clean,
    OnDemandMemory,
    Open,
    on_demand,
)
from claw.wiring.workspace.trust import settle_trust


def backend_name(tree: Tree) -> str:
    """The configured backend: [storage.provider.config] provider, else
    [memory] backend."""
    storage = str(tree.get("storage.provider.config.provider") or "")
    chosen = storage.strip() or tree.decode("memory", MemorySettings).backend
    return chosen.strip().lower()


def is_absent(tree: Tree) -> bool:
    """Whether the memory is a brain.db that is not there, nor a snapshot to
    make it of: there is nothing in it to change."""
    workspace = tree.places.workspace
    return backend_name(tree) == "sqlite" and not any(
        os.path.lexists(workspace / name)
        for name in ("memory/brain.db", "MEMORY_SNAPSHOT.md"))


@contextmanager
def open_backend(tree: Tree, *, readonly: bool = False, makes: bool = True,
              notify: Callable[[str], None] = lambda _: None,
              ) -> Iterator[Memory]:
    """The configured memory, open; closed at the end.

    `notify` hears what happened on the way (restored from the snapshot,
    a corrupt file kept aside). With `readonly` nothing is created; without
    `makes` an empty memory stands in for one that is not there.
    """
    absent = not (readonly or makes) and is_absent(tree)
    memory = _opener(tree, notify, "ephemeral" if absent
                     else backend_name(tree))(readonly)
    try:
        yield memory
    finally:
        if isinstance(memory, ClosesMemory):
            memory.close()


def open_on_demand(tree: Tree, notify: Callable[[str], None] = lambda _: None,
                   clean: Clean = str,
                   before_writing: Callable[[], None] = lambda: None
                   ) -> OnDemandMemory:
    """The configured memory, opened when a turn first needs it; what a turn
    stores is kept as `clean` gives it back. `before_writing` is called
    before it is opened for writing."""
    name = backend_name(tree)
    open_memory = _opener(tree, notify, name)

    def opened(readonly: bool) -> Memory:
        if not readonly:
            before_writing()
        return open_memory(readonly)
    return on_demand(name, opened, REGISTRY.load(name), clean)


def _opener(tree: Tree, notify: Callable[[str], None], name: str) -> Open:
    settings = tree.decode("memory", MemorySettings)
    if not tree.places.trusted:  # a snapshot from elsewhere
        settings = msgspec.structs.replace(settings, auto_hydrate=False)
    plug_in = REGISTRY.load(name)

    workspace = tree.places.workspace
    if workspace.exists() and not workspace.is_dir():
        raise ConfigError(f"{workspace} is not a folder",
                          hint="choose another one with -w or "
                               "CLAW_WORKSPACE")

    storage = tree.get("storage.provider.config")

    def opened(readonly: bool) -> Memory:
        embedder = None
        if has_vectors(settings):
            from claw.wiring.memory.embedding import build_embedder
            embedder = build_embedder(tree)
        deps = MemoryDeps(
            embedder, storage if isinstance(storage, dict) else {})
        memory: Memory = plug_in.open(workspace, settings, readonly=readonly,
                                   notify=notify, deps=deps)
        return memory
    return opened


def has_vectors(settings: MemorySettings) -> bool:
    """Whether something is to be embedded with; a route brings its own
    provider."""
    return (settings.embedding_provider.strip().lower() not in (
                "", "none", "noop")
            or settings.embedding_model.strip().lower().startswith("hint:"))


@contextmanager
def open_memory(workspace: str | None = None, config_dir: str | None = None,
                *, readonly: bool = False) -> Iterator[Memory]:
    """The configured Memory, for programs:

        with claw.open_memory() as memory:
            memory.store("colour", "Mina likes green")

    `workspace` and `config_dir` as -w and --config-dir. Raises ConfigError
    and StorageError.
    """
    places = settle_trust(locate(config_dir, workspace),
                          adopts=not readonly)
    with open_backend(load(places), readonly=readonly) as memory:
        yield memory
