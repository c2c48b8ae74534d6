"""Doctor: the places on disk, the settings file, free space."""

import os
import shlex
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from claw.agent.identity import ALWAYS, IF_PRESENT, MAIN_ONLY
from claw.config.places import Places
from claw.core.errors import StorageError
from claw.security.estop import EmergencyStop
from claw.security.files import nofollow
from claw.security.files.paths import OWN_DIRECTORIES, OWN_FILES
from claw.security.watched.record import list_held
from claw.wiring.checks.check import Check, Group
from claw.wiring.workspace.trust import FLAG

_FREE_BYTES = 100 << 20
_BELOW = ("memory/archive", "memory/migrations", "sessions/archive",
          "sessions/images")

CONFIG = Group("config", reads_settings=False)
WORKSPACE = Group("workspace", reads_settings=False)
DISK = Group("disk", reads_settings=False)
PYTHON = Group("python", reads_settings=False)


@CONFIG.check
def check_config_file(places: Places) -> Iterator[Check]:
    """config.toml, which could be read."""
    path = places.config_file
    yield Check("config.file", "ok", f"{path} is read" if path.exists()
                else f"no {path}: defaults and environment are used")


@CONFIG.check
def check_stop(places: Places) -> Iterator[Check]:
    """Whether the owner has stopped claw."""
    why = EmergencyStop(places.home).read()
    if why is not None:
        yield Check("config.stopped", "warn", f"claw is stopped: {why}",
                    "claw estop --lift")


@WORKSPACE.check
def check_trust(places: Places) -> Iterator[Check]:
    """Whether what lies in a folder from elsewhere counts."""
    if not places.trusted:
        yield Check("workspace.trust", "warn",
                    f"{places.workspace} was not made by claw: its "
                    "AGENTS.md, memories, sessions and queue do not count",
                    f"if they are yours: claw agent -w "
                    f"{shlex.quote(str(places.workspace))} {FLAG}")


@WORKSPACE.check
def check_workspace(places: Places) -> Iterator[Check]:
    """The directory where everything lies."""
    workspace = places.workspace
    origin = places.workspace_origin
    if not workspace.exists():
        above = find_existing(workspace)
        problem = ("is not a directory" if not above.is_dir() else
                   "" if os.access(above, os.W_OK) else "is not writable")
        if problem:
            yield Check("workspace.exists", "fail",
                        f"{workspace} ({origin}) can't be made: {above} "
                        f"{problem}", "choose another one with -w")
        else:
            yield Check("workspace.exists", "ok",
                        f"{workspace} ({origin}) is made when needed")
        return
    if not workspace.is_dir():
        yield Check("workspace.exists", "fail",
                    f"{workspace} ({origin}) is not a directory",
                    "choose another one with -w or CLAW_WORKSPACE")
        return
    yield Check("workspace.exists", "ok", f"{workspace} ({origin})")
    if (places.home in workspace.parents
            and stat.S_IMODE(workspace.stat().st_mode) & 0o077):
        yield Check("workspace.mode", "warn",
                    f"others may look into {workspace}",
                    f"chmod 700 {shlex.quote(str(workspace))}",
                    fix=f"chmod 700 {shlex.quote(str(workspace))}",
                    undo=f"chmod {stat.S_IMODE(workspace.stat().st_mode):o} "
                         + shlex.quote(str(workspace)),
                    repair=partial(workspace.chmod, 0o700))
    if os.access(workspace, os.W_OK | os.X_OK):
        yield Check("workspace.writable", "ok", "it can be written")
    else:
        yield Check("workspace.writable", "fail",
                    f"{workspace} can't be written: nothing is kept",
                    "check the owner: ls -ld "
                    + shlex.quote(str(workspace)))


@WORKSPACE.check
def check_links(places: Places) -> Iterator[Check]:
    """What claw does not open: a link, or no file, in the place of one of
    its own. A command may have put it there."""
    workspace = places.workspace
    names = (*ALWAYS, *IF_PRESENT, *MAIN_ONLY, *OWN_FILES)
    for path in (*(workspace / name for name in names),
                 *_find_links(workspace)):
        with suppress(OSError):  # none there, or check_workspace says it
            found = os.lstat(path)
            if stat.S_ISLNK(found.st_mode) or (
                    path.name in names and not nofollow.is_plain(found)):
                error = nofollow.refuse(path, found)
                yield Check("workspace.link", "warn", error.message,
                            error.hint)


def _find_links(workspace: Path) -> Iterator[Path]:
    """The folders that claw keeps files in, and what lies in them."""
    for name in (*OWN_DIRECTORIES, *_BELOW, "outgoing"):
        yield workspace / name
        with suppress(OSError, StorageError), \
                nofollow.hold_folder(workspace, name) as folder:
            yield from (workspace / name / entry
                        for entry in sorted(os.listdir(folder))
                        if f"{name}/{entry}" not in _BELOW)


@WORKSPACE.check
def check_held(places: Places) -> Iterator[Check]:
    """Changes by commands that wait for the owner."""
    waiting = list_held(places.workspace)
    if waiting:
        yield Check("workspace.held", "warn", ", ".join(
            held.name for held in waiting) + ": changed by a command, and "
            "not read until you say yes", "claw security review")


@DISK.check
def check_free_space(places: Places) -> Iterator[Check]:
    """Free space where the workspace lies."""
    free = shutil.disk_usage(find_existing(places.workspace)).free
    text = f"{free >> 20:,} MiB free"
    if free < _FREE_BYTES:
        yield Check("disk.room", "warn", text, "make room: below 100 MiB "
                    "memory and sessions may fail to be written")
    else:
        yield Check("disk.room", "ok", text)


@PYTHON.check
def check_version(_: Places) -> Iterator[Check]:
    """The interpreter and its SQLite."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("python.version", "ok",
                f"Python {version}, SQLite {sqlite3.sqlite_version}")


@PYTHON.check
def check_fts5(_: Places) -> Iterator[Check]:
    """Whether this SQLite can search."""
    with closing(sqlite3.connect(":memory:")) as connection:
        options = {row[0] for row in
                   connection.execute("PRAGMA compile_options")}
    if "ENABLE_FTS5" not in options:
        yield Check("python.fts5", "fail",
                    "this Python's SQLite has no FTS5: memory can't search",
                    "use a Python built with FTS5 (python.org, Debian, uv)")


def find_existing(path: Path) -> Path:
    """The nearest directory upwards that is there."""
    while not path.exists():
        path = path.parent
    return path
