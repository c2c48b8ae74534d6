"""claw backup: create, verify, restore."""

import fcntl
import itertools
import json
import os
from datetime import UTC, datetime

import pytest

from claw.core import failpoint
from claw.storage.backup.archive import write_archive
from claw.storage.backup.collect import collect
from claw.storage.backup.restore import restore_archive


@pytest.fixture
def made(claw, home, tmp_path):
    """A home with a memory, and a backup of it."""
    claw("memory", "store", "colour", "Mina likes green")
    target = tmp_path / "copies" / "b.tar.gz"
    target.parent.mkdir()
    done = claw("backup", "create", str(target))
    assert done.code == 0
    assert done.out == f"{target}\n"
    return target


def test_a_backup_comes_back_on_another_machine(claw, made, home, tmp_path):
    before = home.rename(tmp_path / "lost")

    done = claw("backup", "restore", str(made))

    assert done.code == 0
    assert "Mina likes green" in claw("memory", "recall", "colour").out
    assert before.exists()


def test_what_is_there_is_asked_about_and_kept(claw, made, home):
    claw("memory", "store", "tea", "Mina likes tea")

    refused = claw("backup", "restore", str(made))
    done = claw("backup", "restore", str(made), "--yes", "--json")

    assert refused.code == 2
    assert "--yes" in refused.err
    assert len(done.json["kept"]) == 1
    assert "tea" not in claw("memory", "recall", "tea").out


def test_verify_counts_what_is_in_it(claw, made):
    found = claw("backup", "verify", str(made), "--json").json

    assert found["ok"]
    rows = {one["name"]: one["rows"] for one in found["databases"]}
    assert rows["workspace/memory/brain.db"]["memories"] == 1


def test_what_a_backup_says_of_itself_forges_no_line(claw, tmp_path):
    write_archive(tmp_path / "b", [], [], made_at="2026\nok all well\x1b[2J",
                  version="1")

    done = claw("backup", "verify", str(tmp_path / "b"))

    assert done.out.count("\n") == 1
    assert "2026 ok all well\\x1b[2J" in done.out


def test_a_damaged_backup_is_said_and_not_restored(claw, made):
    made.write_bytes(made.read_bytes()[:-100])

    for command in (("verify",), ("restore", "--yes")):
        done = claw("backup", *command, str(made), "--json")
        assert done.code not in (0, 1, 2)
        assert json.loads(done.out)["error"]["kind"] == "storage"


def test_an_encrypted_one_needs_its_passphrase(claw, home, tmp_path):
    claw("memory", "store", "colour", "Mina likes green")
    word = tmp_path / "word"
    word.write_text("s3cret\n")
    target = tmp_path / "b"

    made = claw("backup", "create", str(target), "--passphrase-file",
                str(word))
    nobody = claw("backup", "verify", str(target))
    known = claw("backup", "verify", str(target),
                 env={"CLAW_BACKUP_PASSPHRASE": "s3cret"})

    assert made.code == 0
    assert b"Mina" not in target.read_bytes()
    assert nobody.code == 2
    assert "--passphrase-file FILE, or CLAW_BACKUP_PASSPHRASE" in nobody.err
    assert known.code == 0


def test_a_place_inside_of_what_is_copied_is_refused(claw, made, home):
    done = claw("backup", "create", str(home / "b.tar.gz"))

    assert done.code == 2
    assert "lies in" in done.err


def test_a_database_of_another_is_named(claw, made, home, tmp_path):
    (home / "workspace/no\nte.db").write_bytes(b"SQLite format 3\0garbage")

    done = claw("backup", "create", str(tmp_path / "b"))

    assert done.code == 0
    assert ("a database that is not claw's, copied as it lies there: "
            "workspace/no te.db\n") in done.err


def test_a_home_without_anything_has_no_backup(claw, home, tmp_path):
    assert claw("backup", "create", str(tmp_path / "b")).code == 1


def test_a_claw_that_runs_is_not_pulled_from_under(claw, made, home):
    now = datetime.now(UTC).isoformat()
    state = home / "workspace" / "state" / "listen.json"
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text(json.dumps({
        "pid": os.getpid(), "command": "listen", "updated_at": now,
        "written_at": now, "uptime_seconds": 1, "components": {}}))

    done = claw("backup", "restore", str(made), "--yes")

    assert done.code == 5
    assert "claw listen runs here" in done.err


def test_of_many_backups_the_newest_stay_and_nothing_else_goes(
        claw, home, tmp_path):
    claw("memory", "store", "k", "words")
    folder = tmp_path / "kept"
    folder.mkdir()
    old = [f"claw-2020010{n}T000000Z.tar.gz" for n in range(1, 5)]
    others = ["claw-notes.tar.gz", "holiday.tar.gz"]
    for number, name in enumerate((*old, *others)):
        (folder / name).write_bytes(b"\x1f\x8b\x08")
        os.utime(folder / name, (number, number))
    (folder / "claw-20200105T000000Z.tar.gz").symlink_to(folder / old[0])
    os.mkfifo(folder / "claw-20200106T000000Z.tar.gz")
    others += ["claw-20200105T000000Z.tar.gz", "claw-20200106T000000Z.tar.gz"]

    done = claw("backup", "create", "--keep", "2", str(folder))

    assert done.code == 0
    assert {path.name for path in folder.iterdir()} == {
        os.path.basename(done.out.strip()), old[-1], *others}


def test_the_backup_just_made_stays_whatever_lies_there(claw, home,
                                                        tmp_path):
    claw("memory", "store", "k", "words")
    folder = tmp_path / "kept"
    folder.mkdir()
    good = folder / "claw-20200101T000000Z.tar.gz"
    good.write_bytes(b"\x1f\x8b\x08")
    os.utime(good, (1, 1))
    (folder / "claw-20200102T000000Z.tar.gz").write_bytes(b"")
    (folder / "claw-20200103T000000Z.backup").write_bytes(b"no backup")
    for n in range(3):
        (folder / f"claw-2099010{n}T000000Z.tar.gz").write_bytes(
            b"\x1f\x8b\x08")
    late = folder / "claw-20200104T000000Z.tar.gz"
    late.write_bytes(b"\x1f\x8b\x08")
    os.utime(late, (9e9, 9e9))
    if os.geteuid() == 0:
        (folder / "claw-20200105T000000Z.tar.gz").write_bytes(
            b"\x1f\x8b\x08")
        os.chown(folder / "claw-20200105T000000Z.tar.gz", 1, 1)
    before = set(folder.iterdir())

    done = claw("backup", "create", "--keep", "2", str(folder))

    assert set(folder.iterdir()) - before == {
        folder / os.path.basename(done.out.strip())}
    assert before <= set(folder.iterdir())
    assert done.err.count("has a date in the future") == 4

    (folder / os.path.basename(done.out.strip())).unlink()
    done = claw("backup", "create", "--keep", "1", str(folder))
    assert not good.exists()
    assert (folder / os.path.basename(done.out.strip())).exists()


def test_a_restore_that_was_killed_is_seen_and_finished_by_doctor(
        claw, made, home):
    claw("memory", "store", "tea", "Mina likes tea")
    child = os.fork()
    if child == 0:
        failpoint.install(lambda name: name == "restore emptied"
                          and os._exit(failpoint.KILLED))
        restore_archive(made, home, home / "workspace", stamp="now")
    os.waitpid(child, 0)
    assert (home / ".restoring/old/workspace").exists()

    found = claw("doctor", "--json").json
    claw("doctor", "--fix")

    assert "config.restore" in {
        one["id"] for one in found["checks"] if one["status"] == "fail"}
    assert "green" in claw("memory", "recall", "colour").out
    assert "tea" not in claw("memory", "recall", "tea").out


@pytest.fixture
def killed(tmp_path, home):
    """killed(number): a restore of a home and a workspace, each elsewhere,
    that died at failpoint `number`; its folder of both. What config.toml
    says makes every start refuse, and name it."""
    def fill(folder, word):
        (folder / "work").mkdir(parents=True)
        (folder / "home").mkdir(mode=0o700)
        (folder / "home/config.toml").write_text(f"[gateway]\n{word} = 1\n")
        (folder / "work/it").write_text(word)
        return folder / "home", folder / "work"
    sources, skipped = collect(*fill(tmp_path / "source", "new"))
    write_archive(tmp_path / "b", sources, skipped, made_at="", version="1")

    def restore(number):
        folder = tmp_path / f"at {number}"
        fill(folder, "old")
        child = os.fork()
        if child == 0:
            failpoint.install(failpoint.die_at(number))
            restore_archive(tmp_path / "b", folder / "home", folder / "work",
                            stamp="now")
            os._exit(0)
        return folder, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return restore


@pytest.mark.parametrize("command", [["listen"], ["gateway", "serve"]])
def test_what_starts_first_ends_a_restore_that_was_killed(claw, killed,
                                                          command):
    seen = []
    for number in itertools.count(1):
        folder, code = killed(number)
        if code != failpoint.KILLED:
            break
        done = claw(*command, env={"CLAW_HOME": str(folder / "home"),
                                   "CLAW_WORKSPACE": str(folder / "work")})

        word = (folder / "work/it").read_text()
        seen.append(word)
        assert f"gateway.{word}: unknown key" in done.err
        assert done.code == 3
        assert ("is finished" if word == "new" else "is undone: nothing has "
                "changed") in done.err
        kept = ["home.before-now", "work.before-now"] * (word == "new")
        assert sorted(path.name for path in folder.iterdir()) == sorted(
            ["home", "work", *kept])
        for name in kept:
            assert f"what was there is now {folder / name}" in done.err
    assert code == 0
    assert seen == sorted(seen, reverse=True)  # undone, from one on finished
    assert set(seen) == {"old", "new"}


@pytest.mark.parametrize("command", [["listen"], ["gateway", "serve"]])
def test_nothing_starts_beside_a_restore_or_a_journal_of_nobody(
        claw, killed, command):
    folder, _ = killed(99)
    journal = folder / "home/.restoring/journal"
    journal.parent.mkdir(mode=0o700)
    env = {"CLAW_HOME": str(folder / "home"),
           "CLAW_WORKSPACE": str(folder / "work")}
    with journal.open("w") as file:
        journal.chmod(0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        done = claw(*command, env=env)
    assert done.code == 5
    assert "another restore is at work here" in done.err

    journal.write_text("garbage\n")
    done = claw(*command, env=env)
    assert done.code == 74
    assert f"rm '{journal}'" in done.err
    assert (folder / "work/it").read_text() == "new"


@pytest.mark.parametrize("action", ["verify", "restore"])
def test_a_file_that_is_not_there_is_wrong_usage(claw, tmp_path, action):
    done = claw("backup", action, str(tmp_path / "none"))

    assert done.code == 2
    assert "there is no file" in done.err


def test_a_backup_of_nothing_emptied_the_home(claw, made, home, tmp_path):
    write_archive(tmp_path / "b", [], [], made_at="2026", version="1")

    done = claw("backup", "restore", str(tmp_path / "b"), "--yes")

    assert done.code == 74
    assert "holds no file" in done.err
    assert "colour" in claw("memory", "recall", "colour").out
