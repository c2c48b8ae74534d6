"""backup: the owner's files of the workspace in one archive.

A tar.gz in state/backups, which no command and no other tool reaches. What
it holds stands in its last member with a SHA-256 each; after writing it is
read again and compared. claw's own databases are not in it: they are copied
by `claw memory export` and `claw log export`.
"""

import asyncio
import hashlib
import io
import json
import os
import re
import tarfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from claw.core.errors import ClawError, NotFoundError, StorageError, UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    optional,
    string,
)
from claw.security.files import nofollow
from claw.tools.offer.checked import CheckedTool

_FOLDER = "state/backups"
_KEPT = 10
_FILE_BYTES = 64 << 20
_ALL_BYTES = 1 << 30
_MANIFEST = "claw-backup.json"
_NAME = re.compile(r"\d{8}T\d{6}Z(-\d+)?\.tar\.gz\Z")


class Backup(CheckedTool):
    """Makes, lists and checks archives; the oldest beyond ten go."""

    name = "backup"
    labels_itself = True
    description = ("Save the files of the workspace in an archive that is "
                   "read back and checked. Also list and verify.")

    def __init__(self, deps: ToolDeps, now: Callable[[], datetime] =
                 lambda: datetime.now(UTC)) -> None:
        self._policy = deps.policy
        self._now = now

    def parameters_schema(self) -> Schema:
        return closed_object(
            action=string("What to do", default="create",
                          enum=["create", "list", "verify"]),
            name=optional(string("Of the archive to verify; the latest if "
                                 "left out")))

    def only_reads(self, args: Arguments) -> bool:
        return args.get("action") in ("list", "verify")

    async def run(self, args: Arguments) -> ToolResult:
        action = args["action"]
        self._policy.enforce("act" if action == "create" else "read")
        try:
            text = await asyncio.to_thread(
                self._create if action == "create" else
                self._describe if action == "list" else
                lambda: self._verify(args.get("name")))
        except (OSError, EOFError, tarfile.TarError) as error:
            raise StorageError(f"the backup failed: {error}") from error
        return ToolResult(output=text)

    @property
    def _root(self) -> Path:
        root: Path = self._policy.workspace
        return root

    def _list(self) -> list[str]:
        """The archives, the latest first."""
        try:
            with nofollow.hold_folder(self._root, _FOLDER) as folder:
                names = os.listdir(folder)
        except FileNotFoundError:
            return []
        return sorted(filter(_NAME.match, names), reverse=True)

    def _describe(self) -> str:
        lines = []
        for name in self._list():
            found = nofollow.status(self._root, f"{_FOLDER}/{name}")
            lines.append(f"- {name} ({found.st_size if found else 0} bytes)")
        return "\n".join(lines) or "There are no backups."

    def _create(self) -> str:
        name = self._choose_name()
        draft = f"{_FOLDER}/.claw-{os.urandom(8).hex()}.tmp"
        number = nofollow.open_file(
            self._root, draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        try:
            with open(number, "wb") as file:
                count, left_out = self._write(file)
                file.flush()
                os.fsync(file.fileno())
            self._check(draft)
            nofollow.rename(self._root, draft, f"{_FOLDER}/{name}")
        except BaseException:
            nofollow.remove(self._root, draft)
            raise
        for old in self._list()[_KEPT:]:
            nofollow.remove(self._root, f"{_FOLDER}/{old}")
        notes = "".join(f"\nleft out: {path}" for path in left_out[:20])
        return f"Saved {count} files: {_FOLDER}/{name}{notes}" + (
            f"\nleft out: {len(left_out) - 20} more"
            if len(left_out) > 20 else "")

    def _choose_name(self) -> str:
        stamp = f"{self._now():%Y%m%dT%H%M%SZ}"
        taken = set(self._list())
        names = (f"{stamp}{f'-{n}' if n else ''}.tar.gz" for n in range(1000))
        return next(name for name in names if name not in taken)

    def _write(self, file: IO[bytes]) -> tuple[int, list[str]]:
        """How many files were written, and which were left out."""
        written: dict[str, str] = {}
        left_out: list[str] = []
        total = 0
        walk = self._policy.walk_beneath(".")
        with tarfile.open(fileobj=file, mode="w:gz") as archive:
            for path in walk:
                try:
                    data = self._policy.read_beneath(path, _FILE_BYTES)
                except ClawError as error:
                    left_out.append(f"{path} ({error.message})")
                    continue
                total += len(data)
                if total > _ALL_BYTES:
                    raise UsageError("the workspace is larger than "
                                     f"{_ALL_BYTES >> 30} GiB")
                _add(archive, f"files/{path}", data)
                written[path] = hashlib.sha256(data).hexdigest()
            _add(archive, _MANIFEST, json.dumps({
                "files": written, "left_out": left_out}).encode())
        if walk.cut:
            left_out.append("(files beyond the number that is looked at)")
        return len(written), left_out

    def _verify(self, name: str | None) -> str:
        names = self._list()
        if name is None and not names:
            raise NotFoundError("there are no backups")
        name = name or names[0]
        if name not in names:
            raise NotFoundError(f"no such backup: {name[:100]}")
        return f"{name}: {self._check(f'{_FOLDER}/{name}')} files, all sound"

    def _check(self, path: str) -> int:
        """How many files it holds. Raises StorageError for one that is not
        what was written."""
        found: dict[str, str] = {}
        manifest: dict[str, Any] = {}
        with open(nofollow.open_file(self._root, path), "rb") as file, \
                tarfile.open(fileobj=file, mode="r|gz") as archive:
            for member in archive:
                content = archive.extractfile(member)
                data = content.read() if content else b""
                if member.name == _MANIFEST:
                    manifest = json.loads(data)
                else:
                    found[member.name.removeprefix("files/")] = \
                        hashlib.sha256(data).hexdigest()
        if not manifest or manifest["files"] != found:
            raise StorageError(f"{Path(path).name} is damaged")
        return len(found)


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = len(data), 0o600, int(time.time())
    archive.addfile(info, io.BytesIO(data))
