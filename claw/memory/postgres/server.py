"""The server: connections, transactions, and what it complains of.

A pool of at most MAX_CONNECTIONS, opened with the first call. That call
connects once by itself before: a pool would try again and again with a
wrong password, and never say why. A connection is tried before it is given
out, so that a server that was restarted is noticed here and not by a write.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from claw.core.errors import ConfigError, StorageError, UnavailableError
from claw.memory.postgres.errors import Place, translate
from claw.memory.postgres.settings import PostgresSettings, wrong_address

T = TypeVar("T")
Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

MAX_CONNECTIONS = 4
STATEMENT_TIMEOUT_S = 60
_TRIES = 3
_IMPATIENT_S = 1.0
_REPEATABLE = (psycopg.errors.DeadlockDetected,
               psycopg.errors.SerializationFailure)
# Only where the address says nothing else.
_DEFAULTS = {"application_name": "claw", "keepalives_idle": "30",
             "tcp_user_timeout": "60000"}

# The pool tells of every connection that failed; the caller is told too.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())


class Server:
    """One database of one server. Thread-safe."""

    def __init__(self, settings: PostgresSettings, *,
                 readonly: bool = False) -> None:
        self._address = _address(settings.db_url or "")
        self._readonly = readonly
        self._timeout_s = settings.timeout_s
        self._pool: ConnectionPool[Connection] | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        self.place = _place(self._address, settings)

    @contextmanager
    def connect_alone(self) -> Iterator[Connection]:
        """A connection of one's own, without a limit on statements. Tells
        at once why there is none."""
        with self._translate():
            connection = self._connect()
            try:
                yield connection
            finally:
                connection.close()

    def read(self, work: Callable[[Connection], T]) -> T:
        """What `work` gives; once more where the connection broke."""
        for is_last in (False, True):
            with self._translate(), self._borrow() as connection:
                try:
                    return work(connection)
                except psycopg.OperationalError:
                    if is_last or not connection.broken:
                        raise
        raise AssertionError("the last try returns or raises")

    def write(self, work: Callable[[Connection], T], *,
              repeatable: bool = True) -> T:
        """What `work` gives, in one transaction. Where others wrote the
        same rows it is done anew, unless it is not `repeatable`."""
        if self._readonly:
            raise StorageError(
                f"{self.place.table} is open for reading only")
        tries = _TRIES if repeatable else 1
        with self._translate():
            for number in range(1, tries + 1):
                try:
                    with self._borrow() as connection, \
                            connection.transaction():
                        return work(connection)
                except _REPEATABLE:
                    if number == tries:
                        raise
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Close every connection; calls after this are refused."""
        with self._lock:
            self._is_closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    @contextmanager
    def _translate(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise translate(error, self.place) from error

    @contextmanager
    def _borrow(self) -> Iterator[Connection]:
        pool = self._open_pool()
        try:
            try:
                connection = pool.getconn(_IMPATIENT_S)
            except PoolTimeout:
                # Away, or only slow or busy? The pool does not say.
                self._connect().close()
                connection = pool.getconn(self._timeout_s)
        except PoolTimeout as error:
            raise UnavailableError(
                f"PostgreSQL at {self.place.name}: all {MAX_CONNECTIONS} "
                "connections are busy", hint="try again in a moment"
            ) from error
        except PoolClosed as error:
            raise self._closed() from error
        try:
            yield connection
        finally:
            pool.putconn(connection)

    def _open_pool(self) -> "ConnectionPool[Connection]":
        with self._lock:
            if self._is_closed:
                raise self._closed()
            if self._pool is None:
                self._pool = ConnectionPool(
                    kwargs=self._options(), min_size=0,
                    max_size=MAX_CONNECTIONS, num_workers=1,
                    reconnect_timeout=_IMPATIENT_S,
                    configure=self._configure,
                    check=ConnectionPool.check_connection, open=True)
            return self._pool

    def _closed(self) -> StorageError:
        return StorageError(f"{self.place.table} was closed")

    def _connect(self) -> Connection:
        connection = psycopg.connect(**self._options())
        if connection.info.parameter_status("server_encoding") != "UTF8":
            connection.close()
            raise ConfigError(
                f"the database {self.place.database!r} of PostgreSQL at "
                f"{self.place.name} is not in UTF8, so it can't hold every "
                "text", hint="make one: createdb -E UTF8 -T template0 NAME")
        return connection

    def _options(self) -> dict[str, Any]:
        return {**_DEFAULTS, **self._address, "autocommit": True,
                "client_encoding": "UTF8", "prepare_threshold": None,
                "connect_timeout": self._timeout_s}

    def _configure(self, connection: Connection) -> None:
        connection.execute(
            "SELECT set_config('statement_timeout', %s, false),"
            " set_config('default_transaction_read_only', %s, false)",
            (f"{STATEMENT_TIMEOUT_S}s", "on" if self._readonly else "off"))


def _address(url: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(url))
    except (psycopg.ProgrammingError, UnicodeError):
        pass
    raise wrong_address()  # without the cause, which quotes the password


def _place(address: dict[str, Any], settings: PostgresSettings) -> Place:
    host = str(address.get("host") or address.get("hostaddr") or "localhost")
    user = str(address.get("user") or "")
    return Place(name=f"{host}:{address.get('port') or 5432}", user=user,
                 database=str(address.get("dbname") or user),
                 table=f"{settings.schema}.{settings.table}",
                 secret=str(address.get("password") or ""))
