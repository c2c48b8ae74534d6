"""The pairs that the owner lets stand, in their file."""

import json

import pytest

from claw.agent.memory.conflicts.settled import (
    FILE,
    read_settled,
    write_settled,
)
from claw.core.errors import StorageError

PAIRS = [frozenset(("a", "b")), frozenset(("c", "a"))]


def test_what_is_written_is_read_again(tmp_path):
    write_settled(tmp_path, PAIRS)

    assert read_settled(tmp_path) == PAIRS
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_without_a_file_nothing_stands(tmp_path):
    assert read_settled(tmp_path / "nowhere") == []


@pytest.mark.parametrize("rows", [
    [["a"]], [["a", "b", "c"]], [[1, "b"]], ["ab"], [None], "ab", {"a": "b"}])
def test_what_is_no_pair_is_left_out(tmp_path, rows):
    write_settled(tmp_path, [])
    (tmp_path / FILE).write_text(json.dumps({"settled": rows}))

    assert read_settled(tmp_path) == []


def test_a_link_in_its_place_is_not_followed(tmp_path):
    write_settled(tmp_path, PAIRS)
    (tmp_path / FILE).rename(tmp_path / "elsewhere")
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")

    assert read_settled(tmp_path) == []
    with pytest.raises(StorageError):
        write_settled(tmp_path, PAIRS)
