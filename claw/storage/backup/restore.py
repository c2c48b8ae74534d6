"""A checked archive in the place of what is there.

All of it is read and compared first. Then it is unpacked beside the two
folders, and put in their place by renaming; what stood there is kept under
another name.
"""

import contextlib
import os
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import IO

from claw.core.errors import StorageError
from claw.core.value import Value
from claw.storage.backup.archive import (
    MANIFEST,
    Heard,
    Manifest,
    opened,
    verify_archive,
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
    manifest = verify_archive(path, passphrase, heard)
    inside = workspace.is_relative_to(home)
    targets = {"home": home} if inside else {"home": home,
                                             "workspace": workspace}
    drafts: dict[str, Path] = {}
    try:
        for root, target in targets.items():
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            drafts[root] = Path(tempfile.mkdtemp(
                prefix=f".{target.name}.", dir=target.parent))
        if inside:
            drafts["workspace"] = drafts["home"] / workspace.relative_to(home)
        _unpack(path, passphrase, drafts)
        return Restored(manifest, _swap(
            [(drafts[root], target) for root, target in targets.items()],
            stamp))
    except OSError as error:
        raise StorageError(f"{error.filename or path}: {error.strerror}",
                           hint="check the folder and the free space"
                           ) from error
    finally:
        for draft in drafts.values():
            shutil.rmtree(draft, ignore_errors=True)


def _unpack(path: Path, passphrase: str | None,
            drafts: dict[str, Path]) -> None:
    with opened(path, passphrase) as archive:
        for info in archive:
            if info.name == MANIFEST:
                continue
            target = _place(info.name, drafts)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            data = archive.extractfile(info)
            if data is None:
                raise StorageError(f"{info.name} is no file")
            _write(target, data, info)


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


def _swap(pairs: list[tuple[Path, Path]], stamp: str) -> tuple[Path, ...]:
    """Put each new folder in the place of the old one, all or none; what
    the old ones are called now."""
    kept: list[Path] = []
    with contextlib.ExitStack() as undo:
        for draft, target in pairs:
            if target.exists() or target.is_symlink():
                aside = target.with_name(f"{target.name}.before-{stamp}")
                target.rename(aside)
                undo.callback(aside.rename, target)
                kept.append(aside)
            draft.rename(target)
            undo.callback(target.rename, draft)
        undo.pop_all()
    return tuple(kept)
