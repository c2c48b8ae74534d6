"""Earlier versions of config.toml."""

import stat
from datetime import UTC, datetime

import pytest

from claw.config.edit import set_value, unset_value
from claw.config.history import (
    FOLDER,
    MOST,
    drop,
    find_version,
    keep,
    list_versions,
    prune,
    read_version,
)
from claw.config.secrets import create_key
from claw.core.errors import ConfigError, NotFoundError
from claw.core.value import replace


def allow(*_):
    """The plug-in takes any value."""


def test_each_write_keeps_what_it_replaces_and_says_who(write):
    places = replace(write('[memory]\nbackend = "sqlite"\n'),
                     command="claw config set")
    set_value(places, ("memory", "backend"), "none", allow)
    unset_value(replace(places, command="claw config unset"),
                ("memory", "backend"))
    newest, oldest = list_versions(places)
    assert (newest.command, oldest.command) == ("config unset", "config set")
    assert read_version(places, newest) == b'[memory]\nbackend = "none"\n'
    assert read_version(places, oldest) == b'[memory]\nbackend = "sqlite"\n'
    assert stat.S_IMODE((places.home / FOLDER).stat().st_mode) == 0o700
    assert stat.S_IMODE(newest.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("data", [
    b'api_key = "sk-plain-1234"\n',
    b'[broken\napi_key = "sk-plain-1234"\n',
    b'\xff\xfeapi_key = "sk-plain-1234"\xed\xa0\x80',
    b'enc2:api_key = "sk-plain-1234"'])
def test_a_plain_secret_is_not_kept_in_plain(write, data):
    places = write("")
    made = keep(places, data)
    version = find_version(places, made)
    assert b"sk-plain" not in version.path.read_bytes()
    assert read_version(places, version) == data


def test_what_can_not_be_encrypted_is_not_kept(write):
    places = write("")
    assert keep(places, b'api_key = "sk-1"\ntoken = "enc2:00"\n') is None
    assert not places.key_file.exists()
    places.key_file.write_text("no key")
    assert keep(places, b'api_key = "sk-1"\n') is None
    assert list_versions(places) == []


def test_another_key_does_not_open_it(write):
    places = write("")
    made = keep(places, b'api_key = "sk-1"\n')
    places.key_file.unlink()
    create_key(places.key_file)
    with pytest.raises(ConfigError, match="wrong key"):
        read_version(places, find_version(places, made))


def test_sealed_secrets_stay_as_they_are(write):
    places = write("")
    made = keep(places, b'api_key = "enc2:0011"\n')
    assert find_version(places, made).path.read_bytes() == \
        b'api_key = "enc2:0011"\n'


def test_the_newest_are_kept(write):
    places = write("")
    for number in range(MOST + 3):
        keep(places, str(number).encode())
    prune(places)
    found = list_versions(places)
    assert len(found) == MOST
    assert read_version(places, found[0]) == str(MOST + 2).encode()


def test_a_clock_that_goes_back_changes_no_order(write):
    places = write("")
    keep(places, b"1", now=lambda: datetime(2026, 5, 1, tzinfo=UTC))
    keep(places, b"2", now=lambda: datetime(2020, 5, 1, tzinfo=UTC))
    assert [read_version(places, v) for v in list_versions(places)] == [
        b"2", b"1"]


def test_versions_are_found_by_number_and_id(write):
    places = write("")
    with pytest.raises(NotFoundError, match="no earlier version of"):
        find_version(places, "1")
    made = keep(places, b"a")
    assert find_version(places, "1").id == find_version(places, made).id
    for name in ("0", "2", "-1", "²", "x", ""):
        with pytest.raises(NotFoundError):
            find_version(places, name)


def test_what_is_no_version_is_passed_over(write):
    places = write("")
    folder = places.home / FOLDER
    folder.mkdir()
    (folder / "notes.txt").write_text("x")
    (folder / "20261399T000000.000000Z.x.toml").write_text("no such month")
    (folder / "20261101T000000.000000Z.x.toml").symlink_to("/etc/passwd")
    (folder / "20261102T000000.000000Z.x.toml").mkdir()
    assert list_versions(places) == []


def test_dropping_the_only_one_leaves_no_folder(write):
    places = write("")
    drop(places, keep(places, b"a"))
    assert not (places.home / FOLDER).exists()
