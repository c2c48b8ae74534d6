"""Programs of the owner's that run outside of any sandbox: his tools, his
hooks. None of them lies where the agent may write, and nobody else may have
written it.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from claw.core.registry import PlugInError

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def refuse_foreign(path: Path, roots: Iterable[Path], home: Path) -> None:
    """Nobody but the owner may have written the file, or the link to it,
    nor put the folders there that it lies in, up to his `home`; the agent
    and MCP servers may write in the `roots`. Raises PlugInError."""
    real, folder = path.resolve(), path.parent.resolve()
    for root in roots:
        if real.is_relative_to(root) or folder.is_relative_to(root):
            raise PlugInError(
                f"{path} lies in {root}, where tools may write",
                hint="move it out, or take the folder out of "
                     "autonomy.allowed_roots or the folders of "
                     "[[mcp.servers]]")
    places = (real, *real.parents, folder, *path.absolute().parents)
    above = home.resolve().parents
    for place in dict.fromkeys(place for place in places
                               if place not in above):
        try:
            found = place.stat()
        except OSError as error:
            raise PlugInError(f"{place}: {error.strerror}",
                              hint="look at it with: ls -l") from error
        if found.st_uid not in (os.geteuid(), 0):
            raise PlugInError(f"{place} belongs to another user",
                              hint=f"chown {os.geteuid()} {place}")
        # In a folder such as /tmp nobody can replace what is another's.
        if found.st_mode & _OTHERS and not found.st_mode & stat.S_ISVTX:
            raise PlugInError(f"{place} can be written by others",
                              hint=f"chmod go-w {place}")
