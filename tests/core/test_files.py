"""Names from strangers, and files under them."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.core import files
from claw.core.errors import StorageError
from claw.core.files import safe_name, save_bytes


@pytest.mark.each(("name", "expected"), [
    ("report.pdf", "report.pdf"),
    ("Übersicht 2026.pdf", "Übersicht 2026.pdf"),
    ("보고서.pdf", "보고서.pdf"),
    ("../../.bashrc", "bashrc"),
    ("..\\..\\evil.exe", "evil.exe"),
    ("\\\\host\\share\\x.txt", "x.txt"),
    ("/etc/passwd", "passwd"),
    ("dir/", "dir"),
    ("..", "photo"), (".", "photo"), ("", "photo"), ("/", "photo"),
    ("a/..", "photo"), (" . ", "photo"),
    (".env", "env"),
    ("-rf", "rf"),
    ("trailing.", "trailing"), ("blank ", "blank"),
    ("CON", "_CON"), ("con.txt", "_con.txt"), ("Lpt9.tar.gz", "_Lpt9.tar.gz"),
    ("nul .txt", "_nul.txt"), ("com¹", "_com¹"), ("console.log",
                                                  "console.log"),
    ("a\x00b\x1b[31m\n.txt", "ab(31m.txt"),
    ("exe.\u202etxt.scr", "exe.txt.scr"),      # bidi override
    ("x] [IMAGE:y].png", "x) (IMAGE_y).png"),  # would end a marker
    ("a:stream.txt", "a_stream.txt"),          # Windows: another stream
    ("a\ud800.txt", "a.txt"),                  # a half character
    ("．．／x", "．．／x"),                      # looks like, is none
    ("%2e%2e%2fx", "%2e%2e%2fx"),
])
def test_a_name_is_only_a_name(name, expected):
    assert safe_name(name, "photo") == expected


def test_long_names_keep_their_suffix():
    assert safe_name("x" * 500 + ".jpeg", "f") == "x" * 123 + ".jpeg"
    assert safe_name("한" * 100 + ".ogg", "f") == "한" * 65 + ".ogg"
    assert safe_name("a." + "b" * 500, "f") == "a." + "b" * 126


@given(st.text(max_size=300))
def test_any_text_gives_a_name(name):
    got = safe_name(name, "f")

    assert got == Path(got).name != ""
    assert got not in (".", "..")
    assert len(got) <= 128
    assert len(got.encode()) <= 200
    assert not got.startswith((".", "-"))
    assert not any(ord(c) < 32 or c in "/\\[]" for c in got)
    assert safe_name(got, "other") == got


def test_saved_bytes_are_private_and_never_replace(tmp_path):
    folder = tmp_path / "new" / "files"

    first = save_bytes(folder, "a.txt", b"one")
    second = save_bytes(folder, "a.txt", b"two")

    assert (first.read_bytes(), second.read_bytes()) == (b"one", b"two")
    assert first.name == "a.txt"
    assert second.name.startswith("a-")
    assert second.suffix == ".txt"
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(folder.iterdir()) == sorted([first, second])


def test_a_planted_link_is_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("mine")
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").symlink_to(outside)
    (folder / "gone.txt").symlink_to(tmp_path / "would-be-made")

    saved = save_bytes(folder, "a.txt", b"x")
    other = save_bytes(folder, "gone.txt", b"x")

    assert outside.read_text() == "mine"
    assert not (tmp_path / "would-be-made").exists()
    assert {saved.name, other.name}.isdisjoint({"a.txt", "gone.txt"})


def test_a_folder_that_became_a_link_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "files").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StorageError, match=r"a\.txt can't be saved"):
        save_bytes(tmp_path / "files", "a.txt", b"x")

    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_name_from_outside_is_cleaned_again(tmp_path):
    saved = save_bytes(tmp_path / "files", "../../x", b"x")

    assert saved == tmp_path / "files" / "x"


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(files.os, "fsync", full)

    with pytest.raises(StorageError, match="No space left"):
        save_bytes(tmp_path / "files", "a.txt", b"x")

    assert os.listdir(tmp_path / "files") == []
