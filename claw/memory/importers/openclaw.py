"""OpenClaw's workspace: MEMORY.md, memory/**/*.md, and a memory/brain.db
where there is one.

The files are what OpenClaw remembers; the SQLite files beside the
workspace are its search index and hold nothing of their own.
Source: spec/memory.md 3.2; docs.openclaw.ai/concepts/memory, read 2026-11.
"""

from pathlib import Path

from claw.memory.importers import Origin, reference

AGENT = "openclaw"
WORKSPACE = Path("~/.openclaw/workspace")
# Names that it had before.
_HOMES = {".openclaw", ".clawdbot", ".moltbot"}


def is_ours(path: Path) -> bool:
    """Whether a path lies in OpenClaw's home."""
    whole = path.resolve()
    return bool(_HOMES & set(whole.parts)) or any(
        (above / "openclaw.json").is_file()
        for above in (whole, *list(whole.parents)[:2]))


def origins(folder: Path) -> list[Origin]:
    """What its workspace holds; empty where it holds no memories."""
    brain = reference.find_brain(folder)
    found = [reference.open_database(brain, AGENT)] if brain else []
    return [*found, *(reference.open_markdown(path, AGENT, name=name)
                      for path, name in reference.find_notes(folder))]
