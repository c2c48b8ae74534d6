"""claw's own files in a workspace: opened beneath it, and no link followed.

A command that ran in the workspace may have put a link where claw keeps or
looks for a file of its own. So every part below the workspace is opened from
the one before with O_NOFOLLOW; a link, a pipe, a device or a folder in the
place of a file is a StorageError that says how to look at it. The workspace
itself may be a link: its owner made it. SQLite takes no descriptor: what it
will open is looked at before and after (`check_database`).

`name` is a path below `root`, relative or whole. Other failures rise as
OSError. Nothing is loaded that a local command has not loaded anyway.
Source: open(2), path_resolution(7).
"""

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from claw.core.errors import StorageError
from claw.core.folders import make_private

DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY
# O_NONBLOCK: opening a named pipe must not wait for its other end.
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SIDE_FILES = ("-wal", "-shm", "-journal")
_ODD = (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENODEV)


def open_file(root: Path, name: str | Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file that has this one name. O_CREAT makes
    it (0600), and its folders, where they are missing."""
    with _parent(root, name, make=bool(flags & os.O_CREAT)) as (folder, last):
        return open_in(folder, last, root / name, flags)


def open_in(folder: int, last: str, path: Path, flags: int) -> int:
    """The same in a folder that is open; `path` is what errors call it."""
    try:
        number = open_part(folder, last, flags | _FILE)
    except OSError as error:
        _refuse_odd(error, folder, last, path)
        raise
    found = os.fstat(number)
    if is_plain(found):
        return number
    os.close(number)
    raise refuse(path, found)


def is_plain(found: os.stat_result) -> bool:
    """Whether it is a regular file, and of no other name."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink <= 1


def read(root: Path, name: str | Path, size: int = -1) -> bytes:
    """The bytes of a file, the first `size` of them."""
    with open(open_file(root, name), "rb") as file:
        return file.read(size)


def write(root: Path, name: str | Path, pieces: Iterable[bytes], *,
          make: bool = True, sync: bool = True,
          keep_time: bool = False) -> None:
    """Put a text in the place of a file, whole or not at all, on the disk
    with `sync`; `make` makes its folders, the mode of a file that is there
    is kept, and with `keep_time` when it was last changed."""
    with _parent(root, name, make=make) as (folder, last):
        found = status_in(folder, last)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise refuse(root / name, found)
        replace_in(folder, last, pieces,
                   0o600 if found is None else stat.S_IMODE(found.st_mode),
                   sync=sync, changed_ns=found.st_mtime_ns
                   if keep_time and found is not None else None)
        if sync:
            with _readable(folder) as number:
                os.fsync(number)


def replace_in(folder: int, last: str, pieces: Iterable[bytes],
               mode: int | None, *, sync: bool = True,
               changed_ns: int | None = None) -> None:
    """Write beside and rename: a reader sees the old or the new text.
    `mode` None: that of the umask; `changed_ns` is when it was changed, if
    not now. Raises OSError."""
    draft = f".claw-{os.urandom(8).hex()}.tmp"
    number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE,
                     0o666 if mode is None else 0o600, dir_fd=folder)
    try:
        with open(number, "wb") as file:
            file.writelines(pieces)
            if mode is not None:
                os.fchmod(number, mode)
            file.flush()
            if changed_ns is not None:
                os.utime(number, ns=(changed_ns, changed_ns))
            if sync:
                os.fsync(number)
        os.rename(draft, last, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise


def rename(root: Path, name: str | Path, new: str | Path) -> None:
    """Give a file another name; what stands there is replaced."""
    with _parent(root, name) as (source, old), \
            _parent(root, new) as (target, last):
        os.rename(old, last, src_dir_fd=source, dst_dir_fd=target)


def remove(root: Path, name: str | Path) -> None:
    """Remove a file, or the link that stands there, where it is."""
    with contextlib.suppress(FileNotFoundError), \
            _parent(root, name) as (folder, last):
        os.unlink(last, dir_fd=folder)


def status(root: Path, name: str | Path) -> os.stat_result | None:
    """What stands there, a link itself; None for nothing."""
    try:
        with _parent(root, name) as (folder, last):
            return status_in(folder, last)
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def hold_folder(root: Path, name: str | Path, *, make: bool = False
                ) -> Iterator[int]:
    """A descriptor of a folder, for listing it and for `dir_fd`. `make`
    makes it and those above, the owner's alone."""
    with _walk(root, (root / name).relative_to(root).parts, make) as folder, \
            _readable(folder) as number:
        yield number


def check_database(path: Path) -> None:
    """Raise StorageError unless SQLite would open regular files of ours, or
    none: the database and its side files, in a folder of the workspace."""
    name = str(path)
    folder = os.path.dirname(name) or "."
    owners = {os.geteuid(), 0}
    with contextlib.suppress(OSError):  # not there yet: the opener says so
        owners.add(os.stat(os.path.dirname(folder) or ".").st_uid)
    for part in (folder, name, *(name + side for side in _SIDE_FILES)):
        try:
            found = os.lstat(part)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StorageError(f"{path} can't be opened: {error.strerror}",
                               hint=f"check {part}") from error
        is_odd = (stat.S_ISLNK(found.st_mode) if part is folder
                  else not stat.S_ISREG(found.st_mode))
        if is_odd:
            raise refuse(Path(part), found)
        if found.st_uid not in owners:
            raise StorageError(f"{part} belongs to another user",
                               hint=f"look at it: ls -ld {part}")
    sys.audit("claw.check_database", name)


def split(path: Path) -> tuple[Path, str]:
    """Root and name of a file in a folder of the workspace, where all that
    claw writes for itself lies."""
    path = path.absolute()
    return path.parent.parent, f"{path.parent.name}/{path.name}"


def refuse(path: Path, found: os.stat_result) -> StorageError:
    """The error for what stands in the way."""
    import shlex  # 1 ms
    quoted = shlex.quote(str(path))
    hint = f"look at it: ls -ld {quoted}; then move it away"
    if stat.S_ISLNK(found.st_mode):
        return StorageError(
            f"{path} is a link, and claw follows none in its workspace",
            hint=f"look at it: ls -l {quoted}; put the real one there, or "
                 f"remove it: rm {quoted}")
    if stat.S_ISDIR(found.st_mode):
        return StorageError(f"{path} is a directory, not a file", hint=hint)
    if not stat.S_ISREG(found.st_mode):
        return StorageError(f"{path} is no regular file", hint=hint)
    return StorageError(
        f"{path} is also the file of another name (a hard link)",
        hint=f"look at it: ls -li {quoted}; a copy may stay: cp {quoted} "
             f"{quoted}.own && mv {quoted}.own {quoted}")


@contextlib.contextmanager
def _parent(root: Path, name: str | Path, *, make: bool = False
            ) -> Iterator[tuple[int, str]]:
    *above, last = (root / name).relative_to(root).parts
    with _walk(root, above, make) as folder:
        yield folder, last


@contextlib.contextmanager
def _readable(folder: int) -> Iterator[int]:
    """A folder that was opened as a place only (O_PATH), to read."""
    number = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC,
                     dir_fd=folder)
    try:
        yield number
    finally:
        os.close(number)


@contextlib.contextmanager
def _walk(root: Path, parts: Iterable[str], make: bool) -> Iterator[int]:
    if make:
        make_private(root)
    handle = os.open(root, DIRECTORY | os.O_CLOEXEC)
    here = root
    try:
        for part in parts:
            here /= part
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=handle)
            deeper = _step(handle, part, here)
            os.close(handle)
            handle = deeper
        yield handle
    finally:
        os.close(handle)


def _step(folder: int, part: str, path: Path) -> int:
    if part == "..":
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(path))
    try:
        return open_part(folder, part, DIRECTORY)
    except OSError as error:
        _refuse_odd(error, folder, part, path)
        raise


def _refuse_odd(error: OSError, folder: int, last: str, path: Path) -> None:
    """Raise StorageError where what stands there is why it failed."""
    found = status_in(folder, last) if error.errno in _ODD else None
    if found is not None:
        raise refuse(path, found) from error


def open_part(folder: int, part: str, flags: int) -> int:
    """One step down; for a link an OSError with ELOOP."""
    try:
        return os.open(part, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600,
                       dir_fd=folder)
    except NotADirectoryError:
        found = status_in(folder, part)
        if found is not None and stat.S_ISLNK(found.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part
                          ) from None
        raise


def status_in(folder: int, last: str) -> os.stat_result | None:
    """What stands there, a link itself; None for nothing."""
    try:
        return os.stat(last, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
