"""What a backup that was killed leaves, and the next one removes."""

import fcntl
import os
import signal

import pytest

from claw.core import failpoint
from claw.storage.backup import draft
from claw.storage.backup.archive import verify_archive, write_archive
from claw.storage.backup.collect import collect


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    (home / "workspace").mkdir(parents=True)
    (home / "workspace/note.txt").write_text("hello")
    (home / "config.toml").write_text("x = 1\n")
    return home


def back_up(home, target):
    sources, skipped = collect(home, home / "workspace")
    return write_archive(target, sources, skipped, made_at="", version="1")


def list_names(folder):
    return sorted(set(os.listdir(folder)) - {"home"})


STEPS = ("backup begun", "backup file", "backup file", "backup filled",
         "backup named")


def kill_at(number, home, target):
    """The exit code of a backup that is killed at failpoint `number`."""
    child = os.fork()
    if child == 0:
        failpoint.install(failpoint.die_at(
            number, lambda code: os.kill(os.getpid(), signal.SIGKILL)))
        back_up(home, target)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("number", range(1, len(STEPS) + 1))
def test_a_killed_backup_left_its_draft_for_ever(home, tmp_path, number):
    assert kill_at(number, home, tmp_path / "a") == -signal.SIGKILL
    is_named = STEPS[number - 1] == "backup named"
    names = list_names(tmp_path)
    assert len(names) == 1 + is_named
    assert names[0].endswith(".partial")

    back_up(home, tmp_path / "b")

    assert list_names(tmp_path) == ["a"] * is_named + ["b"]
    for name in list_names(tmp_path):
        assert len(verify_archive(tmp_path / name).members) == 2


def test_there_are_no_other_steps(home, tmp_path):
    assert kill_at(len(STEPS) + 1, home, tmp_path / "a") == 0


def test_the_draft_of_a_living_backup_stays(home, tmp_path):
    reader, writer = os.pipe()
    stop_reader, stop_writer = os.pipe()
    child = os.fork()
    if child == 0:
        def wait(name):
            if name == "backup file":
                os.write(writer, b"x")
                os.read(stop_reader, 1)
        failpoint.install(wait)
        back_up(home, tmp_path / "a")
        os._exit(0)
    os.read(reader, 1)

    back_up(home, tmp_path / "b")

    assert len(list_names(tmp_path)) == 2  # b, and the draft
    os.write(stop_writer, b"xx")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert list_names(tmp_path) == ["a", "b"]
    for number in (reader, writer, stop_reader, stop_writer):
        os.close(number)


@pytest.mark.parametrize("name", [
    ".claw-0123456789ab.partial", ".claw-0123456789ab.partial.txt",
    ".claw-mine.partial", "x.claw-0123456789ab.partial"])
def test_nothing_else_is_taken_for_a_draft(home, tmp_path, name):
    kept = tmp_path / "kept"
    kept.write_text("precious")
    (tmp_path / name).symlink_to(kept) if name.endswith(
        "ab.partial") else (tmp_path / name).write_text("mine")
    os.mkfifo(tmp_path / ".claw-00000000000f.partial")

    back_up(home, tmp_path / "b")

    assert kept.read_text() == "precious"
    assert os.path.lexists(tmp_path / name)
    assert os.path.lexists(tmp_path / ".claw-00000000000f.partial")


def test_a_draft_that_is_taken_for_a_dead_one_is_begun_anew(home, tmp_path,
                                                            monkeypatch):
    """Between making and locking it another backup may look."""
    lock, taken = fcntl.flock, []

    def take_first(number, how):
        if not taken:
            taken.append(os.listdir(tmp_path))
            draft.remove_abandoned(tmp_path)
        lock(number, how)
    monkeypatch.setattr(draft.fcntl, "flock", take_first)

    back_up(home, tmp_path / "b")

    assert taken
    assert list_names(tmp_path) == ["b"]


def test_a_disk_without_locks_takes_a_backup(home, tmp_path, monkeypatch):
    left = tmp_path / ".claw-0123456789ab.partial"
    left.touch()

    def refuse(number, how):
        raise OSError(37, "No locks available")
    monkeypatch.setattr(draft.fcntl, "flock", refuse)

    back_up(home, tmp_path / "b")

    assert list_names(tmp_path) == [left.name, "b"]


def test_a_draft_in_the_workspace_is_in_no_backup(home, tmp_path):
    kill_at(2, home, home / "workspace/a")

    sources, _ = collect(home, home / "workspace")

    assert sorted(source.name for source in sources) == [
        "home/config.toml", "workspace/note.txt"]
