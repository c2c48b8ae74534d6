"""A folder of documents: which files there are, and their bytes.

No link is followed and nothing outside is read: every part is opened from
the one above it with O_NOFOLLOW. Hidden files and folders are left out, and
what .gitignore files say, those above the folder in the same repository
too. What can't be read now is not taken for gone.
"""

import errno
import os
import stat
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from claw.core.errors import StorageError, UsageError
from claw.core.labels import ATTACHMENT
from claw.security.files import nofollow
from claw.security.shell.origins import FILES
from claw.text.documents.ignore import Rules
from claw.text.encoding import decode_text

MOST_BYTES = 8 << 20
_MOST_RULES = 1 << 20  # bytes of a .gitignore
_DEEPEST = 100
_SETTLED_NS = 2 * 10**9
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_DIRECTORY

FileId = tuple[int, int]  # device, inode


class Listing(NamedTuple):
    """The files of a folder, by their paths in it, each with a stamp that
    changes with it; how many were left out and why ("link", "ignored",
    "large", "special", "unreadable"); what could not be looked at."""

    files: dict[str, str]
    skipped: Counter[str]
    unread: list[str]

    def may_be_there(self, path: str) -> bool:
        """Whether a path is or may be there: what is below a folder that
        could not be read."""
        return path in self.files or any(
            name in ("", path) or path.startswith(f"{name}/")
            for name in self.unread)


# The path from a .gitignore above the root down to this, how many parts of a
# path below the root are above it, and what it says.
_Rules = tuple[tuple[str, ...], int, Rules]


class _Place(NamedTuple):
    """A folder on the way, and the rules that hold there, the nearest
    last."""

    parts: tuple[str, ...]
    rules: tuple[_Rules, ...]


class Folder:
    """The folder `root`; where it lies in `workspace` it is opened beneath
    that. `excluded` are claw's own folders."""

    def __init__(self, root: Path, workspace: Path,
                 excluded: Collection[Path] = ()) -> None:
        self.root = root
        self._workspace = workspace
        self._excluded = {found for path in excluded
                          if (found := _identify(path)) is not None}

    @contextmanager
    def hold(self) -> Iterator[int]:
        """A descriptor of the folder. Raises UsageError."""
        with ExitStack() as stack:
            try:
                if self._is_inside:
                    top = stack.enter_context(nofollow.hold_folder(
                        self._workspace, self.root))
                else:
                    top = os.open(self.root, _FOLDER | os.O_CLOEXEC)
                    stack.callback(os.close, top)
            except OSError as error:
                raise UsageError(
                    f"{self.root}: {(error.strerror or '').lower()}",
                    hint="name a folder that can be read") from error
            yield top

    def list_files(self, top: int, *, most: int | None = None) -> Listing:
        """All files, in the order of their paths. Raises UsageError for
        more than `most`."""
        listing = Listing({}, Counter(), [])
        waiting = [_Place((), self._read_rules_above())]
        while waiting:
            place = waiting.pop()
            try:
                handle = _open_below(top, place.parts, _FOLDER)
            except (OSError, StorageError):
                listing.skipped["unreadable"] += 1
                listing.unread.append("/".join(place.parts))
                continue
            try:
                waiting += self._list_one(handle, place, listing)
            finally:
                os.close(handle)
            if most is not None and len(listing.files) > most:
                raise UsageError(f"{self.root} holds more than {most:,} "
                                 "files", hint="name a folder in it")
        return Listing(dict(sorted(listing.files.items())), listing.skipped,
                       listing.unread)

    def read(self, top: int, path: str) -> tuple[bytes, str, float]:
        """Bytes, stamp and time of change of a file; the stamp is "" where
        it changed just now and may do so again unseen. Raises OSError."""
        number = _open_file(top, path)
        with open(number, "rb") as file:
            found = os.fstat(number)
            if self._is_second_name(found):
                raise OSError(errno.EMLINK, os.strerror(errno.EMLINK), path)
            data = file.read(MOST_BYTES)
        last = max(found.st_mtime_ns, found.st_ctime_ns)
        is_settled = time.time_ns() - last > _SETTLED_NS
        return data, _stamp(found) if is_settled else "", found.st_mtime

    def stamp(self, path: str) -> str | None:
        """The stamp of a file as it is now; None where it is gone."""
        try:
            return _stamp(os.stat(self.root / path, follow_symlinks=False))
        except (OSError, ValueError):
            return None

    def find_origin(self, path: str) -> str:
        """The label of a file's text: what others sent lies in a workspace
        too."""
        place = self.root / path
        is_sent = place.is_relative_to(self._workspace) and \
            place.relative_to(self._workspace).parts[0].endswith(FILES)
        return ATTACHMENT if is_sent else "file"

    @property
    def _is_inside(self) -> bool:
        return self.root.is_relative_to(self._workspace)

    def _list_one(self, handle: int, place: _Place, listing: Listing
                  ) -> list[_Place]:
        """Note the files of one folder; the folders in it."""
        rules = place.rules
        own = _read_rules(handle, ".gitignore")
        if own:
            rules = (*rules, ((), len(place.parts), own))
        deeper: list[_Place] = []
        try:
            with os.scandir(handle) as entries:
                found = sorted(entries, key=lambda entry: entry.name,
                               reverse=True)
        except OSError:
            listing.skipped["unreadable"] += 1
            listing.unread.append("/".join(place.parts))
            return []
        for entry in found:
            if entry.name.startswith("."):
                continue
            parts = (*place.parts, entry.name)
            path = "/".join(parts)
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                listing.skipped["unreadable"] += 1
                listing.unread.append(path)
                continue
            why = self._why_left_out(status, parts, rules)
            if why:
                listing.skipped[why] += 1
            elif not stat.S_ISDIR(status.st_mode):
                listing.files[path] = _stamp(status)
            elif (status.st_dev, status.st_ino) not in self._excluded:
                if len(parts) > _DEEPEST:
                    listing.skipped["unreadable"] += 1
                    listing.unread.append(path)
                else:
                    deeper.append(_Place(parts, rules))
        return deeper

    def _why_left_out(self, status: os.stat_result, parts: tuple[str, ...],
                      rules: Sequence[_Rules]) -> str:
        if stat.S_ISLNK(status.st_mode) or self._is_second_name(status):
            return "link"
        is_folder = stat.S_ISDIR(status.st_mode)
        if not is_folder and not stat.S_ISREG(status.st_mode):
            return "special"
        if _is_ignored(parts, rules, is_folder=is_folder):
            return "ignored"
        return "large" if not is_folder and status.st_size > MOST_BYTES \
            else ""

    def _is_second_name(self, status: os.stat_result) -> bool:
        """Whether it may be a file from elsewhere: in the workspace a
        command may have put a hard link to it."""
        return (self._is_inside and stat.S_ISREG(status.st_mode)
                and status.st_nlink > 1)

    def _read_rules_above(self) -> tuple[_Rules, ...]:
        """Those of the repository that the folder is a part of. Who names a
        folder that they leave out wants it all the same."""
        above = [self.root, *self.root.parents]
        home = next((folder for folder in above
                     if os.path.exists(folder / ".git")), None)
        if home is None or self._is_inside:
            return ()
        found: list[_Rules] = []
        for folder in reversed(above[:above.index(home) + 1]):
            names = [".git/info/exclude"] * (folder == home) \
                + [".gitignore"] * (folder != self.root)
            path = self.root.relative_to(folder).parts
            with suppress(UsageError), \
                    Folder(folder, self._workspace).hold() as handle:
                found += [(path, 0, own) for name in names if (
                    own := _read_rules(handle, name)) is not None]
        if any(own.leave_out(path[:end], is_folder=True)
               for path, _, own in found
               for end in range(1, len(path) + 1)):
            return ()
        return tuple(found)


def _is_ignored(parts: tuple[str, ...], rules: Sequence[_Rules], *,
                is_folder: bool) -> bool:
    for prefix, above, own in reversed(rules):
        said = own.leave_out((*prefix, *parts[above:]), is_folder=is_folder)
        if said is not None:
            return said
    return False


def _read_rules(handle: int, name: str) -> Rules | None:
    """The rules of a file in a folder, None where there is none."""
    try:
        with open(_open_file(handle, name), "rb") as file:
            return Rules(decode_text(file.read(_MOST_RULES)))
    except OSError:
        return None


def _open_file(top: int, path: str) -> int:
    """A descriptor of a regular file, no link on the way. Raises
    OSError."""
    number = _open_below(top, path.split("/"), _FILE)
    if stat.S_ISREG(os.fstat(number).st_mode):
        return number
    os.close(number)
    raise OSError(errno.EINVAL, "it is no regular file", path)


def _open_below(top: int, parts: Sequence[str], flags: int) -> int:
    """A descriptor of what lies at a path, no link on the way. Raises
    OSError."""
    if not parts:
        return os.open(".", flags | os.O_CLOEXEC, dir_fd=top)
    handle = top
    try:
        for part in parts[:-1]:
            deeper = nofollow.open_part(handle, part, nofollow.DIRECTORY)
            if handle != top:
                os.close(handle)
            handle = deeper
        return nofollow.open_part(handle, parts[-1], flags)
    finally:
        if handle != top:
            os.close(handle)


def _stamp(found: os.stat_result) -> str:
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"


def _identify(path: Path) -> FileId | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
