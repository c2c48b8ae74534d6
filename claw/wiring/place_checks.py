"""Doctor: the places on disk, the settings file, free room."""

import os
import shlex
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from claw.config.places import Places
from claw.config.tree import Tree
from claw.wiring.checks import Check

_ROOM_BYTES = 100 << 20


def config_checks(places: Places, tree: Tree | None) -> Iterator[Check]:
    """config.toml and the key of its secrets."""
    path = places.config_file
    if not path.exists():
        yield Check("config.file", "ok",
                    f"no {path}: defaults and environment are used")
    elif tree is not None:
        yield Check("config.file", "ok", f"{path} is read")
    for name, file in (("config.mode", path),
                       ("config.key_mode", places.key_file)):
        if file.is_file() and stat.S_IMODE(file.stat().st_mode) & 0o077:
            yield Check(name, "warn", f"others may read {file}",
                        f"chmod 600 {shlex.quote(str(file))}",
                        repair=partial(file.chmod, 0o600))


def workspace_checks(places: Places) -> Iterator[Check]:
    """The directory where everything lies."""
    workspace = places.workspace
    origin = places.workspace_origin
    if not workspace.exists():
        above = _existing(workspace)
        if not above.is_dir():
            yield Check("workspace.exists", "fail",
                        f"{workspace} ({origin}) can't be made: {above} is "
                        "not a directory", "choose another one with -w")
        elif os.access(above, os.W_OK):
            yield Check("workspace.exists", "ok",
                        f"{workspace} ({origin}) is made when needed")
        else:
            yield Check("workspace.exists", "fail",
                        f"{workspace} ({origin}) can't be made: {above} "
                        "is not writable", "choose another one with -w")
        return
    if not workspace.is_dir():
        yield Check("workspace.exists", "fail",
                    f"{workspace} ({origin}) is not a directory",
                    "choose another one with -w or CLAW_WORKSPACE")
        return
    yield Check("workspace.exists", "ok", f"{workspace} ({origin})")
    if os.access(workspace, os.W_OK | os.X_OK):
        yield Check("workspace.writable", "ok", "it can be written")
    else:
        yield Check("workspace.writable", "fail",
                    f"{workspace} can't be written: nothing is kept",
                    "check the owner: ls -ld "
                    + shlex.quote(str(workspace)))


def disk_checks(places: Places) -> Iterator[Check]:
    """Free room where the workspace lies."""
    free = shutil.disk_usage(_existing(places.workspace)).free
    text = f"{free >> 20:,} MiB free"
    if free < _ROOM_BYTES:
        yield Check("disk.room", "warn", text, "make room: below 100 MiB "
                    "memory and sessions may fail to be written")
    else:
        yield Check("disk.room", "ok", text)


def python_checks() -> Iterator[Check]:
    """The interpreter and its SQLite."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check("python.version", "ok",
                f"Python {version}, SQLite {sqlite3.sqlite_version}")
    with sqlite3.connect(":memory:") as connection:
        options = {row[0] for row in
                   connection.execute("PRAGMA compile_options")}
    connection.close()
    if "ENABLE_FTS5" not in options:
        yield Check("python.fts5", "fail",
                    "this Python's SQLite has no FTS5: memory can't search",
                    "use a Python built with FTS5 (python.org, Debian, uv)")


def _existing(path: Path) -> Path:
    """The nearest directory upwards that is there."""
    while not path.exists():
        path = path.parent
    return path
