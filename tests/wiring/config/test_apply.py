"""Settings in two phases: tried, put in place, and taken back."""

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys

import pytest

from claw.config.history import list_versions, read_version
from claw.config.places import locate
from claw.config.store import lock_settings
from claw.config.trial import journal
from claw.core.errors import ConfigError, StorageError
from claw.wiring.checks.check import Check
from claw.wiring.config.apply import apply_text, await_listen, check_text
from claw.wiring.workspace.place_names import state_path

OLD = b'# mine\n[memory]\nbackend = "sqlite"\n'
NEW = b'# mine\n[memory]\nbackend = "none"\n'


@pytest.fixture
def places(write_settings):
    """A home with OLD in it."""
    found = write_settings(OLD.decode()).places
    with lock_settings(found):
        pass  # the lock file is there
    return found


def hash_tree(home):
    """Every file below, its mode and its bytes."""
    return {str(path.relative_to(home)): (
        stat.S_IMODE(path.lstat().st_mode),
        hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file() else "")
        for path in sorted(home.rglob("*"))}


def fail(tree):
    yield Check("config.health", "fail", "the model does not answer", "do x")


def test_what_holds_is_applied_and_the_earlier_text_is_kept(places):
    done = apply_text(places, NEW, expected=OLD)
    assert places.config_file.read_bytes() == NEW
    [change] = done.changes
    assert (change.key, change.before, change.after) == (
        "memory.backend", "sqlite", "none")
    [version] = list_versions(places)
    assert version.id == done.version
    assert read_version(places, version) == OLD
    assert (places.home / "config.toml.bak").read_bytes() == OLD
    assert not journal(places).exists()


def test_before_the_first_config_stands_an_empty_version(tmp_path):
    found = locate(str(tmp_path / "home"), None, {})
    done = apply_text(found, NEW, expected=None)
    [version] = list_versions(found)
    assert (version.id, read_version(found, version)) == (done.version, b"")
    assert found.config_file.read_bytes() == NEW
    assert not (found.home / "config.toml.bak").exists()


def test_the_same_text_is_not_written_again(places):
    before = hash_tree(places.home)
    assert apply_text(places, OLD, expected=OLD).changes == ()
    assert hash_tree(places.home) == before


@pytest.mark.parametrize("data", [
    b"[memory\n", b"\xff", b'[memory]\nbackend = 7\n',
    b'[autonomy]\nlevl = "full"\n', b'default_provider = "nonesuch"\n',
    b'[channels_config.telegram]\nbot_token = 7\n',
    b'[channels_config.carrier_pigeon]\n'
    b'[autonomy.channels.carrier_pigeon]\n'])
def test_what_is_broken_is_refused_before_anything_is_written(places, data):
    before = hash_tree(places.home)
    with pytest.raises(ConfigError):
        apply_text(places, data, expected=OLD)
    assert hash_tree(places.home) == before


def test_what_was_wrong_before_is_no_reason_to_refuse(write_settings):
    old = b'[autonomy]\nlevl = "full"\n'
    found = write_settings(old.decode()).places
    new = b"# one line more\n" + old
    assert apply_text(found, new, expected=old).checks == ()
    assert found.config_file.read_bytes() == new


@pytest.mark.parametrize("old", [OLD, None])
def test_a_failing_probe_brings_everything_back(places, old):
    (places.home / "config.toml.bak").write_bytes(b"older")
    places.config_file.chmod(0o640)
    if old is None:
        places.config_file.unlink()
    before = hash_tree(places.home)
    with pytest.raises(ConfigError, match="does not answer; everything is "
                                          "as before") as error:
        apply_text(places, b'api_key = "sk-1"\n' + NEW, expected=old,
                   probe=lambda tree: fail(tree) if tree.get(
                       "memory.backend") == "none" else ())
    assert error.value.hint == "do x"
    assert hash_tree(places.home) == before


def test_the_probe_sees_the_new_settings_in_place(places):
    seen = []

    def probe(tree):
        seen.append((tree.get("memory.backend"),
                     places.config_file.read_bytes()))
        return ()
    apply_text(places, NEW, expected=OLD, probe=probe)
    assert seen == [("none", NEW)]


def test_ctrl_c_while_it_is_tried_takes_it_back(places):
    def probe(tree):
        raise KeyboardInterrupt
    before = hash_tree(places.home)
    with pytest.raises(KeyboardInterrupt):
        apply_text(places, NEW, expected=OLD, probe=probe)
    assert hash_tree(places.home) == before


def test_comments_stay_where_secrets_are_encrypted(places):
    done = apply_text(places, OLD + b'api_key = "sk-1"  # mine\n',
                      expected=OLD)
    assert done.sealed == ("memory.api_key",)
    text = places.config_file.read_text()
    assert text.startswith(OLD.decode())
    assert text.endswith("  # mine\n")
    assert "sk-1" not in text


def test_plain_secrets_are_encrypted_and_not_kept_in_plain(write_settings):
    old = b'api_key = "sk-before-0123456789"\n'
    found = write_settings(old.decode()).places
    done = apply_text(found, b'api_key = "sk-after-0123456789"\n',
                      expected=old)
    assert done.sealed == ("api_key",)
    [change] = done.changes
    assert "sk-before" not in change.before + change.after
    [version] = list_versions(found)
    assert b"sk-before" not in version.path.read_bytes()
    assert read_version(found, version) == old
    assert b"sk-after" not in found.config_file.read_bytes()


def test_who_wrote_meanwhile_wins(places):
    places.config_file.write_bytes(NEW)
    with pytest.raises(StorageError, match="changed meanwhile"):
        apply_text(places, b"", expected=OLD)
    assert places.config_file.read_bytes() == NEW


_KILLED = """
import os, signal, sys
from claw.config.places import locate
from claw.wiring.config.apply import apply_text
places = locate(sys.argv[1], None, {}, command="claw config apply")
def probe(tree):
    os.kill(os.getpid(), signal.SIGKILL)
apply_text(places, sys.stdin.buffer.read(),
           expected=places.config_file.read_bytes(), probe=probe)
"""


def kill_on_trial(places):
    done = subprocess.run([sys.executable, "-c", _KILLED, str(places.home)],
                          input=NEW, env={**os.environ, "CLAW_NO_PROBE": "1"},
                          check=False)
    assert done.returncode == -signal.SIGKILL
    assert places.config_file.read_bytes() == NEW


def test_what_was_killed_on_trial_is_taken_back_by_the_next_writer(places):
    kill_on_trial(places)
    with lock_settings(places) as notice:
        assert notice.startswith("claw config apply did not end")
    assert places.config_file.read_bytes() == OLD
    assert not journal(places).exists()
    [tried] = list_versions(places)
    assert tried.command == "unfinished"
    assert read_version(places, tried) == NEW


def test_what_was_edited_after_a_kill_stays(places):
    kill_on_trial(places)
    places.config_file.write_bytes(b"# by hand\n")
    with lock_settings(places) as notice:
        assert "was edited since and stays" in notice
    assert places.config_file.read_bytes() == b"# by hand\n"
    assert [read_version(places, v) for v in list_versions(places)] == [OLD]


def write_listen(places, tried, settings="0", error=None):
    path = state_path(places)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({
        "pid": os.getppid(), "uptime_seconds": 1, "settings": settings,
        "settings_tried": tried, "written_at": "2999-01-01T00:00:00Z",
        "components": {"config": {"last_error": error}} if error else {}}))


def test_a_running_listen_that_refuses_takes_it_back(places):
    write_listen(places, hashlib.sha256(NEW).hexdigest(), error="no token")
    before = hash_tree(places.home)
    with pytest.raises(ConfigError, match="from before: no token"):
        apply_text(places, NEW, expected=OLD)
    assert hash_tree(places.home) == before


def test_a_running_listen_is_given_time(places):
    write_listen(places, "0")
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        if len(waits) == 3:
            write_listen(places, "new", "new")
    assert list(await_listen(places, "new", sleep=sleep)) == []
    assert len(waits) == 3
    [check] = await_listen(places, "other", sleep=waits.append, patience_s=1)
    assert check.status == "skip"


def test_a_look_writes_nothing(places):
    before = hash_tree(places.home)
    changes, found = check_text(places, NEW, OLD)
    assert [c.key for c in changes] == ["memory.backend"]
    assert not found
    assert hash_tree(places.home) == before
