"""Files beneath a directory, without following a link out of it.

Where the kernel has openat2 (Linux 5.6) it resolves the whole path under
RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS, so that a link swapped between a
check and the opening changes nothing. Elsewhere each part is opened from
the one before with O_NOFOLLOW, which refuses every link.
Source: openat2(2), path_resolution(7).
"""

import contextlib
import ctypes
import errno
import os
import stat
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from claw.core.errors import (
    ClawError,
    NotFoundError,
    StorageError,
    UsageError,
)
from claw.security.files.nofollow import (
    DIRECTORY,
    open_part,
    replace_in,
    status_in,
)
from claw.security.files.paths import refuse_path

Allowed: TypeAlias = Callable[[Path], bool]

_SYS_OPENAT2 = 437  # the same number on every architecture but alpha
_BENEATH, _NO_MAGICLINKS = 0x08, 0x02
_LONGEST_PATH = 4096
_libc = ctypes.CDLL(None, use_errno=True)


def read(root: Path, relative: str, allowed: Allowed, max_bytes: int
         ) -> bytes:
    """All bytes of one regular file of at most `max_bytes`.

    `allowed` judges where the opened file really lies. Raises DeniedError
    for a way out of `root`, NotFoundError, UsageError (directory, pipe,
    device, too large), StorageError.
    """
    with _translate_errors(relative), _directory(root) as top:
        # O_NONBLOCK: opening a named pipe must not wait for a writer.
        handle = _open(top, relative, os.O_RDONLY | os.O_NONBLOCK
                       | os.O_NOCTTY)
        try:
            if not allowed(_real(handle, root, relative)):
                raise refuse_path(relative)
            return _content(handle, relative, max_bytes)
        finally:
            os.close(handle)


@contextlib.contextmanager
def opened(root: Path, relative: str, flags: int) -> Iterator[int]:
    """A descriptor beneath `root`. Raises as `read`."""
    with _translate_errors(relative), _directory(root) as top:
        handle = _open(top, relative, flags)
        try:
            yield handle
        finally:
            os.close(handle)


def remove(root: Path, relative: str, allowed: Allowed) -> None:
    """Remove one regular file; a link is refused. Raises as `read`."""
    parent, name = os.path.split(relative)
    with opened(root, parent or ".", DIRECTORY) as folder:
        found = status_in(folder, name)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise refuse_path(relative)
        if not allowed(_real(folder, root, parent) / name):
            raise refuse_path(relative)
        with _translate_errors(relative):
            os.unlink(name, dir_fd=folder)


def _content(handle: int, relative: str, max_bytes: int) -> bytes:
    status = os.fstat(handle)
    if stat.S_ISDIR(status.st_mode):
        raise UsageError(f"is a directory: {relative}")
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"not a regular file: {relative}")
    with os.fdopen(handle, "rb", closefd=False) as file:
        # Its size may be wrong by now, or 0 in a file system of its own.
        data = (b"" if status.st_size > max_bytes
                else file.read(max_bytes + 1))
    if status.st_size > max_bytes or len(data) > max_bytes:
        raise UsageError(f"file too large: {relative}; at most "
                         f"{max_bytes:,} bytes are read")
    return data


def write(root: Path, relative: str, data: bytes, allowed: Allowed) -> None:
    """Put `data` in place of a file, whole or not at all.

    Missing parents are made. An existing file keeps its mode; a link, a
    directory or a device as the last part is refused. Raises as `read`.
    """
    parent, name = os.path.split(relative)
    if name in ("", "."):
        raise UsageError(f"is a directory: {relative}")
    with _translate_errors(relative), _directory(root) as top:
        folder = _make_parents(top, parent)
        try:
            if not allowed(_real(folder, root, parent) / name):
                raise refuse_path(relative)
            _replace(folder, name, relative, data)
        finally:
            os.close(folder)


def _replace(folder: int, name: str, relative: str, data: bytes) -> None:
    """Write beside and rename: a reader sees the old or the new text."""
    old = status_in(folder, name)
    if old is not None and not stat.S_ISREG(old.st_mode):
        if stat.S_ISLNK(old.st_mode):
            raise refuse_path(relative)
        raise UsageError(f"not a regular file: {relative}")
    replace_in(folder, name, (data,),
               None if old is None else stat.S_IMODE(old.st_mode))


@contextlib.contextmanager
def _directory(root: Path) -> Iterator[int]:
    handle = os.open(root, DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _make_parents(top: int, parent: str) -> int:
    """A handle on the directory `parent` beneath `top`, made if missing."""
    if len(parent) >= _LONGEST_PATH:  # or half of its folders were made
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    handle = os.dup(top)
    so_far = ""
    for part in (p for p in parent.split("/") if p not in ("", ".")):
        so_far = f"{so_far}/{part}" if so_far else part
        try:
            try:
                deeper = _open(top, so_far, DIRECTORY)
            except FileNotFoundError:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=handle)
                deeper = _open(top, so_far, DIRECTORY)
        finally:
            os.close(handle)
        handle = deeper
    return handle


def _open(top: int, relative: str, flags: int) -> int:
    flags |= os.O_CLOEXEC
    handle = _openat2(top, relative, flags)
    return _walk(top, relative, flags) if handle is None else handle


def _openat2(top: int, relative: str, flags: int) -> int | None:
    """A handle, or None where this kernel or its guard has no openat2."""
    how = struct.pack("QQQ", flags, 0, _BENEATH | _NO_MAGICLINKS)
    path = os.fsencode(relative or ".")
    for _ in range(50):  # EAGAIN: something was renamed meanwhile
        handle = int(_libc.syscall(_SYS_OPENAT2, top, path, how, len(how)))
        code = ctypes.get_errno()
        if handle >= 0:
            return handle
        if code in (errno.ENOSYS, errno.EPERM):
            return None
        if code != errno.EAGAIN:
            break
    raise OSError(code, os.strerror(code), relative)


def _walk(top: int, relative: str, flags: int) -> int:
    """The same with plain openat, refusing every link on the way."""
    parts = [p for p in relative.split("/") if p not in ("", ".")] or ["."]
    if ".." in parts:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), relative)
    handle = os.dup(top)
    for part in parts[:-1]:
        try:
            deeper = open_part(handle, part, DIRECTORY)
        finally:
            os.close(handle)
        handle = deeper
    try:
        return open_part(handle, parts[-1], flags)
    finally:
        os.close(handle)


def _real(handle: int, root: Path, relative: str) -> Path:
    """Where an opened file lies. Without /proc no link was followed
    either, so the name itself is the place."""
    try:
        return Path(os.readlink(f"/proc/self/fd/{handle}"))
    except OSError:
        return root / relative


_WAY_OUT = (errno.EXDEV, errno.ELOOP)
_SENTENCES = {errno.ENOENT: "no such file", errno.EISDIR: "is a directory",
              errno.ENOTDIR: "not a directory on the way",
              errno.ENXIO: "not a regular file",
              errno.ENODEV: "not a regular file",
              errno.ENAMETOOLONG: "file name too long",
              errno.EACCES: "permission denied",
              errno.EPERM: "permission denied",
              errno.EROFS: "read-only file system",
              errno.EINVAL: "not a possible file name",
              errno.ENOSPC: "no space left on the disk",
              errno.EDQUOT: "disk quota exceeded"}


@contextlib.contextmanager
def _translate_errors(relative: str) -> Iterator[None]:
    """System errors as claw's own."""
    try:
        yield
    except UnicodeEncodeError:
        raise UsageError("not a possible file name: "
                         + ascii(relative)) from None
    except OSError as error:
        raise _as_claw_error(error, relative) from error


def _as_claw_error(error: OSError, relative: str) -> ClawError:
    code = error.errno or 0
    if code in _WAY_OUT:
        return refuse_path(relative)
    shown = relative if len(relative) <= 500 else relative[:500] + "..."
    message = f"{_SENTENCES.get(code, os.strerror(code))}: {shown}"
    if code == errno.ENOENT:
        return NotFoundError(message)
    if code in (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return StorageError(message)
    return UsageError(message)
