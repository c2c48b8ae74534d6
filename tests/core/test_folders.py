"""Folders that are the owner's alone."""

import os
import stat

import pytest

from claw.core.folders import make_private


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
