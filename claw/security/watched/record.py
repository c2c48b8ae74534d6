"""state/held/: what watched files were before commands ran, and which
changes wait for the owner.

    record-N      what counts (`was`), what waits (`held`), what git would
                  run (`git`); `open` while commands run. The highest N is
                  the one
    lock          held (flock) for each reading and writing of the record
    running       held (shared) by each running command: the kernel lets
                  go of it however its process ends, so that the next one
                  learns of a command that nobody looked after
    kept/         contents by SHA-256, to go on with and to put back
    refused/      what was taken out of the workspace

While commands run, whatever the count and in how many processes, what was
there before the first of them counts. Commands can't write here.
"""

import contextlib
import fcntl
import hashlib
import io
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from claw.core.errors import StorageError
from claw.core.value import Value
from claw.security.files.paths import WATCHED_FILES
from claw.security.watched import git
from claw.security.watched.files import (
    MISSING,
    Store,
    digest,
    look,
    open_folder,
    read,
    replace,
    write,
)

FOLDER = "state/held"


class _Record(msgspec.Struct):
    """File name -> what it is (see files.py); git by role and path.

    `place` is the folder's own number: a record that came with a copied or
    cloned workspace says of no content that it counts, and puts nothing
    back into a repository. Nor do other names than those that are watched
    count.
    `partly_since` is when (ns) repositories were looked for, where not all
    were found: what is older then is the owner's.
    """

    open: bool = False
    was: dict[str, str] = msgspec.field(default_factory=dict)
    held: dict[str, str] = msgspec.field(default_factory=dict)
    place: str = ""
    git: dict[str, str] | None = None
    partly_since: int = 0


class Held(Value):
    """A change that waits: what the file was and what it is now."""

    name: str
    was: str
    now: str
    before: bytes | None
    after: bytes | None


class Run(Value):
    """A command that runs. `read_only` are paths that it may not write,
    `notes` what an earlier one left."""

    workspace: Path
    roots: tuple[Path, ...]
    running: io.FileIO
    read_only: tuple[Path, ...]
    notes: tuple[str, ...]


def begin(workspace: Path, roots: Sequence[Path]) -> Run:
    """Note what is there before a command runs. Raises StorageError."""
    with _open(workspace) as desk:
        running, alone = desk.join()
        notes = desk.settle(roots) if alone else []
        record = desk.record
        if alone:
            desk.take_stock()
            started = time.time_ns()
            record.git, complete = git.look_at(roots, desk.store)
            record.partly_since = 0 if complete else started
            record.open = True
            desk.save()
            desk.store.drop_all_but({*record.was.values(),
                                     *record.git.values()})
        fcntl.flock(running, fcntl.LOCK_SH)
        return Run(workspace, tuple(roots), running,
                   tuple(git.list_hook_folders(record.git or {})),
                   tuple(notes))


def end(run: Run, *, hold: bool = True) -> list[str]:
    """The command is over: hold what it changed, undo what git would run.
    Without `hold` changes count where no other command runs. Sentences
    for model and owner. Raises StorageError."""
    with run.running, _open(run.workspace) as desk:
        run.running.close()
        again, alone = desk.join()
        again.close()
        notes = desk.undo_git(run.roots)
        if hold or not alone:
            desk.compare()
        if alone:
            desk.close()
        desk.save()
        return notes


def recover(workspace: Path, roots: Sequence[Path]) -> list[str]:
    """Look after a command whose process was killed; as `end`."""
    if not _exists(workspace):
        return []
    with _open(workspace) as desk:
        running, alone = desk.join()
        running.close()
        if not (alone and desk.record.open):
            return []
        notes = desk.settle(roots)
        desk.save()
        return notes


@contextlib.contextmanager
def own_write(path: Path) -> Iterator[None]:
    """Around claw's own writing of a watched file: while a command runs
    it is not that command's change. What waits goes on waiting."""
    if not _exists(path.parent):
        yield
        return
    with _open(path.parent) as desk:
        before = look(desk.workspace, path.name)
    yield
    with _open(path.parent) as desk:
        desk.carry_over(path.name, before)


def write_held(workspace: Path, name: str, data: bytes) -> None:
    """Put a text in the place of a watched file; it waits for the owner as
    a command's change does. Raises StorageError."""
    if name not in WATCHED_FILES:
        raise ValueError(f"{name} is not watched")
    with _open(workspace) as desk:
        desk.hold(name, data)


def list_held(workspace: Path) -> list[Held]:
    """The changes that wait for the owner, by name."""
    if not _exists(workspace):
        return []
    with _open(workspace) as desk:
        return desk.list_held()


def is_held(path: Path) -> bool:
    """Whether a file of the workspace must not be read as it stands."""
    if not _exists(path.parent):
        return False
    with _open(path.parent) as desk:
        now, record = look(desk.workspace, path.name), desk.record
        return record.held.get(path.name) == now or (
            record.open and not _is_same(record.was.get(path.name, now), now))


def list_replaced(workspace: Path) -> dict[str, bytes | None]:
    """Content by name for files that must not be read as they stand: what
    counts instead, None for no file. While a command runs that is every
    watched file: it may be writing there."""
    if not _exists(workspace):
        return {}
    with _open(workspace) as desk:
        record = desk.record
        names = list(record.was) if record.open else [
            name for name, now in record.held.items()
            if look(desk.workspace, name) == now]
        return {name: desk.store.get(record.was[name]) for name in names}


def accept(workspace: Path, name: str, now: str) -> bool:
    """The owner's yes to a file as it was shown; False where it is not
    that any more."""
    return _decide(workspace, name, now, take=True)


def refuse(workspace: Path, name: str, now: str) -> bool:
    """The owner's no: the old content comes back, the refused one goes to
    state/held/refused. False where the file is not what was shown."""
    return _decide(workspace, name, now, take=False)


def rewrite(workspace: Path, clean: Callable[[bytes], bytes]) -> None:
    """Keep the contents as `clean` gives them back, and those no longer
    that nothing refers to. Raises StorageError."""
    if not _exists(workspace):
        return
    with _open(workspace) as desk, \
            open_folder(workspace, f"{FOLDER}/refused") as refused:
        desk.rewrite(clean)
        for name in os.listdir(refused):
            what, data = read(refused, name)
            if digest(what) is not None and clean(data) != data:
                write(refused, name, clean(data))


def _decide(workspace: Path, name: str, now: str, *, take: bool) -> bool:
    with _open(workspace) as desk:
        if desk.record.held.get(name) != now \
                or desk.store.keep(desk.workspace, name) != now:
            return False
        if not take:
            desk.put_back(name)
        elif desk.record.open:
            desk.record.was[name] = now
        del desk.record.held[name]
        desk.save()
        return True


def _exists(workspace: Path) -> bool:
    return os.path.lexists(f"{workspace}/{FOLDER}/lock")


@contextlib.contextmanager
def _open(workspace: Path) -> Iterator["_Desk"]:
    """The record, under its lock. Raises StorageError."""
    try:
        if not _exists(workspace):
            for name in ("kept", "refused"):
                with open_folder(workspace, f"{FOLDER}/{name}", make=True):
                    pass
        with open_folder(workspace) as root, \
                open_folder(workspace, FOLDER) as held, \
                open_folder(workspace, f"{FOLDER}/kept") as kept:
            lock = os.open("lock", os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW
                           | os.O_CLOEXEC, 0o600, dir_fd=held)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield _Desk(workspace, root, held, kept)
            finally:
                os.close(lock)
    except OSError as error:
        raise StorageError(
            "what commands change can't be watched: "
            f"{error.strerror or error}: {error.filename or workspace}",
            hint=f"look at: ls -ld '{workspace}/{FOLDER}'") from error


class _Desk:
    """The open record, under its lock."""

    def __init__(self, root: Path, workspace: int, folder: int, kept: int
                 ) -> None:
        self.root = root
        self.workspace = workspace
        self.folder = folder
        self.store = Store(kept)
        self.record = self._load()

    def _load(self) -> _Record:
        self._names = sorted(
            (name for name in os.listdir(self.folder)
             if name.startswith("record-")), key=_number)
        if not self._names:
            return _Record()
        name = self._names[-1]
        try:
            record = _recode(msgspec.json.decode(
                read(self.folder, name)[1], type=_Record), _from_json)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise StorageError(
                f"{self.root}/{FOLDER}/{name} can't be read: {error}",
                hint="look at the identity files in the workspace (such as "
                     f"AGENTS.md), then remove {FOLDER}") from error
        if record.place != self._place():
            record.git = None
            record.was = dict.fromkeys(record.held, MISSING)
        record.was = {name: what for name, what in record.was.items()
                      if name in WATCHED_FILES}
        record.held = {name: what for name, what in record.held.items()
                       if name in record.was}
        return record

    def _place(self) -> str:
        return str(os.fstat(self.folder).st_ino)

    def save(self) -> None:
        """Under a new name: ext4 flushes a file that is renamed over
        another, which would cost each command 10 ms."""
        self.record.place = self._place()
        last = _number(self._names[-1]) if self._names else 0
        name = f"record-{last + 1}"
        write(self.folder, name, msgspec.json.encode(
            _recode(self.record, _to_json)),
              sync=bool(self.record.held))
        for old in self._names:
            os.unlink(old, dir_fd=self.folder)
        self._names = [name]

    def join(self) -> tuple[io.FileIO, bool]:
        """The lock of running commands, and whether no other one has it.
        """
        running = io.FileIO(os.open(
            "running", os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW
            | os.O_CLOEXEC, 0o600, dir_fd=self.folder))
        try:
            fcntl.flock(running, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return running, False
        return running, True

    def settle(self, roots: Sequence[Path]) -> list[str]:
        """What a killed process left undone."""
        if not self.record.open:
            return []
        self.compare()
        notes = self.undo_git(roots)
        self.close()
        return notes

    def hold(self, name: str, data: bytes) -> None:
        """Let new content wait. It is noted first: a reader never takes it
        for one that counts."""
        record = self.record
        if name not in record.held and not record.open:
            record.was[name] = self.store.keep(self.workspace, name)
        record.held[name] = f"file:{hashlib.sha256(data).hexdigest()}"
        self.save()
        write(self.workspace, name, data)

    def take_stock(self) -> None:
        """What is there counts, save what waits for the owner."""
        for name in WATCHED_FILES:
            what = self.store.keep(self.workspace, name)
            if self.record.held.get(name) != what:
                self.record.held.pop(name, None)
                self.record.was[name] = what

    def compare(self) -> None:
        """Hold what is not as it was."""
        for name, was in self.record.was.items():
            now = look(self.workspace, name)
            if _is_same(was, now):
                self.record.held.pop(name, None)
            else:
                self.record.held[name] = now

    def carry_over(self, name: str, before: str) -> None:
        """What claw wrote counts where what it wrote upon did, and waits
        where that waited."""
        was, held = self.record.was, self.record.held
        for table in (was, held):
            if table.get(name) == before:
                table[name] = self.store.keep(self.workspace, name)
        if name in held and held[name] == was[name]:
            del held[name]
        self.save()

    def rewrite(self, clean: Callable[[bytes], bytes]) -> None:
        """What a file is to be again; what stands in it counts and waits
        as it does."""
        record = self.record
        for name, what in record.was.items():
            if self.store.holds(what) and look(self.workspace, name) != what:
                record.was[name] = self.store.rewrite(what, clean)
        self.save()
        self.store.drop_all_but({*record.was.values(),
                                 *(record.git or {}).values()})

    def undo_git(self, roots: Sequence[Path]) -> list[str]:
        if self.record.git is None:
            return []
        with open_folder(self.root, f"{FOLDER}/refused") as refused:
            return git.undo(self.record.git, self.record.partly_since,
                            roots, self.store, refused)

    def close(self) -> None:
        record = self.record
        record.open, record.git = False, None
        record.was = {name: record.was[name] for name in record.held}

    def list_held(self) -> list[Held]:
        found = []
        for name, now in sorted(self.record.held.items()):
            what, data = read(self.workspace, name)
            if what == now:
                was = self.record.was[name]
                found.append(Held(name, was, now, self.store.get(was),
                                  data if digest(now) else None))
        return found

    def put_back(self, name: str) -> None:
        with open_folder(self.root, f"{FOLDER}/refused") as refused:
            was = self.record.was[name]
            replace(self.workspace, name, self.store.get(was), refused,
                    0o644)
            if was.startswith("odd:link:"):
                os.symlink(was.removeprefix("odd:link:"), name,
                           dir_fd=self.workspace)


def _to_json(text: str) -> str:
    """A file's name as JSON takes it, whatever bytes it is."""
    return os.fsencode(text).decode("latin-1")


def _from_json(text: str) -> str:
    return os.fsdecode(text.encode("latin-1"))


def _recode(record: _Record, recode: Callable[[str], str]) -> _Record:
    def each(table: dict[str, str]) -> dict[str, str]:
        return {recode(name): recode(what) for name, what in table.items()}
    return msgspec.structs.replace(
        record, was=each(record.was), held=each(record.held),
        git=None if record.git is None else each(record.git))


def _number(name: str) -> int:
    digits = name.removeprefix("record-")
    return int(digits) if digits.isdecimal() else 0


def _is_same(was: str, now: str) -> bool:
    """Whether the content is the same; its mode is no matter."""
    return was == now or (digest(was) is not None
                          and digest(was) == digest(now))
