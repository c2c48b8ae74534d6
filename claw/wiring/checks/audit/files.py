"""Who may read claw's own files, whose they are, and whether they are links.

A file that a folder above keeps from everybody else holds all the same; it
is a warning then, and so is a home that others may only list: what lies in
it has modes of its own.
"""

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from claw.agent.identity import ALWAYS, IF_PRESENT, MAIN_ONLY
from claw.config.history import FOLDER, list_versions
from claw.config.places import Places
from claw.security.files.paths import OWN_DIRECTORIES, OWN_FILES
from claw.wiring.checks.check import Check, Group

FILES = Group("files", reads_settings=False)
# Read into the prompt, or written by claw, without being its own.
_PLANTED = (*ALWAYS, *IF_PRESENT, *MAIN_ONLY, *OWN_FILES)
_OTHERS = 0o077
_WRITE = 0o022
_MOST_TOLD = 20


@FILES.check
def check_files(places: Places) -> Iterator[Check]:
    """Settings, key, workspace and all that claw keeps in it."""
    wrong = seen = 0
    # A project that others work in too is theirs to read.
    is_default = places.workspace_origin.startswith("default")
    for path, planted in _own_files(places):
        try:
            found = list(_look(path, may_be_link=not planted,
                               may_be_listed=path == places.home or (
                                   path == places.workspace
                                   and not is_default)))
        except FileNotFoundError:
            continue  # SQLite's side files come and go
        seen += 1
        wrong += bool(found)
        if wrong <= _MOST_TOLD:
            yield from found
    if wrong > _MOST_TOLD:
        yield Check("files.more", "warn",
                    f"{wrong - _MOST_TOLD} more files are like these",
                    "fix those above, then look again")
    if not wrong:
        yield Check("files.own", "ok", f"{seen} files and folders are the "
                    "owner's alone" if seen else "nothing is kept yet")


@FILES.check
def check_width(places: Places) -> Iterator[Check]:
    """A workspace that is the user's home, or holds it."""
    user = Path(os.path.realpath(os.path.expanduser("~")))
    if user.is_relative_to(os.path.realpath(places.workspace)):
        yield Check("files.width", "warn", f"the workspace {places.workspace} "
                    "holds your whole home: the agent may read and change "
                    "what lies there, but for autonomy.forbidden_paths",
                    "take a folder in it: claw -w ~/work, or CLAW_WORKSPACE")


def _own_files(places: Places) -> Iterator[tuple[Path, bool]]:
    """What is there, and whether a command could have put a link there."""
    for path in (places.home, places.config_file,
                 places.config_file.with_name("config.toml.bak"),
                 places.home / FOLDER,
                 *(version.path for version in list_versions(places)),
                 places.key_file, places.workspace):
        if path.exists() or path.is_symlink():
            yield path, False
    for name in _PLANTED:
        if (places.workspace / name).is_symlink():
            yield places.workspace / name, True
    for name in OWN_DIRECTORIES:
        top = places.workspace / name
        if top.is_symlink():
            yield top, True
        elif top.exists():
            yield top, True
            yield from ((path, True) for path in
                        _list_below(places.workspace, name))


def _list_below(workspace: Path, name: str) -> Iterator[Path]:
    """Everything in a folder of the workspace; no link is followed."""
    top = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder, folders, files, _ in os.fwalk(name, dir_fd=top):
            for entry in (*folders, *files):
                yield workspace / folder / entry
    finally:
        os.close(top)


def _look(path: Path, *, may_be_link: bool, may_be_listed: bool
          ) -> Iterator[Check]:
    if path.is_symlink() and not may_be_link:
        yield Check("files.link", "fail", f"{path} is a link to "
                    f"{os.readlink(path)}: a command may have put it there",
                    f"rm {shlex.quote(str(path))}")
        return
    status = path.stat()
    if status.st_uid not in (os.geteuid(), 0):
        yield Check("files.owner", "fail", f"{path} belongs to user "
                    f"{status.st_uid}, not to the one who runs claw",
                    f"chown {os.geteuid()} {shlex.quote(str(path))}")
    mode = stat.S_IMODE(status.st_mode)
    if mode & _OTHERS:
        wanted = mode & ~_OTHERS
        harmless = _is_closed(path) or (
            may_be_listed and not mode & _WRITE)
        yield Check("files.mode", "warn" if harmless else "fail",
                    f"others may use {path} (mode {mode:04o})",
                    f"chmod {wanted:o} {shlex.quote(str(path))}")


def _is_closed(path: Path) -> bool:
    """Whether nobody else gets through the folders above."""
    return any(not folder.stat().st_mode & 0o011
               for folder in path.resolve().parents)
