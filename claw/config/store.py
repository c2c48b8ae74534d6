"""How config.toml is replaced: one writer at a time, whole or not at all.

A byte copy of the old file is kept as config.toml.bak before every write.
"""

import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from claw.config.parse import read_file
from claw.config.places import Places, refuse_links
from claw.core.errors import StorageError
from claw.core.folders import make_private

_PATIENCE_S = 10.0
_PAUSE_S = 0.02


@contextmanager
def lock_settings(places: Places, *, patience_s: float = _PATIENCE_S,
           sleep: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Hold the only right to write the settings; makes the home (0700).

    StorageError when another writer holds it for `patience_s`, or when
    the folder can't be written.
    """
    refuse_links(places)
    with _translate_os_errors(places.home):
        make_private(places.home)
        path = places.home / ".config.lock"
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        waited = 0.0
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if waited >= patience_s:
                raise StorageError(
                    f"another process is writing {places.config_file}",
                    hint="try again when it is done")
            sleep(_PAUSE_S)
            waited += _PAUSE_S
        yield
    finally:
        os.close(fd)


def current(places: Places) -> bytes | None:
    """The bytes of config.toml; None where there is none."""
    return (read_file(places.config_file)[0]
            if os.path.exists(places.config_file) else None)


def replace(places: Places, data: bytes, old: bytes | None) -> None:
    """Put these bytes in config.toml's place, mode 0600, durable. `old`,
    what stood there, is kept as config.toml.bak.

    A symbolic link stays one: the file it points to is replaced. Call it
    while `locked`.
    """
    if old is not None:
        write_file(places.home / "config.toml.bak", old)
    write_file(Path(os.path.realpath(places.config_file)), data)


def write_file(path: Path, data: bytes) -> None:
    """Put these bytes in a file's place, mode 0600, whole or not at all;
    its folder is made. Call it while `locked`. Raises StorageError."""
    with _translate_os_errors(path):
        make_private(path.parent)
        # of writers that were killed: nobody else writes while we hold it
        for draft in path.parent.glob(f".{escape(path.name)}.*.tmp"):
            draft.unlink(missing_ok=True)
        _write(path, data)


def _write(path: Path, data: bytes) -> None:
    """Temporary file beside it, fsync, rename, fsync of the folder."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(draft, flags, 0o600), "wb") as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.rename(draft, path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def _translate_os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be written: {error.strerror}",
            hint=f"look at: ls -ld '{path.parent}' and df '{path.parent}'"
        ) from error
