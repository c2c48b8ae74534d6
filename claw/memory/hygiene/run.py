"""Hygiene: what is old is archived or removed, twice a day at most.

Each step stands alone: an error is reported and the others go on. Files
are moved by renaming, rows go in batches, the state file is replaced in
one step, so a kill leaves everything readable and the next run goes on.

Order: what is due is counted first, since it has to be announced a day
before it goes; archives are purged before new files come to them, so that
nothing is archived and removed in one go; retention before size; the
snapshot last, of what then is.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from claw.core.errors import (
    ClawError,
    NotFoundError,
    StorageError,
    UnavailableError,
)
from claw.core.memory import CONVERSATION, DAILY, Memory, UndoesPurges
from claw.core.value import replace
from claw.memory import times
from claw.memory.hygiene import announce, archive
from claw.memory.hygiene.report import COUNTS, Failure, Report
from claw.memory.hygiene.state import (
    Announcement,
    Uptime,
    hold_lock,
    read_state,
    write_state,
)
from claw.memory.maintenance import (
    ExpiresMemories,
    HasMaintenance,
    LimitsSize,
    NotesArrivals,
    PrunesVersions,
    ThinsVersions,
)
from claw.memory.markdown.rows import KEPT_BY
from claw.memory.settings import MemorySettings
from claw.memory.snapshot.file import keep_snapshot, snapshot_text
from claw.security.files import nofollow
from claw.storage.sessions import SessionStore, file_name

_SHED = {"conversation": "shed_conversation_rows",
         "versions": "shed_versions", "cache": "shed_cache_rows"}
# Its daily files are the memory itself, and single lines can't be removed.
_FILES_ARE_MEMORIES = "markdown"

Notify = Callable[[str], None]


def _quiet(_: str) -> None:
    return None


def run(memory: Memory | None, workspace: Path, settings: MemorySettings, *,
        now: datetime, notify: Notify = _quiet, force: bool = False,
        dry_run: bool = False, whole: bool = False,
        protected: Collection[str] = (), earlier: Collection[Failure] = (),
        progress: Notify = _quiet, uptime: Uptime | None = None) -> Report:
    """Tidy a workspace and its memory, where it is due.

    `memory` None leaves the store alone. `force` runs it though it is off
    or was done in the last 12 hours; `dry_run` changes nothing and counts.
    `whole` may write the file of the store anew to make it smaller, also
    below the limit of its size. `protected` are sessions in use, by key.
    `earlier` goes into the report. `notify` hears what failed, `progress`
    what is being done; `uptime` is that of the machine, else it is looked
    up. Raises StorageError where the state can't be kept.
    """
    uptime = uptime or announce.read_uptime()
    if dry_run:
        return _Run(memory, workspace, settings, now, notify, progress,
                    uptime, dry=True).all(protected, whole, earlier)
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
                        uptime, dry=False).all(protected, whole, earlier)
    except UnavailableError:
        return Report(skipped="busy")


class _Run:
    """One run, as it goes on."""

    def __init__(self, memory: Memory | None, workspace: Path,
                 settings: MemorySettings, now: datetime, notify: Notify,
                 progress: Notify, uptime: Uptime, *, dry: bool) -> None:
        self._memory = memory
        self._workspace = workspace
        self._settings = settings
        self._now = now
        self._notify = notify
        self._progress = progress
        self._dry = dry
        self._uptime = uptime
        self._sessions = SessionStore(workspace / archive.SESSIONS.folder)
        self._state = read_state(workspace)
        self._rules = announce.list_rules(settings, announce.name_store(
            workspace, self._backend()))
        self._decision = announce.Decision(self._state)
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
            write_state(self._workspace, replace(
                self._decision.state, last_run_at=self._now,
                last_report=self._counts, archived=self._archived()))
        found = self._decision.state.announced
        return Report(
            None, self._dry, self._counts, tuple(self._files),
            tuple(self._failures), found, None if found is None
            else announce.describe_announcement(found, self._rules),
            self._describe_undo())

    def _steps(self, sessions: Collection[str], whole: bool
               ) -> Iterator[tuple[str, Callable[[], None]]]:
        memory = self._memory
        tools: object = (memory.maintenance() if isinstance(
            memory, HasMaintenance) else memory)
        yield "looking for what is due", lambda: self._decide(tools)
        yield "removing old archives of daily files", lambda: self._purge(
            archive.DAILY, "purged_memory_archives")
        yield "removing old archives of sessions", lambda: self._purge(
            archive.SESSIONS, "purged_session_archives")
        yield "removing old messages of sessions", self._shorten
        yield "archiving daily files", lambda: self._archive(
            archive.DAILY, "archived_memory_files",
            announce.list_retention(self._settings).get(DAILY, 0)
            if self._backend() == _FILES_ARE_MEMORIES
            else self._settings.archive_after_days)
        yield "archiving sessions", lambda: self._archive(
            archive.SESSIONS, "archived_session_files",
            self._settings.archive_after_days, sessions)
        if memory is None:
            return
        yield "removing old memories", lambda: self._remove(tools)
        if isinstance(tools, PrunesVersions):
            yield "removing old states", lambda: self._prune(tools)
        if isinstance(tools, ThinsVersions) and self._settings.max_versions:
            yield "thinning old states", lambda: self._thin(tools)
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

    def _decide(self, tools: object) -> None:
        """Count what is due, and see whether it may go."""
        moment = announce.choose_moment(self._state, self._rules, self._now)
        if isinstance(tools, NotesArrivals) and not self._dry:
            tools.note_arrivals(times.canonical(self._now))
        limit = self._settings.max_size_mb << 20
        files = {}
        for kind in (archive.DAILY, archive.SESSIONS):
            # Its own step tells what is wrong with a folder.
            with contextlib.suppress(OSError, StorageError):
                files[kind.folder] = len(self._find_outdated(kind, moment))
        with contextlib.suppress(OSError, StorageError):
            files["messages"] = sum(
                number for *_, number in self._find_old_messages(moment))
        due = Announcement(
            self._now, self._expire(tools, moment, dry=True), files,
            tools.shed(limit, dry=True)[CONVERSATION]
            if limit and isinstance(tools, LimitsSize) else 0, self._uptime)
        self._decision = announce.decide(
            self._state, due, self._memory.count() if self._memory else 0,
            self._rules, self._now)

    def _find_outdated(self, kind: archive.Kind,
                       moment: datetime | None) -> list[str]:
        before = self._before(self._settings.purge_after_days, moment)
        return [] if before is None else archive.find_outdated(
            self._workspace, kind, before, self._state.archived)

    def _purge(self, kind: archive.Kind, count: str) -> None:
        names = self._find_outdated(kind, self._decision.moment)
        done = names if self._dry else archive.remove(
            self._workspace, kind, names)
        for name in done:
            self._count(count, "removed", kind.archive_path(name))

    def _find_old_messages(self, moment: datetime | None
                           ) -> Iterator[tuple[str, datetime, int]]:
        """Of sessions in use: what is as old as an archived session is when
        it goes. Each session, from before when, and how many."""
        before = self._before(
            announce.count_session_days(self._settings), moment)
        if before is None:
            return
        for info in self._sessions.list():
            if not info.archived and (number := self._sessions.count_old(
                    info.key, before)):
                yield info.key, before, number

    def _shorten(self) -> None:
        for key, before, number in self._find_old_messages(
                self._decision.moment):
            with contextlib.suppress(NotFoundError):  # archived just now
                self._counts["removed_messages"] += (
                    number if self._dry
                    else self._sessions.shorten(key, before))

    def _archive(self, kind: archive.Kind, count: str, days: int,
                 protected: Collection[str] = ()) -> None:
        before = self._before(days, self._now)
        if before is None:
            return
        moves = [move for move in archive.old_files(
            self._workspace, kind, before, protected)
            if not self._holds_kept(kind, move)]
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
        before = self._before(self._settings.purge_after_days, self._now)
        return {name: moment for name, moment in self._state.archived.items()
                if before is not None and moment >= before}

    def _holds_kept(self, kind: archive.Kind, move: archive.Move) -> bool:
        """Whether a file is part of the memory and holds what a person
        imported."""
        return kind is archive.DAILY \
            and self._backend() == _FILES_ARE_MEMORIES \
            and f'"{KEPT_BY}"'.encode() in nofollow.read(
                self._workspace, f"{kind.folder}/{move.name}")

    def _remove(self, tools: object) -> None:
        for category, number in self._expire(
                tools, self._decision.moment, dry=self._dry).items():
            self._counts["pruned_conversation_rows" if category ==
                         CONVERSATION else "pruned_rows"] += number

    def _expire(self, tools: object, moment: datetime | None, *,
                dry: bool) -> dict[str, int]:
        """Remove, or only count, what is too old at a moment; how many by
        category."""
        if self._backend() == _FILES_ARE_MEMORIES:
            return {}
        kept_at = (times.canonical(self._now)
                   if self._settings.history_retention_days else None)
        return {
            category: _expire_category(tools, category, before, kept_at, dry)
            for category, days
            in announce.list_retention(self._settings).items()
            if (before := self._before(days, moment)) is not None}

    def _describe_undo(self) -> str | None:
        removed = (self._counts["pruned_conversation_rows"]
                   + self._counts["pruned_rows"])
        days = self._settings.history_retention_days
        if self._dry or not removed or not days \
                or not isinstance(self._memory, UndoesPurges):
            return None
        return f"claw memory undo --purge last brings them back ({days} days)"

    def _prune(self, memory: PrunesVersions) -> None:
        """Here 0 days keep nothing, as the settings say."""
        forgotten = self._before(self._settings.undo_retention_days,
                                 self._now, zero=self._now)
        ended = self._before(self._settings.history_retention_days,
                             self._now, zero=self._now)
        if forgotten is not None and ended is not None:
            self._counts["pruned_versions"] += memory.prune_versions(
                times.canonical(forgotten), times.canonical(ended),
                dry=self._dry)

    def _thin(self, memory: ThinsVersions) -> None:
        self._counts["thinned_versions"] += memory.thin_versions(
            self._settings.max_versions, dry=self._dry)

    def _shed(self, memory: LimitsSize) -> None:
        """Conversation only as far as it may go; of what was announced no
        more than was said."""
        made = self._decision
        talk = 0 if made.moment is None else None
        if made.is_announced and self._state.announced is not None:
            talk = self._state.announced.for_size
        found = memory.shed(self._settings.max_size_mb << 20, talk=talk,
                            dry=self._dry)
        if self._dry and talk is not None:
            found[CONVERSATION] = min(talk, found[CONVERSATION])
        for what, number in found.items():
            self._counts[_SHED[what]] += number

    def _check_size(self, memory: LimitsSize) -> None:
        limit = self._settings.max_size_mb << 20
        announced = self._decision.state.announced
        if limit and not (announced and announced.for_size) \
                and memory.is_larger(limit):
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

    def _before(self, days: int, moment: datetime | None,
                zero: datetime | None = None) -> datetime | None:
        """So many days before a moment; `zero` for none, None for ages ago
        and where there is no moment."""
        if days <= 0 or moment is None:
            return zero
        try:
            return moment - timedelta(days=days)
        except OverflowError:
            return None


def _expire_category(tools: object, category: str, before: datetime,
                     kept_at: str | None, dry: bool) -> int:
    """Remove what is older; one by one where a store can do no better."""
    moment = times.canonical(before)
    if isinstance(tools, ExpiresMemories):
        return tools.expire(category, moment, kept_at=kept_at, dry=dry)
    if not isinstance(tools, Memory):
        return 0
    old = []
    for entry in tools.list(category):
        with contextlib.suppress(ValueError):  # no time: no age
            if entry.kept_by is None \
                    and times.to_utc(entry.updated_at) < moment:
                old.append(entry.key)
    return len(old) if dry else sum(map(tools.forget, old))
