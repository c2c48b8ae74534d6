"""What a restore is doing, so that one that was killed is finished or undone.

In the home, where no command of the agent writes, the folder .restoring:
    new/      what the home is going to hold
    old/      what it held, until all of it is named NAME.before-...
    journal   each line JSON and on the disk before what it tells of:
        {"aside": folder, "workspace": [draft, target, aside] or null}
        {"ready": true}    the drafts are whole: from here on they take
                           their places
        {"emptied": true}  what the home holds now is new
        {"emptied": false} and now it is not: all is being undone
        {"ready": false}   the drafts are to go
A last line that was cut off was never written. Who works holds the journal
locked (flock). Failpoints stand between the steps.
"""

import contextlib
import fcntl
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from claw.core.errors import StorageError, UnavailableError
from claw.core.failpoint import reach
from claw.core.folders import make_private, remove_tree
from claw.core.value import Value

FOLDER = ".restoring"


class Move(Value):
    """A new folder, its place, and what the old one there will be called."""

    draft: Path
    target: Path
    aside: Path


class Plan(Value):
    """What a restore puts where: a new home, and a workspace that does not
    lie in it."""

    home: Path
    aside: Path
    workspace: Move | None = None

    @property
    def folder(self) -> Path:
        return self.home / FOLDER

    @property
    def new(self) -> Path:
        return self.folder / "new"

    @property
    def old(self) -> Path:
        return self.folder / "old"

    @property
    def asides(self) -> list[Path]:
        return [self.aside, *([self.workspace.aside] if self.workspace
                              else ())]

    def remove_drafts(self) -> None:
        for draft in (self.new, *([self.workspace.draft] if self.workspace
                                  else ())):
            with contextlib.suppress(OSError):
                remove_tree(draft)


def find_unfinished(home: Path) -> Path | None:
    """The journal of a restore that was killed; None where there is none,
    or where it is at work just now. Raises StorageError."""
    path = _find_journal(home)
    if path is None:
        return None
    try:
        with _locked(path):
            return path
    except UnavailableError:
        return None


def finish_restore(home: Path, workspace: Path) -> str | None:
    """Finish or undo a restore that was killed; what was done, None where
    there was none. Raises UnavailableError while another one works,
    StorageError."""
    path = _find_journal(home)
    if path is None:
        return None
    with _locked(path) as file:
        plan, said = _read(path, file, home, workspace)
        ready = said.get("ready", False)
        with _translated(path):
            kept: tuple[Path, ...] = ()
            if plan and ready:
                kept = tuple(filter(os.path.lexists, plan.asides))
                kept += Journal(file, plan, said).put_in_place()
            _end(home, plan)
    if not ready:
        return "a restore that was killed is undone: nothing has changed"
    return "a restore that was killed is finished" + "".join(
        f"; what was there is now {one}" for one in dict.fromkeys(kept))


@contextlib.contextmanager
def written_down(plan: Plan) -> Iterator["Journal"]:
    """A restore's journal while it is at work. At its end the drafts are
    gone, and the journal, unless the folders are half old and half new."""
    path = plan.folder / "journal"
    with _translated(path):
        is_new = not plan.home.exists()
        make_private(plan.folder)
    with _locked(path, os.O_CREAT) as file:
        if file.read(1):
            raise UnavailableError(
                f"{path} tells of a restore that was killed",
                hint="claw doctor --fix finishes it")
        journal = Journal(file, plan, {})
        journal.begin()
        try:
            plan.remove_drafts()  # of one that could not remove its own
            yield journal
        finally:
            if not journal.is_half_way:
                if not journal.is_done:
                    journal.write("ready", False)
                    reach("restore undone")
                _end(plan.home, plan)
                if is_new:
                    with contextlib.suppress(OSError):
                        plan.home.rmdir()


class Journal:
    """Raises OSError. `said` is what stands in it."""

    def __init__(self, file: IO[bytes], plan: Plan, said: dict[str, bool]
                 ) -> None:
        self._file = file
        self._plan = plan
        self._said = said
        self.is_half_way = self.is_done = False

    def begin(self) -> None:
        plan = self._plan
        move = plan.workspace
        self._put({"aside": str(plan.aside), "workspace": move and [
            str(move.draft), str(move.target), str(move.aside)]})
        _sync(plan.folder)
        _sync(plan.home)
        reach("restore begun")

    def write(self, key: str, value: bool) -> None:
        self._put({key: value})
        self._said[key] = value

    def _put(self, line: object) -> None:
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def carry_out(self) -> tuple[Path, ...]:
        """Put the drafts, which are whole, in their places, all or none;
        what the old ones are called now."""
        move = self._plan.workspace
        for draft in (self._plan.new, *([move.draft] if move else ())):
            for folder in _list_folders(draft):
                _sync(folder)
            _sync(draft.parent)
        reach("restore filled")
        self.write("ready", True)
        reach("restore ready")
        return self.put_in_place()

    def put_in_place(self) -> tuple[Path, ...]:
        """All whose draft is still there; what fails undoes all."""
        kept: list[Path] = []
        done: list[Callable[[], object]] = []
        self.is_half_way = True
        try:
            for step in (self._move_home(done, kept),
                         self._move_workspace(done, kept)):
                for name in step:
                    reach(name)
        except OSError:
            for undo in reversed(done):
                undo()
            self.is_half_way = False
            raise
        self.is_half_way, self.is_done = False, True
        return tuple(kept)

    def _move_home(self, done: list[Callable[[], object]], kept: list[Path]
                   ) -> Iterator[str]:
        """What it holds, one by one: it may be a disk of its own, and so
        it is there at each moment, with the journal in it."""
        plan = self._plan

        def rename(source: Path, target: Path) -> None:
            source.rename(target)
            done.append(lambda: target.rename(source))
        if not self._said.get("emptied"):
            plan.old.mkdir(mode=0o700, exist_ok=True)
            for name in sorted(os.listdir(plan.home)):
                if name != FOLDER:
                    rename(plan.home / name, find_free(plan.old / name))
                    yield "restore aside"
            _sync(plan.old)
            _sync(plan.home)
            self.write("emptied", True)
            done.append(lambda: self.write("emptied", False))
            yield "restore emptied"
        for name in sorted(os.listdir(plan.new) if plan.new.exists()
                           else ()):
            place = plan.home / name
            if os.path.lexists(place):  # made after the kill
                plan.old.mkdir(mode=0o700, exist_ok=True)
                rename(place, find_free(plan.old / name))
            rename(plan.new / name, place)
            yield "restore placed"
        _sync(plan.home)
        if plan.old.exists() and os.listdir(plan.old):
            aside = find_free(plan.aside)
            rename(plan.old, aside)
            kept.append(aside)
            _sync(aside.parent)
            yield "restore named"
        plan.home.chmod(0o700)

    def _move_workspace(self, done: list[Callable[[], object]],
                        kept: list[Path]) -> Iterator[str]:
        move = self._plan.workspace
        if move is None or not os.path.lexists(move.draft):
            return  # before the kill
        if os.path.lexists(move.target):
            free = find_free(move.aside)
            move.target.rename(free)
            done.append(lambda: free.rename(move.target))
            kept.append(free)
            yield "restore aside"
        move.draft.rename(move.target)
        done.append(lambda: move.target.rename(move.draft))
        yield "restore placed"
        _sync(move.target.parent)


def find_free(path: Path) -> Path:
    """The path, or the first of PATH-2, PATH-3 and so on that is free."""
    number, free = 1, path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


def _find_journal(home: Path) -> Path | None:
    path = home / FOLDER / "journal"
    return path if os.path.lexists(path) else None


@contextlib.contextmanager
def _locked(path: Path, flags: int = 0) -> Iterator[IO[bytes]]:
    with _translated(path):
        above = path.parent.lstat()
        if not stat.S_ISDIR(above.st_mode):
            raise _refuse(path.parent)
        number = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW
                         | os.O_NONBLOCK | os.O_CLOEXEC | flags, 0o600)
    with open(number, "r+b", buffering=0) as raw:
        found = os.fstat(number)
        if found.st_nlink > 1 or any(
                one.st_uid != os.geteuid() or one.st_mode & 0o022
                for one in (above, found)):
            raise _refuse(path)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UnavailableError(
                "another restore is at work here",
                hint="try again when it is done") from error
        if not os.path.lexists(path) or not os.path.samestat(
                os.lstat(path), found):
            raise UnavailableError("another restore has just ended here",
                                   hint="look at it, then try again")
        yield raw


def _refuse(path: Path) -> StorageError:
    return StorageError(f"{path} was not written by you alone",
                        hint=f"look at it, then: rm -r '{path}'")


def _read(path: Path, file: IO[bytes], home: Path, workspace: Path
          ) -> tuple[Plan | None, dict[str, bool]]:
    """The plan, None where it was not written yet, and the rest."""
    lines = file.read().split(b"\n")[:-1]
    if not lines:
        return None, {}
    try:
        first, *rest = map(json.loads, lines)
        said: dict[str, bool] = {}
        for line in rest:
            said |= {key: value is True for key, value in line.items()}
        return _check_plan(path, first, home, workspace), said
    except (ValueError, KeyError, TypeError, AttributeError,
            RecursionError) as error:
        raise StorageError(
            f"{path} tells of a restore that was killed, and can't be read",
            hint=f"see what lies in {path.parent}, then: rm '{path}'"
        ) from error


def _check_plan(path: Path, line: dict[str, Any], home: Path,
                workspace: Path) -> Plan:
    """What a restore of these two folders writes. Raises StorageError for
    anything else."""
    aside = Path(line["aside"])
    move = line["workspace"] and Move(*map(Path, line["workspace"]))
    if workspace == home or not _is_aside(
            aside, Path(os.path.realpath(home))) or (
            move and not (_is_draft(move.draft, move.target)
                          and _is_aside(move.aside, move.target))):
        raise ValueError("no plan of a restore")
    if move and move.target != workspace:
        raise StorageError(
            f"{path} tells of a restore that was killed, with another "
            f"workspace: {move.target}",
            hint=f"claw -w '{move.target}' doctor --fix finishes it")
    return Plan(home, aside, move or None)


def _is_draft(draft: Path, target: Path) -> bool:
    return draft.parent == target.parent and re.fullmatch(
        re.escape(f".{target.name}.") + "[0-9a-f]{12}", draft.name
        ) is not None


def _is_aside(aside: Path, target: Path) -> bool:
    return aside.parent == target.parent and aside.name.startswith(
        f"{target.name}.before-")


def _end(home: Path, plan: Plan | None) -> None:
    """The drafts go, then the journal. What was there stays in `old`
    should it be there still."""
    if plan:
        plan.remove_drafts()
    folder = home / FOLDER
    (folder / "journal").unlink()
    for name in ("old", ""):
        with contextlib.suppress(OSError):
            (folder / name).rmdir()
    _sync(home)


def _list_folders(top: Path) -> Iterator[Path]:
    """The folder and all below; os.walk of Python 3.11 ends in the depth
    of a few hundred."""
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        yield folder
        with os.scandir(folder) as entries:
            waiting += [Path(entry) for entry in entries
                        if entry.is_dir(follow_symlinks=False)]


def _sync(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{error.filename or path}: {error.strerror}",
                           hint="check the folder and the free space"
                           ) from error
