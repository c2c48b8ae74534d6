"""The workspace files that say who the agent is.

What stands in them goes to the provider, so a link in their place, which a
command may have put there, counts as no file.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from claw.core.errors import StorageError
from claw.security.files import nofollow
from claw.security.watched.record import list_replaced

ALWAYS = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md")
IF_PRESENT = ("HEARTBEAT.md", "BOOTSTRAP.md")
MAIN_ONLY = ("MEMORY.md",)

# more is cut from the prompt anyway
_READ_BYTES = 256_000
# What the Markdown memory notes beside an entry: times and sources, no
# matter of the prompt.
_note = re.compile(r" ?<!-- claw \{[^\n]*?(?: -->|\Z)")


def read_identity(workspace: Path, *, main: bool = True,
                  notify: Callable[[str], None] = lambda _: None
                  ) -> Mapping[str, str | None]:
    """File name -> text in prompt order, None for a missing file, and for
    what is none of its own: `notify` hears of that.

    HEARTBEAT.md and BOOTSTRAP.md are mentioned only where they exist,
    MEMORY.md only in the owner's own session (`main`). What a command has
    changed counts as it was before, until the owner says yes.
    """
    replaced = list_replaced(workspace)
    found: dict[str, str | None] = {
        name: _read(workspace, name, replaced, notify)
        for name in ALWAYS + IF_PRESENT}
    for name in IF_PRESENT:
        if found[name] is None:
            del found[name]
    if main:
        for name in MAIN_ONLY:
            text = _read(workspace, name, replaced, notify)
            found[name] = text and _note.sub("", text)
    return found


def read_own_file(workspace: Path, name: str,
                  notify: Callable[[str], None] = lambda _: None
                  ) -> str | None:
    """One of these files, as `read_identity` reads it."""
    return _read(workspace, name, list_replaced(workspace), notify)


def _read(workspace: Path, name: str,
          replaced: Mapping[str, bytes | None],
          notify: Callable[[str], None]) -> str | None:
    if name in replaced:
        before = replaced[name]
        return None if before is None else before[:_READ_BYTES].decode(
            "utf-8", "replace")
    try:
        data = nofollow.read(workspace, name, _READ_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return f"[File not readable: {name}: {error.strerror}]"
    except StorageError as error:
        notify(f"{name} does not count: {error.message} ({error.hint})")
        return None
    return data.decode("utf-8", "replace")
