"""Looking over a brain.db: SQLite's own check, the index, the count."""

import sqlite3

from claw.core.memory import Inspection

_REBUILD = "claw doctor --fix makes the index anew; no memory is touched"


def inspect(connection: sqlite3.Connection) -> list[Inspection]:
    """Findings about the file and its index; reads only."""
    return [_file(connection), _index(connection)]


def _file(connection: sqlite3.Connection) -> Inspection:
    found = [row[0] for row in
             connection.execute("PRAGMA integrity_check(3)")]
    if found == ["ok"]:
        return Inspection("integrity", True, "the file is sound")
    return Inspection(
        "integrity", False, "; ".join(map(str, found)),
        "export what can be read: claw memory export > memories.ndjson")


def _index(connection: sqlite3.Connection) -> Inspection:
    try:
        rows = connection.execute(
            "SELECT count(*) FROM memories"
            " WHERE superseded_by IS NULL").fetchone()
        indexed = connection.execute(
            "SELECT count(*) FROM memories_fts_docsize").fetchone()
    except sqlite3.Error as error:
        return Inspection("index", False, f"the index can't be read: {error}",
                          _REBUILD)
    if rows != indexed:
        return Inspection("index", False, f"{indexed[0]} of {rows[0]} "
                          "memories are in the index", _REBUILD)
    return Inspection("index", True, f"{rows[0]} memories, all in the index")
