"""The files beneath a directory, without following a link.

Folders are opened one after the other beneath the root, so that neither a
link that is swapped in nor the depth of a tree leads anywhere else.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from claw.core.errors import ClawError
from claw.security.files import beneath

# Entries that are looked at; a tree made to tire us out has more.
MOST_ENTRIES = 200_000


class Walk:
    """The regular files in the folder `relative` of `root`, as paths from
    `root` on, those of a folder in order of their names. `allowed` judges
    each file and folder. `cut` says whether some were not looked at: past
    `most` entries, or in folders that can't be opened; `links` are the
    links that were passed by."""

    def __init__(self, root: Path, relative: str, allowed: beneath.Allowed,
                 most: int = MOST_ENTRIES) -> None:
        self.cut = False
        self.links: list[str] = []
        self._root = root
        self._start = "" if relative == "." else relative
        self._allowed = allowed
        self._left = most

    def __iter__(self) -> Iterator[str]:
        """Raises as beneath.read for the first folder."""
        waiting = [self._start]
        while waiting and self._left > 0:
            folder = waiting.pop()
            try:
                names = self._list(folder)
            except ClawError:
                if folder == self._start:
                    raise
                self.cut = True
                continue
            deeper = []
            for name, kind in names:
                path = f"{folder}/{name}" if folder else name
                if not self._allowed(self._root / path):
                    continue
                if kind == stat.S_IFDIR:
                    deeper.append(path)
                elif kind == stat.S_IFLNK:
                    self.links.append(path)
                else:
                    yield path
            waiting += reversed(deeper)
        self.cut = self.cut or bool(waiting)

    def _list(self, folder: str) -> list[tuple[str, int]]:
        """Names of files, folders and links with what each is."""
        with beneath.opened(self._root, folder or ".",
                            os.O_RDONLY | os.O_DIRECTORY) as handle, \
                os.scandir(handle) as entries:
            found = []
            for entry in entries:
                self._left -= 1
                if self._left < 0:
                    self.cut = True
                    break
                kind = stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode)
                if kind in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
                    found.append((entry.name, kind))
        return sorted(found)
