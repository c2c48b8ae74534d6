"""What the service knows of its parts."""

import json
import os

import pytest

from claw.core.errors import StorageError
from claw.runtime.process.health import Health, read_state, write_state


class Clock:
    now = 1_000_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def health(clock):
    return Health(now=clock, clock=clock, _started=clock.now)


def test_a_part_begins_starting_and_becomes_what_is_said(health, clock):
    assert health.part("gateway").status == "starting"
    health.error("gateway", "no port")
    health.count_restart("gateway")
    part = health.part("gateway")
    assert (part.status, part.last_error, part.restart_count) == (
        "error", "no port", 1)
    clock.now += 5
    health.ok("gateway")
    assert (part.status, part.last_error) == ("ok", None)
    assert part.last_ok == clock.now


def test_the_age_of_a_receive_counts_from_the_last_one(health, clock):
    clock.now += 7
    assert health.receive_age_s("channel:x") == 7
    health.begin_receiving("channel:x")
    clock.now += 3
    assert health.receive_age_s("channel:x") == 3
    health.note_receive("channel:x")
    clock.now += 1
    assert health.receive_age_s("channel:x") == 1
    assert health.part("channel:x").last_receive == clock.now - 1


def test_silence_that_is_meant_does_not_count(health, clock):
    health.note_receive("channel:x")
    clock.now += 50
    health.excuse("channel:x", 35)
    assert health.silent_s("channel:x") < 0
    clock.now += 40
    assert health.silent_s("channel:x") == 5


def test_the_snapshot_is_sorted_and_its_times_are_rfc_3339(health, clock):
    health.note_send("channel:b")
    health.note_receive("channel:a")
    clock.now += 61.5
    shown = health.snapshot()

    assert list(shown["components"]) == ["channel:a", "channel:b"]
    assert (shown["pid"], shown["uptime_seconds"]) == (os.getpid(), 61)
    assert shown["updated_at"] == "2001-09-09T01:47:41.500Z"
    assert shown["components"]["channel:b"]["last_send"] \
        == "2001-09-09T01:46:40.000Z"
    assert shown["components"]["channel:b"]["last_receive"] is None


def test_the_state_goes_into_a_file_and_comes_back(health, tmp_path):
    path = tmp_path / "new" / "listen.json"
    health.error("channel:a", "웹훅 ⚠️")
    write_state(health, path)

    state = read_state(path)
    assert state["components"]["channel:a"]["last_error"] == "웹훅 ⚠️"
    assert state["written_at"]
    assert [p.name for p in path.parent.iterdir()] == ["listen.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", "3", b"\xff\xfe"])
def test_a_broken_state_is_none(tmp_path, text):
    path = tmp_path / "listen.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert read_state(path) is None
    assert read_state(tmp_path / "absent") is None


def test_a_state_that_can_not_be_written_says_where(health, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"listen\.json"):
        write_state(health, tmp_path / "file" / "listen.json")


def test_what_is_told_of_a_part_is_json(health):
    health.ok("x")
    assert json.loads(json.dumps(health.snapshot()))
