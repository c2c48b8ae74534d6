"""How log.db is opened to write, and what is said of a damaged one."""

import sqlite3
from pathlib import Path

from claw.storage.log import schema
from claw.storage.sqlite import (
    CorruptError,
    connect,
    make_private,
    translated,
)

WAIT_S = 5.0


def open_writer(path: Path) -> sqlite3.Connection:
    """The file, made where there is none. What is removed from it is
    overwritten in its page."""
    make_private(path)
    connection = connect(path, busy_timeout_s=WAIT_S)
    try:
        with translated(path):
            connection.execute("PRAGMA secure_delete=ON").fetchone()
        schema.ensure(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def describe_damage(error: CorruptError, path: Path) -> CorruptError:
    """The same, with what to do."""
    return CorruptError(error.message, hint=(
        "move it away, and a new one is begun: mv "
        f"{path} {path}.damaged"))
