"""Folders that are the owner's alone."""

import os
import stat

import pytest

from claw.core.folders import make_private, remove_tree


def test_all_that_is_made_on_the_way_is_private(tmp_path):
    os.chmod(tmp_path, 0o755)
    folder = tmp_path / "a" / "b" / "c"
    make_private(folder)
    make_private(folder)

    modes = [stat.S_IMODE(path.stat().st_mode)
             for path in (tmp_path, *reversed(folder.parents[:2]), folder)]
    assert modes == [0o755, 0o700, 0o700, 0o700]


@pytest.mark.parametrize("below", ["x", "x/y", "x/y/z"])
def test_what_stands_in_the_way_is_an_error(tmp_path, below):
    (tmp_path / "x").write_text("a file")

    with pytest.raises(OSError, match="x"):
        make_private(tmp_path / below)


def test_a_link_to_nowhere_is_not_followed(tmp_path):
    (tmp_path / "x").symlink_to(tmp_path / "away")

    with pytest.raises(FileExistsError):
        make_private(tmp_path / "x" / "y")
    assert not (tmp_path / "away").exists()


def make_deep(folder, depth):
    """A folder in a folder and so on, deeper than a path may be long."""
    folder.mkdir()
    number = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("aaa", dir_fd=number)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=number))
        deeper = os.open("aaa", os.O_RDONLY, dir_fd=number)
        os.close(number)
        number = deeper
    os.close(number)


def test_removing_ended_in_a_deep_tree(tmp_path):
    make_deep(tmp_path / "x", 3_000)

    remove_tree(tmp_path / "x")

    assert os.listdir(tmp_path) == []


def test_removing_follows_no_link(tmp_path):
    away = tmp_path / "away"
    (away / "kept").mkdir(parents=True)
    (tmp_path / "x/y").mkdir(parents=True)
    for link in ("x/link", "x/y/link", "top"):
        (tmp_path / link).symlink_to(away)

    remove_tree(tmp_path / "x")
    with pytest.raises(NotADirectoryError):
        remove_tree(tmp_path / "top")

    assert sorted(os.listdir(tmp_path)) == ["away", "top"]
    assert os.listdir(away) == ["kept"]
