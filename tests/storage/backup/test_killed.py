"""A restore that is killed at each of its steps leaves all old or all new,
once the next command has looked."""

import fcntl
import os

import pytest

from claw.core import failpoint
from claw.core.errors import StorageError, UnavailableError
from claw.storage.backup.archive import write_archive
from claw.storage.backup.collect import collect
from claw.storage.backup.journal import find_unfinished, finish_restore
from claw.storage.backup.restore import restore_archive

_STEPS = ["restore begun", *["restore file"] * 2, "restore filled",
          "restore ready", *["restore aside", "restore placed"] * 2]


def make(folder, words):
    """A home and a workspace elsewhere, each with a file that says so."""
    for name in ("home", "work"):
        (folder / name).mkdir(parents=True)
        (folder / name / "it").write_text(words)
    return folder / "home", folder / "work"


def read(folder):
    return [(folder / name / "it").read_text() for name in ("home", "work")]


@pytest.fixture
def archive(tmp_path):
    sources, skipped = collect(*make(tmp_path / "source", "new"))
    write_archive(tmp_path / "b", sources, skipped, made_at="", version="1")
    return tmp_path / "b"


def restore_in_a_process(archive, folder, number):
    """The exit code of one that dies at failpoint `number`."""
    child = os.fork()
    if child == 0:
        failpoint.install(failpoint.die_at(number))
        restore_archive(archive, folder / "home", folder / "work",
                        stamp="now")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_killed_at_each_step_it_is_all_old_or_all_new(archive, tmp_path):
    for number, step in enumerate(_STEPS, 1):
        folder = tmp_path / str(number)
        make(folder, "old")
        assert restore_in_a_process(archive, folder,
                                    number) == failpoint.KILLED
        assert find_unfinished(folder / "home")

        said = finish_restore(folder / "home")

        is_new = number >= _STEPS.index("restore ready") + 1
        assert read(folder) == ["new" if is_new else "old"] * 2, step
        assert ("finished" if is_new else "undone") in said
        kept = {"home.before-now", "work.before-now"} if is_new else set()
        assert {path.name for path in folder.iterdir()} == {
            "home", "work", *kept}
        for name in kept:
            assert (folder / name / "it").read_text() == "old"
        assert finish_restore(folder / "home") is None
    assert restore_in_a_process(archive, folder, len(_STEPS) + 1) == 0


def test_finishing_that_is_killed_is_finished_too(archive, tmp_path):
    for number in range(1, 4):
        folder = tmp_path / str(number)
        make(folder, "old")
        restore_in_a_process(archive, folder,
                             _STEPS.index("restore ready") + 1)
        child = os.fork()
        if child == 0:
            failpoint.install(failpoint.die_at(number))
            finish_restore(folder / "home")
            os._exit(0)
        os.waitpid(child, 0)

        finish_restore(folder / "home")

        assert read(folder) == ["new", "new"]
        assert len(list(folder.iterdir())) == 4


def test_a_home_that_was_made_after_the_kill_is_kept_too(archive, tmp_path):
    folder = tmp_path / "x"
    make(folder, "old")
    restore_in_a_process(archive, folder, _STEPS.index("restore aside") + 1)
    (folder / "home").mkdir()
    (folder / "home/it").write_text("newer")

    said = finish_restore(folder / "home")

    assert read(folder) == ["new", "new"]
    assert "home.before-now-2" in said
    assert (folder / "home.before-now-2/it").read_text() == "newer"


def test_the_next_restore_finishes_it_first(archive, tmp_path):
    folder = tmp_path / "x"
    home, work = make(folder, "old")
    restore_in_a_process(archive, folder, _STEPS.index("restore placed") + 1)
    assert read(folder) == ["new", "old"]

    restore_archive(archive, home, work, stamp="then")

    assert read(folder) == ["new", "new"]
    assert (folder / "work.before-now/it").read_text() == "old"
    assert not find_unfinished(home)


def test_a_rename_that_fails_undoes_the_others(archive, tmp_path,
                                               monkeypatch):
    folder = tmp_path / "x"
    home, work = make(folder, "old")

    def fail(name):
        if name == "restore aside" and not work.exists():
            raise OSError(28, "No space left on device")
    failpoint.install(fail)
    try:
        with pytest.raises(StorageError, match="No space left"):
            restore_archive(archive, home, work, stamp="now")
    finally:
        failpoint.install(None)

    assert read(folder) == ["old", "old"]
    assert {path.name for path in folder.iterdir()} == {"home", "work"}


def test_two_restores_do_not_work_at_once(archive, tmp_path):
    home, work = make(tmp_path / "x", "old")
    with (tmp_path / "x/home.restoring").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        with pytest.raises(UnavailableError, match="another restore"):
            restore_archive(archive, home, work, stamp="now")
        assert find_unfinished(home) is None

    assert read(tmp_path / "x") == ["old", "old"]


@pytest.mark.parametrize(("text", "mode", "words"), [
    ("[]\n", 0o600, "can't be read"),
    ('{"moves": [["a"]]}\n{"ready": true}\n', 0o600, "can't be read"),
    ("\0\xff" * 99 + "\n", 0o600, "can't be read"),
    ("", 0o666, "you alone"),
])
def test_a_journal_that_says_nothing_moves_nothing(tmp_path, text, mode,
                                                   words):
    home, _ = make(tmp_path / "x", "old")
    path = tmp_path / "x/home.restoring"
    path.write_text(text)
    path.chmod(mode)

    with pytest.raises(StorageError, match=words):
        finish_restore(home)

    assert read(tmp_path / "x") == ["old", "old"]
    assert path.exists()


def test_a_line_that_was_cut_off_was_never_written(tmp_path):
    home, _ = make(tmp_path / "x", "old")
    (tmp_path / "x/home.restoring").write_text('{"moves": [["/tmp/')

    assert "undone" in finish_restore(home)
    assert finish_restore(home) is None
