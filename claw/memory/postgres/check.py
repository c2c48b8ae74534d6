"""Checks of the table: its layout, its word index, its vectors."""

from claw.core.memory import MemoryCheck
from claw.memory.postgres import vectors
from claw.memory.postgres.server import Connection
from claw.memory.postgres.table import Shape, Table

_REINDEX = "claw memory reindex"


def report_absent(table: Table) -> MemoryCheck:
    """For a table that is not there yet."""
    return MemoryCheck("integrity", True, f"there is no table {table.schema}."
                      f"{table.name} yet; it is made with the first memory")


def check_table(connection: Connection, shape: Shape,
            space: vectors.Space | None) -> list[MemoryCheck]:
    """Findings about the table; reads only."""
    held = connection.execute(
        f"SELECT count(*), coalesce(sum(length(content)), 0) FROM"
        f" {shape.rows}").fetchone() or (0, 0)
    live, indexed = connection.execute(
        f"SELECT count(*), count(words) FROM {shape.rows}"
        " WHERE superseded_by IS NULL").fetchone() or (0, 0)
    found = [
        MemoryCheck("integrity", True, f"{held[0]} memories can be read")
        if shape.is_current else MemoryCheck(
            "integrity", False, f"{held[0]} memories in the table of another "
            "version", "the next command that stores something upgrades it"),
        MemoryCheck("index", True, f"{live} memories, all in the index")
        if live == indexed else MemoryCheck(
            "index", False, f"{indexed} of {live} memories are in the index",
            _REINDEX)]
    if space is not None:
        missing = vectors.missing(connection, shape.table, space)
        found.append(MemoryCheck(
            "vectors", False, f"{missing} memories have no vector of "
            f"{space.model}", _REINDEX) if missing else MemoryCheck(
            "vectors", True, f"every memory has a vector of {space.model}"))
    return found
