"""What another agent keeps, brought into claw.

`find` looks for other agents, `plan` counts what each part would bring and
writes nothing, `carry` writes it. Each agent has a reader (zeroclaw.py,
openclaw.py, ...) that turns its folder into `Holdings`; each part (settings,
files, memories, skills, sessions, jobs) knows how its share is compared with
what claw has, and how it is written.

The other agent's folder is foreign text and is only read: no link is
followed, sizes are bounded, databases are read from a copy. Nothing that
claw has is written over, and no guard is lowered but on request.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from claw.core.value import Value, made
from claw.storage.jobs.model import JobSpec

AGENTS = ("zeroclaw", "openclaw", "nanobot", "hermes")
PARTS = ("settings", "files", "memories", "skills", "sessions", "jobs")

# What becomes of one thing: it is brought; it is there already; it is
# brought beside claw's own, which differs; it is not brought (`why` says
# it); it would lower a guard and waits for a flag.
Fate = Literal["new", "same", "aside", "left", "held"]


class Found(Value):
    """An agent on this machine: its name, its folder, the workspace (None
    where it has none) and its version where its files tell."""

    agent: str
    home: Path
    workspace: Path | None = None
    version: str | None = None


class Setting(Value):
    """One setting of the other agent. `key` is claw's name for it, None
    where claw has none; `why` says why, or what to do."""

    source: str
    key: tuple[str, ...] | None
    value: Any = None
    why: str = ""


class HeldFile(Value):
    """A file of the workspace that is part of the prompt."""

    name: str
    data: bytes


class HeldSkill(Value):
    """A skill's folder below the agent's home; `root` is the folder that
    holds it."""

    name: str
    root: Path


class HeldJob(Value):
    """A job; `spec` is None where claw can't have it, and `why` says it."""

    name: str
    spec: JobSpec | None
    why: str = ""


class HeldMemories(Value):
    """A file of memories: `root` is the agent's folder, `path` the file
    below it, `name` what its memories without a key are named after, `form`
    what is in it: "database", "markdown", or "sections" (texts with a line
    of a paragraph sign between them)."""

    root: Path
    path: str
    name: str
    form: str = "markdown"


class HeldSession(Value):
    """A conversation: `name` is its agent's name of it, `path` its file
    below `root`, `form` how that is read (migrate/transcripts.py), `id` what
    it is called in a database ("": its name)."""

    name: str
    root: Path
    path: str
    form: str = "messages"
    id: str = ""


class Holdings(Value):
    """All that an agent's folder holds, as far as it could be read; `notes`
    say what could not."""

    settings: tuple[Setting, ...] = ()
    files: tuple[HeldFile, ...] = ()
    memories: tuple[HeldMemories, ...] = ()
    skills: tuple[HeldSkill, ...] = ()
    jobs: tuple[HeldJob, ...] = ()
    sessions: tuple[HeldSession, ...] = ()
    notes: tuple[str, ...] = ()


class Item(Value):
    """One thing of a part, as a person sees it; secrets are masked.
    `lines` are the beginning of a text that the agent would read."""

    name: str
    fate: Fate
    source: str = ""
    shown: str = ""
    why: str = ""
    lines: tuple[str, ...] = ()


class Part(Value):
    """A part of a plan, or what came of it. `counts` are numbers by kind
    (memories by category); `problem` says why nothing of it is brought,
    `undo` how it is taken back."""

    name: str
    items: tuple[Item, ...] = ()
    counts: Mapping[str, int] = made(factory=dict)
    problem: str = ""
    hint: str | None = None
    undo: str = ""

    def count(self, *fates: Fate) -> int:
        """How many things of it have one of these fates."""
        return sum(item.fate in fates for item in self.items)
