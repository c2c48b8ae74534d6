"""A backup: whole while others write, checked, put back by renaming."""

import contextlib
import gzip
import os
import sqlite3
import tarfile
import threading
import time
from functools import cache, partial
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from claw.core.errors import StorageError, UsageError
from claw.storage.backup import seal
from claw.storage.backup.archive import (
    find_time,
    verify_archive,
    write_archive,
)
from claw.storage.backup.collect import collect
from claw.storage.backup.restore import restore_archive
from claw.storage.backup.rows import count_rows
from claw.storage.backup.seal import Sealer


@pytest.fixture
def home(tmp_path):
    """A home with a workspace in it."""
    home = tmp_path / "home"
    for name, text in {
            "config.toml": "x = 1\n", ".secret_key": "k",
            "tools/mine.py": "", "workspace/note.txt": "hello",
            "workspace/state/marks/demo.json": "{}",
            "workspace/state/listen.json": "{}",
            "workspace/sessions/a.jsonl": '{"a": 1}\n'}.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("queue", "jobs", "log"):
        make_database(home / f"workspace/state/{name}.db", 3)
    return home


def make_database(path, rows):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (n INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)",
                               ((n,) for n in range(rows)))
        connection.commit()


def count(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return [n for (n,) in connection.execute("SELECT n FROM t ORDER BY n")]


def back_up(home, target, **options):
    sources, skipped = collect(home, home / "workspace")
    return write_archive(target, sources, skipped, made_at="2026-11-24",
                         version="1", **options)


def put_back(path, folder, **options):
    return restore_archive(path, folder, folder / "workspace", stamp="now",
                           **options)


def test_everything_comes_back_as_it_was(home, tmp_path):
    (home / "tools/mine.py").chmod(0o755)
    os.utime(home / "workspace/note.txt", (1, 1_000_000_000.9))
    os.utime(home / "tools/mine.py", (1, -5))
    back_up(home, tmp_path / "b")
    new = tmp_path / "new"

    put_back(tmp_path / "b", new)

    names = sorted(path.relative_to(home).as_posix()
                   for path in home.rglob("*") if path.is_file()
                   and not path.name.endswith(("-wal", "-shm")))
    names.remove("workspace/state/listen.json")
    assert sorted(path.relative_to(new).as_posix() for path
                  in new.rglob("*") if path.is_file()) == names
    assert (new / "workspace/note.txt").read_text() == "hello"
    assert (new / "workspace/note.txt").stat().st_mtime == 1_000_000_000
    assert (new / "tools/mine.py").stat().st_mtime == 0
    assert (new / "tools/mine.py").stat().st_mode & 0o777 == 0o700
    assert (new / ".secret_key").stat().st_mode & 0o777 == 0o600
    assert count(new / "workspace/state/queue.db") == [0, 1, 2]


def test_marks_come_before_jobs_and_jobs_before_the_queue(home):
    """A mark that is newer than the queue would lose messages."""
    names = [one.name for one in collect(home, home / "workspace")[0]]

    assert names[:4] == [
        "workspace/state/marks/demo.json", "workspace/state/jobs.db",
        "workspace/state/queue.db", "workspace/state/log.db"]
    assert names.index("workspace/sessions/a.jsonl") > 3


def test_nothing_committed_before_is_missing_while_others_write(
        home, tmp_path):
    path, stop = home / "workspace/state/queue.db", threading.Event()
    written = [2]

    def write():
        with contextlib.closing(sqlite3.connect(path)) as connection:
            while not stop.is_set():
                number = written[0] + 1
                with connection:
                    connection.execute("INSERT INTO t VALUES (?)", (number,))
                written[0] = number
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(5):
            before = written[0]
            back_up(home, tmp_path / f"b{number}")
            put_back(tmp_path / f"b{number}", tmp_path / f"new{number}")
            found = count(tmp_path / f"new{number}/workspace/state/queue.db")
            assert found == list(range(len(found)))
            assert len(found) > before
    finally:
        stop.set()
        writer.join()


def test_a_log_that_a_killed_writer_left_is_in_it(home, tmp_path):
    path = home / "workspace/state/queue.db"
    pid = os.fork()
    if not pid:  # commits, and is gone without closing
        connection = sqlite3.connect(path)
        connection.execute("INSERT INTO t VALUES (3)")
        connection.commit()
        os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
    assert (path.parent / "queue.db-wal").stat().st_size

    back_up(home, tmp_path / "b")
    put_back(tmp_path / "b", tmp_path / "new")

    assert count(tmp_path / "new/workspace/state/queue.db") == [0, 1, 2, 3]


@pytest.fixture
def keys_are_kept(monkeypatch):
    """A key is derived once for each salt and passphrase: half a second."""
    @cache
    def derive(passphrase, **settings):
        return Scrypt(**settings).derive(passphrase)

    monkeypatch.setattr(seal, "Scrypt", lambda **settings: SimpleNamespace(
        derive=partial(derive, **settings)))


@pytest.mark.parametrize("passphrase", [None, "s3cret"])
@pytest.mark.usefixtures("keys_are_kept")
def test_every_cut_and_every_changed_byte_is_found_out(
        home, tmp_path, passphrase):
    made = back_up(home, tmp_path / "b", passphrase=passphrase)
    data = (tmp_path / "b").read_bytes()
    bad, found = tmp_path / "bad", 0

    for at in range(0, len(data), max(1, len(data) // 40)):
        bad.write_bytes(data[:at])
        with pytest.raises((StorageError, UsageError)):
            verify_archive(bad, passphrase)
    for at in range(20, len(data) - 8, max(1, len(data) // 40)):
        bad.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
        try:  # gzip has bits that mean nothing
            assert verify_archive(bad, passphrase) == made
        except (StorageError, UsageError):
            found += 1
    assert found > 35


def test_a_passphrase_keeps_the_words_from_others(home, tmp_path):
    (home / "workspace/note.txt").write_text("the code is 4711" * 100_000)
    made = back_up(home, tmp_path / "b", passphrase="s3cret")

    assert not tarfile.is_tarfile(tmp_path / "b")
    assert verify_archive(tmp_path / "b", "s3cret") == made
    with pytest.raises(StorageError, match="wrong passphrase"):
        verify_archive(tmp_path / "b", "guess")
    with pytest.raises(UsageError, match="encrypted"):
        verify_archive(tmp_path / "b")


def test_a_plain_backup_in_the_place_of_an_encrypted_one_is_refused(
        home, tmp_path):
    back_up(home, tmp_path / "b")

    for read in (verify_archive, lambda path, word: put_back(
            path, tmp_path / "new", passphrase=word)):
        with pytest.raises(UsageError, match="is not encrypted"):
            read(tmp_path / "b", "s3cret")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("changes", [
    {"workspace/note.txt": "evil!"}, {"workspace/zz.txt": "more"},
    {"workspace/note.txt": None}])
@pytest.mark.parametrize("passphrase", [None, "s3cret"])
def test_what_is_swapped_after_it_was_checked_is_not_restored(
        home, tmp_path, monkeypatch, changes, passphrase):
    back_up(home, tmp_path / "b", passphrase=passphrase)
    for name, text in changes.items():
        (home / name).unlink(missing_ok=True)
        if text is not None:
            (home / name).write_text(text)
    back_up(home, tmp_path / "b2", passphrase=passphrase)

    def verify(path, *rest):
        try:
            return verify_archive(path, *rest)
        finally:
            (tmp_path / "b2").rename(path)
    monkeypatch.setattr("claw.storage.backup.restore.verify_archive", verify)

    with pytest.raises(StorageError, match="has changed since"):
        put_back(tmp_path / "b", tmp_path / "new", passphrase=passphrase)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("there", [False, True])
def test_what_is_put_back_is_the_owners_alone(home, tmp_path, there):
    back_up(home, tmp_path / "b")
    new = tmp_path / "new"
    if there:
        new.mkdir(mode=0o755)

    put_back(tmp_path / "b", new)

    modes = {path.stat().st_mode & 0o777 for path in (new, *new.rglob("*"))
             if path.is_dir()}
    assert modes == {0o700}


def test_what_stood_there_is_kept_under_another_name(home, tmp_path):
    back_up(home, tmp_path / "b")
    (home / "workspace/note.txt").write_text("newer")

    done = put_back(tmp_path / "b", home)

    assert (home / "workspace/note.txt").read_text() == "hello"
    (kept,) = done.kept
    assert kept.name == "home.before-now"
    assert (kept / "workspace/note.txt").read_text() == "newer"


def test_a_damaged_backup_changes_nothing(home, tmp_path):
    back_up(home, tmp_path / "b")
    data = (tmp_path / "b").read_bytes()
    (tmp_path / "b").write_bytes(data[:-30])
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(StorageError):
        put_back(tmp_path / "b", home)

    assert sorted(tmp_path.rglob("*")) == before


def test_a_workspace_elsewhere_comes_back_there(home, tmp_path):
    workspace = tmp_path / "elsewhere"
    (home / "workspace").rename(workspace)
    sources, skipped = collect(home, workspace)
    write_archive(tmp_path / "b", sources, skipped, made_at="", version="1")

    restore_archive(tmp_path / "b", tmp_path / "h2", tmp_path / "w2",
                    stamp="now")

    assert (tmp_path / "w2/note.txt").read_text() == "hello"
    assert not (tmp_path / "h2/workspace").exists()


def test_links_and_pipes_are_left_out(home, tmp_path):
    (home / "workspace/link").symlink_to("/etc/passwd")
    (home / "workspace/folder").symlink_to("/etc")
    os.mkfifo(home / "workspace/pipe")

    made = back_up(home, tmp_path / "b")

    assert not {one.name for one in made.members} & {
        "workspace/folder", "workspace/link", "workspace/pipe"}
    assert b"root:" not in gzip.decompress((tmp_path / "b").read_bytes())


def test_files_of_the_owner_with_the_names_of_locks_are_in_it(
        home, tmp_path):
    names = {"workspace/app/Cargo.lock", "workspace/diary-journal",
             "workspace/notes-wal", "onboard.json", "channels/mine.py",
             "templates/day.md", "gateway.db", "workspace/MEMORY_SNAPSHOT.md",
             "config.history/1.toml"}
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("mine")
    (home / ".config.a1.tmp").write_text("half")

    made = back_up(home, tmp_path / "b")

    found = {one.name.removeprefix("home/") for one in made.members}
    assert names <= found
    assert ".secret_key" in found
    assert ".config.a1.tmp" not in found
    assert not any(name.endswith((".db-wal", ".db-shm")) for name in found)


def test_settings_that_are_a_link_are_in_it_and_other_links_are_named(
        home, tmp_path):
    (tmp_path / "dotfiles").mkdir()
    (home / "config.toml").rename(tmp_path / "dotfiles/claw.toml")
    (home / "config.toml").symlink_to("../dotfiles/claw.toml")
    (home / "workspace/photos").symlink_to("/srv/photos")

    made = back_up(home, tmp_path / "b")
    put_back(tmp_path / "b", tmp_path / "new")

    assert (tmp_path / "new/config.toml").read_text() == "x = 1\n"
    assert made.skipped == (("workspace/photos", "a link"),)


def test_a_damaged_database_stops_it_and_leaves_no_file(home, tmp_path):
    path = home / "workspace/state/log.db"
    data = bytearray(path.read_bytes())
    data[4096:4200] = b"\xff" * 104
    path.write_bytes(data)

    with pytest.raises(StorageError, match=r"log\.db"):
        back_up(home, tmp_path / "b")

    assert not list(tmp_path.glob("b*"))


def test_a_file_of_the_agent_that_is_no_database_stops_nothing(
        home, tmp_path):
    path = home / "workspace/notes.db"
    path.write_bytes(b"SQLite format 3\0garbage")

    made = back_up(home, tmp_path / "b")
    put_back(tmp_path / "b", tmp_path / "new")

    assert verify_archive(tmp_path / "b") == made
    assert path.read_bytes() == (tmp_path
                                 / "new/workspace/notes.db").read_bytes()


def test_a_database_of_another_comes_with_its_log(home, tmp_path):
    path = home / "workspace/app/tea.db"
    path.parent.mkdir()
    make_database(path, 1)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO t VALUES (1)")
        connection.commit()
        back_up(home, tmp_path / "b")
    put_back(tmp_path / "b", tmp_path / "new")

    new = tmp_path / "new/workspace/app"
    assert sorted(os.listdir(new)) == ["tea.db", "tea.db-wal"]
    assert count(new / "tea.db") == [0, 1]


def plant_check(path):
    """A database whose rows take long to check, and much memory."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (n, CHECK (length(replace(hex("
                           "zeroblob(99000000)), '0', 'aaa')) > 0))")
        connection.execute("PRAGMA ignore_check_constraints=1")
        connection.executemany("INSERT INTO t VALUES (?)",
                               ((n,) for n in range(9)))
        connection.commit()


@pytest.mark.parametrize("name", ["notes.db", "state/evil.db"])
def test_what_a_database_says_of_its_rows_is_not_run(home, tmp_path, name,
                                                     monkeypatch):
    plant_check(home / "workspace" / name)
    monkeypatch.setattr("claw.storage.backup.rows._CHECK_S", 1)
    began = spend_cpu()

    made = back_up(home, tmp_path / "b")

    assert verify_archive(tmp_path / "b") == made
    assert spend_cpu() - began < 3


def spend_cpu():
    """Seconds of this thread and of the processes that it waited for."""
    spent = os.times()
    return time.thread_time() + spent.children_user + spent.children_system


def test_the_limit_of_a_check_held_for_the_rest_of_the_process(tmp_path):
    make_database(tmp_path / "it.db", 3)

    assert count_rows(tmp_path / "it.db", "it", "") == {"t": 3}

    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        assert connection.execute("PRAGMA hard_heap_limit").fetchone() == (0,)


def test_a_check_takes_only_so_much_memory(tmp_path, monkeypatch):
    with contextlib.closing(sqlite3.connect(tmp_path / "it.db")) as made:
        made.execute(f"CREATE TABLE t (n, {'x' * 3_000_000})")
    monkeypatch.setattr("claw.storage.backup.rows._CHECK_BYTES", 2_000_000)

    with pytest.raises(StorageError, match="it is damaged: out of memory"):
        count_rows(tmp_path / "it.db", "it", "")


def test_a_check_that_dies_is_told(tmp_path, monkeypatch):
    make_database(tmp_path / "it.db", 3)
    monkeypatch.setattr("claw.storage.backup.rows._CHILD",
                        tmp_path / "none.py")

    with pytest.raises(StorageError, match="its check ended with 2"):
        count_rows(tmp_path / "it.db", "it", "")


def test_a_check_that_does_not_end_is_ended(tmp_path, monkeypatch):
    make_database(tmp_path / "it.db", 100_000)
    monkeypatch.setattr("claw.storage.backup.rows._CHECK_S", -9)

    with pytest.raises(StorageError, match="it is damaged: interrupted"):
        count_rows(tmp_path / "it.db", "it", "")


def test_only_own_databases_are_opened_by_sqlite(home, tmp_path):
    """By its path SQLite would follow what is swapped meanwhile."""
    make_database(home / "workspace/notes.db", 1)
    make_database(home / "workspace/state/deep.db.d", 1)
    make_database(home / "gateway.db", 1)

    sources = collect(home, home / "workspace")[0]

    assert {one.name for one in sources if one.is_database} == {
        "home/gateway.db", *(f"workspace/state/{name}.db"
                             for name in ("queue", "jobs", "log"))}
    assert {one.name for one in sources if one.is_foreign} == {
        "workspace/notes.db", "workspace/state/deep.db.d"}


def test_a_damaged_database_in_a_backup_is_called_so(home, tmp_path,
                                                     monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("claw.storage.backup.archive._copy_database",
                      lambda path, held: held.write(
                          b"SQLite format 3\0garbage") and None)
        back_up(home, tmp_path / "b")

    with pytest.raises(StorageError, match=r"/b: workspace/.* in it is dam"
                       ) as error:
        verify_archive(tmp_path / "b")
    assert error.value.hint == "take another backup"


def test_a_virtual_table_that_can_not_be_counted_is_no_damage(
        home, tmp_path):
    path = home / "workspace/state/log.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIRTUAL TABLE w USING fts5(x)")
        connection.execute(
            "CREATE VIRTUAL TABLE v USING fts5vocab(w, instance)")
        connection.execute("INSERT INTO w VALUES ('tea')")
        connection.commit()

    made = back_up(home, tmp_path / "b")

    assert verify_archive(tmp_path / "b") == made


def test_a_file_that_is_there_is_not_overwritten(home, tmp_path):
    (tmp_path / "b").write_text("precious")

    with pytest.raises(UsageError, match="there already"):
        back_up(home, tmp_path / "b")

    assert (tmp_path / "b").read_text() == "precious"


def test_nobody_prepares_the_file_that_is_written(home, tmp_path,
                                                  monkeypatch):
    """Another user, in a folder where both may write."""
    monkeypatch.setattr("claw.storage.backup.draft.secrets.token_hex",
                        lambda size: "guess")
    planted = [tmp_path / name for name in
               ("b.partial", ".claw-guess.partial")]
    for path in planted:
        path.touch()
        path.chmod(0o666)

    with pytest.raises((UsageError, StorageError)):
        back_up(home, tmp_path / "b")
    assert [path.read_bytes() for path in planted] == [b"", b""]
    monkeypatch.undo()
    back_up(home, tmp_path / "b")

    assert [path.read_bytes() for path in planted] == [b"", b""]
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600


def test_names_of_any_bytes_come_back(home, tmp_path):
    for name in (b"\xff\xfe.txt", "ü\n日本.txt".encode(), b"a" * 255):
        with open(os.fsencode(home / "workspace") + b"/" + name, "w"):
            pass

    back_up(home, tmp_path / "b")
    put_back(tmp_path / "b", tmp_path / "new")

    assert sorted(os.listdir(os.fsencode(tmp_path / "new/workspace"))) == \
        sorted(os.listdir(os.fsencode(home / "workspace")))


@pytest.mark.parametrize("name", [
    "home/../../evil", "/etc/evil", "other/x", "home", ".", "", "home/a\0b"])
def test_an_archive_of_a_stranger_leaves_its_folder_nowhere(
        home, tmp_path, name, monkeypatch):
    back_up(home, tmp_path / "b")
    manifest = verify_archive(tmp_path / "b")
    with tarfile.open(tmp_path / "evil", "w:gz") as archive:
        info = tarfile.TarInfo("home/x")
        info.pax_headers = {"path": name}
        archive.addfile(info)
    with pytest.raises(StorageError, match="does not belong"):
        verify_archive(tmp_path / "evil")
    monkeypatch.setattr("claw.storage.backup.restore.verify_archive",
                        lambda *_: manifest)

    with pytest.raises(StorageError, match="does not belong"):
        put_back(tmp_path / "evil", tmp_path / "new")

    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("kind", [
    tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE,
    tarfile.DIRTYPE])
def test_what_is_no_file_is_refused_before_anything_is_unpacked(
        tmp_path, kind):
    with tarfile.open(tmp_path / "evil", "w:gz") as archive:
        first = tarfile.TarInfo("home/a")
        archive.addfile(first)
        second = tarfile.TarInfo("home/b")
        second.type, second.linkname = kind, "home/a"
        archive.addfile(second)

    with pytest.raises(StorageError, match="home/b does not belong"):
        put_back(tmp_path / "evil", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("passphrase", [None, "s3cret"])
def test_how_another_file_begins_is_not_shown(tmp_path, passphrase):
    with (tmp_path / "b").open("wb") as file, contextlib.closing(
            Sealer(file, passphrase) if passphrase else file) as sealed:
        sealed.write(b"secret words")

    with pytest.raises(StorageError, match="not written by gzip") as error:
        verify_archive(tmp_path / "b", passphrase)
    assert "se" not in error.value.message.partition("damaged")[2]


def test_a_name_of_a_stranger_is_no_line_of_its_own(tmp_path):
    with tarfile.open(tmp_path / "evil", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("x\nok  all well\x1b[2J"))

    with pytest.raises(StorageError) as error:
        verify_archive(tmp_path / "evil")
    assert error.value.message.isprintable()


def test_a_backup_that_the_disk_cannot_take_is_not_begun(
        home, tmp_path, monkeypatch):
    back_up(home, tmp_path / "b")
    monkeypatch.setattr("claw.storage.backup.restore.shutil.disk_usage",
                        lambda path: type("Usage", (), {"free": 100}))

    with pytest.raises(StorageError, match="0 MiB free"):
        put_back(tmp_path / "b", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_large_file_is_copied_piece_by_piece(home, tmp_path):
    with (home / "workspace/big").open("wb") as file:
        for _ in range(40):
            file.write(os.urandom(1 << 20))

    made = back_up(home, tmp_path / "b", passphrase="x")

    assert verify_archive(tmp_path / "b", "x") == made


@pytest.mark.parametrize("mtime", [
    float("nan"), float("inf"), float("-inf"), -1, 1e300])
def test_a_time_that_no_file_has_is_none(mtime):
    assert find_time(mtime) == 0
