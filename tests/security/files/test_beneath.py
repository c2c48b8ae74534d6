"""Opening files beneath a directory, links and odd files included."""

import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from claw.core.errors import (
    ClawError,
    DeniedError,
    NotFoundError,
    UsageError,
)
from claw.security.files import beneath

MB = 1 << 20


def anywhere(real):
    return True


@pytest.fixture(params=["openat2", "walk"])
def root(request, tmp_path, monkeypatch):
    """A workspace; once with openat2, once as on a system without it."""
    if request.param == "walk":
        monkeypatch.setattr(beneath, "_openat2", lambda *args: None)
    folder = tmp_path / "ws"
    folder.mkdir()
    (tmp_path / "secret").write_text("S3CRET")
    return folder


def read(root, path, allowed=anywhere, size=MB):
    return beneath.read(root, path, allowed, size)


def test_a_file_is_read_and_replaced(root):
    beneath.write(root, "a/b/c.txt", b"one", anywhere)
    beneath.write(root, "a/b/c.txt", b"two", anywhere)

    assert read(root, "a/b/c.txt") == b"two"
    assert os.listdir(root / "a/b") == ["c.txt"]


def test_replacing_keeps_the_mode(root):
    (root / "run.sh").write_text("x")
    (root / "run.sh").chmod(0o750)

    beneath.write(root, "run.sh", b"y", anywhere)

    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o750


@pytest.mark.parametrize("make", [
    lambda root: (root / "link").symlink_to("../secret"),
    lambda root: (root / "link").symlink_to(root.parent / "secret"),
    lambda root: (root / "link").symlink_to("/etc/passwd"),
    lambda root: (root / "link").symlink_to("/proc/self/environ"),
])
def test_a_link_out_is_not_followed(root, make):
    make(root)

    with pytest.raises(DeniedError, match=r"^Path not allowed"):
        read(root, "link")
    with pytest.raises(DeniedError, match=r"^Path not allowed"):
        beneath.write(root, "link", b"x", anywhere)
    assert (root.parent / "secret").read_text() == "S3CRET"


def test_a_directory_link_out_is_not_followed(root):
    (root / "out").symlink_to("..")

    with pytest.raises(DeniedError):
        read(root, "out/secret")
    with pytest.raises(DeniedError):
        beneath.write(root, "out/new", b"x", anywhere)
    with pytest.raises(DeniedError):
        beneath.write(root, "out/deep/new", b"x", anywhere)
    assert sorted(os.listdir(root.parent)) == ["secret", "ws"]


def test_a_dangling_link_is_not_created_through(root):
    (root / "link").symlink_to("../created")

    with pytest.raises(DeniedError):
        beneath.write(root, "link", b"x", anywhere)
    assert not (root.parent / "created").exists()


def test_dots_do_not_lead_out(root):
    with pytest.raises(ClawError):
        read(root, "../secret")


def test_where_the_file_really_lies_is_judged(root):
    (root / "memory").mkdir()
    (root / "memory/brain.db").write_text("x")

    def not_memory(real: Path) -> bool:
        return "memory" not in real.parts

    with pytest.raises(DeniedError):
        read(root, "memory/brain.db", not_memory)
    with pytest.raises(DeniedError):
        beneath.write(root, "memory/brain.db", b"y", not_memory)
    (root / "alias").symlink_to("memory")
    with pytest.raises(DeniedError):
        read(root, "alias/brain.db", not_memory)
    with pytest.raises(DeniedError):
        beneath.write(root, "alias/brain.db", b"y", not_memory)
    assert (root / "memory/brain.db").read_text() == "x"


def test_a_pipe_never_blocks(root):
    os.mkfifo(root / "pipe")

    with pytest.raises(UsageError, match="not a regular file"):
        read(root, "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        beneath.write(root, "pipe", b"x", anywhere)


def test_a_socket_is_no_file(root, monkeypatch):
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")

        with pytest.raises(UsageError, match="not a regular file"):
            read(root, "sock")


@pytest.mark.skipif(os.geteuid() != 0, reason="making a device needs root")
def test_a_device_is_no_file(root):
    try:
        os.mknod(root / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("devices can't be made here")

    with pytest.raises(UsageError, match="not a regular file"):
        read(root, "zero")


def test_the_size_limit_holds(root):
    (root / "big").write_bytes(b"x" * 11)

    assert read(root, "big", size=11) == b"x" * 11
    with pytest.raises(UsageError, match="file too large"):
        read(root, "big", size=10)
    with (root / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="file too large"):
        read(root, "sparse")


@pytest.mark.parametrize(("path", "error"), [
    ("missing", NotFoundError), ("missing/x", NotFoundError),
    ("", UsageError), (".", UsageError), ("file/x", UsageError),
    ("x" * 5000, UsageError), ("\ud800", UsageError)])
def test_what_is_no_file_is_said_plainly(root, path, error):
    (root / "file").write_text("x")

    with pytest.raises(error):
        read(root, path)


@pytest.mark.parametrize("path", ["", ".", "file/x", "x" * 300, "dir",
                                  "\ud800/x"])
def test_what_can_not_be_written_is_said_plainly(root, path):
    (root / "file").write_text("x")
    (root / "dir").mkdir()

    with pytest.raises(ClawError):
        beneath.write(root, path, b"y", anywhere)
    assert sorted(os.listdir(root)) == ["dir", "file"]


def test_no_open_handle_is_left(root):
    (root / "a").write_text("x")
    before = len(os.listdir("/proc/self/fd"))

    for path in ("a", "missing", "..", "a/b", ""):
        for act in (lambda p: read(root, p),
                    lambda p: beneath.write(root, p, b"y", anywhere)):
            try:
                act(path)
            except ClawError:
                continue

    assert len(os.listdir("/proc/self/fd")) == before


def test_a_link_swapped_in_between_gains_nothing(root):
    """Another thread turns a directory into a link to the outside and
    back while files are read and written in it."""
    (root / "real").mkdir()
    (root / "real/secret").write_text("harmless")
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            os.symlink("..", root / "spot2")
            os.rename(root / "spot2", root / "spot")
            os.symlink("real", root / "spot2")
            os.rename(root / "spot2", root / "spot")

    os.symlink("real", root / "spot")
    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(300):
            try:
                assert read(root, "spot/secret") == b"harmless"
            except ClawError:
                pass
            try:
                beneath.write(root, "spot/new", b"x", anywhere)
            except ClawError:
                pass
    finally:
        stop.set()
        thread.join()
    assert not (root.parent / "new").exists()
