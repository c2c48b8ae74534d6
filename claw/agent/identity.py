"""The workspace files that say who the agent is."""

from collections.abc import Mapping
from pathlib import Path

ALWAYS = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md")
IF_PRESENT = ("HEARTBEAT.md", "BOOTSTRAP.md")
MAIN_ONLY = ("MEMORY.md",)

# more is cut from the prompt anyway
_READ_BYTES = 256_000


def read_identity(workspace: Path, *, main: bool = True
                  ) -> Mapping[str, str | None]:
    """File name -> text in prompt order, None for a missing file.

    HEARTBEAT.md and BOOTSTRAP.md are mentioned only where they exist,
    MEMORY.md only in the owner's own session (`main`).
    """
    found: dict[str, str | None] = {
        name: _text(workspace / name) for name in ALWAYS + IF_PRESENT}
    for name in IF_PRESENT:
        if found[name] is None:
            del found[name]
    if main:
        found |= {name: _text(workspace / name) for name in MAIN_ONLY}
    return found


def _text(path: Path) -> str | None:
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return file.read(_READ_BYTES).decode("utf-8", "replace")
    except OSError as error:
        return f"[File not readable: {path.name}: {error.strerror}]"
