"""Where the home and the workspace lie, and which rule says so."""

import os
import pwd
from pathlib import Path

import pytest

from claw.config.places import locate
from claw.core.errors import ConfigError, UsageError

HOME = {"HOME": "/home/mina"}


@pytest.mark.parametrize(("flags", "env", "home", "workspace", "origins"), [
    ((None, None), HOME, "/home/mina/.claw", "/home/mina/.claw/workspace",
     ("default", "default")),
    ((None, None), {**HOME, "CLAW_HOME": "/srv/claw"}, "/srv/claw",
     "/srv/claw/workspace", ("CLAW_HOME", "default")),
    (("/flag", None), {**HOME, "CLAW_HOME": "/srv/claw"}, "/flag",
     "/flag/workspace", ("--config-dir", "default")),
    ((None, None), {**HOME, "CLAW_WORKSPACE": "/work"}, "/home/mina/.claw",
     "/work", ("default", "CLAW_WORKSPACE")),
    ((None, "/flag"), {**HOME, "CLAW_WORKSPACE": "/work"},
     "/home/mina/.claw", "/flag", ("default", "--workspace")),
    (("~", "~/w"), HOME, "/home/mina", "/home/mina/w",
     ("--config-dir", "--workspace")),
    ((None, None), {**HOME, "CLAW_HOME": "~//c"}, "/home/mina/c",
     "/home/mina/c/workspace", ("CLAW_HOME", "default")),
    ((None, None), {**HOME, "CLAW_HOME": "", "CLAW_WORKSPACE": "  "},
     "/home/mina/.claw", "/home/mina/.claw/workspace",
     ("default", "default")),
    (("/tmp/설정 폴더", None), HOME, "/tmp/설정 폴더",
     "/tmp/설정 폴더/workspace", ("--config-dir", "default")),
])
def test_places(flags, env, home, workspace, origins):
    places = locate(*flags, env=env)

    assert (places.home, places.workspace) == (Path(home), Path(workspace))
    assert (places.home_origin, places.workspace_origin) == origins


def test_files_beside_each_other():
    places = locate("/c", env=HOME)

    assert places.config_file == Path("/c/config.toml")
    assert places.key_file == Path("/c/.secret_key")


@pytest.mark.parametrize("env", [{}, {"HOME": ""}])
def test_without_HOME_the_passwd_entry_counts(env):
    places = locate(env=env)

    assert places.home == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".claw"
    assert places.home_origin == "default (HOME unset: passwd entry)"


def test_without_HOME_and_passwd_entry_says_what_to_set(monkeypatch):
    def nobody(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)

    with pytest.raises(ConfigError) as caught:
        locate(env={})

    assert "CLAW_HOME" in caught.value.hint


def test_home_of_another_user():
    name = pwd.getpwuid(os.getuid()).pw_name

    assert locate(f"~{name}/x", env=HOME).home == Path(
        pwd.getpwnam(name).pw_dir) / "x"


def test_home_of_nobody_we_know():
    with pytest.raises(ConfigError, match="no user 'no-such-user'"):
        locate("~no-such-user/x", env=HOME)


def test_relative_paths_are_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    places = locate("here", "there", env=HOME)

    assert (places.home, places.workspace) == (tmp_path / "here",
                                               tmp_path / "there")


def test_relative_path_in_a_folder_that_is_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(ConfigError, match="current folder is gone"):
        locate("here", env=HOME)


@pytest.mark.parametrize("flags", [("", None), (" ", None), (None, "")])
def test_empty_flags_are_errors(flags):
    with pytest.raises(UsageError, match="is empty"):
        locate(*flags, env=HOME)


def test_nothing_is_created(tmp_path):
    locate(str(tmp_path / "c"), str(tmp_path / "w"), env={})

    assert list(tmp_path.iterdir()) == []
