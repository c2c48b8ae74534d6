"""The memory's part of `claw doctor`: the store, its vectors, and what
lies beside it."""

import os
import shlex
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from claw.config.tree import Tree
from claw.core.embedding import EmbeddingProvider
from claw.core.errors import ClawError, StorageError
from claw.core.memory import (
    ChecksMemory,
    EmbedsMemories,
    Memory,
    MemoryCheck,
    RedactsMemories,
)
from claw.memory.forgetting.order import name_order
from claw.memory.lucid.command import settings_from
from claw.memory.settings import MemorySettings
from claw.memory.snapshot.file import is_current
from claw.memory.sqlite.backend import FILE, SNAPSHOT
from claw.security.files import nofollow
from claw.security.redact.redactor import Redactor
from claw.text.plural import memories
from claw.wiring.checks.check import Check, Group, run
from claw.wiring.memory import backend_name, open_backend
from claw.wiring.memory.hygiene import (
    describe_announcement,
    find_announcement,
)
from claw.wiring.workspace.secrets import build_redactor

EMBEDDER_S = 5.0
_DETAIL = 200  # characters: SQLite may have a hundred lines to say
_REPAIR = "claw memory check --repair"


MEMORY = Group("memory")
# Those of the open store: they are given the settings and the memory.
STORE = Group("memory")


@MEMORY.check
def check_store(tree: Tree) -> Iterator[Check]:
    """The store, its index, its vectors, and what was said on opening."""
    notes: list[str] = []

    def look() -> Iterator[Check]:
        with open_backend(tree, readonly=True, notify=notes.append) as memory:
            yield from STORE.run(tree, memory)
    yield from run("memory", look)
    for note in dict.fromkeys(notes):
        yield Check("memory.note", "warn", note, "claw memory check")


@STORE.check
def check_opened(tree: Tree, memory: Memory) -> Iterator[Check]:
    """Which backend it is, and how much it holds."""
    yield Check("memory.open", "ok",
                f"{backend_name(tree)}, {memories(memory.count())}")


@MEMORY.check
def check_hygiene(tree: Tree) -> Iterator[Check]:
    """Whether hygiene is about to remove something."""
    found = find_announcement(tree)
    if found is not None:
        what, _, ways = describe_announcement(tree, found).partition(
            " To keep them: ")
        yield Check("memory.hygiene", "warn", what, f"to keep them: {ways}")


@STORE.check
def check_parts(tree: Tree, memory: Memory) -> Iterator[Check]:
    """What the backend says of its own parts."""
    def reindex() -> None:
        with open_backend(tree) as store:
            if isinstance(store, ChecksMemory):
                store.reindex()
    if isinstance(memory, ChecksMemory):
        for seen in memory.check():
            yield seen_as_check(seen,
                                reindex if seen.id == "index" else None)


def seen_as_check(seen: MemoryCheck,
                  repair: Callable[[], None] | None = None) -> Check:
    """What an inspection found, on one line."""
    detail = " ".join(seen.detail.split())
    if len(detail) > _DETAIL:
        detail = detail[:_DETAIL - 1] + "…"
    hint = (f"{_REPAIR} takes all that can be read into a new file"
            if seen.id == "integrity" else seen.hint)
    return Check(f"memory.{seen.id}", "ok" if seen.ok else "fail", detail,
                 None if seen.ok else hint, repair)


@STORE.check
def check_vectors(tree: Tree, memory: Memory) -> Iterator[Check]:
    """Whether what is to make vectors does, and whether all are made."""
    provider = tree.decode("memory", MemorySettings).embedding_provider
    if provider.strip().lower() in ("", "none", "noop"):
        return
    if not isinstance(memory, EmbedsMemories):
        yield Check("memory.embedder", "warn",
                    f"the backend {memory.name} keeps no vectors: "
                    "memory.embedding_provider has no effect",
                    "claw config unset memory.embedding_provider, or: claw "
                    "config set memory.backend sqlite")
        return
    if memory.embedder is None:
        yield Check("memory.embedder", "warn",
                    "memory.embedding_provider names nothing that makes "
                    "vectors: memories are found by words alone",
                    "claw config set memory.embedding_provider none, or one "
                    "of: local, openai, openrouter, custom:URL")
        return
    tried = _try_embedder(memory.embedder)
    yield tried
    missing, total = memory.unembedded(), memory.count()
    if not missing:
        yield Check("memory.unembedded", "ok", "every memory has its vector")
        return
    first = "" if tried.status == "ok" else "fix memory.embedder, then: "
    yield Check("memory.unembedded", "warn",
                f"{missing:,} of {total:,} memories have no vector: they "
                "are found by their words alone",
                f"{first}claw memory reindex")


@STORE.check
def check_secrets(tree: Tree, memory: Memory) -> Iterator[Check]:
    """Whether memories hold keys of this installation: what was stored
    before they were taken out, or by hand."""
    yield from find_secrets(memory, build_redactor(tree))


def find_secrets(memory: Memory, redactor: Redactor) -> Iterator[Check]:
    """How many memories hold secrets of this installation."""
    if not isinstance(memory, RedactsMemories) or not redactor.secrets:
        return
    number = memory.count_redactable(redactor.own)
    if not number:
        yield Check("memory.secrets", "ok",
                    "no memory holds a key of this installation")
        return
    yield Check("memory.secrets", "warn",
                "a key of this installation stands in "
                f"{memories(number)} (or in what they were before)",
                "take it out: claw memory check --redact; then change the "
                "key, since exports and backups may have it")


@STORE.check
def check_snapshot(tree: Tree, memory: Memory) -> Iterator[Check]:
    """Whether the snapshot holds what the memory holds."""
    snapshot = tree.places.workspace / SNAPSHOT
    if not snapshot.exists():
        return
    if is_current(memory, snapshot):
        yield Check("memory.snapshot", "ok", f"{snapshot.name} is current")
    else:
        yield Check("memory.snapshot", "warn",
                    f"{snapshot.name} is older than the memories",
                    "claw memory snapshot")


def _try_embedder(embedder: EmbeddingProvider) -> Check:
    """One word is embedded, and not waited for longer than a person
    would. The thread is left behind then: nothing can end it."""
    failed: list[ClawError] = []

    def embed() -> None:
        try:
            embedder.embed(["claw"])
        except ClawError as error:
            failed.append(error)

    begun = time.monotonic()
    thread = threading.Thread(target=embed, name="embedder", daemon=True)
    thread.start()
    thread.join(EMBEDDER_S)
    if thread.is_alive():
        return Check("memory.embedder", "fail",
                     f"{embedder.name} has not answered within "
                     f"{EMBEDDER_S:.0f} s",
                     "is it busy, or its address wrong? claw config get "
                     "memory.embedding_provider")
    if failed:
        return Check("memory.embedder", "fail", failed[0].message,
                     failed[0].hint
                     or "claw config get memory.embedding_provider")
    return Check("memory.embedder", "ok",
                 f"{embedder.name} makes vectors of {embedder.dimensions} "
                 f"numbers ({time.monotonic() - begun:.1f} s)")


def kept_aside(workspace: Path) -> list[Path]:
    """The damaged files that were replaced, the oldest first."""
    brain = workspace / FILE
    try:
        with nofollow.hold_folder(workspace, brain.parent) as folder:
            names = os.listdir(folder)
    except (OSError, StorageError):  # check_store says it
        return []
    return sorted(brain.with_name(name) for name in names
                  if name.startswith(f"{brain.name}.corrupt-")
                  and not name.endswith(("-wal", "-shm")))


@MEMORY.check
def check_forgetting(tree: Tree) -> Iterator[Check]:
    """A forgetting with proof that was killed holds what is to go."""
    places = tree.places
    if nofollow.status(places.home, name_order(places.workspace)) is not None:
        yield Check("memory.forgetting", "warn",
                    "something was to be forgotten with proof, and that was "
                    "not finished", "claw memory forget --prove --yes")


@MEMORY.check
def check_aside(tree: Tree) -> Iterator[Check]:
    """A damaged file may hold what its successor does not."""
    for path in kept_aside(tree.places.workspace):
        name = shlex.quote(str(path))
        yield Check("memory.aside", "warn",
                    f"{path.name} was damaged and replaced; more may be read "
                    "of it than what is here now",
                    f"claw memory import {name}; once all is here: "
                    f"rm {name}*")


@MEMORY.check
def check_lucid(tree: Tree) -> Iterator[Check]:
    """The command of the lucid backend."""
    if backend_name(tree) != "lucid":
        return
    notes: list[str] = []
    command = settings_from(os.environ, notes.append).cmd
    for note in notes:
        yield Check("memory.lucid-settings", "warn", note,
                    "correct or unset it")
    found = shutil.which(command)
    if found is not None:
        yield Check("memory.lucid", "ok", f"the command is {found}")
    else:
        yield Check("memory.lucid", "warn",
                    f"there is no command {command!r}: brain.db answers "
                    "alone", "install it, set CLAW_LUCID_CMD, or: claw "
                    "config set memory.backend sqlite")
