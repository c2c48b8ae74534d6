"""The emergency stop: set, read in any state, lifted."""

import errno
import json
import os

import pytest

from claw.core.errors import StorageError
from claw.security.estop import FILE, EmergencyStop, StoppedError


@pytest.fixture
def stop(tmp_path):
    return EmergencyStop(tmp_path / "home")


def test_it_holds_until_it_is_lifted(stop):
    stop.check()
    stop.set("writes to strangers")

    with pytest.raises(StoppedError, match="writes to strangers"):
        stop.check()
    assert stop.path.stat().st_mode & 0o777 == 0o600
    assert stop.lift() is True
    stop.check()
    assert stop.lift() is False


def test_on_a_full_disk_the_name_of_the_file_alone_stops(stop, monkeypatch):
    def refuse(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(type(stop.path), "write_text", refuse)
    stop.set("now")

    with pytest.raises(StoppedError, match="since some time"):
        stop.check()


@pytest.mark.parametrize("content", [
    b"", b"{", b"\xff", b"[]", b'{"kill_all": true}',
    b'{"network_kill": true}', b'{"frozen_tools": ["shell"]}',
    b"[" * 100_000])
def test_damage_and_the_references_stops_of_a_part_stop(stop, content):
    stop.path.parent.mkdir()
    stop.path.write_bytes(content)

    with pytest.raises(StoppedError):
        stop.check()


def test_the_references_state_of_no_stop(stop):
    stop.path.parent.mkdir()
    stop.path.write_text(json.dumps({
        "kill_all": False, "network_kill": False, "blocked_domains": [],
        "frozen_tools": [], "updated_at": "2026-11-23T10:00:00Z"}))

    stop.check()


def test_a_folder_in_its_place_stops_and_is_not_lifted_unseen(stop):
    os.makedirs(stop.path / "inside")

    with pytest.raises(StoppedError):
        stop.check()
    with pytest.raises(StorageError, match=FILE):
        stop.lift()
