"""Settings -> the memory of a workspace, tidied.

`maintain_memory` is for programs that run: it costs a look at one small file
where nothing is due. `tidy` is for the command.
"""

import contextlib
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from claw.config.tree import Tree
from claw.core.errors import ClawError, UnavailableError
from claw.core.memory import Memory
from claw.memory.hygiene.state import (
    Announcement,
    Uptime,
    read_state,
    take_announcement,
)
from claw.memory.settings import MemorySettings
from claw.wiring.memory import backend_name, open_backend

if TYPE_CHECKING:
    from claw.memory.hygiene.report import Report

_WITHOUT_STORE = frozenset({"none", "ephemeral"})
_IN_BRAIN = frozenset({"sqlite", "lucid"})

Notify = Callable[[str], None]


def _quiet(_: str) -> None:
    return None


def maintain_memory(tree: Tree, notify: Notify = _quiet, *,
                    who: str, protected: Collection[str] = (),
                    now: datetime | None = None,
                    uptime: Uptime | None = None) -> "Report | None":
    """Hygiene where it is due, and the snapshot of each start where that
    is wanted; what was done, None where nothing was looked at.

    For the start of a program and from time to time, on a thread: it
    waits for nothing but the disk. `protected` are sessions in use.
    `notify` hears one sentence about what was done, or failed: nothing is
    raised for it; and once a day what is to be removed. `who` it is that
    hears it: the log, a terminal.
    """
    settings = tree.decode("memory", MemorySettings)
    workspace = tree.places.workspace
    now = now or datetime.now(UTC)
    state = read_state(workspace)
    due = settings.hygiene_enabled and state.is_due(now)
    wanted = due or settings.snapshot_enabled or state.announced is not None
    if not wanted or not workspace.is_dir():
        return None
    try:
        report = tidy(tree, notify, protected=protected, now=now,
                      uptime=uptime) if due else None
        if report is not None and (done := report.lines()):
            notify("memory hygiene: " + ", ".join(done)
                   + (f" ({report.undo})" if report.undo else ""))
        if find_announcement(tree) is not None:
            _tell(tree, notify, who, now)
        if report is not None or not settings.snapshot_enabled:
            return report
        if _has_store(tree, workspace):
            with open_backend(tree, readonly=True, notify=notify) as memory:
                from claw.memory.snapshot.file import keep_snapshot
                keep_snapshot(memory, workspace, settings, notify)
    except ClawError as error:
        notify(f"memory hygiene: {error.message}")
    return None


def find_announcement(tree: Tree) -> Announcement | None:
    """What hygiene is to remove, as long as the settings are those that it
    was announced for."""
    settings = tree.decode("memory", MemorySettings)
    state = read_state(tree.places.workspace)
    if state.announced is None or not settings.hygiene_enabled:
        return None
    from claw.memory.hygiene.announce import list_rules
    rules = list_rules(settings, state.rules.get("store", ""))
    return state.announced if state.rules == rules else None


def describe_announcement(tree: Tree, found: Announcement) -> str:
    """What hygiene is to remove, in one line."""
    from claw.memory.hygiene.announce import describe_announcement as describe
    from claw.memory.hygiene.announce import list_rules
    return describe(found, list_rules(
        tree.decode("memory", MemorySettings), backend_name(tree)))


def _tell(tree: Tree, notify: Notify, who: str, now: datetime) -> None:
    try:
        found = take_announcement(tree.places.workspace, who, now)
    except UnavailableError:  # hygiene runs: the next start tells
        return
    if found is not None:
        notify(describe_announcement(tree, found))


def tidy(tree: Tree, notify: Notify = _quiet, *, force: bool = False,
         dry_run: bool = False, whole: bool = False,
         protected: Collection[str] = (), now: datetime | None = None,
         progress: Notify = _quiet,
         uptime: Uptime | None = None) -> "Report":
    """One run of hygiene; see claw.memory.hygiene.run.run. A memory that can't
    be opened is a failed step, the files are looked after all the same.
    Raises StorageError where its state can't be kept."""
    from claw.memory.hygiene.report import Failure
    from claw.memory.hygiene.run import run
    settings = tree.decode("memory", MemorySettings)
    workspace = tree.places.workspace
    failures: list[Any] = []
    with contextlib.ExitStack() as opened:
        memory: Memory | None = None
        if _has_store(tree, workspace):
            try:
                memory = opened.enter_context(open_backend(
                    tree, readonly=dry_run, notify=notify))
            except ClawError as error:
                notify(f"memory hygiene: {error.message}")
                failures.append(Failure.of("opening the memory", error))
        return run(
            memory, workspace, settings, now=now or datetime.now(UTC),
            notify=notify, force=force, dry_run=dry_run, whole=whole,
            protected=protected, earlier=failures, progress=progress,
            uptime=uptime)


def _has_store(tree: Tree, workspace: Path) -> bool:
    """Whether there is anything to look after: hygiene makes no store."""
    backend = backend_name(tree)
    return backend not in _WITHOUT_STORE and (
        backend not in _IN_BRAIN or any(
            (workspace / name).exists()
            for name in ("memory/brain.db", "MEMORY_SNAPSHOT.md")))
