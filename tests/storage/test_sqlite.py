"""How SQLite is opened, written, and complained about."""

import asyncio
import contextlib
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from functools import partial

import pytest

from claw.core.errors import StorageError, UnavailableError
from claw.core.ledger import CallStart
from claw.storage import sqlite
from claw.storage.ledger import SqliteLedger
from claw.storage.log.opening import open_writer
from claw.storage.queue.sqlite import SqliteQueue
from claw.storage.sqlite import (
    CorruptError,
    connect,
    copy_to,
    make_private,
    write,
)


def pragma(connection, name):
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def test_a_new_file_gets_the_settings_of_the_house(tmp_path):
    with contextlib.closing(connect(tmp_path / "a.db")) as connection:
        assert pragma(connection, "journal_mode") == "wal"
        assert pragma(connection, "mmap_size") == 8388608
        assert pragma(connection, "cache_size") == -2000
        assert pragma(connection, "temp_store") == 2
        assert pragma(connection, "synchronous") == 1
        assert pragma(connection, "busy_timeout") == 15000
    with contextlib.closing(connect(tmp_path / "a.db",
                                    synchronous="FULL")) as connection:
        assert pragma(connection, "synchronous") == 2


@pytest.mark.parametrize("readonly", [False, True])
def test_a_file_that_stays_open_for_months_takes_little_memory(
        tmp_path, readonly):
    connect(tmp_path / "a.db").close()
    with contextlib.closing(connect(tmp_path / "a.db", readonly=readonly,
                                    small=True)) as connection:
        assert pragma(connection, "mmap_size") == 0
        assert pragma(connection, "cache_size") == -500


def test_what_a_service_keeps_open_is_opened_so(tmp_path, monkeypatch):
    opened = []

    class Noted(sqlite3.Connection):
        def __init__(self, name, *args, **options):
            super().__init__(name, *args, **options)
            opened.append(self)
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", partial(real, factory=Noted))
    ledger = SqliteLedger(tmp_path / "state" / "ledger.db")
    ledger.reserve(CallStart("openai", "gpt-5", 0.5, "t1", "ask"))
    log = open_writer(tmp_path / "state" / "log.db")
    queue = SqliteQueue(tmp_path / "state" / "queue.db")

    assert [(pragma(one, "cache_size"), pragma(one, "mmap_size"))
            for one in opened] == [(-500, 0)] * 4
    asyncio.run(queue.aclose())
    log.close()
    ledger.close()


def test_the_journal_mode_of_an_existing_file_is_left_alone(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as raw:
        raw.execute("CREATE TABLE t (x)")

    with contextlib.closing(connect(tmp_path / "a.db")) as connection:
        assert pragma(connection, "journal_mode") == "delete"


def insert_and_fail(connection, path):
    with write(connection, path):
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("INSERT INTO nowhere VALUES (1)")


def test_write_commits_all_or_nothing(tmp_path):
    path = tmp_path / "a.db"
    with contextlib.closing(connect(path)) as connection:
        with write(connection, path):
            connection.execute("CREATE TABLE t (x)")
        with pytest.raises(StorageError):
            insert_and_fail(connection, path)

        assert connection.execute("SELECT * FROM t").fetchall() == []
        assert not connection.in_transaction


def test_a_reader_needs_the_file_and_never_makes_it(tmp_path):
    with pytest.raises(StorageError, match="can't be opened"):
        connect(tmp_path / "none.db", readonly=True)
    assert list(tmp_path.iterdir()) == []


def test_a_reader_sees_what_a_live_writer_has_committed(tmp_path):
    path = tmp_path / "with ? and # and %41.db"
    with contextlib.closing(connect(path)) as writer:
        with write(writer, path):
            writer.execute("CREATE TABLE t (x)")
        with contextlib.closing(connect(path, readonly=True)) as reader:
            assert reader.execute("SELECT * FROM t").fetchall() == []
            with pytest.raises(StorageError, match="only be read"), \
                    write(reader, path):
                reader.execute("INSERT INTO t VALUES (1)")


@pytest.mark.parametrize(("code", "kind", "word"), [
    (sqlite3.SQLITE_FULL, StorageError, "full"),
    (sqlite3.SQLITE_IOERR_WRITE, StorageError, "disk failed"),
    (sqlite3.SQLITE_BUSY, UnavailableError, "locked"),
    (sqlite3.SQLITE_BUSY_SNAPSHOT, UnavailableError, "locked"),
    (sqlite3.SQLITE_CORRUPT, CorruptError, "damaged"),
    (sqlite3.SQLITE_CORRUPT_VTAB, CorruptError, "damaged"),
    (sqlite3.SQLITE_NOTADB, CorruptError, "not a database"),
    (sqlite3.SQLITE_PERM, StorageError, "denied"),
    (sqlite3.SQLITE_READONLY, StorageError, "only be read"),
    (sqlite3.SQLITE_ERROR, StorageError, "a.db: odd"),
])
def test_errors_are_translated_by_their_code(tmp_path, code, kind, word):
    error = sqlite3.OperationalError("odd")
    error.sqlite_errorcode = code
    translated = sqlite.translate(error, tmp_path / "a.db")

    assert type(translated) in (kind, *kind.__subclasses__())
    assert word in translated.message
    assert "a.db" in translated.message


def test_a_directory_is_named_as_one(tmp_path):
    for readonly in (False, True):
        with pytest.raises(StorageError, match="is a directory"):
            connect(tmp_path, readonly=readonly)


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "a.db").write_bytes(b"plain text " * 1000)

    for readonly in (False, True):
        with pytest.raises(CorruptError):
            connect(tmp_path / "a.db", readonly=readonly)


def test_opening_has_a_time_limit(tmp_path, monkeypatch):
    released = threading.Event()
    closed = threading.Event()

    class Slow(sqlite3.Connection):
        def close(self):
            super().close()
            closed.set()

    def slow(*args, **kwargs):
        released.wait(30)
        return original(*args, factory=Slow, **kwargs)

    original = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", slow)
    with pytest.raises(StorageError, match="SQLite open timed out"):
        connect(tmp_path / "a.db", timeout_s=0.05)
    released.set()

    assert closed.wait(30)      # the late connection does not stay open
    with contextlib.closing(connect(tmp_path / "a.db",
                                    timeout_s=30)) as connection:
        assert pragma(connection, "journal_mode") == "wal"


def test_errors_inside_the_time_limit_are_the_same(tmp_path):
    with pytest.raises(StorageError, match="is a directory"):
        connect(tmp_path, timeout_s=30)


def test_a_copy_holds_what_is_still_in_the_log(tmp_path):
    path = tmp_path / "a.db"
    with contextlib.closing(connect(path)) as connection:
        with write(connection, path):
            connection.execute("CREATE TABLE t AS SELECT 7 AS x")
        copy_to(connection, tmp_path / "b.db")

    with contextlib.closing(sqlite3.connect(tmp_path / "b.db")) as copy:
        assert copy.execute("SELECT x FROM t").fetchall() == [(7,)]


OPENERS = """
import sys
from claw.storage.sqlite import connect, write
for number in range(20):
    connection = connect(f"{sys.argv[1]}/{number}.db")
    with write(connection, "x"):
        connection.execute("CREATE TABLE IF NOT EXISTS t (x)")
        connection.execute("INSERT INTO t VALUES (1)")
    connection.close()
"""


def test_processes_may_create_a_file_at_once(tmp_path):
    running = [subprocess.Popen([sys.executable, "-c", OPENERS,
                                 str(tmp_path)], stderr=subprocess.PIPE)
               for _ in range(4)]

    assert [(p.communicate(timeout=120)[1], p.returncode)
            for p in running] == [(b"", 0)] * 4
    for number in range(20):
        with contextlib.closing(connect(tmp_path / f"{number}.db",
                                        readonly=True)) as connection:
            assert connection.execute("SELECT count(*) FROM t"
                                      ).fetchone() == (4,)


FULL = """
import sys
from claw.core.errors import StorageError
from claw.storage.sqlite import connect, write
connection = connect(sys.argv[1])
with write(connection, "x"):
    connection.execute("CREATE TABLE IF NOT EXISTS t (x)")
try:
    with write(connection, "x"):
        connection.execute("INSERT INTO t VALUES (zeroblob(9000000))")
except StorageError as error:
    print(error.exit_code, connection.execute(
        "SELECT count(*) FROM t").fetchone()[0])
"""


def test_a_write_past_the_room_there_is_fails_cleanly(tmp_path):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = subprocess.run([sys.executable, "-c", FULL,
                           str(tmp_path / "a.db")], preexec_fn=limit,
                          capture_output=True, check=True)

    assert done.stdout.split() == [b"74", b"0"]


@pytest.mark.parametrize("make", [
    os.mkfifo, lambda path: path.symlink_to("/dev/null"),
    lambda path: path.symlink_to("/nowhere/at/all.db"),
    lambda path: path.symlink_to(path),
])
@pytest.mark.parametrize("readonly", [True, False])
def test_what_is_no_file_is_refused_at_once(tmp_path, make, readonly):
    path = tmp_path / "brain.db"
    make(path)

    with pytest.raises(StorageError, match=r"brain\.db") as caught:
        connect(path, readonly=readonly)

    assert caught.value.hint


@pytest.mark.parametrize("side", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("readonly", [True, False])
def test_a_link_in_the_place_of_a_database_or_beside_it_is_refused(
        tmp_path, side, readonly):
    connect(tmp_path / "a.db").close()
    (tmp_path / f"a.db{side}").unlink(missing_ok=True)
    (tmp_path / f"a.db{side}").symlink_to(tmp_path / "b.db")

    with pytest.raises(StorageError, match="is a link") as caught:
        connect(tmp_path / "a.db", readonly=readonly)
    assert "ls -l" in caught.value.hint
    assert not (tmp_path / "b.db").exists()


def test_a_link_in_the_place_of_its_folder_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "memory").symlink_to("elsewhere")

    for work in (make_private, connect):
        with pytest.raises(StorageError, match="memory is a link"):
            work(tmp_path / "memory" / "a.db")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_workspace_behind_a_link_of_its_owner_is_used(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "ws").symlink_to("disk")
    make_private(tmp_path / "ws" / "memory" / "a.db")
    connect(tmp_path / "ws" / "memory" / "a.db").close()

    assert (tmp_path / "disk" / "memory" / "a.db").is_file()


def test_a_file_that_its_owner_names_may_be_a_link(tmp_path):
    connect(tmp_path / "a.db").close()
    (tmp_path / "b.db").symlink_to("a.db")

    connect(tmp_path / "b.db", readonly=True, follow_links=True).close()


def test_a_database_of_another_user_is_refused(tmp_path):
    if os.geteuid():
        pytest.skip("only root gives files away")
    connect(tmp_path / "a.db").close()
    os.chown(tmp_path / "a.db", 12345, -1)

    with pytest.raises(StorageError, match="another user"):
        connect(tmp_path / "a.db")


def test_a_reader_misses_nothing_of_a_log_it_may_not_replay(
        tmp_path, monkeypatch):
    """A killed writer left its log, and the directory is read-only."""
    live = tmp_path / "live.db"
    with contextlib.closing(connect(live)) as writer:
        writer.execute("CREATE TABLE t (x)")
        writer.execute("PRAGMA wal_checkpoint")
        writer.execute("INSERT INTO t VALUES (7)")
        left = tmp_path / "left.db"
        shutil.copyfile(live, left)
        shutil.copyfile(f"{live}-wal", f"{left}-wal")
    real = sqlite._checked_reader

    def refused(uri, timeout):
        # What SQLite says there; tests run as root, who may write.
        if "immutable" not in uri:
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = 14
            raise error
        return real(uri, timeout)
    monkeypatch.setattr(sqlite, "_checked_reader", refused)

    with contextlib.closing(connect(left, readonly=True)) as reader:
        assert reader.execute("SELECT x FROM t").fetchall() == [(7,)]
