"""How far a channel has read: kept over restarts."""

import json

import pytest

from claw.storage import marks
from claw.storage.marks import MarksFile


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "marks" / "chat.json"


def test_a_mark_is_there_after_a_restart_in_a_private_file(path):
    MarksFile(path).set("sync", "s1")

    assert MarksFile(path).get("sync") == "s1"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [f.name for f in path.parent.iterdir()] == ["chat.json"]


def test_a_standby_goes_on_where_the_other_stopped(path):
    first, standby = MarksFile(path), MarksFile(path)
    assert standby.get("sync") is None
    first.set("sync", "s1")
    assert standby.get("sync") == "s1"
    first.set("sync", None)
    assert standby.keys() == ()


def test_the_oldest_marks_go(path, monkeypatch):
    monkeypatch.setattr(marks, "MOST", 3)
    kept = MarksFile(path)
    for key in "abcd":
        kept.set(key, "x")

    assert kept.keys() == ("b", "c", "d")


@pytest.mark.parametrize("damage", [b"", b"[1]", b'{"a": 1}', b"\xff{"])
def test_a_damaged_file_is_told_and_begun_anew(path, damage):
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    told = []
    kept = MarksFile(path, lambda event, **fields: told.append(event))

    assert kept.get("a") is None
    kept.set("a", "1")

    assert told == ["marks.error"]
    assert json.loads(path.read_bytes()) == {"a": "1"}


def test_a_link_is_not_followed(path, tmp_path):
    path.parent.mkdir(parents=True)
    other = tmp_path / "other.json"
    other.write_text('{"a": "1"}')
    path.symlink_to(other)

    kept = MarksFile(path)
    kept.set("b", "2")

    assert kept.get("a") is None
    assert other.read_text() == '{"a": "1"}'


def test_where_nothing_can_be_written_a_mark_holds_as_long_as_the_process(
        path):
    path.parent.parent.mkdir()
    path.parent.write_text("no folder")
    told = []
    kept = MarksFile(path, lambda event, **fields: told.append(event))

    kept.set("a", "1")
    kept.set("a", "2")

    assert told == ["marks.error"]
    assert kept.get("a") == "2"
