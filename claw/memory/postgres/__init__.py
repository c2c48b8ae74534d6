"""Memory in a table of a PostgreSQL server (the extra `postgres`).

The class loads late: its library is needed by those alone who use it, and
`settings` is read without it.
"""

from typing import TYPE_CHECKING, Any

from claw.core.registry import load_dotted

if TYPE_CHECKING:
    from claw.memory.postgres.backend import PostgresMemory as PostgresMemory

_BACKEND = "claw.memory.postgres.backend:PostgresMemory"


def __getattr__(name: str) -> Any:
    if name == "PostgresMemory":
        return load_dotted(_BACKEND)
    raise AttributeError(f"{__name__} has no {name}")
