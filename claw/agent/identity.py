"""The workspace files that say who the agent is."""

import re
from collections.abc import Mapping
from pathlib import Path

from claw.security.watched.record import list_replaced

ALWAYS = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md")
IF_PRESENT = ("HEARTBEAT.md", "BOOTSTRAP.md")
MAIN_ONLY = ("MEMORY.md",)

# more is cut from the prompt anyway
_READ_BYTES = 256_000
# What the Markdown memory notes beside an entry: times and sources, no
# matter of the prompt.
_note = re.compile(r" ?<!-- claw \{[^\n]*?(?: -->|\Z)")


def read_identity(workspace: Path, *, main: bool = True
                  ) -> Mapping[str, str | None]:
    """File name -> text in prompt order, None for a missing file.

    HEARTBEAT.md and BOOTSTRAP.md are mentioned only where they exist,
    MEMORY.md only in the owner's own session (`main`). What a command has
    changed counts as it was before, until the owner says yes.
    """
    replaced = list_replaced(workspace)
    found: dict[str, str | None] = {
        name: _read(workspace / name, replaced)
        for name in ALWAYS + IF_PRESENT}
    for name in IF_PRESENT:
        if found[name] is None:
            del found[name]
    if main:
        for name in MAIN_ONLY:
            text = _read(workspace / name, replaced)
            found[name] = text and _note.sub("", text)
    return found


def _read(path: Path, replaced: Mapping[str, bytes | None]) -> str | None:
    if path.name in replaced:
        data = replaced[path.name]
        return None if data is None else data[:_READ_BYTES].decode(
            "utf-8", "replace")
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            return file.read(_READ_BYTES).decode("utf-8", "replace")
    except OSError as error:
        return f"[File not readable: {path.name}: {error.strerror}]"
