"""Somebody else's SQLite file, read without running what is in it.

A view or a column that is made of others may never end, or fill the memory:
only plain tables are read, no value is larger than 64 MiB, and a query ends
after so many steps, or at Ctrl-C.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

MOST_STEPS = 300_000_000  # a row read is about ten
_MOST_VALUE = 64 << 20
_STEPS = 100_000
_TABLE = re.compile(r"\s*CREATE\s+TABLE\b", re.IGNORECASE)
_SCHEMA = "sqlite_master"


@contextmanager
def open_foreign(path: Path) -> Iterator[sqlite3.Connection]:
    """A copy of the file, open to read. Raises sqlite3.Error,
    KeyboardInterrupt."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        connection.text_factory = _decode
        with read_plainly(connection):
            yield connection


@contextmanager
def read_plainly(connection: sqlite3.Connection
                 ) -> Iterator[frozenset[str]]:
    """Inside, the connection reads plain tables alone, whose names in lower
    case it gives, and not for ever. Raises sqlite3.Error,
    KeyboardInterrupt."""
    left = MOST_STEPS

    def count() -> bool:
        # An interrupt is raised in here, and SQLite takes that as a no.
        nonlocal left
        left -= _STEPS
        return left < 0

    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_VALUE)
    connection.set_progress_handler(count, _STEPS)
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        plain = frozenset(_list_plain_tables(connection))
        connection.set_authorizer(
            lambda action, table, *_: sqlite3.SQLITE_DENY
            if action == sqlite3.SQLITE_READ and table != _SCHEMA
            and str(table).lower() not in plain else sqlite3.SQLITE_OK)
        yield plain
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode",
                   None) != sqlite3.SQLITE_INTERRUPT:
            raise
        if left >= 0:
            raise KeyboardInterrupt from error
        raise sqlite3.OperationalError(
            "it takes too long to read") from error


def _list_plain_tables(connection: sqlite3.Connection) -> Iterator[str]:
    """The tables that hold what they say: no view, no virtual table, none
    with a column that is made of others."""
    for name, text in connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
            " AND rootpage > 0").fetchall():
        if _TABLE.match(str(text)) and not any(row[0] for row in
                                               connection.execute(
                "SELECT hidden FROM pragma_table_xinfo(?)", (name,))):
            yield str(name).lower()


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
