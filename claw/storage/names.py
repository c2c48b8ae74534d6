"""Whose the names of allow-lists are: <workspace>/state/people.json.

    {"chat": {"alice": {"id": "1001", "since": "2026-11-22T20:00:00Z",
                        "carried": true, "refused": "1002"},
              "4911": {"id": "4922", "since": "...", "carried": true,
                       "moved": true, "settled": true}}}

A name is its first holder's for good. `carried` says that what was kept
under the name stands under the id now, `refused` who came with the name
later. `moved`: the name is an id that became this one, as the platform
said, and `settled` that config.toml names it no more. Read anew whenever it
changed: a standby that takes over knows what the process before it wrote.
"""

import json
import os
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from claw.core.folders import make_private
from claw.core.log import Log, silent
from claw.core.times import rfc3339

_MOST_BYTES = 4 * 2**20
_NOBODY = ""


class Binding(NamedTuple):
    """A name and the person it belongs to; `refused` is the last other
    one who came with it."""

    name: str
    id: str
    since: str
    carried: bool
    refused: str | None
    moved: bool = False
    settled: bool = False


class PeopleFile:
    """The bindings of every channel. Where the file can't be read nobody
    is let in by a name; where it can't be written a binding holds as long
    as the process."""

    def __init__(self, path: Path, log: Log = silent, *,
                 now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._log = log
        self._now = now
        self._seen: tuple[int, int, int] | None = None
        self._people: dict[str, dict[str, dict[str, Any]]] = {}
        self._broken = False

    def of(self, channel: str) -> "ChannelNames":
        """The names of one channel (core.channel.BindsNames)."""
        return ChannelNames(self, channel)

    def list(self, channel: str) -> list[Binding]:
        """The names that somebody has, in alphabetical order."""
        self._refresh()
        return [Binding(name, str(row["id"]), str(row.get("since", "")),
                        row.get("carried") is True, row.get("refused"),
                        row.get("moved") is True, row.get("settled") is True)
                for name, row in sorted(self._people.get(channel, {}).items())]

    def is_new(self, channel: str) -> bool:
        """Whether nothing was ever noted of a channel."""
        self._refresh()
        return not self._broken and channel not in self._people

    def find(self, channel: str, name: str) -> str | None:
        self._refresh()
        row = self._people.get(channel, {}).get(name)
        return None if row is None else str(row["id"])

    def find_person(self, channel: str, name: str) -> str | None:
        """As `find`; where a name moved, who has the new one."""
        found = self.find(channel, name)
        return found if found is None or not self._people[channel][name].get(
            "moved") else self.find(channel, found) or found

    def bind(self, channel: str, name: str, person: str) -> str:
        held = self.find(channel, name)
        if self._broken:
            return _NOBODY
        names = self._people.setdefault(channel, {})
        if held is None:
            names[name] = {"id": person, "since": rfc3339(self._now()),
                           "carried": False}
            self._save()
        elif held != person and names[name].get("refused") != person:
            names[name]["refused"] = person
            self._save()
        return held or person

    def move(self, channel: str, old: str, new: str) -> bool:
        """An id became another one: all that was the old one's is the new
        one's. False where that is known already, or can't be written."""
        old, new = old.removeprefix("@"), new.removeprefix("@")
        if old == new or self.find(channel, old) == new or self._broken:
            return False
        names = self._people.setdefault(channel, {})
        for row in names.values():
            if row["id"].removeprefix("@") == old:
                row["id"] = new
        names.pop(new, None)  # somebody came back to an id of before
        names[old] = {"id": new, "since": rfc3339(self._now()),
                      "carried": False, "moved": True}
        return self._save()

    def follow(self, channel: str, ids: Iterable[str]) -> set[str]:
        """These ids as they are now."""
        self._refresh()
        names = self._people.get(channel, {})
        return {str(names[one]["id"]) if names.get(one, {}).get("moved")
                else one for one in ids}

    def note_settled(self, channel: str, old: str) -> None:
        """config.toml names this id no more."""
        self._refresh()
        self._people[channel][old]["settled"] = True
        self._save()

    def release(self, channel: str, listed: Iterable[str]) -> set[str]:
        """Ids that somebody left, and that the owner names anew: they are
        whose the platform says."""
        self._refresh()
        names = self._people.get(channel, {})
        freed = {one for one in listed if names.get(one, {}).get("settled")}
        for one in freed:
            names.pop(one, None)
        if freed:
            self._save()
        return freed

    def note_carried(self, channel: str, names: Iterable[str]) -> None:
        """What was kept under these names stands under their ids now."""
        self._refresh()
        rows = self._people.setdefault(channel, {})
        for name in names:
            if name in rows:
                rows[name]["carried"] = True
        self._save()

    # -- the file

    def _refresh(self) -> None:
        try:
            found = os.stat(self._path, follow_symlinks=False)
            seen = (found.st_ino, found.st_mtime_ns, found.st_size)
            if seen == self._seen:
                return
            self._people, self._seen = _parse(self._read()), seen
            self._broken = False
        except FileNotFoundError:
            if self._seen is not None:  # it was taken away: start anew
                self._people, self._seen = {}, None
            self._broken = False
        except (OSError, ValueError) as error:
            if not self._broken:
                self._log("people.error", error=f"{self._path}: {error}",
                          hint="nobody is let in by a username until it can "
                               "be read: fix it, or remove it and every "
                               "name is its next holder's")
            self._people, self._seen, self._broken = {}, None, True

    def _folder(self) -> int:
        """The folder, no link, as a descriptor."""
        return os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY
                       | os.O_NOFOLLOW | os.O_CLOEXEC)

    def _read(self) -> bytes:
        folder = self._folder()
        try:
            file = os.open(self._path.name, os.O_RDONLY | os.O_NOFOLLOW
                           | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        with open(file, "rb") as opened:
            return opened.read(_MOST_BYTES)

    def _save(self) -> bool:
        """Whether it stands on the disk."""
        try:
            self._write(json.dumps(self._people, indent=1).encode())
        except OSError as error:
            self._log("people.error", hint="check the disk: the name is "
                      "anybody's again after a restart",
                      error=f"{self._path}: {error.strerror}")
            return False
        return True

    def _write(self, data: bytes) -> None:
        make_private(self._path.parent)
        folder, draft = self._folder(), f".people.{secrets.token_hex(8)}"
        try:
            file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL
                           | os.O_CLOEXEC, 0o600, dir_fd=folder)
            try:
                with open(file, "wb") as opened:
                    opened.write(data)
                    opened.flush()
                    os.fsync(opened.fileno())
                os.rename(draft, self._path.name, src_dir_fd=folder,
                          dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(draft, dir_fd=folder)
                raise
            found = os.stat(self._path.name, dir_fd=folder,
                            follow_symlinks=False)
            self._seen = (found.st_ino, found.st_mtime_ns, found.st_size)
        finally:
            os.close(folder)


class ChannelNames:
    """The names of one channel in that file."""

    def __init__(self, people: PeopleFile, channel: str) -> None:
        self._people = people
        self._channel = channel

    def find(self, name: str) -> str | None:
        return self._people.find(self._channel, name)

    def bind(self, name: str, person: str) -> str:
        return self._people.bind(self._channel, name, person)

    def follow(self, ids: Iterable[str]) -> set[str]:
        """core.channel.FollowsIds."""
        return self._people.follow(self._channel, ids)


def _parse(data: bytes) -> dict[str, dict[str, dict[str, Any]]]:
    people = json.loads(data)
    if not isinstance(people, dict) or not all(
            isinstance(names, dict) and all(
                isinstance(row, dict) and isinstance(row.get("id"), str)
                for row in names.values()) for names in people.values()):
        raise ValueError("it is not in the form that claw writes")
    return people
