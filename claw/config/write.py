"""How a file of the home is written: whole or not at all, durable, the
owner's alone."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path

from claw.core.errors import StorageError
from claw.core.failpoint import reach
from claw.core.folders import make_private


def write_file(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Put these bytes in a file's place, whole or not at all; its folder is
    made. Call it while `lock_settings`. Raises StorageError."""
    with translate_os_errors(path):
        make_private(path.parent)
        # of writers that were killed: nobody else writes while we hold it
        for draft in path.parent.glob(f".{escape(path.name)}.*.tmp"):
            if not draft.is_dir():
                draft.unlink(missing_ok=True)
        _write(path, data, mode)
    reach(f"settings {path.name}")


def remove_file(path: Path) -> None:
    """Remove a file where there is one, durable. Raises StorageError."""
    with translate_os_errors(path):
        path.unlink(missing_ok=True)
        if path.parent.is_dir():
            _sync_folder(path.parent)
    reach(f"settings without {path.name}")


def _write(path: Path, data: bytes, mode: int) -> None:
    """Temporary file beside it, fsync, rename, fsync of the folder."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(draft, flags, 0o600), "wb") as file:
        try:
            file.write(data)
            file.flush()
            if mode != 0o600:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
            os.rename(draft, path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """An OSError within becomes a StorageError that names this path."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be written: {error.strerror}",
            hint=f"look at: ls -ld '{path.parent}' and df '{path.parent}'"
        ) from error
