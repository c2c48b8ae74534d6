"""Files that commands can write: what they are, and putting them back.

Everything goes through handles of folders, no link is followed and
nothing but a regular file is opened. What a file is, is one string:
"" (missing), "file:SHA-256", "program:SHA-256" (executable), or
"odd:..." for a link, a pipe, a folder, and what is too large to be read.
"""

import contextlib
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from claw.core.errors import StorageError

MISSING = ""
LIMIT_BYTES = 16 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextlib.contextmanager
def open_folder(root: Path | str, relative: str = "", *,
                make: bool = False) -> Iterator[int]:
    """A handle on a folder in `root` (which itself may be a link), made
    for the owner alone if asked for. Raises OSError."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in relative.split("/") if relative else ():
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=handle)
            deeper = os.open(part, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = deeper
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def open_parent(path: str, roots: Sequence[Path | str]
                ) -> Iterator[int | None]:
    """The folder that an absolute path lies in; None where it is not in a
    root, or not to be had without a link."""
    parent = os.path.dirname(path)
    root = max((str(root) for root in roots if is_inside(parent, root)),
               key=len, default="")
    with contextlib.ExitStack() as stack:
        handle = None
        with contextlib.suppress(OSError, ValueError):
            if root:
                handle = stack.enter_context(
                    open_folder(root, parent[len(root):].strip("/")))
        yield handle


def is_inside(path: str, root: Path | str) -> bool:
    """Whether a path is a root or in it, by its words."""
    return f"{path}/".startswith(f"{str(root).rstrip('/')}/")


@contextlib.contextmanager
def open_below(folder: int, name: str) -> Iterator[int | None]:
    """A folder in a folder, None where there is none."""
    try:
        handle = os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)


def read(folder: int, name: str) -> tuple[str, bytes]:
    """What stands at a name: what it is, and its content; b"" for what is
    no regular file. Raises OSError only where the folder is unreadable."""
    try:
        status = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return MISSING, b""
    if not stat.S_ISREG(status.st_mode) or status.st_size > LIMIT_BYTES:
        return _describe_odd(folder, name, status), b""
    try:
        handle = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError:
        return MISSING, b""
    except OSError:  # swapped for a link meanwhile, or not for us to read
        return _describe_odd(folder, name, status), b""
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return _describe_odd(folder, name, status), b""
        data = file.read(LIMIT_BYTES + 1)
    if len(data) > LIMIT_BYTES:
        return _describe_odd(folder, name, status), b""
    kind = "program" if status.st_mode & 0o111 else "file"
    return f"{kind}:{hashlib.sha256(data).hexdigest()}", data


def look(folder: int, name: str) -> str:
    """What stands at a name. The content is read each time: a page that a
    command has mapped changes without a new ctime."""
    return read(folder, name)[0]


def is_settled(changed_at: int) -> bool:
    """Whether a ctime (ns) is old enough that any later change shows in
    it: file systems and kernels count in ticks of up to two seconds."""
    return time.time_ns() - changed_at - 2_500_000_000 > 0


def _describe_odd(folder: int, name: str, status: os.stat_result) -> str:
    if stat.S_ISLNK(status.st_mode):
        with contextlib.suppress(OSError):
            return "odd:link:" + os.readlink(name, dir_fd=folder)
    kind = ("folder" if stat.S_ISDIR(status.st_mode) else
            "file" if stat.S_ISREG(status.st_mode) else "device or pipe")
    return (f"odd:{kind}:{status.st_ino}:{status.st_size}:"
            f"{status.st_ctime_ns if kind == 'file' else 0}")


def is_folder(what: str) -> bool:
    return what.startswith("odd:folder:")


def digest(what: str) -> str | None:
    """The SHA-256 of a regular file that was read."""
    kind, _, rest = what.partition(":")
    return rest if kind in ("file", "program") else None


def write(folder: int, name: str, data: bytes, mode: int = 0o600, *,
          sync: bool = True) -> None:
    """Put a file whole in the place of a name, whatever stands there but
    a folder; with `sync` it outlives a power cut. Raises OSError."""
    draft = f".claw-{secrets.token_hex(8)}.tmp"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL
                     | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(handle)
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise


class Store:
    """Contents by their digest, in a folder that no command reaches."""

    def __init__(self, folder: int) -> None:
        self._folder = folder
        self._known = set(os.listdir(folder))

    def keep(self, folder: int, name: str) -> str:
        """Remember the content of a file; what it is."""
        what = look(folder, name)
        if digest(what) in (None, *self._known):
            return what
        what, data = read(folder, name)
        kept = digest(what)
        if kept is not None:
            write(self._folder, kept, data)
            self._known.add(kept)
        return what

    def get(self, what: str) -> bytes | None:
        """The content; None for what was no regular file. Raises
        StorageError where it is gone."""
        name = digest(what)
        if name is None:
            return None
        found, data = read(self._folder, name)
        if digest(found) != name:
            raise StorageError("a kept content of the workspace is damaged",
                               hint="look at state/held in the workspace")
        return data

    def holds(self, what: str) -> bool:
        """Whether the content of what it is is kept."""
        return digest(what) in self._known

    def rewrite(self, what: str, clean: Callable[[bytes], bytes]) -> str:
        """Keep a content as `clean` gives it back; what it is then."""
        data = clean(self.get(what) or b"")
        kept = hashlib.sha256(data).hexdigest()
        if kept not in self._known:
            write(self._folder, kept, data)
            self._known.add(kept)
        return f"{what.partition(':')[0]}:{kept}"

    def drop_all_but(self, used: set[str]) -> None:
        """Forget what nothing refers to."""
        for name in self._known - {digest(what) for what in used}:
            if name is not None:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=self._folder)
        self._known = set(os.listdir(self._folder))


def replace(folder: int, name: str, data: bytes | None, refused: int,
            mode: int) -> None:
    """Put `data` (None: nothing) in the place of a name; what stands there
    goes to the folder `refused`. Raises OSError."""
    aside = f"{name.strip('.')}-{secrets.token_hex(4)}"
    if data is not None and digest(look(folder, name)):
        # A reader sees the one or the other, never nothing.
        with contextlib.suppress(OSError):
            os.link(name, aside, src_dir_fd=folder, dst_dir_fd=refused,
                    follow_symlinks=False)
    else:
        _move(folder, name, refused, aside)
    if data is not None:
        write(folder, name, data, mode)


def _move(folder: int, name: str, refused: int, aside: str) -> None:
    try:
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=refused)
    except FileNotFoundError:
        pass  # it has gone by itself
    except OSError:  # another disk
        os.unlink(name, dir_fd=folder)
