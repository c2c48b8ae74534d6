"""Looking over the table: its layout, its word index, its vectors."""

from claw.core.memory import Inspection
from claw.memory.postgres import vectors
from claw.memory.postgres.server import Connection
from claw.memory.postgres.table import Shape, Table

_REINDEX = "claw memory reindex"


def absent(table: Table) -> Inspection:
    """For a table that is not there yet."""
    return Inspection("integrity", True, f"there is no table {table.schema}."
                      f"{table.name} yet; it is made with the first memory")


def inspect(connection: Connection, shape: Shape,
            space: vectors.Space | None) -> list[Inspection]:
    """Findings about the table; reads only."""
    found = [_layout(connection, shape), _index(connection, shape)]
    if space is not None:
        found.append(_vectors(connection, shape, space))
    return found


def _layout(connection: Connection, shape: Shape) -> Inspection:
    row = connection.execute(
        f"SELECT count(*), coalesce(sum(length(content)), 0) FROM"
        f" {shape.rows}").fetchone() or (0, 0)
    if not shape.is_current:
        return Inspection(
            "integrity", False, f"{row[0]} memories in the table of another "
            "version", "the next command that stores something upgrades it")
    return Inspection("integrity", True, f"{row[0]} memories can be read")


def _index(connection: Connection, shape: Shape) -> Inspection:
    row = connection.execute(
        f"SELECT count(*), count(words) FROM {shape.rows}"
        " WHERE superseded_by IS NULL").fetchone() or (0, 0)
    if row[0] != row[1]:
        return Inspection("index", False, f"{row[1]} of {row[0]} memories "
                          "are in the index", _REINDEX)
    return Inspection("index", True, f"{row[0]} memories, all in the index")


def _vectors(connection: Connection, shape: Shape, space: vectors.Space
             ) -> Inspection:
    missing = vectors.missing(connection, shape.table, space)
    if missing:
        return Inspection("vectors", False, f"{missing} memories have no "
                          f"vector of {space.model}", _REINDEX)
    return Inspection("vectors", True,
                      f"every memory has a vector of {space.model}")
