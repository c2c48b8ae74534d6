"""A restore that is killed at each of its steps leaves all old or all new,
once the next command has looked."""

import fcntl
import json
import os

import pytest

from claw.core import failpoint
from claw.core.errors import StorageError, UnavailableError, UsageError
from claw.core.folders import make_private, remove_tree
from claw.storage.backup.archive import write_archive
from claw.storage.backup.collect import Source, collect
from claw.storage.backup.journal import find_unfinished, finish_restore
from claw.storage.backup.restore import restore_archive

_STEPS = ["restore begun", *["restore file"] * 3, "restore filled",
          "restore ready", *["restore aside"] * 2, "restore emptied",
          *["restore placed"] * 2, "restore named", "restore aside",
          "restore placed"]


def make(folder, words):
    """A home and a workspace elsewhere, each with a file that says so."""
    for name in ("home", "work"):
        (folder / name).mkdir(parents=True)
        (folder / name / "it").write_text(words)
    (folder / f"home/only {words}").write_text(words)
    return folder / "home", folder / "work"


def read(folder):
    """What the files say: all of the home is of one kind."""
    word = (folder / "home/it").read_text()
    assert sorted(os.listdir(folder / "home")) == ["it", f"only {word}"]
    return [(folder / name / "it").read_text() for name in ("home", "work")]


def finish(folder):
    return finish_restore(folder / "home", folder / "work")


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

        said = finish(folder)

        is_new = number >= _STEPS.index("restore ready") + 1
        assert read(folder) == ["new" if is_new else "old"] * 2, step
        assert ("finished" if is_new else "undone") in said
        kept = {"home.before-now", "work.before-now"} if is_new else set()
        assert {path.name for path in folder.iterdir()} == {
            "home", "work", *kept}
        for name in kept:
            assert (folder / name / "it").read_text() == "old"
        assert finish(folder) is None
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
            finish(folder)
            os._exit(0)
        os.waitpid(child, 0)

        finish(folder)

        assert read(folder) == ["new", "new"]
        assert len(list(folder.iterdir())) == 4


def test_a_home_that_was_made_after_the_kill_is_kept_too(archive, tmp_path):
    folder = tmp_path / "x"
    make(folder, "old")
    restore_in_a_process(archive, folder, _STEPS.index("restore aside") + 1)
    (folder / "home/it").write_text("newer")

    said = finish(folder)

    assert read(folder) == ["new", "new"]
    assert "home.before-now" in said
    assert (folder / "home.before-now/it").read_text() == "old"
    assert (folder / "home.before-now/it-2").read_text() == "newer"


def test_the_next_restore_finishes_it_first(archive, tmp_path):
    folder = tmp_path / "x"
    home, work = make(folder, "old")
    restore_in_a_process(archive, folder, _STEPS.index("restore named") + 1)
    assert (folder / "home/it").read_text() == "new"
    assert (folder / "work/it").read_text() == "old"

    restore_archive(archive, home, work, stamp="then")

    assert read(folder) == ["new", "new"]
    assert (folder / "work.before-now/it").read_text() == "old"
    assert not find_unfinished(home)


@pytest.mark.parametrize("step", [None, "restore file", "restore ready"])
def test_folders_in_folders_ended_a_restore(tmp_path, step):
    """Each is a call deeper for os.walk and shutil.rmtree."""
    deep = "/".join("d" * 1_200)
    home, work = make(tmp_path / "source", "new")
    make_private(work / deep)
    (work / deep / "file").touch()
    sources, skipped = collect(home, work)
    write_archive(tmp_path / "b", sources, skipped, made_at="", version="1")
    folder = tmp_path / "x"
    make(folder, "old")
    number = _STEPS.index(step) + 4 if step == "restore file" else \
        _STEPS.index(step) + 2 if step else 99
    restore_in_a_process(tmp_path / "b", folder, number)

    finish(folder)

    assert (folder / "work" / deep / "file").exists() == (
        step != "restore file")
    assert sorted(os.listdir(folder)) == (
        ["home", "work"] if step == "restore file" else
        ["home", "home.before-now", "work", "work.before-now"])
    for path in (work, folder / "work"):  # pytest could not
        remove_tree(path)


def test_a_rename_that_fails_undoes_the_others(archive, tmp_path):
    """Whichever it is."""
    moving = _STEPS[_STEPS.index("restore ready") + 1:]
    for number in range(len(moving)):
        folder = tmp_path / str(number)
        home, work = make(folder, "old")
        left = _STEPS.index("restore ready") + 1 + number

        def fail(name, left=[left]):  # noqa: B006
            left[0] -= 1
            if left[0] < 0:
                failpoint.install(None)
                raise OSError(28, "No space left on device")
        failpoint.install(fail)
        with pytest.raises(StorageError, match="No space left"):
            restore_archive(archive, home, work, stamp="now")

        assert read(folder) == ["old", "old"]
        assert {path.name for path in folder.iterdir()} == {"home", "work"}


def plant(home, text, mode=0o600):
    (home / ".restoring").mkdir(mode=0o700)
    path = home / ".restoring/journal"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_two_restores_do_not_work_at_once(archive, tmp_path):
    home, work = make(tmp_path / "x", "old")
    with plant(home, "").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        with pytest.raises(UnavailableError, match="another restore"):
            restore_archive(archive, home, work, stamp="now")
        assert find_unfinished(home) is None

    assert (home / "it").read_text() == "old"


@pytest.mark.parametrize(("text", "mode", "words"), [
    ("[]\n", 0o600, "can't be read"),
    ('{"aside": "a"}\n{"ready": true}\n', 0o600, "can't be read"),
    ("\0\xff" * 99 + "\n", 0o600, "can't be read"),
    ("", 0o666, "you alone"),
])
def test_a_journal_that_says_nothing_moves_nothing(tmp_path, text, mode,
                                                   words):
    home, work = make(tmp_path / "x", "old")
    path = plant(home, text, mode)

    with pytest.raises(StorageError, match=words):
        finish_restore(home, work)

    assert (home / "it").read_text() == "old"
    assert path.exists()


@pytest.mark.parametrize(("aside", "draft", "target", "words"), [
    ("home.old", ".work.0123456789ab", "work", "can't be read"),
    ("home.before-now", "evil", "work", "can't be read"),
    ("home.before-now", "evil/.work.0123456789ab", "work", "can't be read"),
    ("home.before-now", ".mine.0123456789ab", "mine", "another workspace"),
    ("home.before-now", ".home.0123456789ab", "home", "another workspace"),
])
def test_a_journal_moves_nothing_but_what_a_restore_moves(
        tmp_path, aside, draft, target, words):
    folder = tmp_path / "x"
    home, work = make(folder, "old")
    (folder / draft).mkdir(parents=True)
    (folder / "mine").mkdir()
    plant(home, "".join(json.dumps(line) + "\n" for line in (
        {"aside": str(folder / aside), "workspace": [
            str(folder / draft), str(folder / target),
            str(folder / f"{target}.before-now")]}, {"ready": True})))

    with pytest.raises(StorageError, match=words):
        finish_restore(home, work)

    assert (folder / draft).is_dir()
    assert (work / "it").read_text() == "old"


def test_a_journal_beside_the_home_says_nothing(tmp_path):
    """There a command of the agent may have written it, with -w ~."""
    folder = tmp_path / "x"
    home, work = make(folder, "old")
    (folder / "evil").mkdir()
    (folder / "home.restoring").write_text(json.dumps({"moves": [[
        str(folder / "evil"), str(home), str(folder / "home.old")]]})
        + '\n{"ready": true}\n')

    assert find_unfinished(home) is None
    assert finish_restore(home, work) is None
    assert read(folder) == ["old", "old"]


def test_a_folder_behind_a_link_holds_no_journal(tmp_path):
    home, work = make(tmp_path / "x", "old")
    (tmp_path / "elsewhere").mkdir()
    plant(tmp_path / "elsewhere", "")
    (home / ".restoring").symlink_to(tmp_path / "elsewhere/.restoring")

    with pytest.raises(StorageError, match="you alone"):
        finish_restore(home, work)


def test_a_backup_of_a_stranger_brings_no_journal(tmp_path):
    (tmp_path / "it").write_text("x")
    write_archive(tmp_path / "b", [Source(
        "home/.Restoring/journal", tmp_path, "it")], [], made_at="",
        version="1")
    with pytest.raises(StorageError, match="does not belong"):
        restore_archive(tmp_path / "b", tmp_path / "home", tmp_path / "work",
                        stamp="now")
    assert sorted(os.listdir(tmp_path)) == ["b", "it"]


def test_a_workspace_that_holds_the_home_is_not_replaced(archive, tmp_path):
    home, _ = make(tmp_path / "x", "old")
    with pytest.raises(UsageError, match="would rename both"):
        restore_archive(archive, home, tmp_path / "x", stamp="now")
    assert read(tmp_path / "x") == ["old", "old"]


def test_what_an_earlier_one_could_not_remove_is_not_put_there(archive,
                                                              tmp_path):
    home, work = make(tmp_path / "x", "old")
    (home / ".restoring/new").mkdir(parents=True)
    (home / ".restoring/new/evil").touch()

    restore_archive(archive, home, work, stamp="now")

    assert read(tmp_path / "x") == ["new", "new"]


def test_what_is_being_restored_is_in_no_backup(archive, tmp_path):
    home, work = make(tmp_path / "x", "old")
    restore_in_a_process(archive, tmp_path / "x", 3)

    names = [one.name for one in collect(home, work)[0]]

    assert sorted(names) == ["home/it", "home/only old", "workspace/it"]


def test_a_line_that_was_cut_off_was_never_written(tmp_path):
    home, work = make(tmp_path / "x", "old")
    plant(home, '{"aside": "/tmp/')

    assert "undone" in finish_restore(home, work)
    assert finish_restore(home, work) is None
    assert read(tmp_path / "x") == ["old", "old"]
