"""What a run of hygiene did, or would do."""

import re
from collections.abc import Mapping
from typing import Any

from claw.core.errors import ClawError, ExitCode, describe
from claw.core.value import Value, made
from claw.memory.hygiene.state import Announcement

# What is counted, and the words for it.
COUNTS = {
    "archived_memory_files": "daily files archived",
    "archived_session_files": "sessions archived",
    "purged_memory_archives": "archived daily files removed",
    "purged_session_archives": "archived sessions removed",
    "removed_messages": "old messages of sessions in use removed",
    "pruned_conversation_rows": "old conversation memories removed",
    "pruned_rows": "old memories of other categories removed",
    "pruned_versions": "old states of memories removed",
    "thinned_versions": "states beyond what a memory may have removed",
    "shed_conversation_rows": "conversation memories removed for the size",
    "shed_versions": "states of memories removed for the size",
    "shed_cache_rows": "kept vectors removed for the size",
    "freed_bytes": "bytes given back to the disk",
    "snapshot_memories": "core memories in the snapshot",
}
_many = re.compile(r"\b(\w+?)s\b")


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
    workspace), what being "archived" or "removed". `announced` waits for
    its day, and `announcement` says so in a line. `undo` brings back what
    was removed, where that can be.
    """

    skipped: str | None = None
    dry_run: bool = False
    counts: Mapping[str, int] = made(factory=lambda: dict.fromkeys(COUNTS, 0))
    files: tuple[tuple[str, str], ...] = ()
    failures: tuple[Failure, ...] = ()
    announced: Announcement | None = None
    announcement: str | None = None
    undo: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"skipped": self.skipped, "dry_run": self.dry_run,
                **self.counts,
                "files": [{"done": done, "path": path}
                          for done, path in self.files],
                "announced": None if self.announced is None
                else self.announced.to_json(),
                "errors": [failure.to_json() for failure in self.failures]}

    def lines(self) -> list[str]:
        """A line for each thing that was done."""
        return [f"{number} " + (COUNTS[name] if number > 1 else
                                _many.sub(_name_one, COUNTS[name], count=1))
                for name, number in self.counts.items() if number]


def _name_one(many: re.Match[str]) -> str:
    return many[1].removesuffix("ie") + ("y" if many[1].endswith("ie")
                                         else "")
