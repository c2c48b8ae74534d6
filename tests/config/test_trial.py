"""Planted journals and histories: a clear error, and nothing is lost."""

import base64
import errno
import hashlib
import json
import os
from contextlib import suppress

import pytest

from claw.config import write as write_module
from claw.config.edit import set_value
from claw.config.history import FOLDER, keep, list_versions, read_version
from claw.config.store import lock_settings
from claw.config.trial import journal, take_back
from claw.core.errors import ConfigError, StorageError

OLD = '[memory]\nbackend = "sqlite"\n'
NEW = '[memory]\nbackend = "none"\n'


def allow(*_):
    """The plug-in takes any value."""


def build_journal(**changes):
    """As a change to NEW that was killed would have left it."""
    told = {"version": None, "mode": 0o600, "command": "claw config apply",
            "new": hashlib.sha256(NEW.encode()).hexdigest(),
            "old": base64.b64encode(OLD.encode()).decode(), **changes}
    return json.dumps(told).encode()


def plant_link(path, target):
    target.write_bytes(build_journal())
    path.symlink_to(target)


PLANTED = {
    "link": plant_link,
    "dangling link": lambda path, target: path.symlink_to(target),
    "link to a device": lambda path, _: path.symlink_to("/dev/zero"),
    "second name": lambda path, target: (
        target.write_bytes(build_journal()), path.hardlink_to(target)),
    "pipe": lambda path, _: os.mkfifo(path),
    "folder": lambda path, _: path.mkdir(),
    "writable by others": lambda path, _: (
        path.write_bytes(build_journal()), path.chmod(0o666)),
    "nothing": lambda path, _: path.write_bytes(b""),
    "huge": lambda path, _: path.write_bytes(b" " * (5 << 20)),
    "no JSON": lambda path, _: path.write_bytes(b"\xff{"),
    "a list": lambda path, _: path.write_bytes(b"[]"),
    "deep": lambda path, _: path.write_bytes(b"[" * 200_000),
    "no base64": lambda path, _: path.write_bytes(build_journal(old="!")),
    "endless mode": lambda path, _: path.write_bytes(
        build_journal().replace(b"384", b"1e999")),
    "cut off": lambda path, _: path.write_bytes(build_journal()[:-9]),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_journal_that_claw_did_not_write_stops_each_writer(write, tmp_path,
                                                             kind):
    places, target = write(NEW), tmp_path / "elsewhere"
    PLANTED[kind](journal(places), target)
    there = target.read_bytes() if target.exists() else None

    for _ in range(2):
        with pytest.raises(ConfigError) as error:
            set_value(places, ("memory", "backend"), "sqlite", allow)
        assert str(journal(places)) in error.value.message
        assert error.value.hint
    assert places.config_file.read_text() == NEW
    assert os.path.lexists(journal(places))
    assert (target.read_bytes() if target.exists() else None) == there


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_journal_of_somebody_else_is_not_followed(write):
    places = write(NEW)
    journal(places).write_bytes(build_journal())
    os.chown(journal(places), 65534, -1)
    with pytest.raises(ConfigError, match="was not written by claw"), \
            lock_settings(places):
        pass
    assert places.config_file.read_text() == NEW


@pytest.mark.parametrize("name", ["1", "", "20200101T000000.000000Z"])
def test_a_journal_that_names_another_version_does_not_remove_it(write, name):
    places = write(NEW)
    kept = keep(places, b"# mine\n")
    journal(places).write_bytes(build_journal(version=name or kept))
    assert "is as before" in take_back(places)
    assert places.config_file.read_text() == OLD
    assert [read_version(places, version) for version
            in list_versions(places)] == [NEW.encode(), b"# mine\n"]


@pytest.mark.parametrize("plant", [
    lambda path: path.symlink_to("/etc/passwd"), os.mkfifo,
    lambda path: path.mkdir(), lambda path: path.write_bytes(b"\xff" * 999),
    lambda path: path.write_bytes(b"enc2:zz"),
    lambda path: path.write_bytes(b"x" * (5 << 20))])
@pytest.mark.parametrize("stamp", ["20200101T000000.000000Z",
                                   "99991231T235959.999999Z"])
def test_a_planted_version_keeps_nobody_from_writing(write, plant, stamp):
    places = write(OLD)
    folder = places.home / FOLDER
    folder.mkdir(mode=0o700)
    plant(folder / f"{stamp}.config-set.toml")
    set_value(places, ("memory", "backend"), "none", allow)
    set_value(places, ("memory", "backend"), "sqlite", allow)
    ours = [version for version in list_versions(places)
            if version.id != stamp]
    assert [read_version(places, version) for version in ours] == [
        NEW.encode(), OLD.encode()]


IN_THE_WAY = [os.mkfifo, lambda path: path.write_bytes(b""),
              lambda path: path.symlink_to("nowhere")]


@pytest.mark.parametrize("plant", IN_THE_WAY)
def test_what_stands_in_the_place_of_the_history_is_named(write, plant):
    places = write(OLD)
    plant(places.home / FOLDER)
    with pytest.raises(StorageError, match=FOLDER):
        set_value(places, ("memory", "backend"), "none", allow)
    assert places.config_file.read_text() == OLD
    assert not os.path.lexists(journal(places))


@pytest.mark.parametrize("plant", IN_THE_WAY)
@pytest.mark.parametrize("name", ["config.toml.bak", ".config.lock"])
def test_what_stands_in_the_place_of_other_files_is_no_obstacle(write, plant,
                                                                name):
    places = write(OLD)
    plant(places.home / name)
    set_value(places, ("memory", "backend"), "none", allow)
    assert places.config_file.read_text() == NEW
    assert not os.path.lexists(journal(places))


def test_folders_in_the_place_of_drafts_and_copies_are_left(write):
    places = write(OLD)
    (places.home / ".config.toml.0011.tmp").mkdir()
    set_value(places, ("memory", "backend"), "none", allow)
    assert places.config_file.read_text() == NEW
    (places.home / "config.toml.bak").unlink()
    (places.home / "config.toml.bak").mkdir()
    with pytest.raises(StorageError, match=r"config\.toml\.bak"):
        set_value(places, ("memory", "backend"), "sqlite", allow)
    assert places.config_file.read_text() == NEW
    assert not journal(places).exists()
    assert len(list_versions(places)) == 1


def fill_disk(monkeypatch, number):
    """The disk is full from this flush on; what came to it is counted."""
    flushed, flush = [], os.fsync

    def fsync(fd):
        flushed.append(fd)
        if len(flushed) >= number:
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(fd)
    monkeypatch.setattr(write_module.os, "fsync", fsync)
    return flushed


def test_a_disk_that_is_full_leaves_one_whole_version(write, monkeypatch):
    for number in range(1, 99):
        places = write(OLD)
        with monkeypatch.context() as patched:
            flushed = fill_disk(patched, number)
            with suppress(StorageError):
                set_value(places, ("memory", "backend"), "none", allow)
            if len(flushed) < number:
                break
            there = places.config_file.read_text()
            assert there in (OLD, NEW)
            assert there == OLD or journal(places).exists() \
                or read_version(places, list_versions(places)[0]) \
                == OLD.encode()
        with lock_settings(places):  # once there is room again
            pass
        assert places.config_file.read_text() in (OLD, NEW)
        assert OLD.encode() in [places.config_file.read_bytes(), *(
            read_version(places, v) for v in list_versions(places))]
        assert not journal(places).exists()
        assert not list(places.home.glob(".*.tmp"))
    assert number > 8
    assert places.config_file.read_text() == NEW


@pytest.mark.parametrize(("number", "said"), [
    (1, "No space left"), (5, "No space left"),
    (7, "what was tried stands there until it can be taken back")])
def test_a_full_disk_is_named(write, monkeypatch, number, said):
    places = write(OLD)
    fill_disk(monkeypatch, number)
    with pytest.raises(StorageError, match=said):
        set_value(places, ("memory", "backend"), "none", allow)
