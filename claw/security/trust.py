"""Whether what lies in a workspace counts: one that claw made, or that the
owner said yes to.

A folder given with -w may come from somebody else. Its AGENTS.md would
speak to the model, its snapshot would become memories, its sessions would
be gone on with. What was decided lies beside config.toml, a file for each
folder, bound to the folder itself by its number and by a mark that lies in
it: another one under the same name is asked about again.
"""

import hashlib
import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any

from claw.core.errors import ClawError, StorageError
from claw.core.folders import make_private
from claw.core.value import Value
from claw.security.files import beneath, nofollow
from claw.security.files.paths import TRUST_FOLDER

# What would count, as it is named in a workspace.
OWN = ("memory", "state", "sessions")
NAMES = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md",
         "HEARTBEAT.md", "BOOTSTRAP.md", "MEMORY.md", "MEMORY_SNAPSHOT.md",
         "skills", *OWN)
_ALL = "*"
_MARK = "state/workspace"  # out of every command's reach
_MAX_BYTES = 64_000


class Standing(Value):
    """What is known of a workspace. `answer` None: nobody was asked yet;
    `found` is what would count there and was not accepted."""

    answer: bool | None
    found: tuple[str, ...]

    @property
    def is_trusted(self) -> bool:
        return self.answer is not False and not self.found


def judge_workspace(home: Path, workspace: Path) -> Standing:
    """How a workspace stands; nothing is written. Raises StorageError for
    a record that can't be read."""
    record = _read_record(home, workspace)
    accepted = record.get("accepted", ())
    found = () if _ALL in accepted else tuple(
        name for name in NAMES
        if name not in accepted and _holds(workspace / name))
    answer = record.get("answer")
    return Standing(answer if isinstance(answer, bool) else None, found)


def adopt_workspace(home: Path, workspace: Path) -> bool:
    """Keep in mind that claw works here from now on: what it makes counts
    later; False where it did already. A folder with nothing in it, or that
    it makes now, is its own; in another one what comes later under the
    other names is asked about. Raises StorageError."""
    if _read_record(home, workspace) or _is_no_folder(workspace):
        return False
    is_new = not _holds(workspace)
    _keep(home, workspace, True, [_ALL] if is_new else OWN)
    return True


def decide_workspace(home: Path, workspace: Path, answer: bool) -> None:
    """Keep the owner's answer. Raises StorageError."""
    _keep(home, workspace, answer, [_ALL] if answer else ())


def _is_no_folder(workspace: Path) -> bool:
    """Whoever opens something there says what is wrong."""
    return workspace.exists() and not workspace.is_dir()


def _holds(path: Path) -> bool:
    """Whether anything is there: a file, a link, a folder with entries."""
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            return True
        with os.scandir(path) as entries:
            return next(entries, None) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # it is there, whatever it is
        return True


def name_file(workspace: Path, ending: str) -> str:
    """What is kept of a workspace out of its reach, below claw's home."""
    real = hashlib.sha256(os.fsencode(os.path.realpath(workspace)))
    return f"{TRUST_FOLDER}/{real.hexdigest()[:32]}{ending}"


def _record_name(workspace: Path) -> str:
    return name_file(workspace, ".json")


def _read_record(home: Path, workspace: Path) -> dict[str, Any]:
    """What was decided of this very folder; {} where nothing was."""
    path = home / _record_name(workspace)
    try:
        inode = os.stat(workspace).st_ino
        with path.open("rb") as file:
            record = json.loads(file.read(_MAX_BYTES))
        if isinstance(record, dict) and "mark" in record \
                and record["mark"] != _read_mark(workspace):
            return {}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{path} can't be read: {error}",
            hint=f"remove it, and you are asked again: rm '{path}'"
            ) from error
    known = isinstance(record, dict) and record.get("inode") == inode
    return record if known else {}


def _read_mark(workspace: Path) -> str | None:
    try:
        return nofollow.read(workspace, _MARK, _MAX_BYTES).decode()
    except (OSError, UnicodeError, StorageError):
        return None


def _make_mark(workspace: Path) -> str:
    """A mark that nobody can guess, where there is none yet."""
    mark = _read_mark(workspace) or secrets.token_hex(16)
    nofollow.write(workspace, _MARK, [mark.encode()])
    return mark


def _keep(home: Path, workspace: Path, answer: bool,
          accepted: tuple[str, ...] | list[str]) -> None:
    try:
        make_private(workspace)
        make_private(home)
        record: dict[str, Any] = {
            "path": os.fsencode(workspace).decode("utf-8", "replace"),
            "inode": os.stat(workspace).st_ino,
            "answer": answer, "accepted": list(accepted)}
        if answer:
            record["mark"] = _make_mark(workspace)
    except OSError as error:
        raise StorageError(
            f"{error.filename} can't be made: {error.strerror}",
            hint="choose another folder with -w or --config-dir") from error
    name = _record_name(workspace)
    try:
        beneath.write(home, name, json.dumps(record).encode(),
                      lambda _: True)
    except ClawError as error:
        raise StorageError(f"{home / name} can't be written: "
                           f"{error.message}", hint=error.hint) from error
