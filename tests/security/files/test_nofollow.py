"""claw's own files: no link on the way, no odd thing in their place."""

import os
import socket
import stat

import pytest

from claw.core.errors import StorageError
from claw.security.files import nofollow

SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----"


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "ws"
    (folder / "state").mkdir(parents=True)
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "a").write_text(SECRET)
    return folder


def test_a_file_is_written_whole_read_and_removed(root):
    nofollow.write(root, "state/deep/a", (b"one", b" two"))

    assert nofollow.read(root, "state/deep/a") == b"one two"
    assert nofollow.read(root, root / "state/deep/a", 3) == b"one"
    assert os.listdir(root / "state/deep") == ["a"]
    assert stat.S_IMODE((root / "state/deep").stat().st_mode) == 0o700
    assert stat.S_IMODE((root / "state/deep/a").stat().st_mode) == 0o600
    nofollow.remove(root, "state/deep/a")
    nofollow.remove(root, "state/deep/a")
    assert nofollow.status(root, "state/deep/a") is None


def test_a_file_that_is_replaced_keeps_its_mode(root):
    (root / "a").write_text("x")
    (root / "a").chmod(0o640)
    nofollow.write(root, "a", (b"y",))

    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o640


def test_a_file_that_is_replaced_may_keep_when_it_was_changed(root):
    (root / "a").write_text("x")
    os.utime(root / "a", (1_700_000_000, 1_700_000_000))
    nofollow.write(root, "a", (b"y",), keep_time=True)
    nofollow.write(root, "b", (b"y",), keep_time=True)

    assert (root / "a").stat().st_mtime == 1_700_000_000
    assert (root / "a").read_bytes() == b"y"
    assert (root / "b").stat().st_mtime > 1_700_000_000


@pytest.mark.parametrize("name", ["none/a", "state/none"])
def test_an_error_is_not_its_own_cause(root, name):
    """It would keep every value on its way until the next look for
    garbage."""
    with pytest.raises(FileNotFoundError) as caught:
        nofollow.open_file(root, name)

    assert caught.value.__cause__ is None


def test_a_workspace_that_its_owner_linked_is_used(root, tmp_path):
    (tmp_path / "link").symlink_to("ws")
    nofollow.write(tmp_path / "link", "state/a", (b"x",))

    assert (root / "state/a").read_bytes() == b"x"


def bind(path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(os.path.relpath(path))


IN_THE_WAY = [
    lambda path: path.symlink_to(path.parents[2] / "secret"),
    lambda path: path.symlink_to("../../secret"),
    lambda path: path.symlink_to("nowhere"),
    lambda path: path.symlink_to(path.name),
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: os.link(path.parents[2] / "secret", path),
    os.mkfifo, os.mkdir, bind,
]


@pytest.mark.parametrize("make", IN_THE_WAY)
@pytest.mark.parametrize("flags", [
    os.O_RDONLY, os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_APPEND])
def test_what_is_no_file_of_its_own_is_refused_with_a_next_step(
        root, tmp_path, monkeypatch, make, flags):
    monkeypatch.chdir(tmp_path)
    make(root / "state/a")

    with pytest.raises(StorageError, match=r"state/a ") as caught:
        nofollow.open_file(root, "state/a", flags)
    assert "ls -l" in caught.value.hint
    assert SECRET not in f"{caught.value} {caught.value.hint}"
    assert (tmp_path / "secret").read_text() == SECRET
    assert not (root / "state/nowhere").exists()


def test_a_link_in_the_place_of_a_folder_is_refused(root, tmp_path):
    (root / "state").rmdir()
    (root / "state").symlink_to(tmp_path / "theirs")
    for work in (
            lambda: nofollow.read(root, "state/a"),
            lambda: nofollow.write(root, "state/a", (b"x",)),
            lambda: nofollow.remove(root, "state/a"),
            lambda: nofollow.rename(root, "state/a", "b"),
            lambda: nofollow.open_file(root, "state/b", os.O_CREAT),
            lambda: nofollow.hold_folder(root, "state").__enter__(),
            lambda: nofollow.check_database(root / "state" / "a")):
        with pytest.raises(StorageError, match="ws/state is a link"):
            work()

    assert os.listdir(tmp_path / "theirs") == ["a"]
    assert (tmp_path / "theirs/a").read_text() == SECRET


def test_a_name_above_the_workspace_is_refused(root):
    with pytest.raises(OSError, match="cross-device"):
        nofollow.read(root, "../theirs/a")


def test_writing_over_a_second_name_of_a_file_leaves_the_other_alone(
        root, tmp_path):
    os.link(tmp_path / "secret", root / "a")
    nofollow.write(root, "a", (b"mine",))

    assert (tmp_path / "secret").read_text() == SECRET
    assert (root / "a").read_bytes() == b"mine"


def test_a_link_is_removed_where_it_stands(root, tmp_path):
    (root / "a").symlink_to(tmp_path / "secret")
    nofollow.remove(root, "a")

    assert (tmp_path / "secret").exists()
    assert not os.path.lexists(root / "a")
