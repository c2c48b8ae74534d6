"""Settings on trial: written, looked at, and then kept or taken back.

While they are on trial <home>/.config.apply says what stood there before:
    {"version": id in the history or null, "old": base64 or null (no file),
     "mode": bits, "new": SHA-256 in hex, "command": "claw config apply"}
Who finds that file with the lock in his hand knows that its writer was
killed. Call everything while `lock_settings`.
"""

import base64
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from claw.config.history import (
    drop,
    find_version,
    keep,
    keep_written,
    prune,
    read_version,
)
from claw.config.parse import read_file
from claw.config.places import Places
from claw.config.write import remove_file, write_file
from claw.core.errors import ConfigError, NotFoundError, StorageError
from claw.core.value import Value

_MOST_BYTES = 1 << 22


class Trial(Value):
    """What the journal says."""

    version: str | None
    old: bytes | None
    mode: int
    digest: str
    command: str


def journal(places: Places) -> Path:
    return places.home / ".config.apply"


@contextmanager
def try_out(places: Places, data: bytes, old: bytes | None
            ) -> Iterator[str | None]:
    """Put these bytes in config.toml's place, mode 0600, durable; gives the
    id of `old` in the history, where no file counts as an empty one. What
    is raised within, Ctrl-C too, brings `old` back.

    `old` is kept as config.toml.bak too. A symbolic link stays one: the
    file it points to is replaced.
    """
    real = Path(os.path.realpath(places.config_file))
    trial = Trial(keep(places, old or b""), old, _read_mode(real),
                  digest(data), places.command)
    try:
        write_file(journal(places), _render(trial))
        write_file(real, data)
        yield trial.version
        if old is not None:
            write_file(places.home / "config.toml.bak", old)
        keep_written(places, data)
    except BaseException:
        if journal(places).exists():
            try:
                _restore(real, trial)
            except StorageError as error:
                raise StorageError(
                    f"{error.message}; what was tried stands there until it "
                    "can be taken back",
                    hint="make room, then: claw doctor --fix") from error
        drop(places, trial.version)
        remove_file(journal(places))
        raise
    remove_file(journal(places))
    prune(places)


def read_unfinished(places: Places) -> Trial | None:
    """What is on trial now, or was when its writer was killed. ConfigError
    for a journal that says nothing, and for one that is not ours."""
    path = journal(places)
    try:
        seen = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(seen.st_mode) or seen.st_uid != os.geteuid() \
            or seen.st_mode & 0o022 or seen.st_nlink > 1:
        raise ConfigError(f"{path} was not written by claw",
                          hint=f"look at it, then: rm -r '{path}'")
    try:
        found: Any = json.loads(read_file(path, most_bytes=_MOST_BYTES)[0])
        old = found["old"]
        return Trial(
            None if found["version"] is None else str(found["version"]),
            None if old is None else base64.b64decode(old, validate=True),
            int(found["mode"]) & 0o777, str(found["new"]),
            str(found["command"]))
    except (ValueError, KeyError, TypeError, OverflowError,
            RecursionError) as error:
        raise ConfigError(
            f"{path} tells of an unfinished change and can't be read",
            hint=f"see what stands in config.toml, then: rm '{path}'"
        ) from error


def take_back(places: Places) -> str | None:
    """Undo a change whose writer was killed; what was done, None where
    there was none. A file that somebody has edited since stays, and what
    is taken back is kept in the history."""
    trial = read_unfinished(places)
    if trial is None:
        return None
    real = Path(os.path.realpath(places.config_file))
    there = read_file(real)[0] if real.exists() else None
    what = trial.command or "a change"
    if there == trial.old:  # killed before or after
        _drop_copy(places, trial)
        said = None
    elif there is None or digest(there) != trial.digest:
        said = (f"{what} did not end; {places.config_file} was edited "
                "since and stays as it is")
    else:
        _drop_copy(places, trial)
        keep(places, there, "unfinished")
        _restore(real, trial)
        said = (f"{what} did not end: {places.config_file} is as before; "
                "what it had written: claw config history 1")
    remove_file(journal(places))
    return said


def digest(data: bytes) -> str:
    """SHA-256 in hex, as claw.config.watch.Stamp has it."""
    return hashlib.sha256(data).hexdigest()


def _drop_copy(places: Places, trial: Trial) -> None:
    """Forget the version that was kept of what stands there again."""
    with suppress(NotFoundError, ConfigError):
        version = find_version(places, trial.version or "")
        if read_version(places, version) == (trial.old or b""):
            drop(places, version.id)


def _restore(real: Path, trial: Trial) -> None:
    if trial.old is None:
        remove_file(real)
    else:
        write_file(real, trial.old, trial.mode)


def _read_mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0o600


def _render(trial: Trial) -> bytes:
    old = trial.old
    return json.dumps({
        "version": trial.version, "mode": trial.mode, "new": trial.digest,
        "command": trial.command, "old": None if old is None
        else base64.b64encode(old).decode()}).encode()
