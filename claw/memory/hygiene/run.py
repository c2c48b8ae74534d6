"""Hygiene: what is old is archived or removed, twice a day at most.

Each step stands alone: an error is reported and the others go on. Files
are moved by renaming, rows go in batches, the state file is replaced in
one step, so a kill leaves everything readable and the next run goes on.

Order: archives are purged before new files come to them, so that nothing
is archived and removed in one go; retention before size; the snapshot
last, of what then is.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from claw.core.errors import (
    ClawError,
    ExitCode,
    StorageError,
    UnavailableError,
    describe,
)
from claw.core.memory import CONVERSATION, DAILY, ForgetsMany, Memory
from claw.core.value import Value, made, replace
from claw.memory import times
from claw.memory.hygiene import archive
from claw.memory.hygiene.state import (
    State,
    hold_lock,
    read_state,
    write_state,
)
from claw.memory.settings import MemorySettings
from claw.memory.snapshot.file import keep_snapshot, snapshot_text
from claw.memory.sqlite.maintenance import (
    ExpiresMemories,
    HasMaintenance,
    LimitsSize,
    PrunesVersions,
)
from claw.storage.sessions import file_name

# What is counted, and the words for it.
COUNTS = {
    "archived_memory_files": "daily files archived",
    "archived_session_files": "sessions archived",
    "purged_memory_archives": "archived daily files removed",
    "purged_session_archives": "archived sessions removed",
    "pruned_conversation_rows": "old conversation memories removed",
    "pruned_rows": "old memories of other categories removed",
    "pruned_versions": "old states of memories removed",
    "shed_conversation_rows": "conversation memories removed for the size",
    "shed_versions": "states of memories removed for the size",
    "shed_cache_rows": "kept vectors removed for the size",
    "freed_bytes": "bytes given back to the disk",
    "snapshot_memories": "core memories in the snapshot",
}
_SHED = {"conversation": "shed_conversation_rows",
         "versions": "shed_versions", "cache": "shed_cache_rows"}
# Its daily files are the memory itself, and single lines can't be removed.
_FILES_ARE_MEMORIES = "markdown"

Notify = Callable[[str], None]


def _quiet(_: str) -> None:
    return None


class Failure(Value):
    """A step that could not be done, or not whole."""

    step: str
    message: str
    hint: str | None = None
    code: int = ExitCode.STORAGE

    @classmethod
    def of(cls, step: str, error: Exception) -> "Failure":
        if isinstance(error, ClawError):
            return cls(step, error.message, error.hint, error.exit_code)
        if isinstance(error, OSError) and error.filename is not None:
            return cls(step, f"{error.filename}: {error.strerror}")
        return cls(step, describe(error))

    def to_json(self) -> dict[str, Any]:
        return {"step": self.step, "message": self.message,
                "hint": self.hint}


class Report(Value):
    """What a run did, or (`dry_run`) would do.

    `skipped` says why nothing was looked at: "off", "not_due" or "busy".
    `counts` has every name of COUNTS. `files` are (what, path inside the
    workspace), what being "archived" or "removed".
    """

    skipped: str | None = None
    dry_run: bool = False
    counts: Mapping[str, int] = made(factory=lambda: dict.fromkeys(COUNTS, 0))
    files: tuple[tuple[str, str], ...] = ()
    failures: tuple[Failure, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"skipped": self.skipped, "dry_run": self.dry_run,
                **self.counts,
                "files": [{"done": done, "path": path}
                          for done, path in self.files],
                "errors": [failure.to_json() for failure in self.failures]}

    def lines(self) -> list[str]:
        """A line for each thing that was done."""
        return [f"{number} {COUNTS[name]}"
                for name, number in self.counts.items() if number]


def run(memory: Memory | None, workspace: Path, settings: MemorySettings, *,
        now: datetime, notify: Notify = _quiet, force: bool = False,
        dry_run: bool = False, whole: bool = False,
        protected: Collection[str] = (), earlier: Collection[Failure] = (),
        progress: Notify = _quiet) -> Report:
    """Tidy a workspace and its memory, where it is due.

    `memory` None leaves the store alone. `force` runs it though it is off
    or was done in the last 12 hours; `dry_run` changes nothing and counts.
    `whole` may write the file of the store anew to make it smaller, also
    below the limit of its size. `protected` are sessions in use, by key.
    `earlier` goes into the report. `notify` hears what failed, `progress`
    what is being done. Raises StorageError where the state can't be kept.
    """
    if dry_run:
        return _Run(memory, workspace, settings, now, notify, progress,
                    dry=True).all(protected, whole, earlier)
    if not force and not settings.hygiene_enabled:
        return Report(skipped="off")
    if not force and not read_state(workspace).is_due(now):
        return Report(skipped="not_due")
    try:
        with hold_lock(workspace):
            # Another process may have run it just now.
            if not force and not read_state(workspace).is_due(now):
                return Report(skipped="not_due")
            return _Run(memory, workspace, settings, now, notify, progress,
                        dry=False).all(protected, whole, earlier)
    except UnavailableError:
        return Report(skipped="busy")


class _Run:
    """One run, as it goes on."""

    def __init__(self, memory: Memory | None, workspace: Path,
                 settings: MemorySettings, now: datetime, notify: Notify,
                 progress: Notify, *, dry: bool) -> None:
        self._memory = memory
        self._workspace = workspace
        self._settings = settings
        self._now = now
        self._notify = notify
        self._progress = progress
        self._dry = dry
        self._state = read_state(workspace)
        self._counts = dict.fromkeys(COUNTS, 0)
        self._files: list[tuple[str, str]] = []
        self._failures: list[Failure] = []

    def all(self, protected: Collection[str], whole: bool,
            earlier: Collection[Failure]) -> Report:
        """Every step, one after the other."""
        self._failures += earlier
        sessions = {name for key in protected
                    for name in (file_name(key), f"{key}.jsonl")}
        for step, work in self._steps(sessions, whole):
            self._progress(step)
            try:
                work()
            except (ClawError, OSError, sqlite3.Error) as error:
                failure = Failure.of(step, error)
                self._failures.append(failure)
                self._notify(f"memory hygiene, {step}: {failure.message}")
        if not self._dry:
            write_state(self._workspace, State(
                self._now, self._counts, self._archived()))
        return Report(None, self._dry, self._counts, tuple(self._files),
                      tuple(self._failures))

    def _steps(self, sessions: Collection[str], whole: bool
               ) -> Iterator[tuple[str, Callable[[], None]]]:
        yield "removing old archives of daily files", lambda: self._purge(
            archive.DAILY, "purged_memory_archives")
        yield "removing old archives of sessions", lambda: self._purge(
            archive.SESSIONS, "purged_session_archives")
        yield "archiving daily files", lambda: self._archive(
            archive.DAILY, "archived_memory_files",
            self._retention().get(DAILY, 0)
            if self._backend() == _FILES_ARE_MEMORIES
            else self._settings.archive_after_days)
        yield "archiving sessions", lambda: self._archive(
            archive.SESSIONS, "archived_session_files",
            self._settings.archive_after_days, sessions)
        if (memory := self._memory) is None:
            return
        tools = (memory.maintenance() if isinstance(memory, HasMaintenance)
                 else memory)
        yield "removing old memories", lambda: self._expire(memory, tools)
        if isinstance(tools, PrunesVersions):
            yield "removing old states", lambda: self._prune(tools)
        if isinstance(tools, LimitsSize):
            if self._settings.max_size_mb:
                yield "keeping the size", lambda: self._shed(tools)
            if not self._dry:
                yield "giving space back", lambda: self._give_back(
                    tools, whole)
                yield "looking at the size", lambda: self._check_size(tools)
        if self._settings.snapshot_on_hygiene \
                or self._settings.snapshot_enabled:
            yield "writing the snapshot", lambda: self._snapshot(memory)

    def _purge(self, kind: archive.Kind, count: str) -> None:
        before = self._before(self._settings.purge_after_days)
        if before is None:
            return
        names = archive.find_outdated(self._workspace, kind, before,
                                 self._state.archived)
        done = names if self._dry else archive.remove(
            self._workspace, kind, names)
        for name in done:
            self._count(count, "removed", kind.archive_path(name))

    def _archive(self, kind: archive.Kind, count: str, days: int,
                 protected: Collection[str] = ()) -> None:
        before = self._before(days)
        if before is None:
            return
        moves = archive.old_files(self._workspace, kind, before, protected)
        if moves and not self._dry and self._settings.purge_after_days:
            # Note first since when the files lie in the archive: after a
            # kill they must not look as old there as they are.
            self._state = replace(self._state, archived={
                **self._archived(), **{kind.archive_path(move.target):
                                       self._now for move in moves}})
            write_state(self._workspace, self._state)
        for move in moves if self._dry else archive.archive(
                self._workspace, kind, moves, before):
            self._count(count, "archived", f"{kind.folder}/{move.name}")

    def _archived(self) -> dict[str, datetime]:
        """What is known of the archives and still matters."""
        before = self._before(self._settings.purge_after_days)
        return {name: moment for name, moment in self._state.archived.items()
                if before is not None and moment >= before}

    def _expire(self, memory: Memory, tools: object) -> None:
        if self._backend() == _FILES_ARE_MEMORIES:
            return
        for category, days in self._retention().items():
            if (before := self._before(days)) is not None:
                self._counts["pruned_conversation_rows"
                             if category == CONVERSATION else "pruned_rows"
                             ] += _expire(memory, tools, category, before,
                                          self._dry)

    def _prune(self, memory: PrunesVersions) -> None:
        """Here 0 days keep nothing, as the settings say."""
        forgotten = self._before(self._settings.undo_retention_days,
                                 zero=self._now)
        ended = self._before(self._settings.history_retention_days,
                             zero=self._now)
        if forgotten is not None and ended is not None:
            self._counts["pruned_versions"] += memory.prune_versions(
                times.canonical(forgotten), times.canonical(ended),
                dry=self._dry)

    def _shed(self, memory: LimitsSize) -> None:
        for what, number in memory.shed(self._settings.max_size_mb << 20,
                                        dry=self._dry).items():
            self._counts[_SHED[what]] += number

    def _check_size(self, memory: LimitsSize) -> None:
        limit = self._settings.max_size_mb << 20
        if limit and memory.is_larger(limit):
            raise StorageError(
                f"the memory needs more than {self._settings.max_size_mb} "
                "MB (memory.max_size_mb), also without conversation",
                hint="forget something, or raise the limit")

    def _give_back(self, memory: LimitsSize, whole: bool) -> None:
        limit = self._settings.max_size_mb << 20
        self._counts["freed_bytes"] += max(0, memory.give_back(
            above=0 if whole else limit or None))

    def _snapshot(self, memory: Memory) -> None:
        number = snapshot_text(memory)[1] if self._dry else keep_snapshot(
            memory, self._workspace, self._settings, self._notify)
        self._counts["snapshot_memories"] = number or 0

    def _count(self, name: str, done: str, path: str) -> None:
        self._counts[name] += 1
        self._files.append((done, path))

    def _backend(self) -> str:
        return (self._settings.backend.strip().lower()
                if self._memory is None else self._memory.name)

    def _retention(self) -> dict[str, int]:
        """Days by category; what [memory.policy] names wins."""
        return {CONVERSATION: self._settings.conversation_retention_days,
                **{name.strip().lower(): days for name, days in
                   self._settings.policy.retention_days_by_category.items()}}

    def _before(self, days: int, zero: datetime | None = None
                ) -> datetime | None:
        """So many days ago; `zero` for none, None for ages ago."""
        if days <= 0:
            return zero
        try:
            return self._now - timedelta(days=days)
        except OverflowError:
            return None


def _expire(memory: Memory, tools: object, category: str,
            before: datetime, dry: bool) -> int:
    """Remove what is older; one by one where a store can do no better."""
    moment = times.canonical(before)
    if isinstance(tools, ExpiresMemories):
        return tools.expire(category, moment, dry=dry)
    if isinstance(memory, ForgetsMany) and not dry:
        return memory.forget_where(category, moment)
    old = []
    for entry in memory.list(category):
        with contextlib.suppress(ValueError):  # no time: no age
            if times.to_utc(entry.updated_at) < moment:
                old.append(entry.key)
    return len(old) if dry else sum(map(memory.forget, old))
