"""How log.db is opened to write."""

import sqlite3
from pathlib import Path

from claw.storage.log import schema
from claw.storage.sqlite import connect, make_private, translated

WAIT_S = 5.0


def open_writer(path: Path) -> sqlite3.Connection:
    """The file, made where there is none. What is removed from it is
    overwritten in its page."""
    make_private(path)
    connection = connect(path, busy_timeout_s=WAIT_S, small=True)
    try:
        with translated(path):
            connection.execute("PRAGMA secure_delete=ON").fetchone()
        schema.ensure(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection
