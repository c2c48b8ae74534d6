"""A zip or tar file as the files in it: nothing is written, and no link,
device or path that leads out is taken.

Bytes are counted as they are unpacked, whatever the archive says of itself.
"""

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from claw.core.errors import RefusedError, UsageError
from claw.tools.skills.folder import (
    LEFT_OUT,
    MOST_BYTES,
    MOST_DEPTH,
    MOST_FILES,
    Files,
)

_TAR_BYTES = MOST_BYTES + (4 << 20)  # with its headers
_PACKED: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
ENDINGS = (".zip", ".skill", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")


def read_archive(path: Path) -> Files:
    """Raises RefusedError for what no skill may hold, UsageError for what
    is no archive."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise RefusedError(f"{path} has more than {MOST_BYTES >> 20} MiB")
        with path.open("rb") as file:
            return unpack(file.read(MOST_BYTES + 1), str(path))
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}"
                         ) from error


def unpack(data: bytes, shown: str) -> Files:
    """The same for bytes; `shown` is what errors call them."""
    found: Files = {}
    size = 0
    try:
        members = (_read_zip(data) if data[:4] == b"PK\3\4"
                   else _read_tar(data))
        for name, piece in members:
            path = _check_name(name)
            size += len(piece)  # unpacked it was, whatever becomes of it
            if LEFT_OUT.isdisjoint(path.split("/")):
                if path in found:
                    raise RefusedError(f"{shown}: {path!r:.80} is in it "
                                       "twice")
                found[path] = piece
            if size > MOST_BYTES or len(found) > MOST_FILES:
                raise RefusedError(
                    f"{shown} unpacks to more than a skill may have "
                    f"({MOST_BYTES >> 20} MiB, {MOST_FILES} files)")
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error,
            lzma.LZMAError, EOFError,
            NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise UsageError(f"{shown} is no zip or tar file that can be read: "
                         f"{error}") from error
    return dict(sorted(found.items()))


def _check_name(name: str) -> str:
    """A path within the skill. Raises RefusedError."""
    path = PurePosixPath(name)
    if path.is_absolute() or "\\" in name or "\0" in name \
            or ".." in path.parts or ":" in name \
            or not 0 < len(path.parts) <= MOST_DEPTH + 2:
        raise RefusedError(f"the archive holds {name!r:.80}, which leads "
                           "out of it")
    return str(path)


def _read_zip(data: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if len(archive.infolist()) > 4 * MOST_FILES:
            raise RefusedError(f"a skill has at most {MOST_FILES} files")
        for member in archive.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise _refuse_kind(member.filename)
            if not member.is_dir():
                with archive.open(member) as file:
                    yield member.filename, file.read(MOST_BYTES + 1)


def _read_tar(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Unpacked first: what tarfile keeps of a header has no limit."""
    for magic, opener in _PACKED.items():
        if data.startswith(magic):
            with opener(io.BytesIO(data)) as file:
                data = file.read(_TAR_BYTES + 1)
            if len(data) > _TAR_BYTES:
                raise RefusedError("the archive unpacks to more than "
                                   f"{MOST_BYTES >> 20} MiB")
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for number, member in enumerate(archive):
            if number > 4 * MOST_FILES:
                raise RefusedError(f"a skill has at most {MOST_FILES} files")
            if member.isdir() or member.name == "pax_global_header":
                continue
            file = archive.extractfile(member) if member.isreg() else None
            if file is None:
                raise _refuse_kind(member.name)
            yield member.name, file.read(MOST_BYTES + 1)


def _refuse_kind(name: str) -> RefusedError:
    return RefusedError(f"the archive holds {name!r:.80}, which is a link or "
                        "a device")
