"""How much a command writes, looked at while it runs.

First what costs nothing: how much of the file system is used, and how many
bytes the command's processes wrote. Others use the same disk, so only when
one of these passes the quota are the files themselves looked at: those
that changed since the start. A file without a name is on no list; where
both counts have passed the quota the command wrote it.
Source: statvfs(3), proc_pid_io(5), inode(7).
"""

from __future__ import annotations

import errno
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CLOCK_TICK_NS = 20_000_000  # times of files are that much behind
_WALK_SECONDS = 3.0
_PAUSES = 5  # of the length of the walk before it, until the next one
_BLOCK = 512  # st_blocks counts these whatever the file system's are


class Quota:
    """What may come in addition to what is there now.

    `folders` are those that the command can write, `skipped` lie in them
    and are not its own.
    """

    def __init__(self, folders: list[str], skipped: list[str],
                 max_bytes: int, max_files: int) -> None:
        self._folders = [f for f in folders if os.path.isdir(f)]
        self._skipped = frozenset(skipped)
        self._max_bytes = max_bytes
        self._max_files = max_files
        self._start_ns = time.time_ns() - _CLOCK_TICK_NS
        self._counts_files = all(
            os.statvfs(folder).f_files for folder in self._folders)
        self._used = self._read_used()
        self._written: dict[str, int] = {}
        self._next_walk = 0.0

    def find_excess(self, processes: list[str]) -> str:
        """What the command (its processes' ids) did too much of, if
        anything."""
        grown = files = 0
        for before, now in zip(self._used, self._read_used(), strict=True):
            grown = max(grown, now[0] - before[0])
            files = max(files, now[1] - before[1])
        written = self._count_written(processes)
        # btrfs does not count files: there they are always looked at.
        if (max(grown, written) <= self._max_bytes
                and files <= self._max_files and self._counts_files):
            return ""
        return self._walk() or (
            self._too_much if min(grown, written) > self._max_bytes else "")

    @property
    def _too_much(self) -> str:
        return f"it wrote more than {self._max_bytes >> 20} MiB"

    def _read_used(self) -> list[tuple[int, int]]:
        """Bytes and files in use where each folder lies."""
        found = [os.statvfs(folder) for folder in self._folders]
        return [((s.f_blocks - s.f_bfree) * s.f_frsize,
                 s.f_files - s.f_ffree) for s in found]

    def _count_written(self, processes: list[str]) -> int:
        """Bytes written by each process since it was first seen, by those
        that have ended too."""
        for process in processes:
            try:
                with open(f"/proc/{process}/io") as file:
                    counts = dict(line.split(": ") for line in file)
            except OSError:
                continue  # it has ended meanwhile
            self._written[process] = max(self._written.get(process, 0),
                                         int(counts["write_bytes"]))
        return sum(self._written.values())

    def _walk(self) -> str:
        now = time.monotonic()
        if now < self._next_walk:
            return ""
        size = 0
        seen: set[int] = set()
        for files, status in enumerate(
                self._list_changed(now + _WALK_SECONDS), 1):
            if status is None:
                return "it made folders too deep to be looked at"
            if status.st_nlink == 1 or status.st_ino not in seen:
                seen.add(status.st_ino)
                size += status.st_blocks * _BLOCK
            if files > self._max_files:
                return f"it made or changed more than {files - 1:,} files"
            if size > self._max_bytes:
                return self._too_much
        took = time.monotonic() - now
        self._next_walk = now + took * (1 + _PAUSES)
        return ""

    def _list_changed(self, until: float) -> Iterator[os.stat_result | None]:
        """The status of what was made or changed since the start; None for
        a path that is too long to be named."""
        folders = list(self._folders)
        while folders and time.monotonic() < until:
            folder = folders.pop()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if (entry.is_dir(follow_symlinks=False)
                                and entry.path not in self._skipped):
                            folders.append(entry.path)
                        try:
                            status = entry.stat(follow_symlinks=False)
                        except FileNotFoundError:
                            continue
                        if status.st_ctime_ns >= self._start_ns:
                            yield status
            except OSError as error:  # or it has been removed meanwhile
                if error.errno == errno.ENAMETOOLONG:
                    yield None
