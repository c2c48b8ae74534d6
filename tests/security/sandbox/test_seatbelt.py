"""macOS: the text of the profile, and the command line around it. What
sandbox-exec makes of them nobody has tried."""

import shutil
import sys

import pytest

from claw.core.errors import DeniedError
from claw.security.sandbox.sandbox import Sandbox
from claw.security.sandbox.seatbelt import write_profile
from claw.security.settings import ResourceSettings, SandboxSettings


def test_what_is_kept_from_commands_stands_after_what_is_allowed():
    text = write_profile(
        read=["/opt/py"], write=["/w", "/tmp/x"],
        hidden=["/w/memory", '/w/a"b\\c'], read_only=["/w/USER.md"])

    lines = text.splitlines()
    assert lines[:2] == ["(version 1)", "(deny default)"]
    assert lines[-3:] == [
        '(allow file-read* file-write* (subpath "/w") (subpath "/tmp/x"))',
        '(deny file-write* (subpath "/w/USER.md"))',
        '(deny file-read* file-write* (subpath "/w/memory") '
        '(subpath "/w/a\\"b\\\\c"))']
    assert '(subpath "/opt/py")' in text
    assert "network" not in text
    assert text.count("(") == text.count(")")


def test_a_workspace_in_a_hidden_folder_may_be_written():
    lines = write_profile(read=[], write=["/u", "/u/.claw/w"],
                          hidden=["/u/.claw/w/memory", "/u/.claw"]
                          ).splitlines()

    assert lines[-3:] == [
        '(deny file-read* file-write* (subpath "/u/.claw"))',
        '(allow file-read* file-write* (subpath "/u/.claw/w"))',
        '(deny file-read* file-write* (subpath "/u/.claw/w/memory"))']


def test_the_network_is_allowed_where_the_owner_says_so():
    assert "(allow network*)" in write_profile(read=[], write=["/w"],
                                               network=True)


def test_on_a_mac_commands_start_under_the_profile(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    program = tmp_path / "sandbox-exec"
    program.write_text('#!/bin/sh\nshift 2; exec "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr("claw.security.sandbox.seatbelt.PROGRAM",
                        str(program))
    sandbox = Sandbox(tmp_path, SandboxSettings(), ResourceSettings(),
                      {"PATH": "/usr/bin:/bin"}, own=["memory"])

    launch = sandbox.prepare(["ls"])
    shutil.rmtree(launch.scratch)

    assert launch.argv[:2] == (str(program), "-p")
    assert f'(subpath "{tmp_path}/memory")' in launch.argv[2]
    assert launch.argv[-1] == "ls"
    assert any("untried" in text for active, text in sandbox.describe()
               if not active)


@pytest.mark.skipif(sys.platform == "darwin", reason="it has sandbox-exec")
def test_a_mac_without_sandbox_exec_runs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    sandbox = Sandbox(tmp_path, SandboxSettings(), ResourceSettings(), {})

    with pytest.raises(DeniedError, match="no command runs"):
        sandbox.prepare(["ls"])
