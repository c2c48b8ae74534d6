"""Old and broken configs: each is applied, or refused with every byte of
the home as before."""

import os
from pathlib import Path

import pytest

from claw.config.parse import MOST_BYTES
from claw.config.places import locate
from claw.config.secrets import create_key, seal
from claw.config.store import current, lock_settings
from claw.core.errors import ClawError, ConfigError
from claw.wiring.config.apply import apply_text
from tests.wiring.config.test_apply import hash_tree

OLD = b'# mine\n[memory]\nbackend = "sqlite"\n'
REFERENCE = (Path(__file__).parents[2] / "config/reference.toml"
             ).read_bytes()
# Shapes of the reference's versions since March 2026.
V8 = b"""schema_version = 3
[providers.models.openrouter.default]
model = "anthropic/claude-sonnet-4.6"
api_key = "sk-or-0123456789abcdef"
[providers.models.openrouter.cheap]
model = "z-ai/glm-5"
[risk_profiles.careful]
level = "supervised"
[runtime_profiles.small]
max_tool_iterations = 4
[agents.main]
model_provider = "openrouter.default"
risk_profile = "careful"
channels = ["telegram.default"]
[channels.telegram.default]
bot_token = "1:abc"
[peer_groups.family]
members = ["main"]
"""
APPLIED = {
    "three-level-providers": b'[model_providers.openrouter.default]\n'
                             b'api_key = "sk-or-0123456789abcdef"\n',
    "reference-march-2026": REFERENCE.replace(
        b'imap_host = "i"', b'imap_host = "i"\nsmtp_host = "s"\n'
        b'from_address = "a@b.example"'),
    "v8": V8,
    "v8-node-transport": b'[node_transport]\nenabled = true\nport = 9000\n',
    "unknown-section": b'[hologram]\nbeam = true\n',
    "unknown-key": b'[memory]\nbakend = "none"\n',
    "bom": b'\xef\xbb\xbf[memory]\nbackend = "none"\n',
    "crlf": b'[memory]\r\nbackend = "none"\r\n',
    "crlf-and-secret": b'\xef\xbb\xbfapi_key = "sk-1"\r\n[memory]\r\n',
    "no-newline": b'[memory]\nbackend = "none"',
    "comment-only": b"# nothing\n",
    "empty": b"",
    "blank": b" \n\t\n",
    "unicode": '# \u4e2d\u6587\n[agent]\nmax_tool_iterations = 5\n'.encode(),
}
REFUSED = {
    "half-header": b'[memory]\nbackend = "none"\n[autono',
    "half-string": b'api_key = "sk-012345',
    "half-array": b'[autonomy]\nallowed_commands = ["git",',
    "half-multiline": b'[agent]\nsystem = """\nyou are',
    "utf-8-half": "default_model = \"\u4e2d".encode()[:-1],
    "latin-1": b'default_model = "caf\xe9"\n',
    "utf-16": '[memory]\nbackend = "none"\n'.encode("utf-16"),
    "nul": b'[memory]\n\0backend = "none"\n',
    "nul-in-text": b'default_model = "a\0b"\n',
    "nul-only": b"\0" * 4096,
    "binary": bytes(range(256)),
    "huge": b"# " + b"x" * MOST_BYTES,
    "deep": b"a = " + b"[" * 5000 + b"]" * 5000,
    "duplicate-key": b'[memory]\nbackend = "none"\nbackend = "sqlite"\n',
    "duplicate-table": b'[memory]\nbackend = "none"\n[memory]\n',
    "json": b'{"memory": {"backend": "none"}}\n',
    "yaml": b"memory:\n  backend: none\n",
    "html": b"<!doctype html><title>404</title>\n",
    "unquoted": b"[memory]\nbackend = none\n",
    "bare-cr": b'[memory]\rbackend = "none"\r',
    "wrong-type": b'[agent]\nmax_tool_iterations = "many"\n',
    "wrong-type-table": b'memory = "sqlite"\n',
    "wrong-type-array": b'[autonomy]\nallowed_commands = "git"\n',
    "wrong-choice": b'[autonomy]\nlevel = "boundless"\n',
    "out-of-range": b"[gateway]\nport = 99999\n",
    "reference-with-an-unfinished-channel": REFERENCE,
    "strict-autonomy": b'[autonomy]\nlevl = "full"\n',
    "strict-security": b'[security.sandbox]\nmod = "off"\n',
    "strict-gateway": b"[gateway]\nprt = 1\n",
    "no-such-provider": b'default_provider = "nonesuch"\n',
    "no-such-backend": b'[memory]\nbackend = "sqlight"\n',
    "v8-channels-policy": b"[autonomy.channels.telegrm]\n",
    "sealed-nonsense": b'api_key = "enc2:zz"\n',
    "sealed-short": b'api_key = "enc2:00"\n',
    "sealed-other-key": b'api_key = "%s"\n' % seal(
        "sk-1", b"k" * 32).encode(),
}
BROKEN = ("half-header", "utf-16", "latin-1", "nul", "binary",
          "duplicate-key", "wrong-type", "sealed-other-key", "json")


@pytest.fixture
def places(write_settings):
    found = write_settings(OLD.decode()).places
    create_key(found.key_file)
    with lock_settings(found):
        pass
    return found


@pytest.mark.parametrize("name", APPLIED)
def test_an_old_config_is_applied_and_taken_back_whole(places, name):
    before = hash_tree(places.home)
    apply_text(places, APPLIED[name], expected=OLD)
    assert b"sk-or-" not in places.config_file.read_bytes()
    assert hash_tree(places.home) != before
    apply_text(places, OLD, expected=current(places))
    assert places.config_file.read_bytes() == OLD


@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_config_is_refused_with_everything_as_before(places, name):
    before = hash_tree(places.home)
    with pytest.raises(ConfigError) as error:
        apply_text(places, REFUSED[name], expected=OLD)
    assert error.value.message
    assert error.value.hint
    assert hash_tree(places.home) == before


@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_config_on_a_fresh_home_makes_nothing(tmp_path, name,
                                                       monkeypatch):
    monkeypatch.setenv("CLAW_NO_PROBE", "1")
    found = locate(str(tmp_path / "home"), None, {})
    with pytest.raises(ConfigError):
        apply_text(found, REFUSED[name], expected=None)
    assert not found.home.exists()


@pytest.mark.parametrize("name", BROKEN)
def test_a_good_config_replaces_a_broken_one(places, name):
    places.config_file.write_bytes(REFUSED[name])
    apply_text(places, OLD, expected=REFUSED[name])
    assert places.config_file.read_bytes() == OLD
    assert (places.home / "config.toml.bak").read_bytes() == REFUSED[name]


@pytest.mark.parametrize("name", BROKEN)
def test_a_failing_probe_brings_a_broken_one_back(places, name):
    from claw.wiring.checks.check import Check
    places.config_file.write_bytes(REFUSED[name])
    before = hash_tree(places.home)
    with pytest.raises(ConfigError):
        apply_text(places, OLD, expected=REFUSED[name], probe=lambda tree: [
            Check("x.y", "fail", str(tree.get("memory.backend")))])
    assert hash_tree(places.home) == before


def make_directory(path):
    path.mkdir()


def make_fifo(path):
    os.mkfifo(path)


def make_loop(path):
    path.symlink_to(path.name)


def make_device(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [make_directory, make_fifo, make_device])
def test_what_is_no_file_in_its_place_is_refused(places, make):
    places.config_file.unlink()
    make(places.config_file)
    before = hash_tree(places.home)
    with pytest.raises(ClawError):
        apply_text(places, OLD, expected=current(places))
    with pytest.raises(ClawError):
        apply_text(places, OLD, expected=None)
    assert hash_tree(places.home) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_can_not_be_read_is_refused(places):
    places.config_file.chmod(0)
    with pytest.raises(ConfigError):
        apply_text(places, OLD, expected=current(places))
    assert places.config_file.stat().st_mode & 0o777 == 0


def test_a_linked_config_stays_a_link_forth_and_back(places, tmp_path):
    real = tmp_path / "dotfiles.toml"
    places.config_file.rename(real)
    places.config_file.symlink_to(real)
    new = b'[memory]\nbackend = "none"\n'
    apply_text(places, new, expected=OLD)
    assert places.config_file.is_symlink()
    assert real.read_bytes() == new

    def fail(tree):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        apply_text(places, OLD, expected=new, probe=fail)
    assert places.config_file.is_symlink()
    assert real.read_bytes() == new
