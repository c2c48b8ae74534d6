"""Whose a name is: kept over restarts, the first holder's for good."""

import json

import pytest

from claw.storage.names import PeopleFile


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "people.json"


def test_a_name_is_its_first_holders_after_a_restart_too(path):
    assert PeopleFile(path).of("telegram").bind("alice", "1001") == "1001"

    names = PeopleFile(path).of("telegram")
    assert names.find("alice") == "1001"
    assert names.bind("alice", "1002") == "1001"
    assert PeopleFile(path).of("other").find("alice") is None
    bound, = PeopleFile(path).list("telegram")
    assert (bound.id, bound.refused, bound.carried) == ("1001", "1002", False)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [f.name for f in path.parent.iterdir()] == ["people.json"]


def test_what_another_process_wrote_is_seen(path):
    ours, theirs = PeopleFile(path), PeopleFile(path)
    assert ours.find("telegram", "alice") is None

    theirs.bind("telegram", "alice", "1001")

    assert ours.bind("telegram", "alice", "1002") == "1001"


def test_a_file_that_was_removed_frees_its_names(path):
    people = PeopleFile(path)
    people.bind("telegram", "alice", "1001")
    path.unlink()

    assert people.bind("telegram", "alice", "1002") == "1002"


@pytest.mark.parametrize("data", [
    b"{", b"[]", b'{"telegram": 5}', b'{"telegram": {"alice": {"id": 5}}}'])
def test_nobody_is_let_in_by_a_name_while_the_file_is_damaged(path, data):
    path.parent.mkdir()
    path.write_bytes(data)
    logged = []
    people = PeopleFile(path, lambda event, **fields: logged.append(event))

    assert people.bind("telegram", "alice", "1001") == ""
    assert people.bind("telegram", "alice", "1001") == ""
    assert people.list("telegram") == []
    assert logged == ["people.error"]
    assert path.read_bytes() == data


def test_a_link_in_its_place_is_not_followed(path, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"telegram": {"alice": {"id": "666"}}}))
    path.parent.mkdir()
    path.symlink_to(other)

    assert PeopleFile(path).bind("telegram", "alice", "1001") == ""


def test_a_name_holds_in_the_process_where_the_disk_is_full(path):
    path.parent.mkdir()
    logged = []
    people = PeopleFile(path, lambda event, **fields: logged.append(event))
    people._write = _full

    assert people.bind("telegram", "alice", "1001") == "1001"
    assert people.bind("telegram", "alice", "1002") == "1001"
    assert set(logged) == {"people.error"}


def _full(data):
    raise OSError(28, "No space left on device")
