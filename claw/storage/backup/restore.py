"""A checked archive in the place of what is there.

All of it is read and compared first. Then it is unpacked beside the two
folders, and put in their place by renaming; what stood there is kept under
another name. The journal finishes or undoes one that was killed.
"""

import os
import secrets
import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import IO

from claw.core.errors import StorageError
from claw.core.failpoint import reach
from claw.core.value import Value
from claw.storage.backup.archive import (
    MANIFEST,
    Heard,
    Manifest,
    opened,
    verify_archive,
)
from claw.storage.backup.journal import (
    Move,
    find_free,
    finish_restore,
    written_down,
)


class Restored(Value):
    """What was put there; `kept` are the folders that stood there before."""

    manifest: Manifest
    kept: tuple[Path, ...] = ()


def restore_archive(path: Path, home: Path, workspace: Path, *, stamp: str,
                    passphrase: str | None = None,
                    heard: Heard = lambda name, size: None) -> Restored:
    """Put a backup into these folders; `stamp` names the old ones. Raises
    StorageError: then nothing has changed."""
    finish_restore(home)
    manifest = verify_archive(path, passphrase, heard)
    _check_room(manifest, home, workspace)
    inside = workspace.is_relative_to(home)
    targets = {"home": home} if inside else {"home": home,
                                             "workspace": workspace}
    moves = {root: Move(
        target.with_name(f".{target.name}.{secrets.token_hex(6)}"), target,
        find_free(target.with_name(f"{target.name}.before-{stamp}")))
        for root, target in targets.items()}
    drafts = {root: move.draft for root, move in moves.items()}
    if inside:
        drafts["workspace"] = drafts["home"] / workspace.relative_to(home)
    try:
        with written_down(home, [*moves.values()]) as journal:
            for move in moves.values():
                move.target.parent.mkdir(mode=0o700, parents=True,
                                         exist_ok=True)
                move.draft.mkdir(mode=0o700)
            _unpack(path, passphrase, drafts)
            return Restored(manifest, journal.carry_out())
    except OSError as error:
        raise StorageError(f"{error.filename or path}: {error.strerror}",
                           hint="check the folder and the free space"
                           ) from error


def _check_room(manifest: Manifest, *targets: Path) -> None:
    """Raises StorageError where one of the folders' disks can't take it
    all."""
    needed = manifest.total_bytes
    for target in targets:
        there = next(one for one in (target, *target.parents)
                     if one.exists())
        free = shutil.disk_usage(there).free
        if needed > free:
            raise StorageError(
                f"{there} has {free >> 20:,} MiB free, and the backup holds "
                f"{needed >> 20:,} MiB", hint="make room, or choose another "
                "folder with --config-dir and -w")


def _unpack(path: Path, passphrase: str | None,
            drafts: dict[str, Path]) -> None:
    with opened(path, passphrase) as archive:
        for info, data in archive:
            if info.name == MANIFEST:
                continue
            target = _place(info.name, drafts)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(target, data, info)
            reach("restore file")


def _write(target: Path, data: IO[bytes], info: tarfile.TarInfo) -> None:
    number = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL
                     | os.O_NOFOLLOW, 0o600 | info.mode & 0o100)
    with open(number, "wb") as file:
        shutil.copyfileobj(data, file, 1 << 20)
        file.flush()
        os.fsync(number)


def _place(name: str, drafts: dict[str, Path]) -> Path:
    """Where a member goes. Raises StorageError for one that would leave
    its folder."""
    root, *parts = PurePosixPath(name).parts
    if root not in drafts or not parts or ".." in parts \
            or PurePosixPath(name).is_absolute():
        raise StorageError(f"{name} does not belong in a backup")
    return drafts[root].joinpath(*parts)
