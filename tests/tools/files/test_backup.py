"""Archives of the workspace."""

import io
import itertools
import os
import tarfile
from datetime import UTC, datetime, timedelta

import pytest

from claw.tools.files.backup import Backup


@pytest.fixture
def tool(room):
    (room.workspace / "a.txt").write_text("one")
    (room.workspace / "deep").mkdir()
    (room.workspace / "deep/größe.txt").write_text("two")
    (room.workspace / os.fsdecode(b"odd-\xff")).write_text("three")
    (room.workspace / "memory").mkdir()
    (room.workspace / "memory/brain.db").write_text("private")
    (room.workspace / "link").symlink_to("/etc/passwd")
    times = itertools.count()
    return Backup(room.deps(), lambda: datetime(
        2026, 11, 1, tzinfo=UTC) + timedelta(hours=next(times)))


def archives(room):
    return sorted((room.workspace / "state/backups").glob("*"))


def test_what_is_the_owners_is_saved_and_checked(room, tool):
    result = room.call(tool)

    assert result.output == (
        "Saved 3 files: state/backups/20261101T000000Z.tar.gz")
    (path,) = archives(room)
    with tarfile.open(path) as archive:
        assert sorted(archive.getnames())[:2] == [
            "claw-backup.json", "files/a.txt"]
        assert len(archive.getnames()) == 4
    assert path.stat().st_mode & 0o777 == 0o600
    assert room.call(tool, action="verify").output == (
        "20261101T000000Z.tar.gz: 3 files, all sound")
    assert "20261101T000000Z.tar.gz (" in room.call(
        tool, action="list").output


def test_the_latest_ten_stay(room, tool):
    for _ in range(12):
        assert room.call(tool).success

    assert len(archives(room)) == 10
    assert archives(room)[0].name == "20261101T020000Z.tar.gz"


@pytest.mark.parametrize("damage", [
    lambda data: data[:-40], lambda data: b"", lambda data: b"hello",
    lambda data: data[:60] + b"\xff" + data[61:]])
def test_a_damaged_archive_is_told(room, tool, damage):
    room.call(tool)
    (path,) = archives(room)
    path.write_bytes(damage(path.read_bytes()))

    assert not room.call(tool, action="verify").success


def test_an_archive_that_was_changed_is_told(room, tool):
    room.call(tool)
    (path,) = archives(room)
    file = io.BytesIO()
    with tarfile.open(path) as old, \
            tarfile.open(fileobj=file, mode="w:gz") as new:
        for member in old:
            data = old.extractfile(member).read().replace(b"one", b"two")
            new.addfile(member, io.BytesIO(data))
    path.write_bytes(file.getvalue())

    assert "is damaged" in room.call(tool, action="verify").error


def test_names_lead_nowhere_else(room, tool):
    for name in ("../../a.txt", "/etc/passwd", "x"):
        assert "no such backup" in room.call(tool, action="verify",
                                             name=name).error


def test_a_link_in_the_place_of_the_folder_is_refused(room, tool, tmp_path):
    (tmp_path / "out").mkdir()
    (room.workspace / "state").symlink_to(tmp_path / "out")

    assert "link" in room.call(tool).error
    assert not list((tmp_path / "out").iterdir())
