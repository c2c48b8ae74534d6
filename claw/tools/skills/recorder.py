"""What a dry run reaches, sorted from what every program does."""

import os
from collections.abc import Sequence
from pathlib import Path

from claw.tools.skills.access import Access

_MOST = 500  # that are noted of a kind


class Recorder:
    """Collects what a dry run reaches, without what every program does.

    `usual` are paths that each script may read, `own` folders that are the
    run's alone; `work` is where it stands, and what it does not find there
    it may have meant in `workspace`.
    """

    def __init__(self, usual: Sequence[str], own: Sequence[str], work: Path,
                 workspace: Path) -> None:
        self._usual = tuple(usual)
        self._own = ("/proc", "/dev", *own)
        self._work, self._workspace = work, workspace
        self._found: dict[str, set[str]] = {
            kind: set() for kind in Access.__struct_fields__}

    def note(self, kind: str, what: str) -> None:
        what = what.encode(errors="backslashreplace").decode()
        if len(self._found[kind]) >= _MOST:
            return  # more than anybody would read
        if kind == "hosts":
            self._found[kind].add(what)
        elif kind == "programs":
            self._note_program(what)
        else:
            self._note_path(kind, what)

    @property
    def access(self) -> Access:
        return Access(**{kind: frozenset(found)
                         for kind, found in self._found.items()})

    def _note_program(self, path: str) -> None:
        if not _lies_in(path, self._own) and os.path.isfile(path):
            self._found["programs"].add(os.path.realpath(path))

    def _note_path(self, kind: str, path: str) -> None:
        if _lies_in(path, (str(self._work),)):
            there = os.path.relpath(path, self._work)
            if kind != "reads" or os.path.lexists(path) \
                    or not (self._workspace / there).is_file():
                return
            path = str(self._workspace / there)
        if _lies_in(path, (str(self._workspace),)):
            self._found["writes" if kind == "writes" else "reads"].add(
                str(self._workspace))
        elif _lies_in(path, self._own) or (
                kind != "writes" and _lies_in(path, self._usual)) or (
                _lies_in(path, ("/tmp",)) and _is_new_in_tmp(path)):
            return
        else:
            self._found[kind].add(path)


def _is_new_in_tmp(path: str) -> bool:
    """/tmp is the run's own, but not what others have there."""
    above = os.path.dirname(path)
    return not os.path.lexists(path) and (above in ("/", "/tmp")
                                          or not os.path.isdir(above))


def _lies_in(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder + "/")
               for folder in folders)
