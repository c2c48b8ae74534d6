"""Where skills lie, and which of them the owner has accepted.

Four folders hold skills: <home>/skills and ~/.agents/skills are the
owner's, <workspace>/skills and <workspace>/.agents/skills may have been
written by anybody. Nothing counts by lying there. What was accepted is noted
beside config.toml, out of every command's reach, with a hash of each file.
A folder is read whole, once; its bytes are used where they are the accepted
ones, and never read again.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from claw.core.errors import ClawError, NotFoundError, StorageError
from claw.core.value import Value
from claw.security.files import nofollow
from claw.security.files.accepted import read_accepted, write_accepted
from claw.tools.skills.access import Access
from claw.tools.skills.folder import Files, digest, read_folder
from claw.tools.skills.manifest import NAME, Manifest, read_manifest
from claw.tools.skills.scan import Finding, scan

STORE = "accepted_skills"
INSTALLED = "skills"
State: TypeAlias = Literal["accepted", "new", "changed", "refused",
                           "hidden"]


class Record(msgspec.Struct):
    """What the owner said yes to, and what the last dry run saw: of files
    with the hash `seen_digest`."""

    source: str  # only for who reads the file
    digest: str = ""
    description: str = ""
    files: dict[str, str] = {}
    pinned: Access = Access()
    seen: Access = Access()
    seen_digest: str = ""
    accepted_at: float = 0.0


class Place(Value):
    """A folder of skills; `root` may be a link, nothing below it."""

    root: Path
    folder: str


class Skill:
    """One folder of skills' folders, as it is now. What is read of it is
    read once."""

    def __init__(self, place: Place, name: str, store: Path) -> None:
        self.name = name
        self.path = place.root / place.folder / name
        self.hidden_by: Path | None = None
        self._place = place
        self._home = store.parent
        key = hashlib.sha256(os.fsencode(
            os.path.join(os.path.realpath(place.root), place.folder, name)
            )).hexdigest()
        # Anybody may have named a folder of the workspace.
        shown = name if NAME.match(name) else "odd"
        self._record_name = f"{STORE}/{shown}-{key[:16]}.json"

    @cached_property
    def files(self) -> Files:
        """Raises RefusedError for what no skill may hold, StorageError."""
        try:
            return read_folder(self._place.root,
                               f"{self._place.folder}/{self.name}")
        except (OSError, ValueError) as error:
            raise StorageError(f"{self.path} can't be read: "
                               f"{error}") from error

    @cached_property
    def digest(self) -> str:
        return digest(self.files)

    @cached_property
    def manifest(self) -> Manifest:
        return read_manifest(self.files, self.name)

    def scan(self, taken: Collection[str] = ()) -> list[Finding]:
        return scan(self.files, self.name, taken)

    @property
    def state(self) -> State:
        """How it stands; nothing is read where nothing was accepted."""
        if self.hidden_by is not None:
            return "hidden"
        try:
            record = self.record
            if not record.digest:
                self.manifest  # noqa: B018  (it must be one)
                return "new"
            return "accepted" if self.digest == record.digest else "changed"
        except ClawError:
            return "refused"

    @cached_property
    def record(self) -> Record:
        """An empty one where nothing was decided. Raises StorageError."""
        return read_accepted(
            self._home, self._record_name, Record,
            hint="remove it, and accept the skill again"
            ) or Record(str(self.path))

    def accept(self, pinned: Access, now: float) -> None:
        """The owner's yes to these very bytes. Raises StorageError."""
        self.record.digest = self.digest
        self.record.description = self.manifest.description
        self.record.pinned = pinned
        self.record.accepted_at = now
        self.record.files = {name: hashlib.sha256(data).hexdigest()
                             for name, data in self.files.items()}
        self.save()

    def note(self, seen: Access) -> None:
        """Keep what a dry run saw. Raises StorageError."""
        if self.record.seen_digest == self.digest:
            seen |= self.record.seen
        self.record.seen, self.record.seen_digest = seen, self.digest
        self.save()

    def save(self) -> None:
        """Raises StorageError."""
        write_accepted(self._home, self._record_name, self.record)

    def forget(self) -> None:
        """Take the yes back."""
        nofollow.remove(self._home, self._record_name)
        with contextlib.suppress(OSError):  # the last one: no tools then
            (self._home / STORE).rmdir()

    def list_changes(self) -> list[str]:
        """Which files are not as they were accepted."""
        now = {name: hashlib.sha256(data).hexdigest()
               for name, data in self.files.items()}
        before = self.record.files
        return [("new: " if name not in before else "gone: "
                 if name not in now else "changed: ") + name
                for name in sorted({*now, *before})
                if now.get(name) != before.get(name)]


class Catalog:
    """The skills of these places. In a workspace that does not count only
    the owner's own are looked at."""

    def __init__(self, home: Path, workspace: Path | None,
                 user_home: Path) -> None:
        self.home = home
        self.places = [Place(home, INSTALLED),
                       Place(user_home, ".agents/skills")]
        if workspace is not None:
            self.places += [Place(workspace, INSTALLED),
                            Place(workspace, ".agents/skills")]

    @property
    def is_used(self) -> bool:
        """Whether anything was ever accepted: one look at the disk."""
        return (self.home / STORE).is_dir()

    def find_all(self) -> list[Skill]:
        """All skills, the owner's first; of one name the first counts."""
        found: list[Skill] = []
        first: dict[str, Skill] = {}
        for place in self.places:
            for name in _list_names(place):
                skill = Skill(place, name, self.home / STORE)
                counts = first.setdefault(name, skill)
                if counts.path != skill.path:
                    skill.hidden_by = counts.path
                elif counts is not skill:
                    continue  # one folder under two places
                found.append(skill)
        return found

    def find(self, name: str) -> Skill:
        """The skill that counts under this name. Raises NotFoundError."""
        found = self.find_all()
        for skill in found:
            if skill.name == name:
                return skill
        known = ", ".join(sorted({skill.name for skill in found})[:20])
        raise NotFoundError(
            f"there is no skill {name!r:.80}",
            hint=f"one of: {known}" if known
            else "add one: claw skill install PATH")

    def offered(self) -> list[Skill]:
        """Those that a model may be told of. What can't be read is none."""
        return [skill for skill in self.find_all() if _is_offered(skill)] \
            if self.is_used else []

    def find_offered(self, name: str) -> Skill:
        """Raises NotFoundError for one that is not accepted."""
        skills = self.offered()
        for skill in skills:
            if skill.name == name:
                return skill
        if self.is_used and any(skill.name == name
                                for skill in self.find_all()):
            raise NotFoundError(
                f"the skill {name!r:.80} is not accepted as it is now; its "
                f"owner looks at it with: claw skill accept {name:.80}")
        raise NotFoundError(
            f"no accepted skill is named {name!r:.80}",
            hint="there are: " + (", ".join(s.name for s in skills)
                                  or "none"))


def _is_offered(skill: Skill) -> bool:
    try:
        return bool(skill.record.digest) and skill.state == "accepted"
    except ClawError:  # claw doctor tells of it
        return False


def _list_names(place: Place) -> Iterator[str]:
    try:
        with nofollow.hold_folder(place.root, place.folder) as folder:
            names = sorted(os.listdir(folder))
            for name in names:
                found = nofollow.status_in(folder, name)
                if not name.startswith(".") and found is not None \
                        and not stat.S_ISREG(found.st_mode):
                    yield name
    except (OSError, StorageError):  # no such folder, or a link
        return
