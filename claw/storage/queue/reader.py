"""Looking at a queue from a command: nothing is made, nothing changed.

Plain calls without an event loop, for `claw queue list` and `claw why`.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from claw.core.errors import NotFoundError
from claw.storage.queue import leases, maintenance, schema
from claw.storage.queue.model import (
    Holder,
    InboxRow,
    OutboxRow,
    QueueCounts,
    Record,
)
from claw.storage.queue.owner import this_process
from claw.storage.sqlite import Reader, connect, read_version, translated

P = ParamSpec("P")
T = TypeVar("T")


class QueueReader(Reader):
    """What the looking verbs of Queue return, at once."""

    def __init__(self, connection: sqlite3.Connection, path: Path,
                 now: Callable[[], float]) -> None:
        self._connection = connection
        self._path = path
        self._now = now

    def counts(self) -> QueueCounts:
        return self._read(maintenance.counts, self._now())

    def inbox_rows(self, *, states: Sequence[str] = (),
                   limit: int = 100) -> list[InboxRow]:
        return self._read(maintenance.inbox_rows, states, limit)

    def outbox_rows(self, *, states: Sequence[str] = (),
                    source: str | None = None,
                    limit: int = 100) -> list[OutboxRow]:
        return self._read(maintenance.outbox_rows, states, source, limit)

    def trace(self, wanted: str | None) -> Record | None:
        return self._read(maintenance.trace, wanted)

    def holder(self, name: str) -> Holder | None:
        return self._read(leases.holder, name, this_process())

    def _read(self, verb: Callable[Concatenate[sqlite3.Connection, P], T],
              *args: P.args, **named: P.kwargs) -> T:
        with translated(self._path):
            return verb(self._connection, *args, **named)


def open_reader(path: str | Path, *,
                now: Callable[[], float] = time.time) -> QueueReader:
    """A look at the queue. Raises NotFoundError where there is none yet,
    StorageError."""
    path = Path(path)
    if not path.exists():
        raise _none_yet(path)
    connection = connect(path, readonly=True)
    try:
        with translated(path):
            version = read_version(connection, path, schema.VERSION)
            if version == 0:
                raise _none_yet(path)
            if version == 1:
                connection.execute(schema.AS_IF_NEW)
    except BaseException:
        connection.close()
        raise
    return QueueReader(connection, path, now)


def _none_yet(path: Path) -> NotFoundError:
    return NotFoundError(f"there is no queue at {path} yet",
                         hint="claw listen makes it")
