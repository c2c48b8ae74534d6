"""A checked archive in the place of what is there.

All of it is read and compared first. Then it is unpacked in the home and
beside the workspace, and put in their place by renaming; what stood there is
kept under another name. The journal finishes or undoes one that was killed.
"""

import hashlib
import os
import secrets
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from claw.core.errors import StorageError, UsageError
from claw.core.failpoint import reach
from claw.core.folders import make_private
from claw.core.value import Value
from claw.security.visible import visible
from claw.storage.backup.archive import (
    MANIFEST,
    Heard,
    Manifest,
    Member,
    find_time,
    opened,
    verify_archive,
)
from claw.storage.backup.journal import (
    FOLDER,
    Move,
    Plan,
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
    real = Path(os.path.realpath(home))
    if real.is_relative_to(os.path.realpath(workspace)):
        raise UsageError(f"{workspace} holds {home}, and a restore would "
                         "rename both", hint="name another workspace with -w")
    finish_restore(home, workspace)
    manifest = verify_archive(path, passphrase, heard)
    if not manifest.members:
        raise StorageError(f"{path} holds no file: there is nothing to put "
                           "back", hint="nothing was changed; name another "
                           "backup")
    _check_room(manifest, home, workspace)
    move = None if workspace.is_relative_to(home) else Move(
        workspace.with_name(f".{workspace.name}.{secrets.token_hex(6)}"),
        workspace, _name_aside(workspace, stamp))
    plan = Plan(home, _name_aside(real, stamp), move)
    drafts = {"home": plan.new, "workspace": move.draft if move else
              plan.new / workspace.relative_to(home)}
    try:
        with written_down(plan) as journal:
            for draft in (plan.new, *([move.draft] if move else ())):
                make_private(draft.parent)
                draft.mkdir(mode=0o700)
            _unpack(path, passphrase, manifest.members, drafts)
            return Restored(manifest, journal.carry_out())
    except OSError as error:
        raise StorageError(f"{visible(str(error.filename or path))}: "
                           f"{error.strerror}",
                           hint="check the folder and the free space"
                           ) from error


def _name_aside(folder: Path, stamp: str) -> Path:
    return find_free(folder.with_name(f"{folder.name}.before-{stamp}"))


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


def _unpack(path: Path, passphrase: str | None, members: Sequence[Member],
            drafts: dict[str, Path]) -> None:
    """Raises StorageError for a file that is another one by now."""
    left = iter(members)
    with opened(path, passphrase) as archive:
        for info, data in archive:
            if info.name == MANIFEST:
                continue
            target = _place(info.name, drafts)
            make_private(target.parent)
            said = next(left, None)
            if said is None or said != Member(
                    info.name, *_write(target, data, info), info.mode,
                    said.rows):
                raise StorageError(f"{path} has changed since it was checked")
            reach("restore file")
    if next(left, None):
        raise StorageError(f"{path} has changed since it was checked")


def _write(target: Path, data: IO[bytes], info: tarfile.TarInfo
           ) -> tuple[int, str]:
    """How many bytes, and their SHA-256."""
    number = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL
                     | os.O_NOFOLLOW, 0o600 | info.mode & 0o100)
    digest = hashlib.sha256()
    with open(number, "wb") as file:
        while piece := data.read(1 << 20):
            digest.update(piece)
            file.write(piece)
        file.flush()
        changed_at = find_time(info.mtime)
        os.utime(number, (changed_at, changed_at))
        os.fsync(number)
        return file.tell(), digest.hexdigest()


def _place(name: str, drafts: dict[str, Path]) -> Path:
    """Where a member goes. Raises StorageError for one that would be part
    of what the restore keeps for itself."""
    root, *parts = PurePosixPath(name).parts
    if root == "home" and parts[0].casefold() == FOLDER:
        raise StorageError(f"{visible(name)} does not belong in a backup")
    return drafts[root].joinpath(*parts)
