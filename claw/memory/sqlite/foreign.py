"""What other programs changed in brain.db is found as it is now.

triggers.py marks the rows. Here their words go into the index or out of it,
a vector of other words goes, values become what ours are (text, UTC), and
the text is labelled as foreign: nobody knows who wrote it. In batches, each
its own transaction that takes its marks away, so a kill loses nothing and
two processes never do the same; within a time, so no command waits for
50,000 rows.
"""

import sqlite3
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from claw.core.errors import StorageError, UnavailableError
from claw.core.labels import UNKNOWN, join_origin, split_origin
from claw.memory.sqlite import rows, schema, triggers
from claw.storage.sqlite import CorruptError, impatient, write
from claw.text.segment import index_text

BUDGET_S = 0.5
_BATCH = 500
_WAIT_S = 0.5  # for a process that writes, perhaps the same
_SELECTED = ", ".join(schema.COLUMNS)

Text = tuple[int, str, str]  # row id, key, content


def catch_up(connection: sqlite3.Connection, path: Path,
             notify: Callable[[str], None]) -> list[Text]:
    """Index what other programs changed, as far as the time goes; the
    memories with another text. What can't be done now is done the next
    time. Raises CorruptError."""
    until = time.monotonic() + BUDGET_S
    texts: list[Text] = []
    done = 0
    try:
        with impatient(connection, _WAIT_S):
            while triggers.has_changes(connection) \
                    and (not done or time.monotonic() < until):
                with write(connection, path), schema.lenient(connection):
                    number, found = _index_batch(connection)
                done += number
                texts += found
    except CorruptError:
        raise
    except UnavailableError:
        pass  # whoever writes now may be doing it
    except StorageError as error:
        notify("what another program changed in brain.db is not in the index "
               f"yet: {error.message}")
    if done:
        left = schema.read_number(
            connection, f"SELECT count(*) FROM {triggers.TABLE}")
        notify(f"another program changed brain.db: {done:,} memories were "
               "looked through" + (f", {left:,} follow with the next commands"
                                   if left else ""))
    return texts


def _index_batch(connection: sqlite3.Connection) -> tuple[int, list[Text]]:
    """Take up a batch of marks, inside the caller's transaction: how many
    rows they name, and which have another text."""
    marks = connection.execute(
        f"SELECT rid, max(kind) FROM {triggers.TABLE} GROUP BY rid"
        " ORDER BY rid LIMIT ?", (_BATCH,)).fetchall()
    texts = [text for rid, kind in marks
             if (text := _index_row(connection, rid, kind)) is not None]
    connection.executemany(f"DELETE FROM {triggers.TABLE} WHERE rid = ?",
                           [(rid,) for rid, _ in marks])
    return len(marks), texts


def _index_row(connection: sqlite3.Connection, rid: int,
               kind: int) -> Text | None:
    """Set right what is made of a row; its text if that is another one."""
    row = connection.execute(f"SELECT {_SELECTED} FROM memories"
                             " WHERE rid = ?", (rid,)).fetchone()
    if row is None:
        rows.unindex(connection, "= ?", (rid,))
        return None
    held = dict(zip(schema.COLUMNS, row, strict=True))
    values = _read_values(connection, rid, held)
    text = (rid, values["key"], values["content"])
    words = tuple(map(index_text, text[1:]))
    is_live = values["superseded_by"] is None
    indexed = connection.execute("SELECT key, content FROM memories_fts"
                                 " WHERE rowid = ?", (rid,)).fetchone()
    is_other = kind == triggers.OTHER or (
        kind == triggers.UNSURE and is_live and indexed != words)
    if is_other:
        values["origin"] = join_origin(
            split_origin(values["origin"]) | {UNKNOWN})
    if values != held:
        connection.execute(
            f"UPDATE memories SET {', '.join(f'{n} = ?' for n in values)}"
            " WHERE rid = ?", (*values.values(), rid))
    if is_other or not is_live:
        rows.unindex(connection, "= ?", (rid,))
        indexed = None
    if is_live and indexed != words:
        connection.execute("DELETE FROM memories_fts WHERE rowid = ?", (rid,))
        schema.index(connection, [text])
    return text if is_other and is_live else None


def _read_values(connection: sqlite3.Connection, rid: int,
                 held: dict[str, Any]) -> dict[str, Any]:
    """A row as ours are; a key or id that is one only since it became text
    takes none that another row has."""
    values = {name: schema.convert(name, value)
              for name, value in held.items()}
    if not isinstance(values["importance"], int | float | None):
        values["importance"] = None
    if values["id"] != held["id"]:
        values["id"] = str(uuid.uuid4())
    while values["key"] != held["key"] and connection.execute(
            "SELECT 1 FROM memories WHERE key = ? AND rid <> ?",
            (values["key"], rid)).fetchone():
        values["key"] += "\N{REPLACEMENT CHARACTER}"
    return values
