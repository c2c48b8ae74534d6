"""What a restore is doing, so that one that was killed is finished or undone.

Beside the home, NAME.restoring, each line JSON and on the disk before what
it tells of:
    {"moves": [[draft, target, aside], ...]}   drafts are made and filled
    {"ready": true}    they are whole: from here on each takes its place
    {"ready": false}   they are to go
A last line that was cut off was never written. Who works holds the file
locked (flock). Failpoints stand between the steps.
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from claw.core.errors import StorageError, UnavailableError
from claw.core.failpoint import reach


class Move(NamedTuple):
    """A new folder, its place, and what the old one there will be called."""

    draft: Path
    target: Path
    aside: Path


def find_unfinished(home: Path) -> Path | None:
    """The journal of a restore that was killed; None where there is none,
    or where it is at work just now. Raises StorageError."""
    path = _journal(home)
    if not os.path.lexists(path):
        return None
    try:
        with _locked(path):
            return path
    except UnavailableError:
        return None


def finish_restore(home: Path) -> str | None:
    """Finish or undo a restore that was killed; what was done, None where
    there was none. Raises UnavailableError while another one works,
    StorageError."""
    path = _journal(home)
    if not os.path.lexists(path):
        return None
    with _locked(path) as file:
        moves, ready = _read(path, file)
        with _translated(path):
            kept = [move.aside for move in moves
                    if ready and os.path.lexists(move.aside)]
            kept += _put_in_place(moves) if ready else ()
            _remove_drafts(moves)
            _end(path)
    if not ready:
        return "a restore that was killed is undone: nothing has changed"
    return "a restore that was killed is finished" + "".join(
        f"; what was there is now {folder}" for folder in kept)


@contextlib.contextmanager
def written_down(home: Path, moves: Sequence[Move]) -> Iterator["Journal"]:
    """A restore's journal while it is at work. At its end the drafts are
    gone, and the journal, unless the folders are half old and half new."""
    path = _journal(home)
    with _translated(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _locked(path, os.O_CREAT) as file:
        if file.read(1):
            raise UnavailableError(
                f"{path} tells of a restore that was killed",
                hint="claw doctor --fix finishes it")
        journal = Journal(file, moves)
        try:
            yield journal
        finally:
            if not journal.is_half_way():
                if any(os.path.lexists(move.draft) for move in moves):
                    journal.write({"ready": False})
                    reach("restore undone")
                _remove_drafts(moves)
                _end(path)


class Journal:
    """Raises OSError."""

    def __init__(self, file: IO[bytes], moves: Sequence[Move]) -> None:
        self._file = file
        self._moves = moves
        self._ready = False
        self.write({"moves": [[str(folder) for folder in move]
                              for move in moves]})
        _sync(moves[0].target.parent)
        reach("restore begun")

    def write(self, line: object) -> None:
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def carry_out(self) -> tuple[Path, ...]:
        """Put the drafts, which are whole, in their places, all or none;
        what the old ones are called now."""
        for move in self._moves:
            for folder, _, _ in os.walk(move.draft):
                _sync(Path(folder))
            _sync(move.draft.parent)
        reach("restore filled")
        self._ready = True
        self.write({"ready": True})
        reach("restore ready")
        return _put_in_place(self._moves)


    def is_half_way(self) -> bool:
        """Whether some folders are new and some old: undoing failed."""
        waiting = [os.path.lexists(move.draft) for move in self._moves]
        return self._ready and any(waiting) and not (
            all(waiting) and not any(os.path.lexists(move.aside)
                                     for move in self._moves))


def find_free(path: Path) -> Path:
    """The path, or the first of PATH-2, PATH-3 and so on that is free."""
    number, free = 1, path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


def _put_in_place(moves: Sequence[Move]) -> tuple[Path, ...]:
    """Those whose draft is still there; what fails undoes all."""
    kept: list[Path] = []
    with contextlib.ExitStack() as undo:
        for draft, target, aside in moves:
            if not os.path.lexists(draft):
                continue  # before the kill
            if os.path.lexists(target):
                free = find_free(aside)
                target.rename(free)
                undo.callback(free.rename, target)
                kept.append(free)
                reach("restore aside")
            draft.rename(target)
            undo.callback(target.rename, draft)
            reach("restore placed")
            _sync(target.parent)
        undo.pop_all()
    return tuple(kept)


def _journal(home: Path) -> Path:
    return home.with_name(f"{home.name}.restoring")


@contextlib.contextmanager
def _locked(path: Path, flags: int = 0) -> Iterator[IO[bytes]]:
    with _translated(path):
        number = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW
                         | os.O_NONBLOCK | os.O_CLOEXEC | flags, 0o600)
    with open(number, "r+b", buffering=0) as raw:
        found = os.fstat(number)
        # It may lie in /tmp: a stranger's would move what it likes.
        if found.st_uid != os.geteuid() or found.st_mode & 0o022 \
                or found.st_nlink > 1:
            raise StorageError(f"{path} was not written by you alone",
                               hint=f"look at it, then: rm '{path}'")
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


def _read(path: Path, file: IO[bytes]) -> tuple[list[Move], bool]:
    """The moves, and whether the drafts are whole."""
    lines = file.read().split(b"\n")[:-1]
    if not lines:
        return [], False
    try:
        moves = [Move(*map(Path, three))
                 for three in json.loads(lines[0])["moves"]]
        return moves, len(lines) > 1 and json.loads(lines[-1])["ready"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StorageError(
            f"{path} tells of a restore that was killed, and can't be read",
            hint=f"see which folders are there, then: rm '{path}'"
        ) from error


def _remove_drafts(moves: Sequence[Move]) -> None:
    for move in moves:
        shutil.rmtree(move.draft, ignore_errors=True)


def _end(path: Path) -> None:
    path.unlink()
    _sync(path.parent)


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
