"""A backup's file: a tar.gz, encrypted where a passphrase is given.

Its last member, claw-backup.json, names each of the others with its size and
SHA-256; a database of claw's, which SQLite's backup API copied, with the rows
of each table too. A file that lacks it was cut off. Where several processes
write, each of these databases is as it was at one moment.
"""

import contextlib
import gzip
import hashlib
import io
import json
import os
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, TypeAlias

import msgspec

from claw.core.errors import NotFoundError, StorageError, UsageError
from claw.core.failpoint import reach
from claw.security.files import beneath
from claw.security.visible import visible
from claw.storage.backup.collect import Skipped, Source, is_own
from claw.storage.backup.draft import open_draft
from claw.storage.backup.rows import count_rows
from claw.storage.backup.seal import Sealer, Unsealer, is_sealed
from claw.storage.sqlite import connect, copy_to

MANIFEST = "claw-backup.json"
MOST_MEMBERS = 1_000_000
# A member's header may hold pax records up to a mebibyte; read are whole
# blocks.
_HEADER_BYTES = (1 << 20) + (1 << 16)
# Of the manifest: what each member may take besides its name, and the rest.
_ENTRY_BYTES = 256
_OTHER_BYTES = 16 << 20
_MANIFEST_BYTES = 256 << 20
_ANOTHER = "take another backup"
_PIECE = 1 << 20
_LEVEL = 6
_LAST_TIME = 0o77777777777  # in the year 2242
_IN_MEMORY = 16 << 20

Piece: TypeAlias = tuple[tarfile.TarInfo, IO[bytes]]
Heard: TypeAlias = Callable[[str, int], None]  # name and bytes of a member


class Member(msgspec.Struct, frozen=True):
    """A file of the archive; `rows` are those of a database's tables."""

    name: str
    bytes: int
    sha256: str
    mode: int
    rows: dict[str, int] | None = None


class Manifest(msgspec.Struct, frozen=True):
    """What an archive holds. `made_at` is RFC 3339."""

    made_at: str
    version: str
    members: tuple[Member, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    format: int = 1

    @property
    def total_bytes(self) -> int:
        return sum(member.bytes for member in self.members)

    @property
    def databases(self) -> list[Member]:
        return [one for one in self.members if one.rows is not None]


def write_archive(target: Path, sources: Sequence[Source],
                  skipped: Sequence[Skipped], *, made_at: str, version: str,
                  passphrase: str | None = None,
                  heard: Heard = lambda name, size: None) -> Manifest:
    """Make the file, whole or not at all. Raises UsageError where one
    stands there, StorageError."""
    if target.exists():
        raise UsageError(f"{target} is there already",
                         hint="name a file that is not")
    try:
        with open_draft(target.parent) as (draft, file):
            reach("backup begun")
            manifest = _write(file, sources, skipped, made_at, version,
                              passphrase, heard)
            file.flush()
            os.fsync(file.fileno())
            reach("backup filled")
            os.link(draft, target)  # never over a file that came meanwhile
            reach("backup named")
    except FileExistsError as error:
        raise UsageError(f"{target} is there already",
                         hint="name a file that is not") from error
    except OSError as error:
        raise StorageError(f"{target}: {error.strerror}",
                           hint="check the folder and the free space"
                           ) from error
    return manifest


def _write(file: IO[bytes], sources: Sequence[Source],
           skipped: Sequence[Skipped], made_at: str, version: str,
           passphrase: str | None, heard: Heard) -> Manifest:
    left = [(one.name, one.why) for one in skipped]
    members: list[Member] = []
    with contextlib.ExitStack() as stack:
        stream = file if passphrase is None else stack.enter_context(
            contextlib.closing(Sealer(file, passphrase)))
        packed = stack.enter_context(gzip.GzipFile(
            "", "wb", _LEVEL, stream, mtime=0))
        archive = stack.enter_context(tarfile.open(
            fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT))
        if len(sources) >= MOST_MEMBERS:
            raise StorageError(f"a backup holds {MOST_MEMBERS:,} files at "
                               f"most, and {len(sources):,} are there",
                               hint="move away what needs no backup")
        for source in sources:
            try:
                member = _add(archive, source)
            except (FileNotFoundError, NotFoundError):
                left.append((source.name, "it went meanwhile"))
                continue
            members.append(member)
            reach("backup file")
            heard(member.name, member.bytes)
        manifest = Manifest(made_at, version, tuple(members), tuple(left))
        # A name may hold bytes that are no text: they are escaped.
        data = json.dumps(msgspec.to_builtins(manifest)).encode()
        if len(data) > _most_manifest_bytes(members):
            raise StorageError("the list of what is in the backup and what "
                               "is not would be too long",
                               hint="move away links and files that need no "
                               "backup")
        info = tarfile.TarInfo(MANIFEST)
        info.size, info.mode = len(data), 0o600
        archive.addfile(info, io.BytesIO(data))
    return manifest


def _add(archive: tarfile.TarFile, source: Source) -> Member:
    """Copy a file to a place where nobody changes it, then into the
    archive."""
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as held:
        rows = None
        if source.is_database:
            rows = _copy_database(source.path, held)
            mode, changed_at = 0o600, source.path.stat().st_mtime
        else:
            with beneath.opened(source.top, source.inside, os.O_RDONLY
                                | os.O_NONBLOCK) as number, \
                    open(number, "rb", closefd=False) as file:
                found = os.fstat(number)
                mode, changed_at = 0o600 | found.st_mode & 0o100, \
                    found.st_mtime
                while piece := file.read(_PIECE):
                    held.write(piece)
        size = held.tell()
        held.seek(0)
        digest = hashlib.sha256()
        while piece := held.read(_PIECE):
            digest.update(piece)
        held.seek(0)
        info = tarfile.TarInfo(source.name)
        info.size, info.mode = size, mode
        info.mtime = find_time(changed_at)
        archive.addfile(info, held)
    return Member(source.name, size, digest.hexdigest(), mode, rows)


def find_time(mtime: float) -> int:
    """When a file was changed, as a header without extensions holds it
    (whole seconds); 0 where it can't."""
    return int(mtime) if 0 <= mtime <= _LAST_TIME else 0


def _copy_database(path: Path, held: IO[bytes]) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy.db")
        with contextlib.closing(connect(path, readonly=True)) as connection:
            copy_to(connection, copy)
        rows = count_rows(copy, str(path), "claw doctor says what helps")
        with copy.open("rb") as file:
            while piece := file.read(_PIECE):
                held.write(piece)
    return rows


@contextlib.contextmanager
def opened(path: Path, passphrase: str | None
           ) -> Iterator[Iterator[Piece]]:
    """The members of an archive, to be read from its beginning to its end
    once. Raises StorageError, also for more members than a backup has and
    for headers that are too long; UsageError where a passphrase is
    needed, and where one is given and nothing was encrypted with it."""
    with contextlib.ExitStack() as stack:
        try:
            file: IO[bytes] = stack.enter_context(path.open("rb"))
            sealed = is_sealed(file)
            if sealed and passphrase is None:
                raise UsageError(f"{path} is encrypted",
                                 hint="its passphrase is needed")
            if passphrase is not None:
                if not sealed:
                    raise UsageError(
                        f"{path} is not encrypted, and a passphrase is given",
                        hint="somebody may have put it in the place of yours;"
                             " if you made it so, give none")
                file = stack.enter_context(io.BufferedReader(
                    Unsealer(file, passphrase), _PIECE))
            packed = stack.enter_context(gzip.GzipFile(fileobj=file))
            stream = _Stream(packed)
            yield _read_members(path, stream, stack.enter_context(
                tarfile.open(fileobj=stream, mode="r|")))
            while packed.read(_PIECE):  # to its end, and its own sum
                pass
        except gzip.BadGzipFile as error:  # it shows how the file begins
            raise StorageError(f"{path} is no backup, or is damaged: what is "
                               "in it was not written by gzip",
                               hint=_ANOTHER) from error
        except (tarfile.TarError, EOFError, zlib.error,
                RecursionError) as error:  # header upon header
            raise StorageError(f"{path} is no backup, or is damaged: "
                               f"{visible(str(error))}") from error
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror or error}"
                               ) from error


class _Stream(io.BufferedIOBase):
    """What tarfile reads. While `left` is set it is that many bytes at
    most: all that a header holds is in memory at once."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self.left: int | None = _HEADER_BYTES
        self._file = file

    def read(self, size: int | None = -1, /) -> bytes:
        piece = self._file.read(-1 if size is None else size)
        if self.left is not None:
            self.left -= len(piece)
            if self.left < 0:
                raise tarfile.ReadError("a header in it is longer than 1 MiB")
        return piece


def _read_members(path: Path, stream: _Stream, archive: tarfile.TarFile
                  ) -> Iterator[Piece]:
    """Each with its bytes. Raises StorageError for what is no file."""
    number = 0
    while (info := archive.next()) is not None:
        stream.left = None
        # tarfile would keep them all
        archive.members.clear()  # type: ignore[attr-defined]
        number += 1
        if number > MOST_MEMBERS:
            raise StorageError(f"{path} holds more than {MOST_MEMBERS:,} "
                               "files, which no backup does")
        data = archive.extractfile(info) \
            if info.isreg() and not info.issparse() else None
        if data is None or archive.pax_headers or (
                info.name != MANIFEST and not _is_name(info.name)):
            raise _refuse(path, info.name)
        yield info, data
        while data.read(_PIECE):
            pass
        stream.left = _HEADER_BYTES


def _is_name(name: str) -> bool:
    """Whether a member of this name has a place in one of the folders."""
    root, *inside = PurePosixPath(name).parts or ("",)
    return root in ("home", "workspace") and bool(inside) \
        and ".." not in inside and "\0" not in name


def _refuse(path: Path, name: str) -> StorageError:
    return StorageError(f"{path}: {visible(name)} does not belong in a "
                        "backup")


def verify_archive(path: Path, passphrase: str | None = None,
                   heard: Heard = lambda name, size: None) -> Manifest:
    """Read all of it and compare it with what it says of itself. Raises
    StorageError for the first thing that is not as it should be."""
    found: list[Member] = []
    manifest: Manifest | None = None
    with opened(path, passphrase) as archive:
        for info, data in archive:
            if manifest is not None:
                raise _refuse(path, info.name)
            if info.name == MANIFEST:
                if info.size > _most_manifest_bytes(found):
                    raise StorageError(f"{path}: what it says of itself is "
                                       f"too long ({info.size >> 20:,} MiB)")
                manifest = _read_manifest(path, data.read())
                continue
            found.append(_measure(path, info, data))
            heard(info.name, info.size)
    if manifest is None:
        raise StorageError(f"{path} has no end: it was cut off",
                           hint=_ANOTHER)
    for member, said in zip(found, manifest.members, strict=False):
        if member not in (said, msgspec.structs.replace(said, rows=None)):
            raise StorageError(f"{path}: {visible(said.name)} is not as it "
                               "was copied", hint=_ANOTHER)
    if len(found) != len(manifest.members):
        raise StorageError(f"{path}: {len(manifest.members)} files should be "
                           f"in it, {len(found)} are")
    return manifest


def _most_manifest_bytes(members: Sequence[Member]) -> int:
    """How long a manifest of these may be: JSON writes a character as
    twelve bytes at most."""
    return min(_MANIFEST_BYTES, _OTHER_BYTES + sum(
        _ENTRY_BYTES + 12 * len(one.name) for one in members))


def _read_manifest(path: Path, data: bytes) -> Manifest:
    try:
        manifest = msgspec.convert(json.loads(data), Manifest)
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{path}: what it says of itself can't be read"
                           ) from error
    if manifest.format != 1:
        raise StorageError(f"{path} was made by a newer version of claw")
    return manifest


def _measure(path: Path, info: tarfile.TarInfo, data: IO[bytes]) -> Member:
    """A member as it is; one that is no database of claw's takes no room on
    the disk."""
    digest, size = hashlib.sha256(), 0
    piece = data.read(_PIECE)
    is_database = piece.startswith(b"SQLite format 3\0") and is_own(
        info.name)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        with copy.open("xb") as kept:
            while piece:
                size += len(piece)
                digest.update(piece)
                if is_database:
                    kept.write(piece)
                piece = data.read(_PIECE)
        rows = count_rows(
            copy, f"{path}: {visible(info.name)} in it",
            _ANOTHER) if is_database else None
    return Member(info.name, size, digest.hexdigest(), info.mode, rows)
