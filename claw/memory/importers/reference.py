"""The reference's workspace: memory/brain.db, MEMORY.md, memory/*.md.

Where there is a brain.db the Markdown files are prose for the agent; only
lines that name a key are memories of its markdown backend then.
Source: spec/memory.md 1.3, 1.8, 2.1.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from claw.core.memory import MemoryEntry
from claw.memory.importers import Origin, Tally, database
from claw.memory.importers.markdown import (
    is_from_claw,
    read_claw_markdown,
    read_markdown,
)

HOME = Path("~/.zeroclaw")


def origins(folder: Path, agent: str = "zeroclaw") -> list[Origin]:
    """What a workspace holds; empty where it holds no memories."""
    brain = find_brain(folder)
    found = [open_database(brain, agent)] if brain else []
    return [*found, *(open_markdown(path, agent, keyed_only=brain is not None,
                                  name=name)
                      for path, name in find_notes(folder))]


def find_brain(folder: Path) -> Path | None:
    """The brain.db of a workspace, or of its folder memory."""
    for path in (folder / "memory" / "brain.db", folder / "brain.db"):
        if path.exists():
            return path
    return None


def find_notes(folder: Path) -> Iterator[tuple[Path, str]]:
    """The Markdown files of a workspace, and what their lines are named
    after: the path inside memory/ without its ending."""
    seen = set()
    for name in ("MEMORY.md", "memory.md"):
        path = folder / name
        if path.is_file() and path.stat().st_ino not in seen:
            seen.add(path.stat().st_ino)
            yield path, path.stem
    below = folder / "memory"
    for path in sorted(below.rglob("*.md")):
        inside = path.relative_to(below).with_suffix("").parts
        if path.is_file() and not any(p.startswith(".") for p in inside):
            yield path, "_".join(inside)


def open_database(path: Path, agent: str | None = None) -> Origin:
    """A file with a table of memories; whose it is is looked up where it
    is not said. Raises UsageError and StorageError."""
    written_by = database.owner(path)
    whose = agent if agent and written_by != "claw" else written_by
    return Origin("database", whose, str(path),
                  partial(database.read_database, path, whose),
                  database.total(path))


def open_markdown(path: Path, agent: str, *, keyed_only: bool = False,
                name: str | None = None) -> Origin:
    """A Markdown file."""
    if is_from_claw(path):
        return Origin("markdown", "claw", str(path),
                      lambda _: read_claw_markdown(path))

    def read(tally: Tally) -> Iterator[MemoryEntry]:
        for note in read_markdown(path, name or path.stem, agent, tally,
                                  joined=agent != "openclaw"):
            if note.has_key or not keyed_only:
                yield note
    return Origin("markdown", agent, str(path), read)
