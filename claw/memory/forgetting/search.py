"""Every file of a folder, searched for texts.

Files are opened beneath the folder and no link is followed. What is
compressed (gzip, bzip2, xz, zip) is read through: texts are found there,
and never taken out, and of what unpacks to far more than a text would
(`_MOST_UNPACKED`, `_MOST_RATIO`) it is said that it could not be searched.
Holes of a sparse file are passed over. No database that this process has
open may lie there: closing its file would drop the process's locks.
"""

import bz2
import errno
import gzip
import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from claw.core.value import Value
from claw.memory.forgetting.texts import OVERLAP, Texts
from claw.security.files import nofollow

_CHUNK = 1 << 22
_MOST_UNPACKED = 256 << 20  # bytes, and this for each byte of the file
_MOST_RATIO = 200
_PACKED: Mapping[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_ZIP = b"PK\x03\x04"
_DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError,
            zipfile.BadZipFile, RuntimeError, NotImplementedError)


class Hit(Value):
    """A file that holds some of the texts, or is named so: its path below
    the folder, when it was last changed (a date), whether it is
    compressed."""

    path: str
    date: str
    packed: bool


class Search(Value):
    """What was found, how many files and bytes were read, and which files
    could not be."""

    hits: tuple[Hit, ...]
    files: int
    size_bytes: int
    unread: tuple[str, ...]


def search(folder: Path, texts: Texts, *, skip: frozenset[str] = frozenset(),
           without: tuple[Path, ...] = (),
           only: Collection[str] | None = None) -> Search:
    """Search a folder and all below it, but for the files `skip` (paths
    below it) and the folders `without`; with `only` no other files."""
    hits: list[Hit] = []
    unread: list[str] = []
    files = size = 0
    left_out = {os.path.realpath(place) for place in without}
    for path, number in _walk(folder, left_out, unread):
        if path in skip or (only is not None and path not in only):
            continue
        try:
            with open(nofollow.open_part(
                    number, os.path.basename(path), _READ), "rb") as file:
                found = os.fstat(file.fileno())
                files += 1
                size += found.st_size
                packed = is_packed(file)
                if texts.is_in(os.fsencode(path)) or (
                        _is_in_packed(file, texts, found.st_size) if packed
                        else _is_in(_read_data(file), texts)):
                    hits.append(Hit(path, _date(found), packed))
        except FileNotFoundError:  # gone meanwhile
            continue
        except _DAMAGED:
            unread.append(path)
    return Search(tuple(hits), files, size, tuple(unread))


def is_packed(file: IO[bytes]) -> bool:
    """Whether it is compressed, by its first bytes; it is at its beginning
    again afterwards."""
    head = file.read(8)
    file.seek(0)
    return head.startswith((*_PACKED, _ZIP))


def _walk(folder: Path, without: set[str], unread: list[str]
          ) -> Iterator[tuple[str, int]]:
    """The regular files below a folder, in order of their names, each with
    a descriptor of the folder that it lies in; `unread` gets the folders
    that can't be looked into."""
    def note(error: OSError) -> None:
        unread.append(str(error.filename))

    with suppress(FileNotFoundError), \
            nofollow.hold_folder(folder, ".") as top:
        for path, folders, files, number in os.fwalk(
                ".", dir_fd=top, onerror=note):
            here = path.removeprefix("./") if path != "." else ""
            folders[:] = sorted(
                name for name in folders if os.path.realpath(
                    os.path.join(folder, here, name)) not in without)
            for name in sorted(files):
                found = nofollow.status_in(number, name)
                if found is not None and stat.S_ISREG(found.st_mode):
                    yield os.path.join(here, name), number


def _is_in(chunks: Iterable[bytes], texts: Texts) -> bool:
    before = b""
    for chunk in chunks:
        if texts.is_in(before + chunk):
            return True
        before = chunk[-OVERLAP:]
    return False


def _read_data(file: IO[bytes]) -> Iterator[bytes]:
    """What stands in a file, without its holes."""
    at, number = 0, file.fileno()
    while True:
        try:
            at = os.lseek(number, at, os.SEEK_DATA)
            end = os.lseek(number, at, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole is left
                return
            raise
        while at < end and (chunk := os.pread(
                number, min(_CHUNK, end - at), at)):
            yield chunk
            at += len(chunk)
        at = max(at, end)


def _is_in_packed(file: IO[bytes], texts: Texts, size_bytes: int) -> bool:
    most = max(_MOST_UNPACKED, _MOST_RATIO * size_bytes)
    head = file.read(8)
    file.seek(0)
    for start, open_packed in _PACKED.items():
        if head.startswith(start):
            with open_packed(file) as inner:
                return _is_in(_unpack(inner, most), texts)
    with zipfile.ZipFile(file) as members:
        for name in members.namelist():
            with members.open(name) as inner:
                if _is_in(_unpack(inner, most), texts):
                    return True
                most -= inner.tell()
    return False


def _unpack(inner: IO[bytes], most: int) -> Iterator[bytes]:
    """What is packed, up to so many bytes. Raises OSError past them."""
    while chunk := inner.read(_CHUNK):
        most -= len(chunk)
        if most < 0:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        yield chunk


def _date(found: os.stat_result) -> str:
    return datetime.fromtimestamp(found.st_mtime, UTC).date().isoformat()
