"""The ZIP package that office documents and books come in.

All that is unpacked counts against one limit, however small the file is
that it comes from. Source: ECMA-376 part 2, OpenDocument 1.3 part 2, EPUB
OCF 3.3, read 2026-11.
"""

import posixpath
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, BinaryIO
from urllib.parse import unquote
from xml.parsers import expat

MAX_UNPACKED = 512 << 20


class DamagedError(Exception):
    """It is no such document, or not whole."""


class LockedError(Exception):
    """It needs a password."""


class TooLargeError(Exception):
    """It unpacks to more than MAX_UNPACKED."""


class Package:
    """Members of a ZIP file. Raises DamagedError where it is none."""

    def __init__(self, file: BinaryIO) -> None:
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, EOFError) as error:
            raise DamagedError(str(error)) from error
        self.names = frozenset(self._zip.namelist())
        self._left = MAX_UNPACKED

    def read(self, name: str) -> bytes:
        with self._open(name) as member:
            return member.read()

    def walk(self, name: str, reader: "XmlReader") -> None:
        """Read the XML of a member."""
        with self._open(name) as member:
            reader.run(member)

    def _open(self, name: str) -> "_Member":
        try:
            if self._zip.getinfo(name).flag_bits & 1:
                raise LockedError
            return _Member(self._zip.open(name), self._spend)
        except (KeyError, zipfile.BadZipFile, NotImplementedError) as error:
            raise DamagedError(f"{name}: {error}") from error

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise TooLargeError

    def find_targets(self, name: str, kind: str = "") -> dict[str, str]:
        """What a part refers to, by the reference's id: the members, as
        its .rels file says. `kind` is the end of the relation's type."""
        folder, base = posixpath.split(name)
        rels = posixpath.join(folder, "_rels", f"{base}.rels")
        if rels not in self.names:
            return {}
        found = _Relations()
        self.walk(rels, found)
        return {key: resolve(name, target)
                for key, (type_, target) in found.targets.items()
                if type_.endswith(f"/{kind}") or not kind}


class _Member:
    """A member that is open. Damage in it is a DamagedError."""

    def __init__(self, file: IO[bytes],
                 spend: Callable[[int], None]) -> None:
        self._file = file
        self._spend = spend

    def __enter__(self) -> "_Member":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return b"".join(iter(lambda: self.read(1 << 16), b""))
        try:
            data = self._file.read(size)
        except (zipfile.BadZipFile, EOFError, OSError, zlib.error) as error:
            raise DamagedError(str(error)) from error
        self._spend(len(data))
        return data


def resolve(base: str, target: str) -> str:
    """The member that a part names by a path of its own."""
    target = unquote(target.partition("#")[0])
    return posixpath.normpath(posixpath.join(
        posixpath.dirname(base), target)).lstrip("/")


class XmlReader:
    """Hears the elements of an XML file: `begin_NAME(attributes)` and
    `end_NAME()` where the class has them, by local names with _ for -; the
    text in `text(data)`. What stands in elements of SKIP is not heard. Other
    files are never read, and expat bounds what entities grow to."""

    SKIP: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self._skipped = 0

    def run(self, file: _Member) -> None:
        parser = expat.ParserCreate(namespace_separator="}")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._hear
        try:
            parser.ParseFile(file)
        except expat.ExpatError as error:
            raise DamagedError(str(error)) from error

    def text(self, data: str) -> None:
        """Characters between two tags."""

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = _local(name)
        if self._skipped or name in self.SKIP:
            self._skipped += 1
            return
        heard = getattr(self, f"begin_{name}", None)
        if heard is not None:
            heard({_local(key): value for key, value in attributes.items()})

    def _end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
            return
        heard = getattr(self, f"end_{_local(name)}", None)
        if heard is not None:
            heard()

    def _hear(self, data: str) -> None:
        if not self._skipped:
            self.text(data)


def _local(name: str) -> str:
    return name.rpartition("}")[2].replace("-", "_")


class _Relations(XmlReader):
    def __init__(self) -> None:
        super().__init__()
        self.targets: dict[str, tuple[str, str]] = {}

    def begin_Relationship(self, attributes: dict[str, str]) -> None:
        self.targets[attributes.get("Id", "")] = (
            attributes.get("Type", ""), attributes.get("Target", ""))
