"""Earlier versions of config.toml: <home>/config.history/, 0700.

Each write keeps the bytes that it replaces as <time>.<command>.toml, 0600;
the newest 50 stay. Encrypted secrets stay as they stand in the file. A text
with a secret in plain, and one that can't be read so that nobody knows, is
encrypted whole with the key of the secrets (`enc2:` + hex): no plain secret
outlives the file's own. Where there is no key and none may be made (values
of a lost one stand there), such a text is not kept. written.toml beside them
is the text that was written last: an editor may break it.

Write while `lock_settings`.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from claw.config.display import find_open_secrets
from claw.config.parse import decode_text, parse, read_file
from claw.config.places import Places
from claw.config.write import remove_file, write_file
from claw.core.errors import ConfigError, NotFoundError
from claw.core.value import Value

MOST = 50
FOLDER = "config.history"
_WRITTEN = "written.toml"
_SEALED = b"enc2:"
_FORM = "%Y%m%dT%H%M%S.%fZ"
_NAME = re.compile(r"(\d{8}T\d{6}\.\d{6}Z)\.([a-z_-]*)\.toml")


class Version(Value):
    """One earlier version. `id` is the time (UTC) at which it was replaced,
    `command` what replaced it ("config set"; "" unknown), `size` in
    bytes as it is kept."""

    id: str
    command: str
    size: int
    path: Path

    @property
    def time(self) -> datetime:
        return _parse_id(self.id)


def list_versions(places: Places) -> list[Version]:
    """All that are kept, the newest first."""
    try:
        names = sorted((places.home / FOLDER).iterdir(), reverse=True)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ConfigError(f"{places.home / FOLDER}: cannot be read: "
                          f"{error.strerror}", hint=f"look at: ls -ld "
                          f"'{places.home / FOLDER}'") from error
    found = []
    for path in names:
        fits = _NAME.fullmatch(path.name)
        with suppress(OSError, ValueError):  # gone meanwhile; no time
            if fits and not path.is_symlink() and path.is_file():
                _parse_id(fits[1])
                found.append(Version(fits[1], fits[2].replace("-", " "),
                                     path.stat().st_size, path))
    return found


def find_version(places: Places, name: str) -> Version:
    """The version of this number (1 is the newest) or id. NotFoundError
    when there is none."""
    versions = list_versions(places)
    if name.isascii() and name.isdigit() and 0 < int(name) <= len(versions):
        return versions[int(name) - 1]
    for version in versions:
        if version.id == name:
            return version
    raise NotFoundError(
        f"no earlier version {name} of {places.config_file} is kept"
        if versions else
        f"no earlier version of {places.config_file} is kept",
        hint="claw config history lists them" if versions else None)


def read_version(places: Places, version: Version) -> bytes:
    """The text as it stood in config.toml. ConfigError when it can't be
    read or decrypted."""
    return _read(places, version.path)


def _read(places: Places, path: Path) -> bytes:
    data = read_file(path, most_bytes=1 << 22)[0]
    if not data.startswith(_SEALED):
        return data
    from claw.config.secrets import read_key, unseal  # cryptography
    try:
        text = unseal(data.decode("ascii"), read_key(places.key_file))
    except ValueError as error:
        raise ConfigError(
            f"{path}: {error} (key file {places.key_file})",
            hint="put back the key file that belongs to it") from error
    return text.encode("utf-8", "surrogateescape")


def keep(places: Places, data: bytes, command: str | None = None, *,
         now: Callable[[], datetime] = lambda: datetime.now(UTC)
         ) -> str | None:
    """Keep a text that is about to be replaced; its id, None where it may
    not be kept. `command` is what replaces it (default: ours)."""
    stored = _protect(places, data)
    if stored is None:
        return None
    kept = list_versions(places)
    moment = now()
    with suppress(IndexError, OverflowError):  # none yet; the last of all
        # A clock that went back changes no order.
        moment = max(moment, kept[0].time + timedelta(microseconds=1))
    made = moment.strftime(_FORM)
    words = places.command if command is None else command
    name = re.sub(r"[^a-z_]+", "-", words.removeprefix("claw").strip())
    write_file(places.home / FOLDER / f"{made}.{name}.toml", stored)
    return made


def keep_written(places: Places, data: bytes) -> None:
    """Keep the text that stands in config.toml now, as `keep` does; no key
    is made for it."""
    path = places.home / FOLDER / _WRITTEN
    stored = _protect(places, data, makes_key=False)
    if stored is None:
        remove_file(path)
    else:
        write_file(path, stored)


def read_written(places: Places) -> bytes | None:
    """The text that was written last; None where none is kept. ConfigError
    when it can't be read or decrypted."""
    path = places.home / FOLDER / _WRITTEN
    return _read(places, path) if path.is_file() else None


def drop(places: Places, made: str | None) -> None:
    """Forget a version again, and the folder that was made for it."""
    for version in list_versions(places):
        if version.id == made:
            remove_file(version.path)
    with suppress(OSError):  # others lie there
        (places.home / FOLDER).rmdir()


def prune(places: Places) -> None:
    """Keep the newest MOST."""
    for version in list_versions(places)[MOST:]:
        remove_file(version.path)


def _protect(places: Places, data: bytes, *, makes_key: bool = True
             ) -> bytes | None:
    """The bytes as they may be kept."""
    try:
        raw = parse(decode_text(data, places.config_file), "")
        if not find_open_secrets(raw) and not data.startswith(_SEALED):
            return data
    except ConfigError:
        if not data.strip():
            return data
    from claw.config.secrets import create_key, read_key, seal
    file = places.key_file
    try:
        if not file.exists() and not makes_key:
            return None
        if not file.exists() and b"enc" in data and re.search(
                rb"""["']enc2?:""", data):
            return None
        key = read_key(file) if file.exists() else create_key(file)
    except ConfigError:
        return None
    return seal(data.decode("utf-8", "surrogateescape"), key).encode()


def _parse_id(text: str) -> datetime:
    return datetime.strptime(text, _FORM).replace(tzinfo=UTC)
